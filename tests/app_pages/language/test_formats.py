"""Values are written the reader's way, and text from outside cannot become markup."""

from datetime import UTC, date, datetime
from types import SimpleNamespace

import pytest

from app_pages.language import formats, i18n


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
    ("seconds", "english", "portuguese"),
    [
        (None, "–", "–"),
        (12 * 86_400 + 86_399, "12 days left", "faltam 12 dias"),
        (3 * 86_400, "3 days left", "faltam 3 dias"),
        (3 * 86_400 - 1, "2 days 23 h left", "faltam 2 dias e 23 h"),
        (86_400 + 4 * 3600, "1 day 4 h left", "falta 1 dia e 4 h"),
        (86_400, "1 day left", "falta 1 dia"),
        (86_399, "23 h 59 left", "faltam 23 h 59"),
        (2 * 3600 + 7 * 60, "2 h 07 left", "faltam 2 h 07"),
        (3600, "1 h 00 left", "falta 1 h 00"),
        (3599, "59 min left", "faltam 59 min"),
        (60, "1 min left", "falta 1 min"),
        (1, "less than 1 min left", "falta menos de 1 min"),
        (0, "less than 1 min late", "menos de 1 min de atraso"),
        (-241, "4 min late", "4 min de atraso"),
        (-86_399, "23 h 59 late", "23 h 59 de atraso"),
        (-86_400, "1 day late", "1 dia de atraso"),
        (-1200 * 86_400, "1,200 days late", "1.200 dias de atraso"),
    ],
)
def test_the_time_to_a_deadline_is_put_into_words(
    seconds: int | None, english: str, portuguese: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert formats.time_left(seconds) == english
    speak(monkeypatch, "pt")
    assert formats.time_left(seconds) == portuguese


@pytest.mark.parametrize(
    ("seconds", "colour"),
    [(None, "gray"), (1, "gray"), (0, "red"), (-1, "red")],
    ids=["finished", "a second before", "at the deadline", "after it"],
)
def test_a_badge_is_red_from_the_deadline_on(seconds: int | None, colour: str) -> None:
    assert formats.time_badge(seconds).startswith(f":{colour}-badge[")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (0.44, "0.4 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (84.0, "1 min 24 s"),
        (180.0, "3 min"),
        (599.4, "9 min 59 s"),
        (660.0, "11 min"),
        (3600.0, "60 min"),
        (7200.0, "2 h"),
        (172_799.0, "48 h"),
        (259200.0, "3 days"),
    ],
)
def test_durations_are_as_short_as_they_can_be(value: float, text: str) -> None:
    assert formats.seconds(value) == text


def test_instants_of_views_are_utc_and_shown_in_the_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    instant = datetime(2026, 3, 1, 1, 30, 5, tzinfo=UTC).replace(tzinfo=None)
    assert formats.minute(instant) == "28 Feb 2026, 22:30"
    assert formats.second(instant) == "28 Feb 2026, 22:30:05"
    speak(monkeypatch, "pt")
    assert formats.minute(instant) == "28/02/2026 22h30"
    assert formats.minute(None) == "–"


def test_september_has_the_name_that_lists_and_spreadsheets_give_it() -> None:
    """A row of the Watchlist said 19 Sep 2026, and its card 19 Sept 2026."""
    assert formats.day(date(2026, 9, 19)) == "19 Sep 2026"
    assert formats.short_day(date(2026, 9, 19)) == "19 Sep"
    assert formats.month(date(2026, 9, 1)) == "Sep 2026"
    at_noon = datetime(2026, 9, 19, 12, tzinfo=UTC)
    assert formats.minute(at_noon) == "19 Sep 2026, 09:00"
    assert formats.second_in(at_noon, "en", formats.zone()) == "19 Sep 2026, 09:00:00"


def test_shares_and_numbers_follow_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    assert formats.share(0.3333) == "33.3%"
    assert formats.share(None) == "–"
    speak(monkeypatch, "pt")
    assert formats.share(0.3333) == "33,3%"
    assert formats.number(12345) == "12.345"
    assert formats.value(True) == "sim"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("prc_1", "prc_1"),
        ("2f1c-9ab-3", "2f1c-9ab-3"),
        ("_a_ __b__ - c", "\\_a\\_ \\_\\_b\\_\\_ \\- c"),
        ("a__b", "a\\_\\_b"),
        ("---", "\\-\\-\\-"),
        ("[a](https://b)", "\\[a\\]\\(https\N{WORD JOINER}\\:\\/\\/b\\)"),
        ("www.a.example", "www\N{WORD JOINER}\\.a\\.example"),
        ("mailto:ana", "mailto\N{WORD JOINER}\\:ana"),
        ("ana@a.example", "ana\\@\N{WORD JOINER}a\\.example"),
        ("paid\u202e001$\u2066", "paid\\\\u202e001\\$\\\\u2066"),
        ("a\x1b[2J\u200b", "a\\\\x1b\\[2J\\\\u200b"),
        (":red[x]", "\\:red\\[x\\]"),
        ("$x$ <b> `c`\n# d", "\\$x\\$ \\<b\\> \\`c\\` \\# d"),
    ],
)
def test_text_from_outside_is_escaped(text: str, shown: str) -> None:
    assert formats.plain(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("prc_1", "`prc_1`"),
        ("a`b", "``a`b``"),
        ("`a``", "``` `a`` ```"),
        ("a\n\nb", "`a b`"),
        ("a\u202eb", "`a\\u202eb`"),
        (":red[x] $y$ **z**", "`:red[x] $y$ **z**`"),
        # In fixed width, too, Streamlit would write `:material_delete:`.
        ("x:material/delete:", "x\\:material\\/delete\\:"),
    ],
)
def test_an_id_in_fixed_width_cannot_end_its_span(text: str, shown: str) -> None:
    assert formats.code(text) == shown
