"""What pages call a step of a collection, by who gave it."""

import pytest

from app_pages.language import occurrences

WARNING = ":material/warning:"


@pytest.mark.parametrize(
    ("step", "source", "title", "warns"),
    [
        ("confirmed", "seller", "Seller confirmed", False),
        # Our journey keeps the receipt so: nobody reads that the marketplace confirmed.
        ("confirmed", "marketplace", "Evidence added", False),
        ("confirmed", "database", "Evidence added", True),
        ("invited", "marketplace", "Seller invited", False),
        ("answered", "seller", "Seller answered", False),
        ("answered", "marketplace", "Seller answered", True),
    ],
)
def test_a_step_is_called_what_its_source_makes_it(step, source, title, warns):
    row = {"kind": "collection", "step": step, "source": source, "channel": "web_form"}
    said = occurrences.entry({**dict.fromkeys(("status", "error", "reason")), **row})
    assert said.title == title
    assert (said.icon == WARNING) is warns
