"""Shows what was answered in a process: in clear behind a reason that is in the log."""

from collections.abc import Mapping
from typing import Final

from app_pages.language.i18n import _
from app_pages.parts import acting, elements, views
from pipeline.continuity import service
from pipeline.contract.body import JsonValue
from pipeline.errors import PrazoError
from pipeline.submit.casefile import CaseFiles

VIEW: Final = "evidence_coverage"


def ask(process_id: str) -> None:
    """The form that shows the answers, where there are any."""
    label = _("Show the answers")
    acting.ask_for_personal_data(VIEW, process_id, process_id=process_id, label=label)


def in_clear(process_id: str) -> Mapping[str, JsonValue] | None:
    """Path -> the latest answer, whoever gave it, without those that were erased or changed in the
    inbox; None while nobody has said why they need them."""
    if not acting.may_see_personal_data(VIEW, process_id):
        return None
    held = service.current()
    try:
        case = CaseFiles(held.inbox).open(process_id, views.as_of() or held.now())
    except PrazoError as error:
        elements.say(error)
        return None
    return {path: answer.value for path, answer in case.answers.items()}
