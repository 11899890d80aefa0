"""Holds the report's words in English and Brazilian Portuguese."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pipeline import findings, instants
from pipeline.audit.package.first_page import FIRST_PAGE
from pipeline.language.catalogue import said_in

_UNITS: Final = (
    ("d", instants.DAY),
    ("h", instants.HOUR),
    ("min", instants.MINUTE),
    ("s", instants.SECOND),
)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language, by name."""

    tag: str
    language: str
    thousands: str
    words: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """The words under a name of this file."""
        return self.words[name]

    def get(self, code: str) -> str:
        """The word for a code of the log, or the code itself if there is none."""
        return self.words.get(code, code)

    def of_step(self, kind: str, step: str | None) -> str:
        """The word for a step of a kind of entry, such as a ticket that was opened; else for the
        kind."""
        return self.words.get(f"{kind}_{step}") or self.get(kind)

    def number(self, count: int) -> str:
        """A whole number with this language's separator of thousands."""
        return f"{count:,}".replace(",", self.thousands)

    def span(self, microseconds: int) -> str:
        """A time between two instants in its two largest units, such as `+4 d 1 h`."""
        return f"{'-' if microseconds < 0 else '+'}{self._duration(abs(microseconds))}"

    def time_left(self, seconds: int) -> str:
        """Whole seconds to a deadline, such as `2 h 7 min left` or `4 min late`; late from the
        deadline itself on."""
        name = "time_left" if seconds > 0 else "time_late"
        return self[name].format(time=self._duration(abs(seconds) * instants.SECOND))

    def summary(
        self, totals: Mapping[str, Mapping[str, int]], processes: int, uncovered: int
    ) -> str:
        """What the report comes to, in two or three sentences, what is worst first.

        `totals` as in parameters.json; `processes` and `uncovered`: how many processes there are,
        and fields that were sent without evidence.
        """
        known = self._counts(
            totals["processes"], ("EXPIRED", "OVERDUE", "UNKNOWN", "PENDING", "FINISHED")
        )
        many = {0: "no_processes", 1: "one_process"}.get(processes, "many_processes")
        about = self[many].format(n=self.number(processes))
        said = [
            self["summary"].format(processes=about, states=f": {', '.join(known)}" if known else "")
        ]
        found = self._counts(totals["findings"], ("breach", "risk", "notice"))
        if found:
            said.append(self["summary_findings"].format(findings=", ".join(found)))
        if uncovered:
            said.append(self["summary_uncovered"].format(n=self.number(uncovered)))
        if not found and not uncovered:
            said.append(self["summary_sound"])
        return " ".join(said)

    def _counts(self, totals: Mapping[str, int], codes: Iterable[str]) -> list[str]:
        """How many there are of each of these codes, of which there are any."""
        return [
            f"{self.number(totals[code])} × {self[code].lower()}"
            for code in codes
            if totals.get(code)
        ]

    def _duration(self, microseconds: int) -> str:
        parts = []
        rest = microseconds
        for unit, size in _UNITS:
            count, rest = divmod(rest, size)
            if count:
                parts.append(f"{count} {unit}")
        return " ".join(parts[:2]) or self["under_a_second"]


_PAIRS: Final[Mapping[str, tuple[str, str]]] = {
    # rules; an entry or outcome of the same code is said otherwise below
    **{code: (rule.name, said_in("pt", rule.name)) for code, rule in findings.rules().items()},
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
    "log": ("Log", "Log"),
    "entries": ("Entries", "Registros"),
    "utc": (
        "All times are in UTC. Each line names its entry in the log (#) and the first digits of"
        " that entry's hash in the Merkle tree.",
        "Todos os horários estão em UTC. Cada linha indica o seu registro no log (#) e os primeiros"
        " dígitos do hash desse registro na árvore de Merkle.",
    ),
    "left_out": ("What was masked or left out", "O que foi mascarado ou omitido"),
    "nothing_left_out": (
        "Nothing: every body and every artifact of these entries is in the package.",
        "Nada: todos os conteúdos e artefatos destes registros estão no pacote.",
    ),
    "nothing_else": (
        "Nothing else was left out. Whatever is withheld remains bound by its commitment in the"
        " log; what is said of it here and in the tables is the word of whoever exported it.",
        "Nada mais foi omitido. O que foi retido continua vinculado ao log pelo seu compromisso"
        " criptográfico; o que aqui e nas tabelas se diz dele é a palavra de quem o exportou.",
    ),
    "body_withheld": ("body withheld", "conteúdo retido"),
    "record_withheld": (
        "record of how it came in or ended withheld",
        "dados de recebimento ou de término retidos",
    ),
    "the masked profile": ("masked profile", "perfil mascarado"),
    "by the exporter": ("by the exporter", "por decisão de quem exportou"),
    "erased": ("erased", "apagado"),
    "not in the artifact store": (
        "not in the artifact store",
        "ausente do repositório de artefatos",
    ),
    "damaged in the artifact store": (
        "damaged in the artifact store",
        "corrompido no repositório de artefatos",
    ),
    "kept by another system": ("kept by another system", "mantido por outro sistema"),
    "nothing says who keeps it": ("nothing says who keeps it", "nada diz quem o mantém"),
    "masked_columns": (
        "Of sellers' names, and of the names of files, only the first letter is shown. Tax ids,"
        " identifiers that could be personal, and reasons of a denial in words of their own are"
        " replaced by a keyed hash. What another system wrote of an attempt's end is masked but for"
        " words that say what failed. Not masked are the names of those who worked for the"
        " marketplace and the reasons and notes that they wrote, in which a seller may be named.",
        "Dos nomes de vendedores e de arquivos aparece apenas a primeira letra. CPF, CNPJ,"
        " identificadores que possam ser pessoais e motivos de uma recusa que não sejam códigos são"
        " substituídos por um hash com chave. Do que outro sistema escreveu sobre o fim de uma"
        " tentativa aparecem apenas as palavras que dizem o que falhou. Não são mascarados os nomes"
        " de quem trabalhou pelo marketplace nem os motivos e anotações que essas pessoas"
        " escreveram, que podem citar um vendedor.",
    ),
    "outside": (
        "{rows} rows that these entries alone would suggest are not shown: other entries of the log"
        " contradict them.",
        "{rows} linhas que estes registros sozinhos sugeririam não são exibidas: outros registros"
        " do log as contradizem.",
    ),
    "rest_in_tables": (
        "{shown} of {all} are shown here; the tables hold all of them.",
        "Aqui são exibidos {shown} de {all}; as tabelas contêm a lista completa.",
    ),
    "basis_log": (
        "Based on entries of the log outside this package.",
        "Baseia-se em registros do log fora deste pacote.",
    ),
    # the summary
    "no_processes": ("no process", "nenhum processo"),
    "one_process": ("1 process", "1 processo"),
    "many_processes": ("{n} processes", "{n} processos"),
    "summary": (
        "This package is about {processes}{states}.",
        "Este pacote trata de {processes}{states}.",
    ),
    "summary_sound": (
        "No rule was broken, and every field that was sent has evidence.",
        "Nenhuma regra foi violada, e todo campo enviado tem evidência.",
    ),
    "summary_findings": ("Findings: {findings}.", "Constatações: {findings}."),
    "summary_uncovered": (
        "Fields sent without evidence: {n}.",
        "Campos enviados sem evidência: {n}.",
    ),
    # the glossary
    "glossary": ("Words in this report", "Palavras deste relatório"),
    "about_process": (
        "One review of a seller's registration, which the platform asked for, with its deadline.",
        "Uma revisão do cadastro de um vendedor, solicitada pela plataforma, com seu prazo.",
    ),
    "about_ACP": (
        "A periodic update: 60 days, every field is sent.",
        "Atualização periódica: 60 dias, todos os campos são enviados.",
    ),
    "about_ACI": (
        "An update because of an inconsistency: 30 days, only the requested fields are sent.",
        "Atualização por inconsistência: 30 dias, só os campos solicitados são enviados.",
    ),
    "about_OVERDUE": (
        "In its tolerance period: the deadline has not passed, and a submission is in time.",
        "No período de tolerância: o prazo ainda não venceu, e um envio ainda chega a tempo.",
    ),
    "about_EXPIRED": (
        "The deadline passed before an accepted submission.",
        "O prazo venceu antes de um envio aceito.",
    ),
    "about_breach": ("A rule was broken.", "Uma regra foi violada."),
    "about_risk": (
        "Something that can become a breach, or cannot be shown not to be one.",
        "Algo que pode se tornar uma violação, ou que não se pode provar que não o seja.",
    ),
    "about_notice": (
        "Something to know that breaks no rule.",
        "Algo a saber que não viola nenhuma regra.",
    ),
    "about_covered": (
        "Of a field that was sent: the seller's own answer, in time, with the value that was sent.",
        "De um campo enviado: há a resposta do próprio vendedor, a tempo, com o valor enviado.",
    ),
    "about_entry": (
        "One thing that happened, under its number in the log.",
        "Um fato ocorrido, com seu número no log.",
    ),
    "about_withheld": (
        "Not shown in this package, but bound by its commitment in the log.",
        "Não exibido neste pacote, mas vinculado ao log pelo seu compromisso criptográfico.",
    ),
    "about_log": (
        "All that was recorded, in order: entries are only ever added, and its state is signed.",
        "Tudo o que foi registrado, em ordem: registros só são acrescentados, e o estado é"
        " assinado.",
    ),
    # tables
    "findings": ("Findings", "Constatações"),
    "no_findings": ("No rule was broken.", "Nenhuma regra foi violada."),
    "severity": ("Severity", "Gravidade"),
    "rule": ("Rule", "Regra"),
    "subject": ("Process or seller", "Processo ou vendedor"),
    "found_at": ("Since", "Desde"),
    "entry": ("Entry", "Registro"),
    "processes": ("The story of each process", "A história de cada processo"),
    "opened_at": ("Opened", "Aberto em"),
    "deadline_at": ("Deadline", "Prazo"),
    "finished_at": ("Finished", "Concluído em"),
    "attempts": ("Attempts", "Tentativas"),
    "late": ("Late", "Com atraso"),
    "time_left": ("{time} left", "vence em {time}"),
    "time_late": ("{time} late", "{time} de atraso"),
    "seller_deleted_at": ("Seller deleted", "Vendedor excluído"),
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
    "others": ("Entries that belong to no process", "Registros sem processo"),
    "missing": ("not in the log", "não consta no log"),
    "not_yet": ("not yet", "ainda não"),
    "uncovered": ("missing", "falta"),
    "uncovered_fields": ("Sent without evidence:", "Enviado sem evidência:"),
    "withheld": ("withheld", "retido"),
    "under_a_second": ("less than 1 s", "menos de 1 s"),
    # the four steps
    "requested": ("Requested", "Solicitado"),
    "collected": ("Collected", "Coletado"),
    "submitted": ("Submitted", "Enviado"),
    "answered": ("Answered", "Respondido"),
    # codes
    "EXPIRED": ("Expired", "Vencido"),
    "OVERDUE": ("In tolerance", "Em tolerância"),
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
    "submission_started": ("Submission started", "Envio iniciado"),
    "cli": ("command line", "linha de comando"),
    "api": ("API", "API"),
    "gateway": ("gateway", "gateway"),
    "ingested": ("ingested", "importado"),
    "submission_finished": ("The platform's answer", "Resposta da plataforma"),
    "timeout": ("no answer in time", "sem resposta a tempo"),
    "network_error": ("connection failed", "falha de conexão"),
    "tls_refused": ("certificate refused", "certificado recusado"),
    "refused": ("refused by our own rules", "recusado pelas nossas regras"),
    "export": ("Exported", "Exportado"),
    "override": ("Evidence check overridden", "Exigência de evidência dispensada"),
    "replacement": ("Payload replaced", "Conteúdo substituído"),
    "unmask": ("Personal data shown", "Dados pessoais exibidos"),
    "search": (
        "Search by part of a name or an address",
        "Busca por parte de um nome ou endereço",
    ),
    "quarantine": ("Delivery quarantined", "Entrega em quarentena"),
    "rejection": ("Deliveries rejected", "Entregas rejeitadas"),
    "clock": ("Clock jumped or believed again", "Relógio saltou ou voltou a ser confiável"),
    "note": ("Note", "Anotação"),
    "assignment": ("Assignment", "Atribuição"),
    "erasure": ("Erasure", "Eliminação"),
    "key_rotation": ("Signing key rotated", "Chave de assinatura trocada"),
    "supply": ("Delivery completed by hand", "Entrega completada manualmente"),
    "restoration": ("Unsigned entries put back", "Registros sem assinatura restaurados"),
    "reconciliation": ("Lost entries recorded again", "Registros perdidos, registrados de novo"),
    "forwarding": ("Passing on to an endpoint", "Repasse a um endpoint"),
    "ticket": ("Support ticket", "Chamado"),
    "ticket_opened": ("Support ticket opened", "Chamado aberto"),
    "ticket_closed": ("Support ticket closed", "Chamado encerrado"),
    "alert": ("Alert", "Alerta"),
    "alert_raised": ("Alert raised", "Alerta gerado"),
    "alert_tried": ("Alert on its way", "Alerta a caminho"),
    "alert_sent": ("Alert sent", "Alerta enviado"),
    "alert_failed": ("Alert not taken by the channel", "Alerta recusado pelo canal"),
    "alert_acknowledged": ("Alert acknowledged", "Alerta assumido"),
    "alert_snoozed": ("Alert put off", "Alerta adiado"),
    "alert_cleared": ("Alert over", "Alerta encerrado"),
    "reminded": ("Seller reminded", "Vendedor lembrado"),
    "calendar": ("Calendar of deadlines", "Calendário de prazos"),
    "report": ("Scheduled report", "Relatório agendado"),
    "clearance": ("Second person", "Segunda pessoa"),
    "clearance_requested": ("Asked of a second person", "Pedido a uma segunda pessoa"),
    "clearance_approved": ("Approved by a second person", "Aprovado por uma segunda pessoa"),
    "clearance_refused": ("Refused by a second person", "Recusado por uma segunda pessoa"),
    "saved_view": ("Saved view of a page", "Visão salva de uma página"),
    "artifact": ("artifact", "artefato"),
    **FIRST_PAGE,
    # verifying
    "verify": ("How to verify this package", "Como verificar este pacote"),
    "verify_text": (
        "Every entry comes with a proof that it is in the signed log, and verify.py checks all of"
        " it offline, with nothing but Python and OpenSSL:",
        "Cada registro traz a prova de que consta no log assinado, e o verify.py confere tudo sem"
        " acesso à rede, apenas com Python e OpenSSL:",
    ),
    "key_text": (
        "Compare the key with one that reached you by another route. If you kept an earlier"
        " checkpoint of the log, pass it with --against; if you trust witnesses who cosigned this"
        " one, name them in a file and pass it with --policy. Nothing else shows that the log was"
        " never rewritten.",
        "Compare a chave com uma recebida por outro meio. Se você guardou um ponto de controle"
        " anterior do log, informe-o em --against; se confia em testemunhas que assinaram este,"
        " liste-as em um arquivo e informe-o em --policy. Nada mais demonstra que o log nunca foi"
        " reescrito.",
    ),
}

WORDS: Final = {
    "en": Words("en", "English", ",", {name: it[0] for name, it in _PAIRS.items()}),
    "pt": Words("pt-BR", "Português", ".", {name: it[1] for name, it in _PAIRS.items()}),
}
