"""What is asked of a second person shows no value that says something about a person, and a name
that looks like another one is that one."""

import pytest

from pipeline.clearance.acts import HIDDEN, override, rows
from pipeline.ledger.views.catalogue import public
from pipeline.names import folded


def test_a_request_shows_no_value_of_a_column_that_a_view_calls_personal() -> None:
    personal = [
        (view.name, name)
        for view in public().values()
        for name, about in view.columns.items()
        if "personal" in about
    ]
    assert ("seller_names", "seller_name") in personal
    assert len(personal) > 10
    for view, column in personal:
        asked = rows(view, as_of=None, where={column: "Zé"}, contains={column: "Zé", "status": "a"})
        assert asked is not None
        assert asked.what["where"] == {column: "Zé"}
        assert asked.shown["where"] == {column: HIDDEN}
        assert asked.shown["contains"] == {column: HIDDEN, "status": "a"}


def test_no_name_of_a_request_tells_what_it_hides_to_whoever_tries_all() -> None:
    """It was a digest without a key, and lists show it beside all the rest of what was asked."""
    asked = rows("seller_state", as_of=None, where={"taxpayer_id": "52998224725"})
    assert asked is not None
    name = asked.request_id("Ana", 1, b"of this log")
    assert name == asked.request_id("ANA", 1, b"of this log")
    assert name != asked.request_id("Ana", 1, b"of another log")
    assert len(name) == len("clr_") + 24


def test_an_override_of_other_gates_or_another_payload_is_asked_for_again() -> None:
    every = (
        override(process, seller, payload, gates).request_id("Ana", 1, b"key")
        for process, seller, payload, gates in (
            ("p1", "s1", b"{}", ("evidence",)),
            ("p1", "s1", b"{}", ("evidence", "type_mismatch")),
            ("p1", "s1", b"{} ", ("evidence",)),
            ("p2", "s1", b"{}", ("evidence",)),
            ("p1", "s2", b"{}", ("evidence",)),
        )
    )
    assert len({*every}) == 5


# By hand, from how they look in print: each of the first looks like the second in some case.
ALIKE = {
    "greek": "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϹC ͿJ ϺM ϜF αa οo νv ιi κk ρp τt χx ϲc ϳj "
    "γy",
    "cyrillic": "АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS ҮY ѴV ԌG ԀD ԚQ ԜW ҺH ЬB ӀI ӏl "
    "аa еe кk мm оo рp сc тt уy хx іi јj ѕs үy ѵv ԍg ԁd ԛq ԝw һh",
}


@pytest.mark.parametrize("pair", [it for some in ALIKE.values() for it in some.split()])
def test_no_letter_that_looks_like_a_latin_one_makes_another_name(pair: str) -> None:
    """The name may be told to be the same, or that nobody can tell: it is never another one."""
    alike, latin = pair
    for before, after in (("", "arla"), ("Carl", ""), ("C", "rla"), ("", "")):
        name = folded(before + latin + after)
        assert name != ""
        for other in (alike, alike.upper(), alike.lower()):
            assert folded(before + other + after) in (name, "")


@pytest.mark.parametrize(
    ("name", "is_as"),
    [
        *[(it, "carla") for it in ("Ϲarla", "ϲarla", "Сarla", "СARLA", "Ｃarla", "Cаrlа")],
        *[("Үara", "yara"), ("Ѵera", "vera"), ("Ԍil", "gil"), ("Ϳose", "jose"), ("Јοѕе", "jose")],
        *[("Jοsέ", "josé"), ("JОSÉ", "josé"), ("Zoё", "zoë"), ("Μаria", "")],
        *[("Иван", "иван"), ("ИВАН", "иван"), ("Νίκος", "νίκοσ"), ("ΝΊΚΟΣ", "νίκοσ")],
        *[("José da Silva", "josé da silva"), ("OʼBrien", "oʼbrien"), ("山田さん", "山田さん")],
        *[("Ana-2", "ana-2"), ("ana@x.example", "ana@x.example"), ("Straße", "strasse")],
    ],
)
def test_a_name_is_compared_by_what_is_seen(name: str, is_as: str) -> None:
    assert folded(name) == is_as


def test_a_name_longer_than_any_is_nobodys() -> None:
    """To compare one of a megabyte of accents took minutes, in which nobody else was answered."""
    assert folded("\u0301\u0323" * 250_000) == ""
    assert folded("a" * 512) == "a" * 512


def test_names_that_look_different_are_different() -> None:
    names = ["Ana", "Ava", "Aha", "Ama", "Иван", "Ιван", "Олег", "Νίκος", "Carla", "Caria", "Karla"]
    assert len({folded(it) for it in names}) == len(names)
