"""Names the findings that can be a breach and raise an alert, as messages and packages say them."""

from collections.abc import Mapping
from typing import Final

BREACHES: Final[Mapping[str, tuple[str, str]]] = {
    "finished_late": ("Finished late", "Concluído com atraso"),
    "finished_elsewhere": (
        "Finished without an accepted submission from us",
        "Concluído sem envio nosso aceito",
    ),
    "field_without_evidence": ("Field sent without evidence", "Campo enviado sem evidência"),
    "source_not_seller": ("Not collected from the seller", "Não coletado do vendedor"),
    "evidence_before_request": ("Collected before the request", "Coletado antes da solicitação"),
    "evidence_reused": ("Evidence reused", "Evidência reutilizada"),
    "acp_incomplete": ("ACP incomplete", "ACP incompleta"),
    "aci_extra_field": ("Field that the ACI did not request", "Campo não solicitado na ACI"),
}
"""Rule -> English, Portuguese (docs/rules.md#findings). `expired_unfinished` is the rung `expired`,
and of `alert_undelivered` nobody can be told."""
