"""What is asked of a second person shows no value that says something about a person."""

from pipeline.clearance.acts import HIDDEN, rows
from pipeline.ledger.catalogue import public


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
