"""One signing key a log: registered once, brought to other machines, rotated without a gap."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline import verify
from pipeline.continuity.backup import copy_keys
from pipeline.errors import InboxChanged, LedgerRefused, OperatorError
from pipeline.inbox import Inbox, SignedHead, open_inbox, signing_keys
from pipeline.inbox.signing_keys import SigningKeys, register, registered
from pipeline.log.checkpoints import Signer
from pipeline.log.kinds.key_rotation import KEY_ROTATION
from pipeline.log.signing import STATEMENT, LogKeys, open_checkpoint, rotating
from tests import depth
from tests.inbox.drafts import note
from tests.support.machine import killed

WHO = {"actor": "Ana", "reason": "yearly", "recorded_by": "user:ana"}


def machine(inbox: Inbox, tmp_path: Path, name: str) -> SigningKeys:
    return SigningKeys(inbox, tmp_path / name / "signing.key")


@pytest.fixture
def first(inbox: Inbox, tmp_path: Path) -> SigningKeys:
    """The machine whose key is the log's."""
    keys = machine(inbox, tmp_path, "first")
    assert keys.take_up() is not None
    return keys


# --- registration ----------------------------------------------------------------------------


def test_the_first_keeper_makes_the_key_and_registers_it(inbox: Inbox, tmp_path: Path) -> None:
    keys = machine(inbox, tmp_path, "first")
    signer = keys.take_up()
    assert signer is not None
    assert registered(inbox) == [(1, str(signer.key))]
    assert str(Signer(inbox.log, tmp_path / "first" / "signing.key").key) == str(signer.key)
    assert [it.name for it in (tmp_path / "first").iterdir()] == ["signing.key"]


def test_a_row_that_is_not_a_key_is_said_to_be_the_inboxs(inbox: Inbox, tmp_path: Path) -> None:
    """It read as if the caller had given a wrong key, in answer to a command that takes none."""
    register(inbox, 1, "prazo/log+00000000+x")
    with pytest.raises(InboxChanged, match="row 1 of its table signing_keys was changed"):
        machine(inbox, tmp_path, "first").take_up()


def test_a_second_machine_makes_no_key_and_says_which_one_it_needs(
    inbox: Inbox, first: SigningKeys, tmp_path: Path
) -> None:
    second = machine(inbox, tmp_path, "second")
    assert second.take_up() is None
    assert first.signer is not None
    with pytest.raises(OperatorError, match="bring its file") as refused:
        second.signer_at(1)
    assert str(first.signer.key) in refused.value.why
    assert list((tmp_path / "second").iterdir()) == []
    (tmp_path / "second" / "signing.key").write_bytes(
        (tmp_path / "first" / "signing.key").read_bytes()
    )
    brought = second.signer_at(1)
    assert brought is not None
    assert brought.key == first.signer.key


def test_a_machine_that_names_another_as_the_one_that_signs_waits_for_its_key(
    inbox: Inbox, tmp_path: Path
) -> None:
    """Before: it registered a key of its own if it came first, and signed for good."""
    path, url = tmp_path / "second" / "signing.key", "https://keeper.market.example"
    second = SigningKeys(inbox, path, keeper_url=url)
    assert second.take_up() is None
    assert (registered(inbox), path.exists()) == ([], False)
    with pytest.raises(OperatorError, match=f"{url} is named as the machine that signs"):
        second.signer_at(1)
    first = machine(inbox, tmp_path, "first").take_up()
    assert first is not None
    with pytest.raises(OperatorError, match="bring its file"):
        second.signer_at(1)
    path.write_bytes((tmp_path / "first" / "signing.key").read_bytes())
    brought = second.signer_at(1)
    assert brought is not None
    assert brought.key == first.key


def test_a_machine_with_another_key_signs_nothing_and_breaks_nothing(
    inbox: Inbox, first: SigningKeys, tmp_path: Path
) -> None:
    second = machine(inbox, tmp_path, "second")
    other = Signer.made(inbox.log, tmp_path / "second" / "signing.key")
    assert second.take_up() is None
    with pytest.raises(OperatorError, match="Nothing is signed here") as refused:
        second.signer_at(1)
    assert f"holds {other.key}" in refused.value.why
    with pytest.raises(OperatorError, match="Nothing is signed here"):
        second.rotate(**WHO)
    assert first.signer is not None
    assert first.signer_at(1) == first.signer
    assert registered(inbox) == [(1, str(first.signer.key))]
    assert inbox.last()[0] == 0


def test_of_machines_that_start_at_once_exactly_one_registers_its_key(
    location: str, tmp_path: Path
) -> None:
    open_inbox(location).close()

    def start(name: str) -> Signer | None:
        inbox = open_inbox(location)
        try:
            return machine(inbox, tmp_path, name).take_up()
        finally:
            inbox.close()

    names = [f"machine-{it}" for it in range(8)]
    with ThreadPoolExecutor(8) as pool:
        signers = dict(zip(names, pool.map(start, names), strict=True))
    [winner] = [name for name, signer in signers.items() if signer is not None]
    assert list(tmp_path.glob("machine-*/*")) == [tmp_path / winner / "signing.key"]


def test_processes_of_one_machine_that_start_at_once_share_its_key(
    location: str, tmp_path: Path
) -> None:
    open_inbox(location).close()

    def start(_: int) -> str:
        inbox = open_inbox(location)
        try:
            signer = machine(inbox, tmp_path, "one").take_up()
            return str(signer and signer.key)
        finally:
            inbox.close()

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(start, range(8)))
    assert len(keys) == 1
    assert keys == {
        str(Signer(next(iter(keys)).partition("+")[0], tmp_path / "one/signing.key").key)
    }


def test_a_log_that_was_signed_before_keys_were_registered_takes_that_key_and_no_other(
    inbox: Inbox, tmp_path: Path
) -> None:
    old = Signer.made(inbox.log, tmp_path / "old" / "signing.key")
    inbox.put_checkpoint(SignedHead(3, old.checkpoint(3, bytes(32))))
    assert machine(inbox, tmp_path, "empty").take_up() is None
    Signer.made(inbox.log, tmp_path / "other" / "signing.key")
    with pytest.raises(LedgerRefused, match="not one of ours"):
        machine(inbox, tmp_path, "other").take_up()
    assert registered(inbox) == []
    assert machine(inbox, tmp_path, "old").take_up() is not None
    assert registered(inbox) == [(1, str(old.key))]


def test_no_half_copied_key_stays_beside_a_copy(tmp_path: Path) -> None:
    """A backup that was killed left it, and nothing took it away: not even once the key was
    rotated, and the former one destroyed wherever it was known to be."""
    (tmp_path / "key").write_bytes(b"private")
    (left := tmp_path / ".copy.0123abcd.partial").write_bytes(b"private")
    os.utime(left, (0, 0))
    assert copy_keys([(tmp_path / "key", tmp_path / "copy")]) == (tmp_path / "copy",)
    assert not left.exists()


# --- rotation --------------------------------------------------------------------------------


def test_after_a_rotation_the_new_key_signs_and_earlier_checkpoints_stay_good(
    inbox: Inbox, first: SigningKeys, tmp_path: Path
) -> None:
    inbox.append([note()])
    old = first.signer
    assert old is not None
    before = old.checkpoint(1, bytes(32))
    # Killed between two names of its file, an earlier rotation left a second one of the key.
    os.link(first._path, left := tmp_path / "first" / ".signing.key.next.0123abcd.partial")
    os.utime(left, (0, 0))
    keys = first.rotate(**WHO)
    new = first.signer_at(2)
    assert new is not None
    after = new.checkpoint(2, bytes(32))
    assert [(it.key, it.since) for it in keys] == [(old.key, 0), (new.key, 2)]
    assert [it.key for it in registered(inbox)] == [str(old.key), str(new.key)]
    [entry] = inbox.read(1, 9)
    assert (entry.kind, entry.recorded_by) == (KEY_ROTATION, "user:ana")
    assert open_checkpoint(before, keys, log=inbox.log, size=1).size == 1
    assert open_checkpoint(after, keys, log=inbox.log, size=2).size == 2
    with pytest.raises(ValueError, match="not a note signed by"):  # the retired key, used again
        open_checkpoint(old.checkpoint(2, bytes(32)), keys)
    with pytest.raises(ValueError, match="not a note signed by"):  # the new key, over the past
        open_checkpoint(new.checkpoint(1, bytes(32)), keys)
    assert sorted(it.name for it in (tmp_path / "first").iterdir()) == [
        "signing.key",
        "signing.key.1",
    ]
    assert Signer(inbox.log, tmp_path / "first" / "signing.key.1").key == old.key


def test_a_keeper_that_runs_goes_on_with_the_new_key(inbox: Inbox, first: SigningKeys) -> None:
    running = SigningKeys(inbox, first._path)
    retired = running.take_up()
    first.rotate(**WHO)
    assert running.signer_at(0) is None  # its ledger is behind the rotation: nobody signs that now
    signer = running.signer_at(1)
    assert signer is not None
    assert retired is not None
    assert signer.key != retired.key


def test_a_machine_with_the_retired_key_asks_for_the_new_one(
    inbox: Inbox, first: SigningKeys, tmp_path: Path
) -> None:
    second = tmp_path / "second" / "signing.key"
    second.parent.mkdir()
    second.write_bytes(first._path.read_bytes())
    there = SigningKeys(inbox, second)
    assert there.take_up() is not None
    first.rotate(**WHO)
    with pytest.raises(OperatorError, match="Nothing is signed here"):
        there.signer_at(1)


def test_nobody_rotates_without_the_key_in_force(
    inbox: Inbox, first: SigningKeys, tmp_path: Path
) -> None:
    """An insider who can write into the database names a key of theirs, in every way there is."""
    assert first.signer is not None
    thief = Signer.made(inbox.log, tmp_path / "thief.key")
    other = Signer.made(inbox.log, tmp_path / "other.key")
    register(inbox, 2, str(thief.key))
    forged = rotating(thief, other, **WHO)
    honest = rotating(first.signer, other, **WHO)
    inbox.append(
        [
            forged,  # a key that was never in force hands over
            forged._replace(  # the text names the key in force, and another signed it
                body=(honest.body or b"").replace(
                    str(first.signer.key).encode(), str(thief.key).encode()
                )
            ),
            honest._replace(body=b'{"statement":"nothing"}'),
            honest._replace(body=f'{{"{STATEMENT}":"{"[" * 9}"}}'.encode()),
        ]
    )
    keys = first.known()
    assert keys is not None
    assert keys.current == first.signer.key
    assert [seq for seq, _ in keys.refused] == [1, 2, 3, 4]


def test_a_rotation_repeated_after_another_changes_nothing(
    inbox: Inbox, first: SigningKeys
) -> None:
    """Anyone who saw the first key's statement, or stole that key later, records it again."""
    first.rotate(**WHO)
    [entry] = inbox.read(0, 9)
    first.rotate(**WHO)
    keys = first.known()
    inbox.append([note()._replace(kind=KEY_ROTATION, body=entry.body)])
    again = first.known()
    assert keys is not None
    assert again is not None
    assert again.current == keys.current
    assert [seq for seq, _ in again.refused] == [3]


def test_a_rotation_of_another_log_changes_nothing(first: SigningKeys, tmp_path: Path) -> None:
    assert first.signer is not None
    there = Signer("prazo/other", first._path)
    draft = rotating(there, Signer.made("prazo/other", tmp_path / "new"), **WHO)
    keys = LogKeys(first.signer.key, [(7, draft.body or b"")])
    assert keys.current == first.signer.key
    assert "it is not of this log" in keys.refused[0][1]


def test_of_two_rotations_at_once_one_is_recorded(
    location: str, inbox: Inbox, first: SigningKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same key on two machines, both of which have decided to rotate it."""
    second = tmp_path / "second" / "signing.key"
    second.parent.mkdir()
    second.write_bytes(first._path.read_bytes())
    there = SigningKeys(open_inbox(location), second)
    decide = inbox.append

    def append(*given: object, **more: object) -> object:
        there.rotate(**WHO)
        return decide(*given, **more)

    monkeypatch.setattr(inbox, "append", append)
    with pytest.raises(OperatorError, match="another machine rotated it"):
        first.rotate(**WHO)
    there._inbox.close()
    keys = first.known()
    assert keys is not None
    assert (len(keys), inbox.last()[0]) == (2, 1)


STEPS: dict[str, tuple[object, str]] = {
    "the new key's file": (signing_keys.Signer, "made"),
    "the commit": (Inbox, "append"),
    "keeping the old key": (os, "link"),
    "putting the new one in its place": (Path, "replace"),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", depth.few(list(STEPS), 2))
def test_a_rotation_that_was_killed_is_finished_by_whoever_comes_next(
    location: str, inbox: Inbox, first: SigningKeys, step: str, when: str
) -> None:
    """Either nothing happened but a key that nobody knows, or the new key is in force and here."""
    assert first.signer is not None
    old = first.signer.key
    killed(lambda: _rotate_and_die(location, first._path, *STEPS[step], when))
    left = SigningKeys(inbox, first._path)
    signer = left.take_up()
    keys = left.known()
    assert signer is not None, "the key in force is on this machine"
    assert keys is not None
    is_done = not (step == "the new key's file" or (step, when) == ("the commit", "before"))
    assert (signer.key != old, len(keys), inbox.last()[0]) == (
        is_done,
        1 + is_done,
        int(is_done),
    )
    again = left.rotate(**WHO)
    assert len(again) == 2 + is_done
    assert left.signer_at(inbox.last()[0]) is not None


def _rotate_and_die(location: str, path: Path, owner: object, name: str, when: str) -> None:
    do: Callable[..., object] = getattr(owner, name)

    def instead(*given: object, **more: object) -> object:
        if name == "link" and not str(given[1]).endswith(".1"):
            return do(*given, **more)  # a new file is linked to its name as well
        if when == "after":
            do(*given, **more)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    signing = SigningKeys(open_inbox(location), path)
    setattr(owner, name, instead)
    signing.rotate(**WHO)


def test_a_key_is_not_replaced_more_often_than_a_package_may_name(
    first: SigningKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: after the 101st rotation no package of the log was verified, and nothing said why."""
    assert signing_keys.MOST_ROTATIONS == verify.MAX_ROTATIONS
    monkeypatch.setattr(signing_keys, "MOST_ROTATIONS", 2)
    first.rotate(**WHO)
    assert len(first.rotate(**WHO)) == 3
    with pytest.raises(OperatorError, match="it was 2 times, and a package names no more"):
        first.rotate(**WHO)
