"""What came from outside is shown as it is: no terminal, log or page obeys it."""

import pytest

from pipeline.texts import counted, printable, some_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("São Paulo, 東京 😀", "São Paulo, 東京 😀"),
        ("\x1b[2J\x1b]0;VERIFIED\x07", r"\x1b[2J\x1b]0;VERIFIED\x07"),
        ("a\r\nb\tc\x00\x7f\x9b", r"a\r\nb\tc\x00\x7f\x9b"),
        ("user\u202efdp.exe\u2066\u200f", r"user\u202efdp.exe\u2066\u200f"),
        ("a\u2028b\u2029c\ufeff", r"a\u2028b\u2029c\ufeff"),
        ("a\N{NO-BREAK SPACE}b", "a b"),
        ("\ud800", r"\ud800"),
        (b"\x1b", r"b'\x1b'"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: object, shown: str) -> None:
    assert printable(text) == shown
    assert printable(printable(text)) == shown


def test_one_is_not_said_as_if_it_were_many() -> None:
    """`prazo doctor` said that 1 deliveries were given up."""
    assert [counted(n, "entry") for n in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
    assert [counted(n, "day") for n in (1, 7)] == ["1 day", "7 days"]
    assert [counted(n, "artifact is", "artifacts are") for n in (1, 2)] == [
        "1 artifact is",
        "2 artifacts are",
    ]


def test_of_many_names_the_first_twenty_stand_and_the_number_of_the_others() -> None:
    twenty = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20"
    assert some_of([3]) == "3"
    assert some_of(range(1, 21)) == twenty
    assert some_of(range(1, 24)) == f"{twenty} and 3 more"
