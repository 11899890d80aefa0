"""A list whose rows went between the question how many there are and the question which.

It was a failed page, when ten people clicked while deliveries came: `make soak` found it.
"""

from typing import Any

import pytest

from app_pages.parts import lists


@pytest.mark.parametrize("left", [0, 1])
def test_rows_that_went_since_they_were_counted_leave_the_list_shorter(
    monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    rows = [{"process_id": "prc_1"}][:left]

    def read(view: str, *, offset: int, limit: int, **asked: Any) -> list[dict[str, str]]:
        return rows[offset : offset + limit]

    drawn: list[Any] = []
    monkeypatch.setattr(lists.views, "read", read)
    monkeypatch.setattr(lists.views, "count", lambda *_, **__: len(rows))
    monkeypatch.setattr(lists.address, "page_number", lambda pages: pages)
    for drawn_beside in ("offer", "say_on_paper"):
        monkeypatch.setattr(lists.downloads, drawn_beside, lambda *_, **__: None)
    page = lists.paged(
        "open_processes",
        lambda shown, key: drawn.append((list(shown), key)),
        counted=str,
        total=10 * lists.ROWS,
    )
    assert page.total == left
    assert drawn == ([(rows, "open_processes 1")] if left else [])
