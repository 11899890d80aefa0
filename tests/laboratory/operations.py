"""What is asked of the system in a run, and what it may answer.

While something is broken, or has just been, a delivery may be answered 503 as well, and a part that
does not run answers nothing. Nothing else is ever excused.
"""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tests.laboratory.journal import Broken, Operation
from tests.laboratory.world import Done, Part, Reply
from tests.support.marketplace import REVENUE, Review, payload
from tests.support.stores import environment_in

if TYPE_CHECKING:
    from tests.laboratory.experiment import Experiment

ANSWER_SECONDS = 20.0
"""The promise: from a request's receipt to its answer, whatever hangs."""
FAULTS_OF_THE_PLATFORM: tuple[dict[str, object], ...] = (
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 503, "retry_after": "1"},
    {"kind": "slow", "seconds": 1.5},
    {"kind": "never_answers"},
    {"kind": "never_answers", "processes": True},
    {"kind": "drops_connection"},
    {"kind": "drops_connection", "processes": True},
    {"kind": "closes_half_way"},
)

Operate = Callable[["Experiment", Operation], None]


# --- deliveries ---


def deliver(lab: "Experiment", operation: Operation) -> None:
    """A new event: a review, a seller's, or something that cannot be read."""
    kind = lab.drawn.choices(["review", "seller", "unreadable"], [6, 3, 1])[0]
    if kind == "review":
        review = new_review(lab)
        operation.note(process=review.process_id)
        if _deliver(lab, operation, lab.bodies[-1], lab.a_receiver()).status == 200:
            lab.heard.add(review.process_id)
        return
    body = lab.seller_event() if kind == "seller" else lab.unreadable()
    lab.bodies.append(body)
    _deliver(lab, operation, body, lab.a_receiver())


def deliver_twice_at_once(lab: "Experiment", operation: Operation) -> None:
    """One event to two receivers at once; the log has one entry for each answer."""
    body = lab.seller_event()
    lab.bodies.append(body)
    _at_once(
        lambda: _deliver(lab, operation, body, lab.world.receivers[0]),
        lambda: _deliver(lab, operation, body, lab.world.receivers[1]),
    )


def deliver_again(lab: "Experiment", operation: Operation) -> None:
    """What was sent before, whether it was acknowledged or not."""
    if lab.bodies:
        _deliver(lab, operation, lab.drawn.choice(lab.bodies), lab.a_receiver())


def deliver_altered(lab: "Experiment", operation: Operation) -> None:
    """The same event id with another content."""
    events = [it for it in lab.bodies if it.startswith(b'{"id"')]
    if events:
        said = json.loads(lab.drawn.choice(events))
        said["altered"] = lab.next_number()
        body = json.dumps(said).encode()
        lab.bodies.append(body)
        _deliver(lab, operation, body, lab.a_receiver())


def _deliver(lab: "Experiment", operation: Operation, body: bytes, to: Part) -> Reply:
    answers_before = to.answers
    lab.promises.asked[body] += 1
    reply = lab.world.ask(to, "POST", "/webhooks", body)
    operation.note(to=to.name, answer=reply.status)
    _check_answer(lab, to, reply, {200}, answers_before)
    if reply.status == 200:
        seq = reply.said["seq"]
        operation.note(seq=seq)
        lab.promises.acknowledge(seq, body)
        lab.check_on_disk(seq, body)
    return reply


def _check_answer(
    lab: "Experiment", to: Part, reply: Reply, allowed: set[int], was_up: bool
) -> None:
    if reply.status is None:
        if was_up and lab.is_calm:
            raise Broken(f"{to.name} gave no answer: {reply.body.decode()}")
        if was_up and reply.seconds > ANSWER_SECONDS:
            raise Broken(f"{to.name} gave no answer for {reply.seconds:.1f} s")
        return
    if reply.seconds > ANSWER_SECONDS:
        raise Broken(f"{to.name} answered {reply.status} after {reply.seconds:.1f} s")
    if reply.status not in allowed and (lab.is_calm or reply.status != 503):
        raise Broken(f"{to.name} answered {reply.status}: {reply.body.decode(errors='replace')}")


def _at_once(*works: Callable[[], object]) -> None:
    with ThreadPoolExecutor(len(works)) as threads:
        for ended in [threads.submit(work) for work in works]:
            ended.result()


# --- reviews ---


def new_review(lab: "Experiment") -> Review:
    """A review that the platform has opened now; its event is the newest of the bodies."""
    platform = lab.world.platform
    seller_id = platform.adopt_seller()
    process_id = platform.require_review(seller_id, "ACI", requested_fields=("revenue",))
    body = next(it.body for it in reversed(platform.events) if process_id.encode() in it.body)
    lab.bodies.append(body)
    review = Review(process_id, seller_id, payload(process_id))
    lab.reviews.append(review)
    return review


def collect(lab: "Experiment", operation: Operation) -> None:
    """The seller's answer to a review, with an artifact; a part of them without."""
    if not lab.reviews:
        deliver(lab, operation)
        return
    review = lab.drawn.choice(lab.reviews)
    occurrence = {
        "kind": "collection",
        "occurred_at": lab.now(),
        "process_id": review.process_id,
        "seller_id": review.seller_id,
        "journey_id": f"journey of {review.process_id}",
        "step": "answered",
        "channel": "in_app",
        "source": "seller",
        "actor": "the seller",
        "fields": {"revenue": REVENUE},
    }
    screen = f"screen {lab.next_number()}".encode() * lab.drawn.choice([1, 4000])
    part = b'--x\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n'
    body = part % (b"collection", b"", json.dumps(occurrence).encode())
    body += part % (b"screen", b'; filename="screen.png"', screen) + b"--x--\r\n"
    to = lab.a_receiver()
    was_up = to.answers
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    reply = lab.world.ask(to, "POST", "/v1/collections", body, kind)
    operation.note(process=review.process_id, to=to.name, answer=reply.status)
    _check_answer(lab, to, reply, {200}, was_up)
    if reply.status == 200:
        lab.answered.add(review.process_id)


def submit(lab: "Experiment", operation: Operation) -> None:
    """A review that was answered, by the gateway or by a command, to a platform that may fail; now
    and then by all at once."""
    open_ones = [it for it in lab.reviews if it.process_id in lab.answered & lab.heard]
    if not open_ones:
        collect(lab, operation)
        return
    review = lab.drawn.choice(open_ones)
    for _ in range(lab.drawn.choice([0, 1, 1, 2])):
        terms = lab.drawn.choice(FAULTS_OF_THE_PLATFORM)
        lab.world.platform.add_fault(process_id=review.process_id, **terms)
        operation.note(platform=terms["kind"])
    how = lab.drawn.choices(["gateway", "command", "all"], [4, 4, 3])[0]
    operation.note(process=review.process_id, by=how)
    if how == "all":
        _at_once(
            lambda: _put(lab, operation, review, lab.world.receivers[0]),
            lambda: _put(lab, operation, review, lab.world.receivers[1]),
        )
    if how == "gateway":
        _put(lab, operation, review, lab.a_receiver())
    if how != "gateway":
        path = lab.world.folder / f"{review.process_id}.json"
        path.write_bytes(review.payload)
        done = lab.command(
            operation, {0, 1, 3}, "submit", review.process_id, "--payload", str(path), "--wait", "0"
        )
        if done.code == 3:
            lab.waiting.add(review.process_id)


def _put(lab: "Experiment", operation: Operation, review: Review, to: Part) -> None:
    path = f"/v1/marketplaces/{lab.world.platform.marketplace_id}/sellers/{review.seller_id}"
    headers = {"Content-Type": "application/json"}
    reply = lab.world.ask(to, "PUT", f"{path}/registration/review", review.payload, headers)
    operation.note(to=to.name, answer=reply.status)
    lab.by_gateway.add(review.process_id)
    if reply.status == 200:
        lab.promises.accepted.add(review.process_id)
        if lab.world.platform.process(review.process_id)["status"] != "FINISHED":
            raise Broken(f"{review.process_id} was answered 200, and the platform has not finished")
    elif reply.status not in (None, 409, 422, 500, 502, 503, 504):
        raise Broken(f"the gateway answered {reply.status}: {reply.body.decode()}")
    if reply.status == 422 and lab.is_calm:
        raise Broken(f"the gateway refused what the seller answered: {reply.body.decode()}")


# --- auditors and operators ---


def export_and_verify(lab: "Experiment", operation: Operation) -> None:
    """A package of a process is made, and verifies."""
    if not lab.reviews:
        return
    review = lab.drawn.choice(lab.reviews)
    out = lab.world.folder / f"package-{lab.next_number()}.zip"
    given = ("--process", review.process_id, "--out", str(out), "--reason", "r", "--actor", "ana")
    codes = {0} if review.process_id in lab.heard else {0, 1, 2}
    done = lab.command(operation, codes, "export", *given)
    if done.code == 0:
        lab.command(operation, {0}, "verify", str(out), excused=False)
    out.unlink(missing_ok=True)


def verify(lab: "Experiment", operation: Operation) -> None:
    """The stores verify, whatever was done to them, once all is well again."""
    lab.calm()
    lab.command(operation, {0}, "verify")


def back_up(lab: "Experiment", operation: Operation) -> None:
    """A backup is made while everything runs."""
    lab.command(operation, {0}, "backup", str(lab.world.folder / "backup"), "--with-keys")


def restore_elsewhere(lab: "Experiment", operation: Operation) -> None:
    """A backup of this moment is put back on another machine, and verifies there."""
    folder = lab.world.folder / f"elsewhere-{lab.next_number()}"
    backup = folder / "backup"
    folder.mkdir()
    lab.calm()
    lab.command(operation, {0}, "backup", str(backup), "--with-keys")
    lab.command(operation, {0}, "restore", str(backup), **environment_in(folder))
    shutil.rmtree(folder)


def rotate_key(lab: "Experiment", operation: Operation) -> None:
    """The log gets a new signing key, while everything runs."""
    lab.command(operation, {0}, "rotate-key", "--actor", "ana", "--reason", "r")


def ask_doctor(lab: "Experiment", operation: Operation) -> None:
    """The doctor says what is wrong; when all is well, nothing is a fault."""
    done = lab.command(operation, {0, 1}, "doctor")
    if lab.is_calm:
        faults = [it.split(maxsplit=1)[1] for it in done.out.splitlines() if it[:5] == "fault"]
        if faults := [it for it in faults if not it.startswith("disk:")]:  # ours is small
            raise Broken(f"the doctor finds faults where there are none: {faults}")


def keep_a_copy(lab: "Experiment", operation: Operation) -> None:
    """Copies the inbox, to be put back later."""
    lab.calm()
    lab.world.past.keep("older")
    with lab.world.inbox() as inbox:
        lab.copied = inbox.last()[0]
    operation.note(entries=lab.copied)


def put_back(lab: "Experiment", operation: Operation) -> None:
    """The inbox is put back from the copy: nothing is followed or signed until it is reconciled,
    and then nothing that was acknowledged is missing."""
    if lab.copied is None:
        keep_a_copy(lab, operation)
        return
    world, fork = lab.world, lab.copied
    for resumer in world.resumers:
        resumer.terminate()  # what it would send before the ledger has the start would be lost
    lab.calm(but=world.resumers)
    backup = str(world.folder / "backup")
    lab.command(operation, {0}, "backup", backup, "--with-keys")
    lab.calm(but=world.resumers)
    with world.inbox() as inbox:
        lost = inbox.last()[0] - fork
    world.past.put_back("older")
    lab.promises.lose(fork)
    lab.begin_unrest()
    operation.note(fork=fork, lost=lost)
    for _ in range(lab.drawn.randint(0, 3)):
        _deliver(lab, operation, lab.seller_event(), lab.a_receiver())
    if lost:
        lab.wait_until("the holder says what it lacks", lambda: _says_fork(world.status()))
        lab.command(operation, {1}, "verify", excused=False)
    world.holder.terminate()
    lab.command(
        operation, {0}, "reconcile", "--reason", "it was put back", "--actor", "ana", excused=False
    )
    for part in (world.holder, *world.resumers):
        part.start()
    lab.copied = None
    # Artifacts that were in the database were put back with it.
    lab.command(operation, {0}, "artifacts", f"{backup}/artifacts", excused=False)
    lab.promises.find_again(lab.entries())
    lab.calm()
    lab.command(operation, {0}, "verify")


def _says_fork(status: dict[str, Any] | None) -> bool:
    if status is None or "prazo reconcile" not in (status["problem"] or ""):
        return False
    if status["is_verified"]:
        raise Broken(f"a ledger whose inbox lacks entries says that it is verified: {status}")
    return True


def look_at_views(lab: "Experiment", operation: Operation) -> None:
    """A view is read from the holder; when all is well it has every review that was taken."""
    reply = lab.world.ask(
        lab.world.holder, "GET", "/api/views/process_state?format=json&limit=100000"
    )
    operation.note(answer=reply.status)
    if reply.status not in (None, 200, 503) or (lab.is_calm and reply.status != 200):
        raise Broken(f"the holder answered {reply.status}: {reply.body.decode(errors='replace')}")


EVERYDAY: tuple[tuple[Operate, int], ...] = (
    (deliver, 12),
    (deliver_twice_at_once, 3),
    (deliver_again, 4),
    (deliver_altered, 3),
    (collect, 8),
    (submit, 12),
    (look_at_views, 2),
)
"""With their weights."""
RARE: tuple[tuple[Operate, int], ...] = (
    (export_and_verify, 3),
    (verify, 1),
    (back_up, 2),
    (rotate_key, 1),
    (ask_doctor, 1),
    (keep_a_copy, 1),
    (put_back, 2),
    (restore_elsewhere, 1),
)
"""Commands: each is a process."""

__all__ = ["EVERYDAY", "RARE", "Done", "Operate", "put_back", "verify"]
