"""Messages hold what came from outside as text: in one line, cut, and never as a link."""

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from pipeline import instants
from pipeline.alert.entries import Due, Item
from pipeline.alert.messages import alert_texts
from pipeline.alert.messages.alert_texts import Text
from pipeline.alert.messages.links import Links
from pipeline.alert.summaries.digest import Part, Process
from pipeline.alert_rules.recipients import Recipient
from pipeline.alert_rules.references import KINDS
from pipeline.audit.package.report_texts import WORDS
from pipeline.conditions import BESIDE_THE_LOG
from pipeline.language.catalogue import Language

ZONE = "America/Sao_Paulo"


def message(
    process_id: str,
    seller_id: str,
    next_action: str = "submit",
    kind: str = "before_1d",
    deadline_at: int = 1,
) -> Text:
    due = Due(
        *("a1", kind, "risk", "officer", 0, None, process_id, seller_id, "ACI", "OVERDUE"),
        deadline_at=deadline_at,
        next_action=next_action,
        seq=1,
    )
    ana = Recipient(email="ana@market.example")
    links = Links("https://prazo.example", b"key")
    return alert_texts.message((Item(due, 0, 1),), "ana", ana, links, ZONE, 0)


def test_an_id_from_outside_is_neither_a_header_nor_a_line_nor_markup() -> None:
    text = message("p\r\nBcc: eva@evil.example\r\n\r\n<b>\u202e", "s1")
    sent = EmailMessage()
    sent["Subject"] = text.subject
    sent.set_content(text.plain)
    read = message_from_bytes(sent.as_bytes(policy=policy.SMTP), policy=policy.default)
    assert read["Bcc"] is None
    assert r"p\r\nBcc: eva@evil.example\r\n\r\n<b>\u202e" in read["Subject"]
    assert text.plain.splitlines()[2] == "Vendedor: s1"
    assert "<b>\\u202e" not in text.html


def test_no_id_becomes_a_link_and_our_own_links_are_some() -> None:
    text = message("https://evil.example/pay", "www.evil.example")
    assert text.html.count("<a href=") == text.html.count('<a href="https://prazo.example/') == 2
    assert (
        "Processo: https://evil[.]example/pay · ACI · OVERDUE · no prazo, falta menos de 1 min"
        in text.plain
    )
    assert "Vendedor: www[.]evil[.]example" in text.plain
    assert "evil[.]example/pay" in text.subject


def test_a_long_id_is_cut() -> None:
    text = message("p" * 5000, "s1")
    assert f"Processo: {'p' * 100}… · ACI" in text.plain
    assert len(text.subject) < 200


def test_one_of_a_unit_is_said_in_the_singular() -> None:
    assert alert_texts.title("before_1d", "pt") == "Falta menos de 1 dia"
    assert alert_texts.title("before_4h", "pt") == "Faltam menos de 4 horas"
    assert alert_texts.title("before_1d", "en") == "Less than 1 day left"


def test_no_alert_sends_an_officer_back_to_bed() -> None:
    """At a deadline a message said to wait for a seller whose link lay in that officer's mail."""
    lines = message("p1", "s1", "await_seller").plain.splitlines()
    assert "Prazo: 31/12/1969 21h00 (horário de Brasília)" in lines
    assert "Próxima ação: Confirmar que o vendedor foi consultado, e aguardar a resposta" in lines


def test_a_deadline_that_is_to_come_has_not_passed() -> None:
    """The platform may report EXPIRED before it: "Deadline passed", said the mail, in 29 days."""
    early = message("p1", "s1", kind="expired", deadline_at=29 * instants.DAY)
    assert early.subject == "[Prazo] EXPIRED segundo a plataforma, antes do prazo – p1"
    assert early.plain.startswith("EXPIRED SEGUNDO A PLATAFORMA, ANTES DO PRAZO (RISCO)\n")
    late = message("p1", "s1", kind="expired", deadline_at=0)
    assert late.subject == "[Prazo] EXPIRED · prazo vencido – p1"


def test_what_comes_from_a_ledger_that_stands_still_says_since_when() -> None:
    due = Due("a1", "expired", "breach", "officer", 0, process_id="p1", ledger_at=0)
    said = {
        "pt": "O livro de registros está parado: o registro mais recente é de 31/12/1969 21h00"
        " (horário de Brasília); o que houve depois pode faltar aqui",
        "en": "The ledger stands still: its newest entry is of 31 Dec 1969, 21:00 (Brasilia"
        " Time); what came after that may be missing here",
    }
    for language, line in said.items():
        ana = Recipient.model_validate({"email": "ana@market.example", "language": language})
        text = alert_texts.message((Item(due, 0, 1),), "ana", ana, Links(None, b""), ZONE, 0)
        assert line in text.plain.splitlines()


def test_files_that_cannot_be_used_are_named_ten_at_most() -> None:
    files = tuple(f"recipients.r{number}.apprise_file" for number in range(12))
    due = Due("a1", "channel_files", "risk", "admin", 0, files=files)
    named = ", ".join(files[:10])
    said = {
        "pt": f"No arquivo de PRAZO_ALERTS_FILE: {named}, e mais 2",
        "en": f"In the file of PRAZO_ALERTS_FILE: {named}, and 2 more",
    }
    for language, line in said.items():
        eva = Recipient.model_validate({"email": "eva@market.example", "language": language})
        text = alert_texts.message((Item(due, 0, 1),), "eva", eva, Links(None, b""), ZONE, 0)
        assert line in text.plain.splitlines()
        assert "`prazo doctor`" in text.plain


@pytest.mark.parametrize("language", ["pt", "en"])
def test_every_kind_of_alert_is_named_in_words(language: Language) -> None:
    """A new condition whose words were forgotten was sent as `Breach: its_code`, though a risk."""
    unnamed = [kind for kind in KINDS if alert_texts.title(kind, language) == kind]
    assert unnamed == [], "name it in pipeline/alert/messages/alert_texts.py"
    assert alert_texts.title("of_another_release", language) == "of_another_release"
    late = {"pt": "Concluído com atraso", "en": "Finished late"}[language]
    said = WORDS[language].of("rule", "finished_late")
    assert alert_texts.title("finished_late", language) == said == late


@pytest.mark.parametrize(("language", "label"), [("pt", "Próxima ação"), ("en", "Next action")])
def test_where_no_process_is_concerned_it_says_what_to_do_first(
    language: Language, label: str
) -> None:
    """Before: of a receiver or a ledger that was down, a message said that, and since when."""
    eva = Recipient.model_validate({"email": "eva@market.example", "language": language})
    kinds = {*BESIDE_THE_LOG, "unauthorized", "tls_refused", "quarantined", "silence"}
    for kind in sorted(kinds):
        due = Due("a1", kind, "risk", "admin", 0)
        text = alert_texts.message((Item(due, 0, 1),), "eva", eva, Links(None, b""), ZONE, 0)
        assert f"{label}: " in text.plain, kind


def test_a_list_names_the_sellers() -> None:
    """Before: their processes alone, so that an officer had to look up each."""
    ana = Recipient.model_validate({"email": "ana@market.example", "language": "en"})
    named = Process("p1", "OVERDUE", 0, 0, "submit", None, "ACI", "s1")
    unnamed = named._replace(process_id="p2", seller_id=None)
    lists = {"a1": [Part("late", 2, (named, unnamed))]}
    due = Due("a1", "digest", "notice", "officer", 0, "ana")
    text = alert_texts.message((Item(due, 0, 1),), "ana", ana, Links(None, b""), ZONE, 0, lists)
    assert text.plain.splitlines()[2:] == [
        "p1: 31 Dec 1969, 21:00 (Brasilia Time) · Submit the answers · Seller s1",
        "p2: 31 Dec 1969, 21:00 (Brasilia Time) · Submit the answers",
    ]


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ("act_now", "Call the platform"),
        ("waiting_for_platform", "Wait for the platform"),
        (None, "Wait for the platform / Call the platform"),
    ],
)
def test_a_wait_without_time_left_is_named_by_what_to_do_instead(
    queue: str | None, said: str
) -> None:
    assert alert_texts.next_action("await_platform", "en", queue) == said
