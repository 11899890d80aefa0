"""Each status of a seller has a word, a colour, and what it means."""

from app_pages.language.sellers import SELLER_STATE_COLOURS, STANDINGS
from pipeline.contract.event_types import EVENT_TYPES
from pipeline.language.codes import SELLER_STATES


def test_a_status_that_an_event_sets_is_named_coloured_and_explained():
    """A new one was shown as a bare code, with the meaning of an unknown one."""
    statuses = {it.status for it in EVENT_TYPES if it.status} | {"pending_analysis", "unknown"}
    assert statuses == {*SELLER_STATES} == {*SELLER_STATE_COLOURS} == {*STANDINGS}
