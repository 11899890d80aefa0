"""The report's words in English and Brazilian Portuguese."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language by what they stand for."""

    tag: str
    language: str
    thousands: str
    words: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.words[name]

    def get(self, code: str) -> str:
        """The word for a code of the log; a code that has none is shown as it came."""
        return self.words.get(code, code)


_PAIRS: Final[Mapping[str, tuple[str, str]]] = {
    # the frame
    "title": ("Evidence of registration reviews", "Evidências das revisões cadastrais"),
    "package": ("audit package", "pacote de auditoria"),
    "process": ("Process", "Processo"),
    "seller": ("Seller", "Vendedor"),
    "as_of": ("As of", "Posição em"),
    "actor": ("Requested by", "Solicitado por"),
    "reason": ("Reason", "Motivo"),
    "profile": ("Profile", "Perfil"),
    "profile_full": ("Full, for the platform", "Completo, para a plataforma"),
    "profile_masked": ("Masked", "Mascarado"),
    "log": ("Log", "Registro"),
    "entries": ("Entries", "Registros"),
    "utc": (
        "Every instant is UTC. Every line names its entry in the log (#) and begins with the"
        " entry's leaf in the Merkle tree.",
        "Todos os instantes estão em UTC. Cada linha indica o seu registro no log (#) e o início"
        " da folha correspondente na árvore de Merkle.",
    ),
    "left_out": ("What was masked or left out", "O que foi mascarado ou omitido"),
    "nothing_left_out": (
        "Nothing: every body and every artifact of these entries is in the package.",
        "Nada: todos os conteúdos e artefatos destes registros estão no pacote.",
    ),
    "nothing_else": (
        "Nothing else was left out. What is withheld stays bound by its commitment in the log.",
        "Nada mais foi omitido. O que foi retido continua vinculado ao log pelo seu compromisso"
        " criptográfico.",
    ),
    "body_withheld": ("body withheld", "conteúdo retido"),
    "the masked profile": ("masked profile", "perfil mascarado"),
    "by the exporter": ("by the exporter", "por quem exportou"),
    "not in the artifact store": ("not in the artifact store", "ausente do repositório"),
    "masked_columns": (
        "Names of persons are shown by their first letter; identifiers that could be personal, and"
        " tax ids, by a keyed hash.",
        "Nomes de pessoas aparecem pela primeira letra; identificadores que possam ser pessoais e"
        " CPF/CNPJ, por hash com chave.",
    ),
    "outside": (
        "rows would follow from these entries alone, but not from the whole log: other entries"
        " answer them.",
        "linhas decorreriam apenas destes registros, mas não do log inteiro: outros registros as"
        " respondem.",
    ),
    "rest_in_tables": (
        "are told here; the tables hold them all.",
        "estão descritos aqui; as tabelas contêm todos.",
    ),
    "basis_log": (
        "This rests on entries of the log outside of this package, or on withheld bodies.",
        "Baseia-se em registros do log fora deste pacote ou em conteúdos retidos.",
    ),
    # tables
    "findings": ("Findings", "Constatações"),
    "no_findings": ("No rule was broken.", "Nenhuma regra foi violada."),
    "severity": ("Severity", "Gravidade"),
    "rule": ("Rule", "Regra"),
    "subject": ("Subject", "Objeto"),
    "found_at": ("True since", "Desde"),
    "entry": ("Entry", "Registro"),
    "processes": ("The story of each process", "A história de cada processo"),
    "opened_at": ("Opened", "Aberto em"),
    "deadline_at": ("Deadline", "Prazo"),
    "finished_at": ("Finished", "Concluído em"),
    "attempts": ("Attempts", "Tentativas"),
    "late": ("Late", "Com atraso"),
    "when": ("When", "Quando"),
    "after": ("After", "Após"),
    "what": ("What happened", "O que aconteceu"),
    "coverage": ("Evidence, field by field", "Evidência, campo a campo"),
    "path": ("Field", "Campo"),
    "was_requested": ("Requested", "Solicitado"),
    "answered_at": ("Answered by the seller", "Respondido pelo vendedor"),
    "source": ("Source", "Fonte"),
    "sent_at": ("Sent", "Enviado"),
    "covered": ("Covered", "Coberto"),
    "yes": ("yes", "sim"),
    "no": ("no", "não"),
    "others": ("Entries of no process", "Registros sem processo"),
    "missing": ("not in the log", "não consta no log"),
    "withheld": ("withheld", "retido"),
    "under_a_second": ("under 1 s", "menos de 1 s"),
    # the four steps
    "requested": ("Requested", "Solicitado"),
    "collected": ("Collected", "Coletado"),
    "submitted": ("Submitted", "Enviado"),
    "answered": ("Answered", "Respondido"),
    # codes
    "EXPIRED": ("Expired", "Vencido"),
    "OVERDUE": ("Overdue", "Em atraso"),
    "PENDING": ("Pending", "Pendente"),
    "FINISHED": ("Finished", "Concluído"),
    "UNKNOWN": ("Unknown", "Desconhecido"),
    "ACP": ("Periodic update (ACP)", "Atualização periódica (ACP)"),
    "ACI": ("Inconsistency (ACI)", "Inconsistência (ACI)"),
    "breach": ("Breach", "Violação"),
    "risk": ("Risk", "Risco"),
    "notice": ("Notice", "Aviso"),
    "regulatory.registration.review.required": ("Review requested", "Revisão solicitada"),
    "seller.created": ("Seller created", "Vendedor criado"),
    "seller.enabled": ("Seller enabled", "Vendedor habilitado"),
    "seller.denied": ("Seller denied", "Vendedor recusado"),
    "seller.disabled": ("Seller disabled", "Vendedor desabilitado"),
    "seller.updated": ("Seller updated", "Vendedor atualizado"),
    "seller.deleted": ("Seller deleted", "Vendedor excluído"),
    "bank_account.associated": ("Bank account associated", "Conta bancária associada"),
    "bank_account.deleted": ("Bank account deleted", "Conta bancária excluída"),
    "webhook": ("Webhook", "Webhook"),
    "collection": ("Collection", "Coleta"),
    "invited": ("Seller invited", "Vendedor convidado"),
    "opened": ("Journey opened", "Jornada aberta"),
    "confirmed": ("Answers confirmed", "Respostas confirmadas"),
    "in_app": ("in the app", "no aplicativo"),
    "web_form": ("web form", "formulário web"),
    "email": ("e-mail", "e-mail"),
    "push": ("push notification", "notificação push"),
    "sms": ("SMS", "SMS"),
    "chat": ("chat", "chat"),
    "phone": ("telephone", "telefone"),
    "submission_started": ("Submission sent", "Envio iniciado"),
    "submission_finished": ("Answer of the platform", "Resposta da plataforma"),
    "timeout": ("no answer in time", "sem resposta a tempo"),
    "network_error": ("connection failed", "falha de conexão"),
    "refused": ("refused by our own rules", "recusado pelas próprias regras"),
    "export": ("Exported", "Exportado"),
    "override": ("Gate overridden", "Bloqueio contornado"),
    "replacement": ("Payload replaced", "Conteúdo substituído"),
    "unmask": ("Personal data shown", "Dados pessoais exibidos"),
    "quarantine": ("Delivery in quarantine", "Entrega em quarentena"),
    "rejection": ("Deliveries turned away", "Entregas rejeitadas"),
    "note": ("Note", "Nota"),
    "artifact": ("artifact", "artefato"),
    # rules
    "expired_unfinished": ("Expired, unfinished", "Vencido sem conclusão"),
    "finished_late": ("Finished late", "Concluído com atraso"),
    "finished_elsewhere": (
        "Finished without an accepted attempt of ours",
        "Concluído sem tentativa aceita nossa",
    ),
    "field_without_evidence": ("Field sent without evidence", "Campo enviado sem evidência"),
    "source_not_seller": ("Not collected from the seller", "Não coletado do vendedor"),
    "evidence_before_request": (
        "Collected before the request",
        "Coletado antes da solicitação",
    ),
    "evidence_recorded_late": ("Evidence recorded late", "Evidência registrada tarde"),
    "evidence_reused": ("Evidence reused", "Evidência reutilizada"),
    "values_reused": (
        "Same values as an earlier submission",
        "Mesmos valores de um envio anterior",
    ),
    "acp_incomplete": ("ACP incomplete", "ACP incompleta"),
    "aci_extra_field": ("Field outside of the ACI", "Campo fora da ACI"),
    "payload_changed_on_retry": (
        "Payload changed on a retry",
        "Conteúdo alterado em nova tentativa",
    ),
    "retries_exhausted": ("Retries given up", "Tentativas esgotadas"),
    "open_after_finish": ("Reported open after its finish", "Reportado aberto após conclusão"),
    "status_disagrees": (
        "Reported status disagrees with the clock",
        "Situação reportada diverge do prazo",
    ),
    "deadline_mismatch": ("Deadline off the contract's days", "Prazo fora dos dias previstos"),
    "deadline_changed": ("Deadline changed", "Prazo alterado"),
    "identity_changed": ("Type or seller changed", "Tipo ou vendedor alterado"),
    "event_altered": ("Event delivered with other bytes", "Evento entregue com outro conteúdo"),
    "outcome_unknown": ("Outcome unknown", "Resultado desconhecido"),
    "unauthorized": ("Credentials refused", "Credenciais recusadas"),
    "overdue_unstarted": ("Overdue, no journey started", "Em atraso, sem jornada iniciada"),
    "quarantined": ("Delivery in quarantine", "Entrega em quarentena"),
    "slow_record": ("Recorded slowly", "Registro lento"),
    "new_code": ("Code that the contract does not list", "Código não previsto no contrato"),
    # verifying
    "verify": ("How to verify this package", "Como verificar este pacote"),
    "verify_text": (
        "The package holds each entry with a proof that it stands in the signed log, and the"
        " programme that checks all of it offline, with nothing but Python and OpenSSL:",
        "O pacote traz cada registro com a prova de que consta no log assinado, e o programa que"
        " verifica tudo isso sem rede, apenas com Python e OpenSSL:",
    ),
    "key_text": (
        "Compare the key with one that reached you another way, and give an earlier checkpoint of"
        " the log by --against, if you keep one: only then is it shown that the log was never"
        " written anew.",
        "Compare a chave com uma recebida por outro meio e informe em --against um ponto de"
        " controle anterior do log, se o tiver: só assim se demonstra que o log nunca foi"
        " reescrito.",
    ),
}

WORDS: Final = {
    "en": Words("en", "English", ",", {name: it[0] for name, it in _PAIRS.items()}),
    "pt": Words("pt-BR", "Português", ".", {name: it[1] for name, it in _PAIRS.items()}),
}
