"""Values are written the reader's way, and text from outside cannot become markup."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from app_pages import formats, i18n


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    speak(monkeypatch, "en")


def speak(monkeypatch: pytest.MonkeyPatch, lang: str) -> None:
    context = SimpleNamespace(locale=None)
    state = {"lang": lang, "tz": "America/Sao_Paulo"}
    fake = SimpleNamespace(session_state=state, query_params={}, context=context)
    monkeypatch.setattr(i18n, "st", fake)
    monkeypatch.setattr(formats, "st", fake)


@pytest.mark.parametrize(
    ("days", "english", "portuguese"),
    [
        (None, "–", "–"),
        (12, "12 days left", "faltam 12 dias"),
        (1, "1 day left", "falta 1 dia"),
        (0, "due within 24 hours", "vence em menos de 24 horas"),
        (-1, "1 day late", "1 dia de atraso"),
        (-1200, "1,200 days late", "1.200 dias de atraso"),
    ],
)
def test_days_to_a_deadline_are_told_in_words(
    days: int | None, english: str, portuguese: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert formats.days_left(days) == english
    speak(monkeypatch, "pt")
    assert formats.days_left(days) == portuguese


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (0.44, "0.4 s"),
        (59.6, "60 s"),
        (90.0, "2 min"),
        (3600.0, "60 min"),
        (7200.0, "2 h"),
        (259200.0, "3 d"),
    ],
)
def test_durations_are_as_short_as_they_can_be_told(value: float, text: str) -> None:
    assert formats.seconds(value) == text


def test_instants_of_views_are_utc_and_shown_in_the_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    instant = datetime(2026, 3, 1, 1, 30, 5, tzinfo=UTC).replace(tzinfo=None)
    assert formats.minute(instant) == "28 Feb 2026, 22:30"
    assert formats.second(instant) == "28 Feb 2026, 22:30:05"
    speak(monkeypatch, "pt")
    assert formats.minute(instant) == "28/02/2026 22:30"
    assert formats.minute(None) == "–"


def test_shares_and_numbers_follow_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    assert formats.share(0.3333) == "33.3 %"
    assert formats.share(None) == "–"
    speak(monkeypatch, "pt")
    assert formats.share(0.3333) == "33,3 %"
    assert formats.number(12345) == "12.345"
    assert formats.value(True) == "sim"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("prc_1", "prc\\_1"),
        ("[a](https://b)", "\\[a\\]\\(https\N{WORD JOINER}\\:\\/\\/b\\)"),
        (":red[x]", "\\:red\\[x\\]"),
        ("$x$ <b> `c`\n# d", "\\$x\\$ \\<b\\> \\`c\\` \\# d"),
    ],
)
def test_text_from_outside_is_escaped(text: str, shown: str) -> None:
    assert formats.plain(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("prc_1", "`prc_1`"), ("a`b", "``a`b``"), ("`a``", "``` `a`` ```"), ("a\n\nb", "`a b`")],
)
def test_an_id_in_fixed_width_cannot_end_its_span(text: str, shown: str) -> None:
    assert formats.code(text) == shown
