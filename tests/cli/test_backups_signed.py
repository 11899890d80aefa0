"""What `prazo backup` has signed before it copies."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.cli import backups
from pipeline.serve import ledger_access
from tests.support.stores import settings_in


class Behind:
    """A ledger that has so many entries still to follow after each look."""

    def __init__(self, *left: int) -> None:
        self.left = [*left]
        self.now = -1
        self.signed_at: int | None = None

    def catch_up(self, _: float) -> int:
        self.now = self.left.pop(0)
        return self.now

    def checkpoint(self) -> None:
        self.signed_at = self.now


@pytest.mark.parametrize(
    ("left", "signed_at"), [((0,), 0), ((300, 200, 100, 0), 0), ((300, 200, 200, 0), 200)]
)
def test_a_backup_waits_for_the_ledger_to_sign_all_while_it_gets_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: tuple[int, ...], signed_at: int
) -> None:
    """A first backup of 21,000 entries waited ten seconds and had the newest 4,616 without a
    signature: `prazo restore` left them out."""
    ledger = Behind(*left)

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Behind]:
        yield ledger

    monkeypatch.setattr(ledger_access, "open_ledger", opened)
    backups._sign(settings_in(tmp_path))
    assert ledger.signed_at == signed_at
