"""What reads bodies beside the ledger: once they are erased, nothing takes what stays for them."""

import json
import re
import shutil
import time
from contextlib import closing
from pathlib import Path

import pytest
from pyrage import x25519

from pipeline import instants
from pipeline.cli.doctor import erasures
from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.continuity.reconcile import reconcile
from pipeline.continuity.service import LedgerService
from pipeline.erasure.forgetting import forget
from pipeline.errors import CallerError
from pipeline.forward import messages
from pipeline.forward.endpoints import Endpoint
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.artifacts import artifact_store, named
from pipeline.keys import secret_key
from pipeline.ledger.facts import facts_of, remains
from pipeline.ledger.facts.rows import UnreadablePart, Webhook
from pipeline.log.deliveries import replay, supply
from pipeline.log.entries import Draft, Entry, Place, record_entry
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.settings import Settings
from pipeline.submit import resume as sending
from pipeline.submit import retries
from pipeline.submit.casefile import CaseFiles
from pipeline.submit.decision import NotDue
from tests.audit import story
from tests.erasure import person
from tests.erasure.conftest import ON_SQLITE
from tests.erasure.test_forgetting import SAID, done, views
from tests.erasure.test_what_stays import copied, words_of
from tests.submit.attempts import a_waiting_retry
from tests.support.commands import here
from tests.support.ledgers import KEYS
from tests.support.marketplace import Marketplace
from tests.support.sqlite import opened
from tests.support.stores import environment_in


@pytest.fixture
def erased(settings: Settings) -> Settings:
    done(settings)
    return settings


def found_by_doctor(settings: Settings) -> list[Diagnosis]:
    with AtHand(settings) as inbox:
        found = list(erasures.erasures(settings, inbox))
    # But for the ledger, which nobody opens here (tests/erasure/test_at_rest.py).
    return [it for it in found if "nobody has opened it since" not in it.found]


def entries(settings: Settings) -> list[Entry]:
    with closing(open_inbox(settings.inbox)) as inbox:
        return inbox.read(0, 100)


@ON_SQLITE
def test_no_delivery_is_passed_on_any_more(erased: Settings, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("whsec_" + "A" * 44)
    secret.chmod(0o600)
    endpoint = Endpoint(name="crm", url="https://crm.example.com/", secret_file=secret)
    [first] = [it for it in entries(erased) if it.event_id == "e1"]
    live = first._replace(origin="live")
    assert messages.why_not_for(live, endpoint) == "what came was erased"
    with pytest.raises(ValueError, match="what came was erased"):
        messages.body_of(live, endpoint)


@ON_SQLITE
def test_what_was_in_quarantine_is_neither_read_again_nor_completed(
    erased: Settings, tmp_path: Path
) -> None:
    held = [it for it in entries(erased) if it.kind == QUARANTINE and it.is_erased]
    assert len(held) == 2
    for entry in held:
        assert replay(entry, recorded_by="ana") is None
        with pytest.raises(CallerError, match="Nothing can be supplied"):
            supply(entry, {"id": "e9"}, reason="r", actor="ana", recorded_by="user:ana")
    environment = environment_in(erased.ledger.parent)
    ran = here("quarantine", "--replay", environment=environment, folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "0 replayed, 1 still cannot be read\n")  # another's


@ON_SQLITE
def test_what_somebody_supplied_goes_with_the_delivery_that_lacked_it(settings: Settings) -> None:
    """And nothing is in quarantine, or is to be read again, that was not before."""
    lacks = {"type": "REGISTRATION_REVIEW_REQUIRED", "customer_id": "sel_7", "status": "FINISHED"}
    event = {"id": "e7", "type": "regulatory.registration.review.required"}
    event |= {"created_at": "2026-03-02T09:00:00Z", "payload": {"object": lacks}}
    said = {"reason": "Joaquim said so", "actor": "ana", "recorded_by": "user:ana"}
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver_bytes(inbox, json.dumps(event).encode())
        held = inbox.find(kind=QUARANTINE)[-1]
        inbox.append(supply(held, {"payload.object.process_id": "prc_7"}, **said))
    before = views(settings)
    assert done(settings, "sel_7").kinds == {"quarantine": 1, "supply": 1, "webhook": 1}
    assert b"Joaquim" not in b"".join(it.body or b"" for it in entries(settings))
    after = views(settings)
    assert after["quarantine"] == before["quarantine"]
    assert after["process_state"] == before["process_state"]


@ON_SQLITE
def test_a_case_file_has_no_answer_and_no_payload_of_what_was_erased(erased: Settings) -> None:
    with closing(open_inbox(erased.inbox)) as inbox:
        case = CaseFiles(inbox).open(person.PROCESS)
    assert case.process is not None
    assert case.process.state == "FINISHED"
    assert (case.answers, case.payloads) == ({}, {})


def test_a_payload_that_was_to_be_sent_again_waits_for_a_person(marketplace: Marketplace) -> None:
    """The platform deleted its seller. What was left of it was looked at over and over, for a day:
    a retry was due, and never sent."""
    review = a_waiting_retry(marketplace, seconds=0)
    deleted = person.event(
        instants.canonical(instants.now()), "gone", "seller.deleted", {"id": review.seller_id}
    )
    marketplace.append(**deleted)
    settings = marketplace.settings()
    secret_key(settings.taxpayer_key_file)
    done(settings, review.seller_id)
    case = CaseFiles(marketplace.inbox).open(review.process_id)
    standing = retries.standing(case.attempts)
    assert isinstance(standing, retries.Waiting)
    assert standing.is_held
    left = sending.resume_all(
        settings, recorded_by="test", patience_seconds=1, on_attempt=lambda *_: None
    )
    assert left == []
    ended = sending.resume(settings, review.process_id, recorded_by="test", patience_seconds=1)
    assert isinstance(ended.result, NotDue)
    assert len(marketplace.puts(review.process_id)) == 1


@ON_SQLITE
def test_a_call_with_the_bytes_that_stay_is_not_a_repetition_of_a_payload(erased: Settings) -> None:
    with closing(open_inbox(erased.inbox)) as inbox:
        [start] = inbox.find(attempt_id="a1", kind=SUBMISSION_STARTED)
        assert CaseFiles(inbox).process_of(person.SELLER, start.body or b"") is None


@ON_SQLITE
def test_its_artifacts_are_named_by_nobody_and_none_is_missed(erased: Settings) -> None:
    with closing(open_inbox(erased.inbox)) as inbox:
        [names] = named(inbox)
        assert len(names) == 1
        assert artifact_store(erased, inbox).fault(names[0].sha256) is None


@ON_SQLITE
def test_the_command_names_the_encrypted_copies_that_may_hold_the_person_and_until_when(
    settings: Settings, tmp_path: Path
) -> None:
    environment = environment_in(settings.ledger.parent) | {
        "PRAZO_BACKUP_TO": str(tmp_path / "kept"),
        "PRAZO_BACKUP_RECIPIENT": str(x25519.Identity.generate().to_public()),
        # The last copy of a week or a month would stay for longer: the test would know the day.
        "PRAZO_BACKUP_KEEP": "7,0,0",
    }

    def run(*arguments: str) -> str:
        return here(*arguments, environment=environment, folder=tmp_path).stdout

    def in_a_week() -> str:
        return instants.canonical(instants.now() + 7 * instants.DAY)[:10]

    def copy() -> str:
        time.sleep(1.1)  # its name says the second
        return re.findall("prazo-[0-9TZ]{16}", run("backup", str(tmp_path / "saved")))[0]

    ask = ("forget", person.SELLER, "--reason", "she asked", "--actor", "ana")
    before = copy()
    earliest = in_a_week()
    for said in (run(*ask, "--dry-run"), run(*ask)):
        until = re.findall(f"  {before} in {tmp_path}/kept: until ([0-9-]+), if a backup", said)
        assert len(until) == 1
        assert earliest <= until[0] <= in_a_week()
        assert "restores one of these forgets the person again" in said
    after = copy()
    again = run(*ask)
    assert after not in again
    assert before not in again  # the newest of the day stays
    assert "restores one of these" not in again


@ON_SQLITE
def test_the_command_says_what_it_did_and_where_more_may_be(
    settings: Settings, tmp_path: Path
) -> None:
    asides = [Path(f"{it}.set-aside-1") for it in (settings.inbox, settings.ledger)]
    for aside in asides:
        aside.write_bytes(b"")
    environment = environment_in(settings.ledger.parent)
    ask = ("forget", person.SELLER, "--reason", "she asked", "--actor", "ana")
    dry = here(*ask, "--dry-run", environment=environment, folder=tmp_path)
    assert dry.returncode == 0
    assert dry.stdout.startswith("sel_1: 12 entries would be erased (1 collection, 1 note, ")
    ran = here(*ask, environment=environment, folder=tmp_path)
    assert ran.returncode == 0
    assert ran.stdout.startswith("sel_1: 12 entries erased (1 collection, 1 note, 2 quarantine, ")
    for aside in asides:
        assert f"  {aside}: a former file" in ran.stdout
    again = here(*ask, environment=environment, folder=tmp_path)
    assert again.stdout.startswith("sel_1: nothing was left to erase; 0 artifacts removed\n")


@ON_SQLITE
def test_the_doctor_says_what_came_back(erased: Settings, tmp_path: Path) -> None:
    assert [it.verdict for it in found_by_doctor(erased)] == ["ok"]
    with closing(opened(erased.inbox)) as connection, connection:
        connection.execute("drop trigger entries_no_update")
        connection.execute("update entries set body = x'78', salt = x'79' where seq = ?", (1,))
    aside = erased.ledger.with_name("ledger.duckdb.set-aside-1")
    aside.write_bytes(b"")
    back, former = found_by_doctor(erased)
    assert (back.verdict, back.found[:18]) == ("fault", "1 entry was erased")
    assert back.remedy.endswith("`prazo forget` erases it again; it is of sel_1")
    assert (former.verdict, str(aside) in former.found) == ("warning", True)


@ON_SQLITE
def test_the_doctor_says_what_came_back_beside_the_log(erased: Settings) -> None:
    """Whole copies of a machine bring artifacts and links back, and no ledger knows of these."""
    with closing(open_inbox(erased.inbox)) as inbox:
        store, now = artifact_store(erased, inbox), inbox.now()
        person.link(inbox, "r1", minted_at=now)  # made since: she came back
        person.link(inbox, "r2", revoked_at=2)
        person.link(inbox, "r3", seller_id=person.OTHER, email="joana@example.com")
        assert [it.verdict for it in found_by_doctor(erased)] == ["ok"]
        for back in (
            lambda: store.keep(person.SCREEN),
            lambda: person.link(inbox, "r4"),
            lambda: person.link(inbox, "r5", revoked_at=2, email="mariana@example.com"),
        ):
            back()
            [_, beside] = found_by_doctor(erased)
            assert (beside.verdict, "1 seller who came back" in beside.found) == ("fault", True)
            assert beside.remedy == "`prazo forget` erases them again, of sel_1"
            done(erased)
            assert [it.verdict for it in found_by_doctor(erased)] == ["ok"]


@ON_SQLITE
def test_the_doctor_says_who_was_forgotten_while_the_inbox_lacked_entries(
    settings: Settings, tmp_path: Path
) -> None:
    """The erasure names nothing that was lost then, and the ledger knew of no erasure. Before: the
    person was in the log again, and nobody was told."""
    lost_and_recorded_again(settings, copied(settings, tmp_path), "f1", forget_meanwhile=True)
    _, again, _ = found_by_doctor(settings)
    assert again.verdict == "fault"
    assert again.found.startswith("entries 20 were lost when their sellers were forgotten")
    assert again.remedy == "`prazo forget` erases them, of sel_1"
    done(settings)
    assert words_of(settings) == []
    # What came since was not to be erased: she came back.
    lost_and_recorded_again(settings, copied(settings, tmp_path), "f2", forget_meanwhile=False)
    assert words_of(settings) == ["Mariana"]
    assert [it.verdict for it in found_by_doctor(settings)] == ["ok", "warning"]


def lost_and_recorded_again(
    settings: Settings, older: Path, event_id: str, *, forget_meanwhile: bool
) -> None:
    """Something comes of the person, and the inbox loses it, for as long as it takes."""
    with closing(open_inbox(settings.inbox)) as inbox:
        person.add_lines(inbox, person.returned(event_id))
    with closing(LedgerService(settings)) as service:
        service.catch_up()
    shutil.copy(older, settings.inbox)
    if forget_meanwhile:
        done(settings)
    else:
        with closing(open_inbox(settings.inbox)) as inbox:
            story.deliver(inbox, "other")
    reconcile(settings, **SAID)


@ON_SQLITE
def test_the_doctor_says_where_tax_ids_compare_under_another_key(
    erased: Settings, tmp_path: Path
) -> None:
    """A second machine makes itself a key where it has none. Before: who had come back was counted
    there no more, and nothing said why."""
    elsewhere = erased.model_copy(update={"taxpayer_key_file": tmp_path / "other.key"})
    secret_key(elsewhere.taxpayer_key_file)
    [_, other] = found_by_doctor(elsewhere)
    assert (other.verdict, "does not count who" in other.found) == ("warning", True)


@ON_SQLITE
def test_nobody_else_is_forgotten_under_another_key_of_tax_ids(
    erased: Settings, tmp_path: Path
) -> None:
    """Before: nothing was said, and the log had the marks of two keys for good."""
    other = tmp_path / "other.key"
    secret_key(other)
    elsewhere = erased.model_copy(update={"taxpayer_key_file": other})
    with closing(open_inbox(erased.inbox)) as inbox:
        for is_dry_run in (True, False):
            with pytest.raises(CallerError, match="holds another key of tax ids"):
                forget(elsewhere, inbox, person.OTHER, **SAID, is_dry_run=is_dry_run)
        lost = forget(elsewhere, inbox, person.OTHER, **SAID, is_dry_run=True, is_key_lost=True)
        assert lost.entries > 0
        assert forget(erased, inbox, person.OTHER, **SAID, is_dry_run=True).entries > 0


@ON_SQLITE
def test_the_doctor_says_nothing_where_nobody_was_forgotten(settings: Settings) -> None:
    assert found_by_doctor(settings) == []


# --- what stays, as it is written ----------------------------------------------------------------


@ON_SQLITE
def test_what_stays_gives_the_same_facts_but_for_the_person(inbox: Inbox) -> None:
    """And what stays of what stays is the same: erased once more, nothing changes."""
    for entry in inbox.read(0, 100):
        before = list(facts_of(entry, KEYS))
        stays = remains.of(before)
        erased = entry._replace(body=stays, salt=None)
        after = list(facts_of(erased, KEYS))
        assert [type(it) for it in after] == [type(it) for it in before]
        assert remains.of(after) == stays
        for one, other in zip(before, after, strict=True):
            typed = remains.TYPED.get(getattr(one, "kind", ""))
            for name, value in one._asdict().items():
                if typed is None or name not in ("content", "body_sha256"):
                    assert getattr(other, name) in (value, None, ""), (one, name)
                elif name == "content":
                    said = json.loads(value).items()
                    kept = {column: it for column, it in said if column not in typed}
                    assert json.loads(getattr(other, name)) == kept


def test_what_stays_of_an_unreadable_part_is_the_same_and_not_left_out() -> None:
    """Whatever stood there was passed over, so that whoever writes into the inbox had its finding
    say anything."""
    part = UnreadablePart(1, "e1", 0, "p1", "s1", "requested_fields", "[]")
    stays = remains.of([part])
    without = stays.replace(b'"found":"[]",', b"")
    assert len(without) < len(stays)
    assert remains.agree(stays, stays)
    assert not remains.agree(without, stays)
    for said in (b"x", b"[]", b"{}", b'{"facts":1}', b'{"facts":[1]}', b'{"facts":[["t",1]]}'):
        assert not remains.agree(said, stays)
    assert not remains.agree(stays.replace(b"[]", b"of Olinda"), stays)


def test_what_stays_of_a_review_as_it_is_written() -> None:
    body = {
        "id": "e4",
        "type": "regulatory.registration.review.required",
        "created_at": "2026-03-02T09:00:00Z",
        "payload": {
            "object": {
                "type": "REGISTRATION_REVIEW_REQUIRED",
                "process_id": "p",
                "customer_id": "s",
                "status": "PENDING",
                "deadline_at": "2026-05-01T09:00:00Z",
                "requested_fields": ["revenue"],
            }
        },
    }
    draft = Draft(WEBHOOK, 0, "webhook", json.dumps(body).encode(), event_id="e4", process_id="p")
    draft = draft._replace(particulars={"replay_of": 7})
    place = Place(1, 0, 1, None, None, None, False)
    entry = record_entry(draft, place, log="prazo/test", log_key=b"k" * 32, random=bytes)
    stays = remains.of(facts_of(entry, KEYS))
    [webhook, review] = json.loads(stays)["facts"]
    [said, _] = facts_of(entry._replace(body=stays, salt=None), KEYS)
    assert isinstance(said, Webhook)
    assert said.replay_of == 7  # by the entry: recorded again, it may name another
    content = webhook[1]["content_sha256"]
    assert webhook == [
        "facts.webhooks",
        {
            "content_sha256": content,
            "created_at": 1_772_442_000_000_000,
            "event_id": "e4",
            "event_type": "regulatory.registration.review.required",
            "has_id": True,
            "is_shape_known": True,
            "occurred_at": 0,
            "origin": "live",
        },
    ]
    assert review == [
        "facts.reviews",
        {
            "content_sha256": content,
            "created_at": 1_772_442_000_000_000,
            "deadline_at": 1_777_626_000_000_000,
            "event_id": "e4",
            "object_type": "REGISTRATION_REVIEW_REQUIRED",
            "occurred_at": 0,
            "origin": "live",
            "process_id": "p",
            "requested_fields": ["revenue"],
            "seller_id": "s",
            "status": "PENDING",
        },
    ]
