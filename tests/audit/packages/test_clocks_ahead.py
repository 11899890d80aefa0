"""A log whose clock was ahead until somebody put it right, and what a timestamp authority says of
it: no package of it is called a forgery, and none is verified that rests on a wrong instant."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.inbox import store
from pipeline.verify import Verdict, verify
from tests.audit import story
from tests.audit.conftest import copied, export, no_rows, quick_signatures
from tests.audit.test_timestamps import Authority

pytestmark = [no_rows, quick_signatures]
AHEAD = 30 * instants.DAY


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    with closing(Authority(tmp_path_factory.mktemp("authority"))) as opened:
        yield opened


@pytest.fixture
def service(followed: Path, authority: Authority, tmp_path: Path) -> Iterator[LedgerService]:
    """The story, and one entry of p9 by a clock that was ahead and is right again."""
    with copied(followed, tmp_path, timestamp_url=authority.url) as opened:
        opened.inbox.clock = lambda: instants.now() + AHEAD
        opened.inbox.append([story.review("e9", "p9", "s1")])
        opened.inbox.clock = instants.now
        yield opened


def verdict_on(service: LedgerService, authority: Authority, process: str, out: Path) -> Verdict:
    made = export(service, Scope(process_id=process), out)
    return verify(made.path, made.key, authority=str(authority.certificate))


def test_what_was_recorded_before_is_verified_and_what_was_recorded_ahead_is_open(
    service: LedgerService, authority: Authority, tmp_path: Path
) -> None:
    """Until that date came, every package that an authority had stamped was NOT VERIFIED, also of
    processes whose entries are all of before. Without a timestamp each was as it is now."""
    before = verdict_on(service, authority, "p1", tmp_path / "p1.zip")
    assert (before.faults, before.exit_code) == ([], 0)
    [said] = [it for it in before.unchecked if "so the log's clock was ahead" in it]
    assert said.startswith("when entries were recorded that are not listed here: the newest says")
    ahead = verdict_on(service, authority, "p9", tmp_path / "p9.zip")
    assert (ahead.faults, ahead.exit_code) == ([], 3)
    assert any(it.startswith("when what is listed here was recorded") for it in ahead.undecided)


@pytest.mark.parametrize("hours", [-2, 1])
def test_an_export_that_does_not_say_when_it_was_made_explains_nothing(
    service: LedgerService,
    authority: Authority,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hours: int,
) -> None:
    """The authority's word is compared with its own: one that was made at another time may be of
    an authority, or of a log, whose clock nobody can tell."""
    honest_entry = store.record_entry

    def record_entry(draft: Any, place: Any, **more: Any) -> Any:
        at = instants.now() + hours * instants.HOUR
        dated = draft._replace(occurred_at=at) if draft.kind == "export" else draft
        return honest_entry(dated, place, **more)

    monkeypatch.setattr(store, "record_entry", record_entry)
    found = verdict_on(service, authority, "p1", tmp_path / "p1.zip")
    assert found.exit_code == 1
    assert any("after the checkpoint's timestamp" in it for it in found.faults)
