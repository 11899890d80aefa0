"""Puts alerts into words, in Portuguese or English: ids, state, time left, what to do, links.

No message holds personal data: channels keep copies, and forward them.
"""

import contextlib
from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

from pipeline import instants
from pipeline.alert.entries import DIGEST, REPORT, Due, Item
from pipeline.alert.messages.links import Links
from pipeline.alert.summaries.digest import Part
from pipeline.alert.summaries.reports import Said
from pipeline.alert_rules.recipients import Recipient
from pipeline.breaches import BREACHES
from pipeline.texts import printable

Language = Literal["pt", "en"]
MAX_ID_CHARACTERS: Final = 100
MAX_FILES: Final = 10
"""Named in one message."""
Lists = Mapping[str, list[Part] | Said | Exception]
"""A digest or a report -> what it says, or why that could not be made."""
_BOTH = Mapping[str, tuple[str, str]]  # code -> Portuguese, English

_RUNGS: Final[_BOTH] = {
    "opened": ("Processo aberto", "Process opened"),
    "overdue": ("Em tolerância, ainda no prazo (OVERDUE)", "In tolerance, still in time (OVERDUE)"),
    "expired": ("Prazo vencido (EXPIRED)", "Deadline passed (EXPIRED)"),
}
_REPORTED_EXPIRED: Final = (
    "EXPIRED segundo a plataforma, antes do prazo",
    "EXPIRED by the platform's report, before the deadline",
)
_CONDITIONS: Final[_BOTH] = {
    "unauthorized": ("Credenciais recusadas pela plataforma", "Credentials refused"),
    "tls_refused": ("Certificado recusado", "Certificate refused"),
    "ticket_due": ("É hora de abrir um chamado", "A support ticket is due"),
    "retries_exhausted": ("Tentativas esgotadas", "Retries given up"),
    "quarantined": ("Entregas em quarentena", "Deliveries in quarantine"),
    "silence": ("A plataforma está em silêncio", "The platform is silent"),
    "inbox_down": ("Nada pode ser registrado agora", "Nothing can be recorded now"),
    "receiver_down": (
        "O receptor não responde ou não consegue registrar",
        "The receiver does not answer, or cannot record",
    ),
    "ledger_down": ("O livro-razão não responde", "The ledger does not answer"),
    "ledger_behind": ("O livro-razão está atrasado", "The ledger lags behind"),
    "ledger_unverified": ("O livro-razão não foi verificado", "The ledger is not verified"),
    "platform_files": (
        "Os arquivos de acesso à plataforma não podem ser usados",
        "The files for the platform cannot be used",
    ),
    "channel_files": (
        "Há arquivos dos canais de alerta que não podem ser usados",
        "Files that channels of alerts need cannot be used",
    ),
    "certificate_ends": (
        "Um certificado para a plataforma vence",
        "A certificate for the platform ends",
    ),
    "digest": ("Resumo do dia", "Summary of the day"),
    "report": ("Relatório agendado", "Scheduled report"),
    "test": ("Mensagem de teste", "Test message"),
}
_BREACHES: Final[_BOTH] = {rule: (pt, en) for rule, (en, pt) in BREACHES.items()}
_NEXT_ACTIONS: Final[_BOTH] = {
    "start_collection": ("Iniciar uma coleta", "Start a collection"),
    "remind_seller": ("Lembrar o vendedor", "Remind the seller"),
    "await_seller": ("Aguardar o vendedor", "Wait for the seller"),
    "submit": ("Enviar as respostas", "Submit the answers"),
    "send_again": ("Enviar de novo", "Send again"),
    "correct_payload": ("Corrigir o conteúdo", "Correct the payload"),
    "correct_credentials": ("Verificar as credenciais", "Check the credentials"),
    "correct_certificate": ("Verificar os certificados", "Check the certificates"),
    "check_ids": ("Verificar os identificadores", "Check the identifiers"),
    "check_status": ("Verificar a situação", "Check the status"),
    "read_answer": ("Ler a resposta", "Read the answer"),
    "await_retry": ("Aguardar a nova tentativa", "Wait for the retry"),
    "correct_refusal": ("Corrigir o que as nossas regras recusam", "Fix what our rules refuse"),
    "open_ticket": ("Abrir um chamado", "Open a support ticket"),
    "await_platform": ("Aguardar a plataforma", "Wait for the platform"),
    "ask_platform": ("Perguntar à plataforma", "Ask the platform"),
    "await_answer": ("Aguardar a resposta", "Wait for the answer"),
    "find_event": ("Encontrar o evento de revisão", "Find the review event"),
}
_ASKED: Final = (
    "Confirmar que o vendedor foi consultado, e aguardar a resposta",
    "Make sure that the seller was asked, and wait for the answer",
)
_CERTIFICATES: Final = (
    "Rodar `prazo doctor` onde o Prazo é executado: ele diz de que arquivo se trata. Se for o"
    " certificado, pedir outro à plataforma",
    "Run `prazo doctor` where Prazo runs: it names the file. If it is the certificate, ask the"
    " platform for another",
)
_LEDGER: Final = (
    "Reiniciar o processo que mantém o livro-razão, ou ver no log dele o que o impede. Enquanto"
    " isso, as entregas continuam sendo registradas",
    "Start what holds the ledger again, or read in its log what holds it up. Deliveries are"
    " recorded all the same",
)
_ADVICE: Final[_BOTH] = {
    "unauthorized": (
        "Corrigir as credenciais e testá-las com `prazo doctor --platform`; depois,"
        " `prazo resume --process ID` para cada tentativa que terminou em 401",
        "Put the credentials right and try them with `prazo doctor --platform`; then"
        " `prazo resume --process ID` for each attempt that ended in 401",
    ),
    "tls_refused": _CERTIFICATES,
    "platform_files": _CERTIFICATES,
    "certificate_ends": _CERTIFICATES,
    "quarantined": (
        "Rodar `prazo quarantine`: ele diz por que cada entrega não pôde ser lida. Pode haver uma"
        " revisão com prazo entre elas",
        "Run `prazo quarantine`: it says why each delivery cannot be read. A review with a deadline"
        " may be among them",
    ),
    "silence": (
        "Perguntar à plataforma se ela está enviando, e verificar o que há entre ela e o receptor",
        "Ask the platform whether it sends, and look at what stands between it and the receiver",
    ),
    "receiver_down": (
        "Rodar `prazo doctor` na máquina do receptor: disco, permissões, banco de dados. Até lá,"
        " entregas da plataforma ou coletas ficam sem resposta ou recebem 503",
        "Run `prazo doctor` on the receiver's machine: disk, rights, database. Until then the"
        " platform's deliveries, or collections, get 503 or no answer",
    ),
    "ledger_down": _LEDGER,
    "ledger_behind": _LEDGER,
    "ledger_unverified": (
        "Rodar `prazo verify`: ele diz qual é cada falha",
        "Run `prazo verify`: it names each fault",
    ),
    "inbox_down": (
        "Rodar `prazo doctor` onde o Prazo é executado: ele diz por quê. Até lá, dali nenhuma"
        " entrega da plataforma é aceita e nenhum alerta pode ser confirmado",
        "Run `prazo doctor` where Prazo runs: it says why. Until then no delivery of the platform's"
        " is taken there, and no alert can be acknowledged",
    ),
    "channel_files": (
        "Rodar `prazo doctor` onde o Prazo é executado: ele diz o que há de errado com cada"
        " arquivo. Até lá, ninguém recebe nada por esses canais",
        "Run `prazo doctor` where Prazo runs: it says what is wrong with each file. Until then"
        " nobody is told by these channels",
    ),
}
"""What to do first where no process is concerned (docs/alerts.md#beside-the-log)."""
_LOST: Final = (
    "a lista não pôde ser feita: a visão salva não existe mais, ou cita um vendedor por CPF, CNPJ"
    " ou e-mail",
    "the list could not be made: its saved view is gone, or names a seller by a tax id or an e-mail"
    " address",
)
_SEVERITIES: Final[_BOTH] = {
    "breach": ("violação", "breach"),
    "risk": ("risco", "risk"),
    "notice": ("aviso", "notice"),
}
_STATES: Final[_BOTH] = {
    "EXPIRED": ("Vencido (EXPIRED)", "Expired (EXPIRED)"),
    "OVERDUE": ("Em tolerância (OVERDUE)", "In tolerance (OVERDUE)"),
    "PENDING": ("Pendente (PENDING)", "Pending (PENDING)"),
    "FINISHED": ("Concluído (FINISHED)", "Finished (FINISHED)"),
    "UNKNOWN": ("Situação desconhecida (UNKNOWN)", "State not known (UNKNOWN)"),
}
_PARTS: Final[_BOTH] = {
    "late": ("Vencidos", "Expired"),
    "this_week": ("Vencem em 7 dias", "Due in 7 days"),
    "new": ("Novos desde o último dia útil", "New since the last working day"),
    "untaken": ("Alertas que ninguém assumiu", "Alerts that nobody has taken"),
    **_STATES,
}
_LABELS: Final[_BOTH] = {
    "process": ("Processo", "Process"),
    "seller": ("Vendedor", "Seller"),
    "deadline": ("Prazo", "Deadline"),
    "next": ("Próxima ação", "Next action"),
    "open": ("Abrir no Prazo", "Open in Prazo"),
    "acknowledge": ("Confirmar que alguém cuida disto", "Confirm that somebody sees to it"),
    "since": ("Desde", "Since"),
    "for_seller": ("Link para enviar ao vendedor", "Link to send to the seller"),
    "stands_still": ("O livro-razão está parado", "The ledger stands still"),
    "files": ("No arquivo de PRAZO_ALERTS_FILE", "In the file of PRAZO_ALERTS_FILE"),
}
_STANDS_STILL: Final = (
    "a última entrada é de {at}; o que houve depois pode faltar aqui",
    "its newest entry is of {at}; what came after that may be missing here",
)


class Text(NamedTuple):
    """One message, in plain text and as HTML."""

    subject: str
    plain: str
    html: str
    page: str | None = None
    """Where all of it is, for whoever gets only a part."""


class Link(str):
    """A value that is our own link; whatever else looks like one came from outside."""

    __slots__ = ()


def _id(text: str) -> str:
    """An id in one line, cut where it is long, and none that a mail program makes a link of."""
    shown = printable(text)
    if len(shown) > MAX_ID_CHARACTERS:
        shown = shown[:MAX_ID_CHARACTERS] + "…"
    return shown.replace(".", "[.]") if "/" in shown or "www" in shown.lower() else shown


def said(both: tuple[str, str], language: Language) -> str:
    """One of two texts."""
    return both[0] if language == "pt" else both[1]


def title(kind: str, language: Language) -> str:
    """An alert's kind in a few words; a broken rule's name is the one of packages and pages."""
    for named in (_RUNGS, _CONDITIONS, _BREACHES):
        if kind in named:
            return said(named[kind], language)
    if kind.startswith("before_"):
        span = kind.removeprefix("before_")
        units = {"d": ("dias", "days"), "h": ("horas", "hours")}
        number, unit = span[:-1], said(units[span[-1]], language)
        verb = "Faltam"
        if number == "1":
            verb, unit = "Falta", unit.removesuffix("s")
        # Who was not told at once is told the same later: it has to be true then, too.
        both = (f"{verb} menos de {number} {unit}", f"Less than {number} {unit} left")
        return said(both, language)
    return kind  # of another release: what it means would be a guess


def _heading(due: Due, language: Language, now: int) -> str:
    """An alert's kind as it is now: the platform may report EXPIRED before the deadline."""
    if due.kind == "expired" and due.deadline_at is not None and due.deadline_at > now:
        return said(_REPORTED_EXPIRED, language)
    return title(due.kind, language)


def state(code: str, language: Language) -> str:
    """A process's state in a few words, with the platform's own."""
    return said(_STATES.get(code, (code, code)), language)


def next_action(code: str, language: Language) -> str:
    """A next action in a few words."""
    return said(_NEXT_ACTIONS.get(code, (code, code)), language)


def message(
    items: tuple[Item, ...],
    name: str,
    recipient: Recipient,
    links: Links,
    zone: str,
    now: int,
    lists: Lists = MappingProxyType({}),
) -> Text:
    """What one recipient is told about some alerts. `zone`: of the marketplace, where the recipient
    has none. `lists`: what those of them that are digests and reports say."""
    language = recipient.language
    here = ZoneInfo(recipient.zone or zone)
    parts = [
        _listing(lists[due.alert], language, links, here)
        if due.kind in (DIGEST, REPORT)
        else _lines(due, name, language, links, here, now)
        for due, *_ in items
    ]
    first = items[0].due
    heading = _heading(first, language, now)
    if isinstance(report := lists.get(first.alert), Said):
        heading += f": {_id(report.name)} ({'?' if report.is_lost else report.total})"
    about = first.process_id or first.seller_id
    subject = f"[Prazo] {heading}" + (f" – {_id(about)}" if about else "")
    if len(items) > 1:
        more = len(items) - 1
        others = ("outro alerta", "more") if more == 1 else ("outros alertas", "more")
        subject += said((f" e {more} {others[0]}", f" and {more} {others[1]}"), language)
    plain = "\n\n".join("\n".join(_plain(label, value) for label, value in part) for part in parts)
    html = "<hr>".join(
        "".join(f"<p>{_marked(label, value)}</p>" for label, value in part) for part in parts
    )
    page = _page(first, lists, links) if len(items) == 1 else links.alerts()
    html = f'<html lang="{language}">{html}</html>'
    return Text(" ".join(subject.split()), plain + "\n", html, page)


def _page(due: Due, lists: Lists, links: Links) -> str | None:
    """The page of what one alert is about."""
    if due.kind == REPORT and isinstance(report := lists[due.alert], Said):
        return links.watchlist(report.query)
    return links.overview() if due.kind == DIGEST else links.page(due)


def time_left(seconds: int, language: Language) -> str:
    """How long until a deadline, or since it passed, in its largest unit that is not zero."""
    if 0 < seconds < 60:
        return said(("em menos de 1 minuto", "in under a minute"), language)
    if -60 < seconds <= 0:
        return said(("venceu agora", "passed just now"), language)
    days, hours, minutes = seconds_parts(abs(seconds))
    if days:
        number, one, many = days, ("dia", "day"), ("dias", "days")
    elif hours:
        number, one, many = hours, ("hora", "hour"), ("horas", "hours")
    else:
        number, one, many = minutes, ("minuto", "minute"), ("minutos", "minutes")
    unit = said(one if number == 1 else many, language)
    if seconds < 0:
        return said((f"vencido há {number} {unit}", f"passed {number} {unit} ago"), language)
    return said((f"em {number} {unit}", f"in {number} {unit}"), language)


def seconds_parts(seconds: int) -> tuple[int, int, int]:
    """Whole days, hours and minutes."""
    return seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60


def _listing(
    of: list[Part] | Said | Exception, language: Language, links: Links, here: ZoneInfo
) -> list[tuple[str, str]]:
    if isinstance(of, Exception):
        raise of
    if isinstance(of, Said):
        return _report(of, language, here, links)
    return _summary(of, language, here, links)


def _summary(
    parts: list[Part], language: Language, here: ZoneInfo, links: Links
) -> list[tuple[str, str]]:
    lines = [("", title("digest", language)), *_listed(parts, language, here)]
    if (page := links.overview()) is not None:
        lines.append((said(_LABELS["open"], language), Link(page)))
    return lines


def _report(of: Said, language: Language, here: ZoneInfo, links: Links) -> list[tuple[str, str]]:
    total = (f"{of.total} processos", f"{of.total} processes")
    if of.total == 1:
        total = ("1 processo", "1 process")
    if of.is_lost:
        total = _LOST
    lines = [("", f"{title('report', language)}: {_id(of.name)} – {said(total, language)}")]
    lines += _listed(of.parts, language, here)
    if (page := links.watchlist(of.query)) is not None:
        lines.append((said(_LABELS["open"], language), Link(page)))
    return lines


def _listed(parts: list[Part], language: Language, here: ZoneInfo) -> list[tuple[str, str]]:
    lines = []
    for part in parts:
        lines.append(("", f"{said(_PARTS[part.name], language)}: {part.total}"))
        for process in part.listed:
            deadline = "–" if process.deadline_at is None else local(process.deadline_at, here)
            action = next_action(process.next_action or "", language)
            said_of = f"{deadline} · {action}"
            if process.seller_id:
                said_of += f" · {said(_LABELS['seller'], language)} {_id(process.seller_id)}"
            lines.append((_id(process.process_id), said_of))
        if part.total > len(part.listed):
            more = part.total - len(part.listed)
            lines.append(("…", said((f"e mais {more}", f"and {more} more"), language)))
    return lines


def _lines(
    due: Due, name: str, language: Language, links: Links, here: ZoneInfo, now: int
) -> list[tuple[str, str]]:
    def label(code: str) -> str:
        return said(_LABELS[code], language)

    severity = said(_SEVERITIES[due.severity], language)
    lines = [("", f"{_heading(due, language, now)} ({severity})")]
    if due.process_id:
        stands = due.state and state(due.state, language)
        known = (_id(due.process_id), due.review_type, stands)
        kinds = " · ".join(it for it in known if it)
        lines.append((label("process"), kinds))
    if due.seller_id:
        lines.append((label("seller"), _id(due.seller_id)))
    if due.deadline_at is not None:
        left = time_left((due.deadline_at - now) // instants.SECOND, language)
        lines.append((label("deadline"), f"{local(due.deadline_at, here)} ({left})"))
    else:
        lines.append((label("since"), local(due.since, here)))
    if due.kind in _ADVICE:
        lines.append((label("next"), said(_ADVICE[due.kind], language)))
    elif due.next_action == "await_seller":
        # It alarms because waiting is no longer safe, or because the link for the seller is in
        # somebody's mail and may be there alone.
        lines.append((label("next"), said(_ASKED, language)))
    elif due.next_action:
        lines.append((label("next"), next_action(due.next_action, language)))
    if due.files:
        named = [_id(it) for it in due.files[:MAX_FILES]]
        if (more := len(due.files) - MAX_FILES) > 0:
            named.append(said((f"e mais {more}", f"and {more} more"), language))
        lines.append((label("files"), ", ".join(named)))
    if due.ledger_at is not None:
        standing = said(_STANDS_STILL, language).format(at=local(due.ledger_at, here))
        lines.append((label("stands_still"), standing))
    if (page := links.page(due)) is not None:
        lines.append((label("open"), Link(page)))
    if (for_seller := links.for_seller(due)) is not None:
        lines.append((label("for_seller"), Link(for_seller)))
    if (acknowledging := links.acknowledging(due.alert, name, now)) is not None:
        lines.append((label("acknowledge"), Link(acknowledging)))
    return lines


def local(at: int, zone: ZoneInfo) -> str:
    """An instant on a clock in a zone, with the zone's offset."""
    there = instants.of(at)
    # At the edges of the calendar a zone leads out of it: there it is said in UTC.
    with contextlib.suppress(OverflowError):
        there = there.astimezone(zone)
    return f"{there:%d/%m}/{there.year:04d} {there:%H:%M (%Z)}"


def _plain(label: str, value: str) -> str:
    return f"{label}: {value}" if label else value.upper()


def _marked(label: str, value: str) -> str:
    if not label:
        return f"<b>{escape(value)}</b>"
    if isinstance(value, Link):
        return f'<a href="{escape(value, quote=True)}">{escape(label)}</a>'
    return f"{escape(label)}: {escape(value)}"
