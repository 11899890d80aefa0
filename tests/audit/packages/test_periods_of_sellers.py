"""A package of one seller and a period: what belongs to it, and what shows that this is all.

In the story, entries 1, 2 and 4 to 9 are of p1 and name s1, entry 3 names s1 alone, 15 is of p3 and
names s1, 10 to 14 are of p2 and of another seller, and 16 is of nobody.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants, verify
from pipeline.audit import export as evidence
from pipeline.audit.export import Exported
from pipeline.audit.package.preparing import Prepared
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Profile, Scope, from_json
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError, WrongUsage
from tests import depth
from tests.audit import forgery
from tests.audit.conftest import export, no_rows, quick_signatures
from tests.audit.packages.test_rogue_exporters import made


def of(first: str, beyond: str, seller: str = "s1") -> Scope:
    """A seller, from the start of a day in March to that of another."""
    since, until = (instants.parse(f"2026-03-{it}T00:00:00Z") for it in (first, beyond))
    return Scope(seller_id=seller, since=since, until=until)


SIXTH, NINTH = of("06", "07"), of("09", "10")


def listed(exported: Exported) -> list[int]:
    rows = forgery.parse_csv(forgery.read(exported.path)["data/entries.csv"])
    return [int(it["seq"]) for it in rows]


@pytest.mark.parametrize(
    ("scope", "seqs", "processes", "profile"),
    depth.few(
        [
            # Whole, though it began on the first.
            (SIXTH, [1, 2, 4, 5, 6, 7, 8, 9], "1 process is", "full"),
            (NINTH, [15], "1 process is", "full"),
            (NINTH, [15], "1 process is", "masked"),
            (of("02", "03"), [3], "", "full"),
            (of("01", "31"), [1, 2, 3, 4, 5, 6, 7, 8, 9, 15], "2 processes are", "full"),
        ],
        2,
    ),
)
def test_what_names_the_seller_in_the_period_is_there_with_its_processes_and_nothing_else(
    service: LedgerService,
    tmp_path: Path,
    scope: Scope,
    seqs: list[int],
    processes: str,
    profile: Profile,
) -> None:
    exported = export(service, scope, tmp_path / "p.zip", profile)
    assert listed(exported) == seqs
    found = verify_package(exported.path, key=exported.key)
    assert (found.faults, found.undecided) == ([], [])
    its = 'all entries of seller "s1" are there'
    assert [it for it in found.checked if it.startswith(its)] == [
        f"{its}, from the first to the export, and those of the period are listed"
        if profile == "full"
        else f"{its} from its first entry to 15, without gap, and those of the period are listed"
    ]
    assert any(processes in it for it in found.checked)
    assert found.about[-1].startswith('seller "s1", from 2026-03-')


@no_rows
def test_of_the_sellers_other_entries_there_are_leaves_alone(
    service: LedgerService, tmp_path: Path
) -> None:
    files = forgery.read(export(service, NINTH, tmp_path / "p.zip", "masked").path)
    leaves = files["data/leaves.ndjson"].decode().splitlines()
    assert len(leaves) == 11  # ten of the seller, and the export
    assert not any('"p2"' in it for it in leaves)
    bodies = files["data/bodies.csv"].decode().splitlines()[1:]
    assert [it.partition(",")[0] for it in bodies] == ["15", "17"]


@no_rows
def test_a_seller_without_entries_in_the_period_has_no_package(
    service: LedgerService, tmp_path: Path
) -> None:
    with pytest.raises(CallerError, match="nothing to export"):
        export(service, of("20", "21"), tmp_path / "p.zip")
    assert service.inbox.last()[0] == 16


def test_a_process_has_no_period() -> None:
    asked = {"process_id": "p1", "from": "2026-03-01", "to": "2026-04-01", "reason": "r"}
    with pytest.raises(WrongUsage, match="scope of the export is not clear"):
        from_json(asked, actor="Ana", recorded_by="test")
    both = from_json({**asked, "process_id": None, "seller_id": "s1"}, actor="A", recorded_by="t")
    assert both.scope.named({}) == {
        "seller": "s1",
        "from": "2026-03-01T00:00:00Z",
        "to": "2026-04-01T00:00:00Z",
    }


# --- what a rogue exporter cannot do, who has the key and altered code ----------------------------


@no_rows
@quick_signatures
@pytest.mark.parametrize("profile", ["full", "masked"])
@pytest.mark.parametrize(
    ("scope", "left_out", "fault"),
    [
        # A whole process of the period, the newest, or one entry of it.
        (of("01", "31"), "process_id = 'p3'", 'it belongs to seller "s1", from 2026-03-01T00:00'),
        (SIXTH, "attempt_id = 'a1'", 'it belongs to seller "s1", from 2026-03-06T00:00:00Z, to'),
        # An entry of its process that occurred before the period.
        (SIXTH, "seq = 4", 'entries of the process "p1" are missing before it'),
        # What names no process.
        (of("02", "05"), "seq = 3", 'it belongs to seller "s1", from 2026-03-02T00:00:00Z, to'),
    ],
)
def test_nothing_of_the_period_is_left_out(
    service: LedgerService,
    tmp_path: Path,
    scope: Scope,
    left_out: str,
    fault: str,
    profile: Profile,
) -> None:
    [found] = verdict(made(service, tmp_path / "p.zip", scope, left_out, profile)).faults
    assert fault in found


@no_rows
@quick_signatures
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        # The leaf of an entry of the period, which no range holds in a masked package.
        (lambda seqs: [it for it in seqs if it != 15], 'of the seller "s1" are missing before it'),
        (
            lambda seqs: [it for it in seqs if it != 3],
            'entries of the seller "s1" are missing before it',
        ),
        (lambda _: [], 'entries of the seller "s1" are missing before it'),
        # One of another seller, as if it showed something.
        (lambda seqs: [*seqs, 10], "it is neither listed in entries.csv nor in the range"),
    ],
)
def test_no_leaf_of_the_seller_is_left_out_or_put_in(
    service: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[list[int]], list[int]],
    fault: str,
) -> None:
    honest_chosen = evidence._chosen

    def chosen(prepared: Prepared, *more: Any) -> Any:
        return honest_chosen(replace(prepared, of_seller=change([*prepared.of_seller])), *more)

    monkeypatch.setattr(evidence, "_chosen", chosen)
    [found] = verdict(export(service, SIXTH, tmp_path / "p.zip", "masked")).faults
    assert fault in found


@no_rows
@quick_signatures
def test_no_process_is_put_in_that_has_nothing_in_the_period(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Scope.condition.fget
    assert honest is not None

    def condition(self: Scope) -> tuple[str, list[object]]:
        kept, values = honest(self)
        return f"({kept} or process_id = 'p3')", values

    monkeypatch.setattr(Scope, "condition", property(condition))
    [found] = verdict(export(service, SIXTH, tmp_path / "p.zip")).faults
    assert found.startswith('the process "p3" does not belong to seller "s1", from 2026-03-06T00')


@no_rows
@quick_signatures
def test_another_period_than_the_one_that_was_recorded_is_a_fault(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package would look as if nothing had happened but what is in it."""
    honest = Scope.named

    def named(self: Scope, names: Any) -> dict[str, str]:
        return {**honest(self, names), "from": "2026-03-01T00:00:00Z"}

    monkeypatch.setattr(Scope, "named", named)
    [found] = verdict(export(service, NINTH, tmp_path / "p.zip")).faults
    assert 'entry 1: it belongs to seller "s1", from 2026-03-01T00:00:00Z' in found


def verdict(exported: Exported) -> verify.Verdict:
    return verify.verify(exported.path, exported.key)
