"""JSON -> dotted leaves: the paths by which the contract, evidence and findings name fields."""

from pipeline.leaves import MAX_PATH_CHARACTERS, leaves, leaves_under


def test_objects_are_flattened_to_dotted_leaves_in_their_order() -> None:
    owner = {"revenue": "1_to_2", "address": {"line1": "Rua A, 1", "city": "Recife"}}
    record = {"type": "business", "owner": owner, "revenue": "3_to_4"}

    assert list(leaves(record)) == [
        ("type", "business"),
        ("owner.revenue", "1_to_2"),
        ("owner.address.line1", "Rua A, 1"),
        ("owner.address.city", "Recife"),
        ("revenue", "3_to_4"),
    ]


def test_arrays_empty_objects_and_null_are_leaves_as_they_are() -> None:
    record = {"a": [1, {"b": 2}], "c": {}, "d": None, "e": {"f": []}}

    assert list(leaves(record)) == [("a", [1, {"b": 2}]), ("c", {}), ("d", None), ("e.f", [])]


def test_a_record_without_keys_has_no_leaf() -> None:
    assert list(leaves({})) == []


def test_dotted_keys_and_nested_objects_name_the_same_leaf() -> None:
    assert list(leaves({"address.city": "Recife"})) == [("address.city", "Recife")]
    assert dict(leaves({"address.city": "Recife", "address": {"city": "Olinda"}})) == {
        "address.city": "Olinda"
    }


def test_an_empty_key_does_not_hide_that_its_members_are_nested() -> None:
    assert list(leaves({"": {"revenue": 1}})) == [(".revenue", 1)]
    assert list(leaves({"": {}})) == [("", {})]


def test_a_value_at_a_path_is_its_own_leaf_unless_it_is_an_object_with_keys() -> None:
    assert list(leaves_under("x", 5)) == [("x", 5)]
    assert list(leaves_under("x", {})) == [("x", {})]
    assert list(leaves_under("x", {"y": 5})) == [("x.y", 5)]


def test_a_huge_key_cannot_be_repeated_into_the_path_of_every_member() -> None:
    """A megabyte of body, half of it one key and half small members, made gigabytes of paths."""
    key = "k" * (MAX_PATH_CHARACTERS + 1)
    members = {str(n): n for n in range(1000)}

    assert list(leaves({key: members})) == [(key, members)]
