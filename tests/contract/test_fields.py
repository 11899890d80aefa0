"""JSON -> dotted fields: the paths by which the contract, evidence and findings name fields."""

from collections.abc import Mapping

from pipeline.contract.fields import (
    BODY,
    MAX_PATH_CHARACTERS,
    REQUIRED,
    Format,
    Shown,
    flatten,
    flatten_under,
)
from pipeline.journey import form, page_texts
from pipeline.journey.form import Field, Question
from pipeline.submit.demand import Wanted


def test_objects_are_flattened_to_dotted_fields_in_their_order() -> None:
    owner = {"revenue": "1_to_2", "address": {"line1": "Rua A, 1", "city": "Recife"}}
    record = {"type": "business", "owner": owner, "revenue": "3_to_4"}

    assert list(flatten(record)) == [
        ("type", "business"),
        ("owner.revenue", "1_to_2"),
        ("owner.address.line1", "Rua A, 1"),
        ("owner.address.city", "Recife"),
        ("revenue", "3_to_4"),
    ]


def test_arrays_empty_objects_and_null_are_fields_as_they_are() -> None:
    record = {"a": [1, {"b": 2}], "c": {}, "d": None, "e": {"f": []}}

    assert list(flatten(record)) == [("a", [1, {"b": 2}]), ("c", {}), ("d", None), ("e.f", [])]


def test_a_record_without_keys_has_no_field() -> None:
    assert list(flatten({})) == []


def test_dotted_keys_and_nested_objects_name_the_same_field() -> None:
    assert list(flatten({"address.city": "Recife"})) == [("address.city", "Recife")]
    assert dict(flatten({"address.city": "Recife", "address": {"city": "Olinda"}})) == {
        "address.city": "Olinda"
    }


def test_an_empty_key_does_not_hide_that_its_members_are_nested() -> None:
    assert list(flatten({"": {"revenue": 1}})) == [(".revenue", 1)]
    assert list(flatten({"": {}})) == [("", {})]


def test_a_value_at_a_path_is_its_own_field_unless_it_is_an_object_with_keys() -> None:
    assert list(flatten_under("x", 5)) == [("x", 5)]
    assert list(flatten_under("x", {})) == [("x", {})]
    assert list(flatten_under("x", {"y": 5})) == [("x.y", 5)]


def test_a_huge_key_cannot_be_repeated_into_the_path_of_every_member() -> None:
    """A megabyte of body, half of it one key and half small members, made gigabytes of paths."""
    key = "k" * (MAX_PATH_CHARACTERS + 1)
    members = {str(n): n for n in range(1000)}

    assert list(flatten({key: members})) == [(key, members)]


def test_each_object_of_the_body_requires_all_its_fields_but_line2() -> None:
    address = ["line1", "line3", "city", "state", "postal_code", "country_code"]
    owner_address = [f"owner.address.{it}" for it in address]
    assert {
        "address": [f"address.{it}" for it in address],
        "owner": ["owner.revenue", *owner_address],
        "owner.address": owner_address,
    } == REQUIRED


def test_each_field_of_the_body_has_a_screen_and_words_on_the_sellers_page() -> None:
    """Without them a seller was asked for "one more thing", by the platform's name for it."""
    paths = [path for path, shown in every_path(BODY) if isinstance(shown, Format)]
    screens = form.questions(Wanted(tuple(paths), ()), asks_type=False)
    assert sorted(field.path for screen in screens for field in screen.fields) == sorted(paths)
    unplaced = [it.asked for it in screens if it.slug.startswith("other-")]
    assert unplaced == [], "give each a screen in pipeline/journey/form.py"
    not_shown = Question("other-1", (Field("x", "other", True),))
    for language in page_texts.LANGUAGES:
        for screen in screens:
            assert page_texts.heading(screen, language) != page_texts.heading(
                not_shown, language
            ), f"give {screen} a question in pipeline/journey/page_texts.py"
        fields = [field for screen in screens for field in screen.fields]
        unnamed = [it.path for it in fields if page_texts.label(it, language) == it.path]
        assert unnamed == [], "give each a label in pipeline/language/fields.py"


def every_path(shown: Mapping[str, Shown], prefix: str = "") -> list[tuple[str, Shown]]:
    """Objects and fields, each with its dotted path."""
    found: list[tuple[str, Shown]] = []
    for key, inner in shown.items():
        found.append((f"{prefix}{key}", inner))
        if isinstance(inner, Mapping):
            found += every_path(inner, f"{prefix}{key}.")
    return found
