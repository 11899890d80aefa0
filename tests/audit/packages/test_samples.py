"""A sample of the processes of a period: who is drawn follows from a signed checkpoint and a
number, and no exporter who has the key and altered code can show another one, or hide an earlier
one."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants, verify
from pipeline.audit import drawing, request
from pipeline.audit.export import Exported
from pipeline.audit.package import preparing
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Drawn, Sample, Scope, from_json
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError, WrongUsage
from pipeline.log.checkpoints import Checkpoint
from tests.audit import forgery
from tests.audit.conftest import copied, export, no_rows, quick_signatures


def of_march(size: int, number: str = "", checkpoint: int | None = None) -> Scope:
    """Of the story's three processes, p1, p2 and p3, which all have an entry in March."""
    since, until = (instants.parse(f"2026-0{it}-01T00:00:00Z") for it in (3, 4))
    return Scope(since=since, until=until, sample=Sample(size, number, checkpoint))


def in_order(service: LedgerService, number: str) -> list[str]:
    """As docs/evidence.md#samples says that they are drawn from the first 16 entries."""
    [note] = [it.note for it in service.inbox.checkpoints() if it.size == 16]
    root = Checkpoint.read(note).root.hex()

    def digest(process: str) -> str:
        text = f"prazo-sample v1\n{root}\n{number}\n{process}"
        return hashlib.sha256(text.encode()).hexdigest()

    return sorted(["p1", "p2", "p3"], key=digest)


def processes(exported: Exported) -> set[str]:
    rows = forgery.parse_csv(forgery.read(exported.path)["data/entries.csv"])
    return {it["process_id"] for it in rows} - {""}


def verdict(exported: Exported) -> verify.Verdict:
    return verify.verify(exported.path, exported.key)


@pytest.fixture
def fresh(followed: Path, tmp_path: Path) -> Iterator[LedgerService]:
    """The story, of 16 entries, and a checkpoint over all of them."""
    with copied(followed, tmp_path) as opened:
        signed = opened.checkpoint()
        assert signed is not None
        assert signed.size == 16
        yield opened


def test_who_is_drawn_follows_from_the_checkpoint_and_the_number(
    fresh: LedgerService, tmp_path: Path
) -> None:
    exported = export(fresh, of_march(2, "4711"), tmp_path / "p.zip", "masked")
    right = in_order(fresh, "4711")[:2]
    assert processes(exported) == {*right}
    found = verify_package(exported.path, key=exported.key)
    assert (found.faults, found.undecided) == ([], [])
    files = forgery.read(exported.path)
    assert "O número informado foi 4711." in files["START-HERE.html"].decode()
    report = files["data/report.pt.html"].decode()
    assert "amostra (2 de 3)" in report
    assert "O número informado foi 4711." in report
    assert "2026-03-01 – 2026-03-31" in report  # the last day, not the first after it
    listed = report.partition("Quais processos estão aqui")[2].partition("</table>")[0]
    targets = re.findall(r'<a href="#([^"]+)"', listed)
    assert len(targets) == 2  # one to each story
    assert all(report.count(f'id="{it}"') == 1 for it in targets)
    assert (
        "2 processes are the sample of 2 that follows from the 3 of the period, the checkpoint of"
        ' 16 entries and "4711"'
    ) in found.checked
    assert any('whether "4711" is an auditor\'s own' in it for it in found.unchecked)
    assert exported.name.startswith("prazo-audit_from-2026-03-01_to-2026-03-31_sample-2_")
    sql = "select content ->> '$.drawn[*]' from fact_actions where kind = 'export'"
    assert fresh.ledger.cursor().execute(sql).fetchall() == [(right,)]


@no_rows
@quick_signatures
def test_without_a_number_somebody_may_have_waited_for_a_checkpoint(
    fresh: LedgerService, tmp_path: Path
) -> None:
    found = verdict(export(fresh, of_march(500), tmp_path / "p.zip"))
    assert found.faults == []
    assert any(it.startswith("3 processes are the sample of 500") for it in found.checked)
    assert any("whether somebody waited for a checkpoint" in it for it in found.unchecked)


@no_rows
@quick_signatures
def test_every_later_package_names_the_samples_that_were_drawn_before(
    fresh: LedgerService, tmp_path: Path
) -> None:
    first = export(fresh, of_march(1, "1"), tmp_path / "1.zip")
    assert any(it.endswith("that are listed: none") for it in verdict(first).checked)
    later = verdict(export(fresh, of_march(1, "2", 16), tmp_path / "2.zip"))
    assert later.faults == []
    assert (
        f'1 sample was drawn before it, as far as the exports say that are listed: "{first.seq}"'
    ) in later.checked


@no_rows
@quick_signatures
def test_an_earlier_sample_is_not_hidden(
    fresh: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = export(fresh, of_march(1, "1"), tmp_path / "1.zip")
    monkeypatch.setattr(request, "_EARLIER_DRAWS", "false")
    [fault] = verdict(export(fresh, of_march(1, "2", 16), tmp_path / "2.zip")).faults
    assert fault.startswith(f"entry {first.seq}: it belongs to a sample of 1, from 2026-03-01")


@no_rows
@quick_signatures
def test_no_process_takes_the_place_of_one_that_was_drawn(
    fresh: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An insider swaps the one that would not look good."""
    right = in_order(fresh, "7")
    monkeypatch.setattr(drawing.verify, "drawn", lambda *_: [right[0], right[2]])
    made = export(fresh, of_march(2, "7"), tmp_path / "p.zip")
    monkeypatch.undo()
    assert verdict(made).faults == [
        f'the process "{right[2]}" was not drawn, and is here',
        f'the process "{right[1]}" was drawn, and is not here',
    ]


@no_rows
@quick_signatures
@pytest.mark.parametrize(("kept", "stated"), [(1, 1), (1, 3)])
def test_none_is_left_out_of_those_to_draw_from(
    fresh: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int, stated: int
) -> None:
    right = in_order(fresh, "7")
    honest = drawing.drawn

    def drawn(service: LedgerService, scope: Scope) -> Scope:
        return replace(honest(service, scope), drawn=Drawn(tuple(right[kept:]), stated))

    monkeypatch.setattr(drawing, "drawn", drawn)
    faults = verdict(export(fresh, of_march(2, "7"), tmp_path / "p.zip")).faults
    assert [it for it in faults if "the period has" in it] == (
        [] if stated == 3 else ["the sample is said to be of 1 processes, and the period has 3"]
    )
    assert f'the process "{right[0]}" was drawn, and is not here' in faults


@no_rows
@quick_signatures
@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ({"checkpoint": "15"}, "the sample rests on a checkpoint of 15 entries, not proved"),
        ({"checkpoint": "99"}, "the sample rests on a checkpoint of 99 entries, not proved"),
        ({"checkpoint": "x"}, "parameters.json has no right numbers of its sample"),
        ({"number": "1\n2"}, "parameters.json has no right number to draw with"),
    ],
)
def test_a_sample_rests_on_a_checkpoint_that_the_log_continues(
    fresh: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stated: dict[str, str],
    fault: str,
) -> None:
    honest = Scope.named

    def named(self: Scope, names: Any) -> dict[str, str]:
        return {**honest(self, names), **stated}

    monkeypatch.setattr(Scope, "named", named)
    assert fault in verdict(export(fresh, of_march(2, "7"), tmp_path / "p.zip")).faults[-1]


@no_rows
@quick_signatures
def test_the_leaves_of_the_whole_period_are_there(
    fresh: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a period, a range that ends before is named as not checked. Here it chooses who is drawn
    from: p2 and p3 begin with entries 10 and 15."""
    monkeypatch.setattr(preparing, "_range", lambda *_: [1, 9])
    faults = verdict(export(fresh, of_march(3, "7"), tmp_path / "p.zip")).faults
    assert "the range ends with entry 9, before the period and its checkpoint do" in faults


def test_what_came_after_the_checkpoint_is_not_drawn_from(
    fresh: LedgerService, tmp_path: Path
) -> None:
    """Nobody adds processes until the sample pleases."""
    from tests.audit import story

    draft = story.review("e9", "p9", "s1")
    fresh.inbox.append([draft._replace(occurred_at=instants.parse("2026-03-20T00:00:00Z"))])
    fresh.catch_up()
    exported = export(fresh, of_march(500, "7", 16), tmp_path / "p.zip")
    assert processes(exported) == {"p1", "p2", "p3"}
    assert verdict(exported).faults == []


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"sample": 0}, "A sample has 1 to 500"),
        ({"sample": 501}, "A sample has 1 to 500"),
        ({"sample": 3, "number": "529.982.247-25"}, "9 digits at most"),
        ({"sample": 3, "seller_id": "s1"}, "A sample is drawn from a period"),
        ({"number": "7"}, "those of a sample"),
        ({"sample": "3"}, "not whole numbers"),
    ],
)
def test_a_sample_of_anything_else_is_refused(asked: dict[str, Any], error: str) -> None:
    period = {"from": "2026-03-01", "to": "2026-04-01", "reason": "audit"}
    with pytest.raises((WrongUsage, CallerError), match=error):
        from_json({**period, **asked}, actor="Ana", recorded_by="test")


def test_nothing_is_recorded_where_nothing_can_be_drawn(
    fresh: LedgerService, tmp_path: Path
) -> None:
    with pytest.raises(CallerError, match="no checkpoint of 15 entries"):
        export(fresh, of_march(2, "7", 15), tmp_path / "p.zip")
    empty = replace(of_march(2), since=0, until=1)
    with pytest.raises(CallerError, match="is of a process and of the period"):
        export(fresh, empty, tmp_path / "p.zip")
    assert fresh.inbox.last()[0] == 16
