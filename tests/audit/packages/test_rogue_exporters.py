"""An exporter who holds the signing key and runs altered code over an honest log: what they leave
out is a fault, or the verdict names it as not checked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants, verify
from pipeline.audit import export as evidence
from pipeline.audit.export import Exported
from pipeline.audit.package import preparing
from pipeline.audit.package.disclosure import Disclosure
from pipeline.audit.package.drafts import Reading
from pipeline.audit.request import Profile, Request, Scope
from pipeline.continuity.service import LedgerService
from pipeline.inbox import store
from pipeline.log.entries import Entry, public_name
from pipeline.log.kinds.export import exporting
from pipeline.log.ndjson import read_line
from pipeline.verify import BY_PROFILE, Verdict
from tests.audit import story
from tests.audit.conftest import EVERYTHING, copied, export, no_rows, quick_signatures

TAIL = (
    b'{"kind":"note","occurred_at":"2026-03-11T09:00:00Z","process_id":"p3","actor":"Ana",'
    b'"reason":"called"}'
)
"""An entry of a process that does not name its seller."""


@pytest.fixture(scope="module")
def honest(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    """The story, and one more entry, 17, of p3."""
    with copied(followed, tmp_path_factory.mktemp("honest")) as opened:
        opened.inbox.append([read_line(TAIL, recorded_by="note")])
        opened.catch_up()
        yield opened


pytestmark = [no_rows, quick_signatures]  # verify.py cannot know that rows are missing


def made(
    service: LedgerService, out: Path, scope: Scope, left_out: str = "", profile: Profile = "full"
) -> Exported:
    """A package whose exporter leaves out the entries of a condition, and says nothing of it."""
    with pytest.MonkeyPatch.context() as altered:
        honest_condition = Scope.condition.fget
        assert honest_condition is not None

        def condition(self: Scope) -> tuple[str, list[object]]:
            kept, values = honest_condition(self)
            return f"{kept} and not coalesce({left_out}, false)", values

        if left_out:
            altered.setattr(Scope, "condition", property(condition))
            altered.setattr(evidence, "_record", recorded_at_any_rate)
        return export(service, scope, out, profile)


def recorded_at_any_rate(
    service: LedgerService, request: Request, prepared: Any, _clearance: Any
) -> Entry | None:
    """The export's entry, whatever its stream holds."""
    scope, stated = request.scope, prepared.parameters
    draft = exporting(
        reason=request.reason,
        actor=request.actor,
        recorded_by=request.recorded_by,
        process_id=scope.process_id,
        seller_id=scope.seller_id,
        contents=prepared.digest,
        **{name: stated[name] for name in ("as_of", "profile", "scope")},
    )
    [receipt] = service.inbox.append([draft])
    return receipt.entry


@pytest.mark.parametrize(
    ("withhold", "table", "seq", "fault"),
    [
        ([], "fact_attempt_finishes", 14, "attempt_finishes.ndjson states what no withheld body"),
        ([13], "fact_attempt_finishes", 13, "attempt_finishes.ndjson states what no withheld"),
        ([13], "fact_attempt_starts", 13, "has 2 rows of attempt_starts about it, instead of one"),
        ([13], "log", 13, "data/stated/log.ndjson does not belong into a package"),
    ],
)
def test_facts_are_stated_of_withheld_bodies_alone_and_only_such_as_they_can_hold(
    honest: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    withhold: list[int],
    table: str,
    seq: int,
    fault: str,
) -> None:
    """A stated answer 200 once made a review that nobody answered FINISHED, and verified."""
    honest_take = Reading.take

    def take(self: Reading, batch: Any) -> None:
        honest_take(self, batch)
        self._files.state(table, [[seq, "invented", "p2"]])

    monkeypatch.setattr(Reading, "take", take)
    asked = Scope(process_id="p2")
    found = verdict(export(honest, asked, tmp_path / "p.zip", withhold=frozenset(withhold)))
    assert len(found.faults) == 1
    assert fault in found.faults[0]


def test_no_body_of_a_full_package_is_withheld_by_the_masked_profile(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the exporter left out looked as if a rule had."""
    honest_why = Disclosure.why_withheld

    def why_withheld(self: Disclosure, entry: Entry) -> str | None:
        return BY_PROFILE if entry.seq == 13 else honest_why(self, entry)

    monkeypatch.setattr(Disclosure, "why_withheld", why_withheld)
    [fault] = verdict(export(honest, Scope(process_id="p2"), tmp_path / "p.zip")).faults
    assert fault == "bodies are withheld by the masked profile, and the package is a full one"


def test_a_file_of_what_is_stated_is_not_empty(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One package had as many forms as there are tables of which nothing is stated."""
    honest_take = Reading.take

    def take(self: Reading, batch: Any) -> None:
        honest_take(self, batch)
        self._files.state("fact_rejections", [])

    monkeypatch.setattr(Reading, "take", take)
    made = export(honest, Scope(process_id="p2"), tmp_path / "p.zip", withhold=frozenset({13}))
    assert verdict(made).faults == ["data/stated/facts.rejections.ndjson states nothing"]


def test_what_is_stated_is_counted_as_not_checked(honest: LedgerService, tmp_path: Path) -> None:
    asked = Scope(process_id="p2")
    found = verdict(export(honest, asked, tmp_path / "p.zip", withhold=frozenset({13})))
    assert found.faults == []
    # The start of the attempt, and the three fields that it sent.
    assert any(it.startswith("4 rows in data/stated, which say") for it in found.unchecked)


@pytest.mark.parametrize(
    ("as_of", "is_fault"), [("2026-03-06T00:00:00Z", True), ("2026-03-20T00:00:00Z", False)]
)
def test_an_instant_before_the_export_is_a_fault_or_named(
    service: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    as_of: str,
    is_fault: bool,
) -> None:
    """The newest entry of p1 is of 6 March, 15:01. Tables as of March once showed time left."""
    monkeypatch.setattr(service, "now", lambda: instants.parse(as_of))
    found = verdict(export(service, Scope(process_id="p1"), tmp_path / "p.zip"))
    assert bool(found.faults) == is_fault
    said = f"why tables and reports say what was true at {as_of}, long before the export"
    assert is_fault or any(it.startswith(said) for it in found.unchecked)


def test_entries_of_a_clock_that_was_ahead_leave_it_open_what_their_tables_say(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until its date comes, every package that holds one was a forgery. Nor does an export that
    is dated back, which anybody can say who has the key, verify tables of before their entries."""
    monkeypatch.setattr(service.inbox, "clock", lambda: instants.now() + 30 * instants.DAY)
    service.inbox.append([story.review("e9", "p9", "s1")])
    monkeypatch.setattr(service.inbox, "clock", instants.now)
    found = verdict(export(service, Scope(process_id="p9"), tmp_path / "p.zip"))
    assert (found.faults, found.exit_code) == ([], 3)
    assert "The log's clock was ahead until it was put back, if it is true" in found.undecided[0]
    found = verdict(export(service, Scope(process_id="p1"), tmp_path / "p.zip"))
    assert (found.faults, found.exit_code) == ([], 0)  # all of its entries are of before
    monkeypatch.setattr(service, "now", lambda: instants.now() - instants.DAY)
    [fault] = verdict(export(service, Scope(process_id="p9"), tmp_path / "p.zip")).faults
    assert fault.endswith("is before its newest entry, or after the export")


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ({"log": "prazo/production"}, "parameters.json"),
        ({"note": "prazo/production"}, "parameters.json"),
        ({"rows": {}}, "the tables have other numbers of rows"),
        # Reports add these up: one under another name hid what is left out, or made it up.
        ({"not_of_log": {"entries.csv": 500}}, "parameters.json has numbers that no package has"),
        ({"log_size": 17.5}, "parameters.json has numbers that no package has"),
        ({"profile": "full, and checked"}, "parameters.json names a profile that no package has"),
        # It comes after every instant of its day, all of which were left out of a whole period.
        (
            {"scope": {"from": "2026-03-01T::::::::Z", "to": "2026-04-01T00:00:00Z"}},
            '"2026-03-01T::::::::Z" is not an instant',
        ),
    ],
)
def test_parameters_say_no_more_and_no_less_than_they_should(
    honest: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stated: dict[str, Any],
    fault: str,
) -> None:
    """Reports print the log's name, and a package may hold no word beside its own. Where it counted
    no table, the rows of all of them agreed."""
    honest_json = preparing.canonical_json

    def altered(value: Any) -> bytes:
        return honest_json(value | stated if "as_of" in value else value)

    monkeypatch.setattr(preparing, "canonical_json", altered)
    found = verdict(export(honest, Scope(process_id="p2"), tmp_path / "p.zip"))
    assert len(found.faults) == 1
    assert found.faults[0].startswith(fault)


def its_leaves_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those up to the export, for anyone who exports and for anyone who verifies."""
    monkeypatch.setattr(preparing, "MAX_BETWEEN", -1)
    monkeypatch.setattr(verify, "MAX_BETWEEN", -1)


def verdict(exported: Exported) -> Verdict:
    return verify.verify(exported.path, exported.key)


@pytest.mark.parametrize(
    ("scope", "left_out", "fault"),
    [
        # A whole process of a seller: the seller's own stream has a gap.
        (
            Scope(seller_id="s1"),
            "process_id = 'p3' or kind = 'export'",
            'it belongs to seller "s1", and entries.csv does not list it',
        ),
        # One attempt.
        (
            Scope(process_id="p1"),
            "attempt_id = 'a1'",
            'entry 8: entries of the process "p1" are missing before it',
        ),
        (
            Scope(seller_id="s1"),
            "attempt_id = 'a2'",
            'entries of the seller "s1" are missing before it',
        ),
        # The last entries of a process: the export's own entry would follow them.
        (
            Scope(process_id="p2"),
            "seq > 12",
            'it belongs to process "p2", and entries.csv does not list it',
        ),
        # A process, an attempt and the tail of a period: their leaves stand in its range.
        (EVERYTHING, "process_id = 'p2'", "entry 10: it belongs to from 1970"),
        (EVERYTHING, "attempt_id = 'a3'", "entry 13: it belongs to from 1970"),
        (EVERYTHING, "seq > 14", "entry 15: it belongs to from 1970"),
        (EVERYTHING, "seq < 3", "entry 1: it belongs to from 1970"),
    ],
)
def test_what_is_left_out_is_a_fault(
    honest: LedgerService, tmp_path: Path, scope: Scope, left_out: str, fault: str
) -> None:
    found = verdict(made(honest, tmp_path / "p.zip", scope, left_out))
    assert len(found.faults) == 1
    assert fault in found.faults[0]


def backdated(service: LedgerService, out: Path, scope: Scope, last: int, at: str) -> Exported:
    """A package of the entries up to `last`, whose export says that it is of `at` and follows the
    last of them: the recording program is the exporter's own, too."""
    then, stream = instants.parse(at), "process" if scope.process_id else "seller"
    [newest] = service.ledger.select(
        "seq = (select max(seq) from log where seq <= ? and coalesce(?, '') in (process_id, '')"
        " and coalesce(?, '') in (seller_id, ''))",
        [last, scope.process_id, scope.seller_id],
    )
    place = {
        "recorded_at": then,
        f"{stream}_n": getattr(newest, f"{stream}_n") + 1,
        f"{stream}_prev": newest.seq,
    }
    honest_entry = store.record_entry

    def record_entry(draft: Any, given: Any, **more: Any) -> Any:
        dated = draft._replace(occurred_at=then)
        return honest_entry(dated, given._replace(**place), **more)

    with pytest.MonkeyPatch.context() as altered:
        altered.setattr(store, "record_entry", record_entry)
        altered.setattr(service, "now", lambda: then)
        altered.setattr(service.inbox, "clock", lambda: then)
        return made(service, out, scope, f"seq > {last}")


@pytest.mark.parametrize(
    ("scope", "last", "at"),
    [
        (Scope(seller_id="s1"), 12, "2026-03-08T11:00:00Z"),
        (Scope(process_id="p2"), 12, "2026-03-08T11:00:00Z"),
    ],
)
def test_the_end_of_a_process_or_seller_is_not_left_out_by_an_export_that_is_dated_back(
    service: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scope: Scope,
    last: int,
    at: str,
) -> None:
    """The export's entry says itself where it stands in the stream, and when it was recorded. A
    seller that had been denied since was one that is asked for data, and its package said that it
    was complete."""
    [fault] = verdict(backdated(service, tmp_path / "p.zip", scope, last, at)).faults
    assert f"it belongs to {'seller' if scope.seller_id else 'process'}" in fault
    its_leaves_are_too_many(monkeypatch)
    found = verdict(backdated(service, tmp_path / "p.zip", scope, last, at))
    assert found.faults == []
    assert any("stand between " in it for it in found.unchecked)
    assert any("whether that is dated back" in it for it in found.unchecked)
    assert not any("is complete" in it for it in found.checked)


def test_a_period_whose_range_is_cut_at_both_ends_says_which_entries_it_cannot_speak_of(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is recorded before the period may be missing before it."""
    since = instants.parse("2026-03-07T00:00:00Z")
    spring = Scope(since=since, until=instants.parse("2026-04-01T00:00:00Z"))
    monkeypatch.setattr(preparing, "_range", lambda *_: [9, 14])
    found = verdict(made(honest, tmp_path / "p.zip", spring, "seq > 14"))
    assert found.faults == []
    last = honest.inbox.last()[0] - 1
    of_entries = [it for it in found.unchecked if it.startswith("whether") and "the key" not in it]
    assert of_entries[:3] == [
        "whether an entry before 9 belongs to the period: all were recorded before it",
        f"whether an entry from 15 to {last} belongs to the period: they were recorded at any time,"
        " and are not here",
        "whether 1 process goes on in entries after 14: where a process ends is the exporter's"
        " word. A package of one process shows it",
    ]
    monkeypatch.setattr(preparing, "_range", lambda *_: [10, 14])
    found = verdict(made(honest, tmp_path / "p.zip", spring, "seq > 14"))
    assert found.faults == ["the range starts with entry 10, recorded within the period"]
    # Without any, the verdict once said that the format holds no proof, whatever was left out.
    monkeypatch.setattr(preparing, "_range", lambda *_: None)
    [fault] = verdict(made(honest, tmp_path / "p.zip", spring, "process_id = 'p3'")).faults
    assert fault.startswith("parameters.json names no range, which shows whether the period is")


def test_a_process_has_no_range_by_which_its_key_would_be_the_newest(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody counted its leaves, and the verdict said no more that the key may have been replaced
    before the export."""
    monkeypatch.setattr(preparing, "_range", lambda *given: [1, given[2]])
    for scope in (Scope(process_id="p1"), Scope(seller_id="s1")):
        made = export(honest, scope, tmp_path / "p.zip")
        [fault, *_] = verdict(made).faults
        assert fault.startswith("leaves between ")
        assert fault.endswith(f" and the export, {made.seq}, are missing")


def test_a_full_package_without_the_leaves_that_it_could_hold_is_one_that_leaves_them_out(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its verdict named them as not checked, as where they are too many."""
    monkeypatch.setattr(preparing, "MAX_BETWEEN", -1)
    for scope in (Scope(process_id="p1"), Scope(seller_id="s1")):
        [fault] = verdict(export(honest, scope, tmp_path / "p.zip")).faults
        assert fault.startswith("the leaves between ")
        assert "are left out: a full package holds up to 100,000, which show whether" in fault
    # The export is entry 20, and the newest of p1 before it is 18: one leaf lies between.
    twentieth = export(honest, Scope(process_id="p1"), tmp_path / "p.zip")
    for most, is_false in ((1, True), (0, False)):
        monkeypatch.setattr(verify, "MAX_BETWEEN", most)
        assert bool(verdict(twentieth).faults) is is_false


def test_where_a_process_of_a_seller_ends_is_named_as_not_checked(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entry 17 belongs to p3, and does not name the seller: nothing in the seller's stream shows
    that it is missing. A package of the process does, and the leaves up to the export, where they
    are here."""
    service.inbox.append([read_line(TAIL, recorded_by="note")])
    service.catch_up()
    of_s1 = Scope(seller_id="s1")
    found = verdict(made(service, tmp_path / "s1.zip", of_s1, "seq = 17"))
    assert found.faults == ['entries.csv does not list every entry of the process "p3"']
    its_leaves_are_too_many(monkeypatch)
    found = verdict(made(service, tmp_path / "s1.zip", of_s1, "seq = 17"))
    assert found.faults == []
    said = "whether 2 processes go on in entries that do not name the seller"
    assert any(it.startswith(said) for it in found.unchecked)
    found = verdict(made(service, tmp_path / "p3.zip", Scope(process_id="p3"), "seq = 17"))
    assert len(found.faults) == 1
    assert 'entries of the process "p3" are missing before it' in found.faults[0]


def test_sellers_that_entries_name_are_listed_where_they_are_not_complete(
    honest: LedgerService, tmp_path: Path
) -> None:
    found = verdict(made(honest, tmp_path / "p2.zip", Scope(process_id="p2")))
    assert found.faults == []
    assert (
        "what else the log holds of 1 seller that entries name, and that is not complete here:"
        f' "{story.TAX_ID}"'
    ) in found.unchecked


def test_the_export_of_one_process_cannot_be_shown_as_that_of_another(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is recorded in the stream of p1, and the package is about p3."""
    honest_named = Scope.named
    monkeypatch.setattr(
        Scope, "named", lambda self, names: honest_named(Scope(process_id="p3"), names)
    )
    found = verdict(made(honest, tmp_path / "p.zip", Scope(process_id="p1")))
    assert found.faults != []


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        ({"400": "200"}, '"400" is given the name "200", and is not a hash of such a name'),
        ({"p1": "p2", "p2": "p1"}, '"p1" is given the name "p2", and is not a hash'),
        ({"hmac:" + "0" * 64: "p1"}, 'is given the name "p1", and is not a hash of such a name'),
        (
            {"hmac:" + "0" * 64: "11144477735", "hmac:" + "1" * 64: "11144477735"},
            "two hashed identifiers are given one name",
        ),
    ],
)
def test_names_stand_for_hashed_identifiers_alone_each_for_its_own(
    honest: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: dict[str, str],
    fault: str,
) -> None:
    """`{"400": "200"}` once made every answer 400 of entries.csv a 200, and verified."""

    class Renaming(Disclosure):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.restored |= names

    monkeypatch.setattr(preparing, "Disclosure", Renaming)
    found = verdict(made(honest, tmp_path / "p.zip", Scope(process_id="p1")))
    assert len(found.faults) == 1
    assert fault in found.faults[0]


def test_no_identifier_is_given_the_hash_by_which_another_stands_there(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that looks like a hash is named; rows of two would say the same of both otherwise."""
    seller = public_name(story.TAX_ID, honest.inbox.log_key)

    class Renaming(Disclosure):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.restored = {"hmac:" + "0" * 64: seller}

    monkeypatch.setattr(preparing, "Disclosure", Renaming)
    found = verdict(made(honest, tmp_path / "p2.zip", Scope(process_id="p2")))
    assert len(found.faults) == 1
    assert "names.ndjson gives another identifier the name of one of its own" in found.faults[0]


def test_a_name_stands_in_columns_of_identifiers_alone(
    honest: LedgerService, tmp_path: Path
) -> None:
    """A row of entries.csv that quotes a restored name where the leaf has its hash."""
    found = verdict(made(honest, tmp_path / "p2.zip", Scope(process_id="p2")))
    assert found.faults == []
    assert any(it.startswith("whether 1 name in the tables is the one") for it in found.unchecked)
