"""Whatever is changed in the ledger or the inbox is named, recovered from the other store, or
refused with what to do."""

import shutil
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from zstandard import ZstdCompressor

from pipeline.continuity import restore
from pipeline.continuity.kept_heads import place
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit, changed_in_inbox
from pipeline.errors import LedgerRefused, PrazoError
from pipeline.inbox import open_inbox
from pipeline.inbox.schema.rows import Rows
from pipeline.ledger import checks
from pipeline.log.actions import By
from pipeline.settings import Settings
from tests import depth
from tests.audit import story
from tests.audit.conftest import command, entries_alone
from tests.support.sqlite import opened


def faults(settings: Settings, against: str | None = None) -> list[str]:
    with closing(LedgerService(settings)) as service:
        return audit(service, against=against).faults


def in_ledger(settings: Settings, *statements: str) -> None:
    """As somebody with the file and SQL would: the triggers are in the way of nobody like that."""
    with duckdb.connect(str(settings.ledger)) as connection:
        connection.execute("drop trigger log_no_update on log")
        connection.execute("drop trigger log_no_delete on log")
        for statement in statements:
            connection.execute(statement)


INSISTED = By("the ledger was never out of our hands", "ana", "user:ana")


def in_inbox(settings: Settings, *statements: str) -> None:
    """The same, by somebody who puts the triggers back."""
    with closing(opened(settings.inbox)) as connection, connection:
        guarding = "from sqlite_master where type = 'trigger' and tbl_name = 'entries'"
        guards = connection.execute(f"select name, sql {guarding}").fetchall()
        for name, _ in guards:
            connection.execute(f"drop trigger {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in guards:
            connection.execute(sql)


def test_untouched_stores_have_no_fault_nor_is_what_arrives_during_an_audit_one(
    settings: Settings,
) -> None:
    """An audit of a busy log found heads and nodes that its own tree did not have yet."""
    service = LedgerService(settings)

    def meanwhile(done: int, _: int) -> None:
        for number in range(300 if done else 1):
            story.deliver(service.inbox, f"while-{done}-{number}")
        service.catch_up()
        service.checkpoint()

    try:
        verdict = audit(service, on_progress=meanwhile)
        assert verdict.faults == []
        assert service.ledger.size == 317
        assert verdict.checked[0] == (
            "16 entries stand in inbox and ledger, the same, as their leaves commit to"
        )
        assert audit(service).faults == []
    finally:
        service.close()


LEDGER_CHANGES = {
    "a body": "update log set body = '{}'::blob where seq = 9",
    "a status": "update log set status = 201 where seq = 9",
    "an instant": "update log set occurred_at = occurred_at + interval 1 second where seq = 4",
    "a record": "update log set record = '{}'::blob where seq = 14",
    "an actor's reason": "update fact_actions set reason = 'another' where seq = 12",
    "a deadline": "update fact_reviews set deadline_at = deadline_at + interval 9 day"
    " where seq = 10",
    "a fact removed": "delete from fact_attempt_finishes where seq = 7",
    "a fact made up": "insert into fact_attempt_finishes select * from fact_attempt_finishes"
    " where seq = 9",
    "a mark": "update log set is_again = false where seq = 2",
    "a name": "update log set person = 'Eve'::blob where pseudonym is not null",
    "a place in a stream": "update log set process_n = 7 where seq = 4",
    "a root": "update tree_heads set recorded_at = recorded_at, root = sha256('x')::blob"
    " where size < 0 or size = (select min(size) from tree_heads)",
    "a node": "insert into tree_nodes values (8, 0, unhex(sha256('x')))",
    "two bodies swapped": "update log set body = case seq when 7 then (select body from log where"
    " seq = 6) else body end where seq = 7",
}


@entries_alone
# A node beyond the log's end is found by a check of the queries: see tests/queries/test_checks.py.
@pytest.mark.parametrize("change", depth.few([it for it in LEDGER_CHANGES if it != "a node"], 3))
def test_a_changed_row_of_the_ledger_is_named(settings: Settings, change: str) -> None:
    in_ledger(settings, LEDGER_CHANGES[change])
    found = [it for it in faults(settings) if "lacks the trigger" not in it]  # `in_ledger` did it
    assert any("`prazo rebuild` rebuilds the ledger" in it for it in found), found


def test_a_rebuild_heals_whatever_was_changed_in_the_ledger(settings: Settings) -> None:
    in_ledger(settings, *LEDGER_CHANGES.values())
    service = LedgerService(settings)
    try:
        service.rebuild()
        assert audit(service).faults == []
    finally:
        service.close()


HEALED = {
    "an entry removed": ["delete from log where seq = 5"],
    "two entries swapped": [
        "update log set seq = case seq when 6 then 7 when 7 then 6 else seq end where seq in (6, 7)"
    ],
    "a leaf changed": ["update log set leaf = leaf || 'x'::blob where seq = 9"],
    "an entry made up": ["insert into log select * replace (17 as seq) from log where seq = 9"],
    "the tail cut": ["delete from log where seq > 12", "delete from tree_heads"],
    "no word of how far its rows are": ["delete from kept_watermark"],
}


@entries_alone
@pytest.mark.parametrize("change", depth.few(list(HEALED), 3))
def test_a_ledger_with_other_leaves_is_not_served_but_rebuilt(
    settings: Settings, change: str
) -> None:
    in_ledger(settings, *HEALED[change])
    service = LedgerService(settings)
    try:
        assert "rebuilt from the inbox" in (service.status().recovered or "")
        assert audit(service).faults == []
    finally:
        service.close()


def test_a_ledger_that_lies_beside_an_emptied_place_of_its_inbox_is_refused(
    settings: Settings,
) -> None:
    """The inbox deleted: a new one is another log, and the ledger is never taken for its copy."""
    for file in Path(settings.inbox).parent.glob("inbox.db*"):
        file.unlink()
    open_inbox(settings.inbox).close()
    with pytest.raises(PrazoError, match="belongs to another log"):
        LedgerService(settings)


_COMPRESSED_BODY = "update entries set body ="
INBOX_CHANGES = {
    "a body": "update entries set body = x'7b7d' where seq = 4",
    "a salt": "update entries set salt = zeroblob(32) where seq = 4",
    "a record": "update entries set record = x'7b7d' where seq = 14",
    "an instant": "update entries set occurred_at = occurred_at + 1 where seq = 4",
    "a process": "update entries set process_id = 'p9' where seq = 4",
    "a status": "update entries set status = 201 where seq = 9",
    "who recorded it": "update entries set recorded_by = 'x' where seq = 9",
    "a compressed body, cut": f"{_COMPRESSED_BODY} substr(body, 1, length(body) - 1) where seq = 3",
    "a compressed body, longer": f"{_COMPRESSED_BODY} cast(body || x'00' as blob) where seq = 3",
    "a compressed body, taken out": f"{_COMPRESSED_BODY} null where seq = 3",
    "a compressed body, another's": f"{_COMPRESSED_BODY} b.body from entries b"
    " where b.seq = 2 and entries.seq = 3",
    "that a body is compressed": "update entries set is_compressed = 0 where seq = 3",
}


@entries_alone
@pytest.mark.parametrize("change", depth.few(list(INBOX_CHANGES), 3))
def test_a_changed_row_of_the_inbox_is_named(settings: Settings, change: str) -> None:
    in_inbox(settings, INBOX_CHANGES[change])
    [fault] = [it for it in faults(settings) if it.startswith("entry ")]
    assert (
        "the inbox is wrong; `prazo restore` restores the inbox from a backup, or from the ledger"
        in fault
    )


@entries_alone
def test_a_frame_in_a_collections_place_does_not_hide_what_it_names(settings: Settings) -> None:
    """Other statements would not find the artifacts, and nobody would miss them."""
    service = LedgerService(settings)
    [collection] = service.inbox.read(4, 1)
    service.close()
    assert collection.kind == "collection"
    assert collection.body is not None
    body, leaf = map(ZstdCompressor().compress, (collection.body, collection.leaf))
    in_inbox(
        settings,
        f"update entries set body = x'{body.hex()}', leaf = x'{leaf.hex()}', is_compressed = 1"
        " where seq = 5",
    )
    assert any(it.startswith("entry 5: ") for it in faults(settings))
    in_inbox(settings, "update entries set body = null, is_compressed = 0 where seq = 5")
    assert any(it.startswith("entry 5: its body") for it in faults(settings))  # not a traceback


def test_the_ledger_heals_whatever_was_changed_in_the_inbox(settings: Settings) -> None:
    in_inbox(settings, *INBOX_CHANGES.values())
    done = restore.restore_from_ledger(settings)
    assert done.verdict.faults == []
    assert done.notes[0] == "16 entries of the ledger went into the new inbox"
    assert done.notes[1].startswith("the former inbox.db was kept as inbox.db.set-aside-")


GAPS = {
    "an entry removed": "delete from entries where seq = 5",
    "a leaf changed": "update entries set leaf = cast(leaf || 'x' as blob) where seq = 9",
}


@entries_alone
@pytest.mark.parametrize("change", GAPS)
def test_an_inbox_with_a_gap_is_recovered_from_the_ledger(settings: Settings, change: str) -> None:
    """The lines of files among its entries still count once: the ledger has their keys."""
    in_inbox(settings, GAPS[change])
    assert restore.restore_from_ledger(settings).verdict.faults == []
    service = LedgerService(settings)
    try:
        story.record(service.inbox, settings.artifacts)
        added = [it.kind for it in service.inbox.read(16, 100)]
    finally:
        service.close()
    assert not {"collection", "override"} & set(added)


@entries_alone
def test_a_ledger_that_is_right_is_not_rebuilt_from_an_inbox_that_was_changed(
    settings: Settings,
) -> None:
    """The facts of the ledger were named as wrong, and a rebuild made them so."""
    in_inbox(settings, "update entries set status = 599 where status is not null")
    found = faults(settings)
    assert found
    assert not [it for it in found if "prazo rebuild" in it]
    done = command(settings, "rebuild")
    assert done.returncode == 1
    assert "of the inbox were changed, and the present ledger has them" in done.stderr
    assert not list(settings.ledger.parent.glob("*.set-aside-*"))
    assert restore.restore_from_ledger(settings).verdict.faults == []
    with closing(LedgerService(settings)) as service:
        assert changed_in_inbox(service) == [], "a rebuild would be refused again"


def test_an_inbox_is_not_recovered_from_a_ledger_that_was_changed(settings: Settings) -> None:
    in_inbox(settings, "update entries set body = x'7b7d' where seq = 4")
    in_ledger(settings, "update log set body = '{}'::blob where seq = 6")
    with pytest.raises(PrazoError, match="its entries 6 are not as they were recorded"):
        restore.restore_from_ledger(settings)
    assert not [it for it in settings.ledger.parent.iterdir() if "set-aside" in it.name]
    assert not [it for it in settings.ledger.parent.iterdir() if "restoring" in it.name]


@entries_alone
def test_a_row_made_up_in_the_inbox_and_one_changed_alike_in_both_stores_are_named(
    settings: Settings,
) -> None:
    """Anyone who can write there can add a row, and it is followed; but its leaf is another's."""
    copied = ", ".join(it for it in Rows.columns if it not in ("seq", "ingest_key"))
    in_inbox(
        settings,
        f"insert into entries (seq, {copied}) select 17, {copied} from entries where seq = 9",
        "update entries set body = x'7b7d' where seq = 4",
    )
    in_ledger(settings, "update log set body = '{}'::blob where seq = 4")
    found = faults(settings)
    [copy] = [it for it in found if it.startswith("entry 17: its leaf commits to another record,")]
    assert " seq," in copy
    assert "entry 17: it is not at its place in its process's stream" in found
    assert (
        "entry 4: its leaf commits to another body_commitment, body_size, in both stores" in found
    )
    assert (
        "Entry 4 cannot be read: its bytes are not what the kind collection has (KeyError)" in found
    )


REFUSED = {
    "a leaf changed": "update entries set leaf = cast(leaf || 'x' as blob) where seq = 9",
    "an entry removed": "delete from entries where seq = 5",
    "two entries swapped": "update entries set leaf = (select other.leaf from entries as other"
    " where other.seq = 13 - entries.seq) where seq in (6, 7)",
}


@entries_alone
@pytest.mark.parametrize("change", REFUSED)
@pytest.mark.parametrize("has_ledger", [True, False], ids=["with the ledger", "without it"])
def test_an_inbox_with_other_leaves_is_named_or_refused(
    settings: Settings, change: str, has_ledger: bool
) -> None:
    """What was signed over it says so, even where the ledger is gone as well."""
    in_inbox(settings, REFUSED[change])
    if not has_ledger:
        settings.ledger.unlink()
    try:
        found = faults(settings)
    except PrazoError as refused:
        found = [str(refused)]
    assert any("restore" in it for it in found), found


@entries_alone
@pytest.mark.parametrize("removed", ["seq > 12", "seq > 0"])
def test_a_cut_tail_of_the_inbox_comes_back_from_the_ledger(
    settings: Settings, removed: str
) -> None:
    in_inbox(settings, f"delete from entries where {removed}")
    service = LedgerService(settings)
    try:
        assert "the inbox had lost its last" in (service.status().recovered or "")
        verdict = audit(service)
    finally:
        service.close()
    assert verdict.faults == []
    assert any("the ledger gave them back" in it for it in verdict.notes)


def test_a_cut_tail_does_not_come_back_from_a_ledger_that_was_changed(settings: Settings) -> None:
    in_inbox(settings, "delete from entries where seq > 12")
    in_ledger(settings, "update log set body = '{}'::blob where seq = 14")
    with pytest.raises(PrazoError, match="entries of the ledger are not as they were recorded"):
        LedgerService(settings)


@entries_alone
@pytest.mark.parametrize("left", [0, 1], ids=["the WAL gone", "half of the WAL"])
def test_an_inbox_whose_wal_was_cut_is_refused_and_a_restore_adds_what_the_ledger_holds(
    settings: Settings, left: int
) -> None:
    """SQLite opens such a file without a word, with acknowledged entries gone. The head went with
    them, so nothing vouches for the ledger's last entries but their own commitments: a person has
    to say that they are right."""
    service = LedgerService(settings)
    for number in range(3):
        story.deliver(service.inbox, f"after-{number}")
        service.catch_up()
    wal = Path(f"{settings.inbox}-wal")
    killed = Path(settings.inbox).read_bytes(), wal.read_bytes()
    service.close()
    Path(settings.inbox).write_bytes(killed[0])
    if left:
        wal.write_bytes(killed[1][: len(killed[1]) // 2])
    place(settings).unlink()  # it would vouch for them
    with pytest.raises(PrazoError, match="acknowledged entries are missing from the inbox"):
        LedgerService(settings)
    with pytest.raises(PrazoError, match="no signature covers entries 17 to 19"):
        restore.restore_from_ledger(settings)
    done = restore.restore_from_ledger(settings, insisted=INSISTED)
    assert (done.entries, done.verdict.faults) == (20, [])


@entries_alone
def test_an_old_copy_of_the_inbox_put_back_is_refused(settings: Settings, at_rest: Path) -> None:
    service = LedgerService(settings)
    story.deliver(service.inbox, "later")
    service.catch_up()
    service.close()
    shutil.copy(at_rest / "inbox.db", settings.inbox)
    place(settings).unlink()  # it would vouch for them
    with pytest.raises(PrazoError, match="holds 17 entries and the inbox only 16") as refused:
        LedgerService(settings)
    assert "`prazo restore --from-ledger` puts them back" in str(refused.value)
    done = restore.restore_from_ledger(settings, insisted=INSISTED)
    assert (done.entries, done.verdict.faults) == (18, [])


def test_an_old_copy_of_the_ledger_put_back_is_recovered(settings: Settings, at_rest: Path) -> None:
    service = LedgerService(settings)
    story.deliver(service.inbox, "later")
    service.catch_up()
    service.close()
    shutil.copy(at_rest / "ledger.duckdb", settings.ledger)
    service = LedgerService(settings)
    try:
        assert "the ledger had lost its last 1 entry" in (service.status().recovered or "")
        assert audit(service).faults == []
    finally:
        service.close()


def test_what_a_check_of_the_queries_finds_is_a_fault(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`queries/checks` are run as well, whatever they are."""
    found = checks.Broken("sums_disagree", "Figures that must agree.", 1, ("what x",))
    monkeypatch.setattr(checks, "run", lambda name, _: found if name == "sums_disagree" else None)
    [fault] = faults(settings)
    assert fault.startswith("the check sums_disagree: 1 row: what x. Figures that must agree.")


@entries_alone
def test_a_signed_checkpoint_cannot_be_exchanged(settings: Settings) -> None:
    """Nor can anything stand behind its signature: nobody could verify with what is handed out. A
    signature by somebody else makes it another note than was signed here; any other text, none."""
    theirs = "— another/log AAAA"
    in_inbox(settings, f"update checkpoints set note = note || '{theirs}' || char(10)")
    assert "16 entries says more than was signed" in faults(settings)[0]
    in_inbox(settings, f"update checkpoints set note = replace(note, '{theirs}', 'x')")
    with pytest.raises(LedgerRefused, match="is not one of ours: not a note: something else"):
        LedgerService(settings)
    in_inbox(
        settings,
        "update checkpoints set note = replace(note, 'x' || char(10), '')",
        "update checkpoints set note = replace(note, char(10) || '16', char(10) || '15')",
    )
    with pytest.raises(LedgerRefused, match="is not one of ours: not a note signed by"):
        LedgerService(settings)


@entries_alone
def test_old_copies_of_both_stores_are_found_by_a_checkpoint_kept_elsewhere(
    settings: Settings, tmp_path: Path
) -> None:
    """Both stores agree with each other, with the head and with every signature they hold: nothing
    else is named."""
    old = tmp_path / "old"
    old.mkdir()
    for name in ("inbox.db", "ledger.duckdb", "ledger.duckdb.head"):
        shutil.copy(tmp_path / name, old / name)
    service = LedgerService(settings)
    story.record(service.inbox, settings.artifacts)
    service.catch_up()
    kept = service.checkpoint()
    assert kept is not None
    service.close()
    for name in ("inbox.db", "ledger.duckdb", "ledger.duckdb.head"):
        shutil.copy(old / name, tmp_path / name)
    for file in tmp_path.glob("*.db-*"):
        file.unlink()
    (tmp_path / "ledger.duckdb.wal").unlink(missing_ok=True)
    [fault] = faults(settings, against=kept.note)
    assert fault.startswith(
        "The earlier checkpoint is not one of this log's past: it has 22 entries of prazo/"
    )
    assert fault.endswith("an older copy was put back, or another log")


@entries_alone
def test_a_rewritten_log_is_found_by_a_checkpoint_kept_elsewhere(
    settings: Settings, tmp_path: Path
) -> None:
    """The insider signs the new history with the right key; the old signature remains outside, and
    nothing else is wrong."""
    inbox = open_inbox(settings.inbox)
    kept, identity = inbox.checkpoint(), inbox.identity
    inbox.close()
    assert kept is not None
    for file in (*tmp_path.glob("inbox.db*"), *tmp_path.glob("ledger.duckdb*")):
        file.unlink()
    open_inbox(settings.inbox, identity=identity).close()
    service = LedgerService(settings)
    story.record(service.inbox, settings.artifacts, first_answer=200)
    service.catch_up()
    service.checkpoint()
    service.close()
    assert faults(settings, against=kept.note) == [
        "THE LOG WAS REWRITTEN: the log had another root when it had 16 entries"
    ]


@entries_alone
def test_a_log_that_somebody_without_the_key_made_up_is_named_where_the_key_is(
    settings: Settings, tmp_path: Path
) -> None:
    """They write inbox, ledger and head, and sign with a key of their own."""
    with closing(open_inbox(settings.inbox)) as inbox:
        identity = inbox.identity
    for file in (*tmp_path.glob("inbox.db*"), *tmp_path.glob("ledger.duckdb*")):
        file.unlink()
    theirs = settings.model_copy(update={"signing_key_file": tmp_path / "theirs.key"})
    open_inbox(settings.inbox, identity=identity).close()
    with closing(LedgerService(theirs)) as service:
        story.record(service.inbox, settings.artifacts, first_answer=200)
        service.catch_up()
        service.checkpoint()
        made_up = str(service.signing.present())
    for is_keeper in (True, False):
        with closing(LedgerService(settings, is_keeper=is_keeper)) as service:
            [fault] = audit(service).faults
            assert fault.startswith("this machine's signing key is prazo/")
            assert f"the log names {made_up} and never that one" in fault
            remedy = service.signing.missing().remedy
            assert "compare both with the key that was published" in remedy


@pytest.mark.long
def test_where_the_key_is_nothing_says_that_it_is_elsewhere(settings: Settings) -> None:
    for is_keeper in (True, False):
        with closing(LedgerService(settings, is_keeper=is_keeper)) as service:
            assert not [it for it in audit(service).notes if "is not here" in it]
    settings.signing_key_file.rename(settings.signing_key_file.with_name("away"))
    with closing(LedgerService(settings, is_keeper=False)) as service:
        assert [it for it in audit(service).notes if "the signing key is not here" in it]
