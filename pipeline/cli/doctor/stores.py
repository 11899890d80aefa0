"""Examines where things are kept: secrets, disk, inbox, clock, artifacts, kept head, ledger."""

import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from pipeline import instants
from pipeline.audit.export import Seals
from pipeline.cli.doctor import advice
from pipeline.cli.doctor.at_hand import AtHand, SaidBefore
from pipeline.cli.doctor.diagnosis import Diagnosis, Verdict
from pipeline.continuity import kept_heads
from pipeline.errors import InboxMissing, InboxUnavailable, OperatorError, PrazoError
from pipeline.files.disk import existing, not_writable
from pipeline.http import addresses
from pipeline.http.machine import FREE_BYTES
from pipeline.inbox import copies
from pipeline.inbox.artifacts import artifact_store, look
from pipeline.inbox.clock import DATABASE, TOLERANCE, Clock
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.inbox.signing_keys import SigningKeys
from pipeline.inbox.sqlite.connection import VERSION
from pipeline.inbox.sqlite.inbox import PUT_BACK, SqliteInbox
from pipeline.ledger.file import made_by, name_of, other_content, other_database
from pipeline.ledger.views.formats import Asked
from pipeline.serve import remote
from pipeline.serve.metrics import MAX_LAG_SECONDS
from pipeline.settings import Settings
from pipeline.texts import counted, shell
from pipeline.written import read_small

LOOK_SECONDS: Final = 5.0
"""Enough for some 3 GB that are in memory."""
NO_SPACE: Final = "No space left"
ENV_FILE: Final = Path(".env")
_PASSWORD: Final = re.compile(r"://[^/@\s]*:[^/@\s]+@")
"""In an address, such as that of a PostgreSQL inbox or a timestamp authority."""


def secrets(settings: Settings) -> Iterator[Diagnosis]:
    """Whether only their owner can read the files that hold secrets."""
    for path in (
        settings.webhook_secret_file,
        settings.taxpayer_key_file,
        settings.signing_key_file,
        settings.platform_credentials_file,
        settings.platform_proxy_credentials_file,
        settings.platform_headers_file,
        settings.client_key_file,
        settings.oidc_file,
        settings.proxy_secret_file,
        settings.ledger,
        Path(settings.inbox) if settings.has_inbox_file else None,
    ):
        if path is not None and path.exists():
            yield owners_alone(path)
    # One that cannot be read is said where the settings are.
    if ENV_FILE.is_file() and _PASSWORD.search(read_small(ENV_FILE)):
        yield owners_alone(ENV_FILE)


def owners_alone(path: Path) -> Diagnosis:
    """Whether only its owner can read a file that is there."""
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Diagnosis(
            "secrets",
            "fault",
            f"{path} can be read by others",
            shell("chmod", 600, path),
        )
    return Diagnosis("secrets", "ok", f"{path} is its owner's alone")


def packages(settings: Settings) -> Iterator[Diagnosis]:
    """Whether the files can be used that say who vouches for packages."""
    Seals.of(settings)
    if settings.witnesses_file is not None:
        yield Diagnosis("packages", "ok", f"cosigned as {settings.witnesses_file} asks")
    if settings.timestamp_url is not None:
        yield Diagnosis("packages", "ok", f"stamped by {addresses.shown(settings.timestamp_url)}")


def disk(settings: Settings) -> Iterator[Diagnosis]:
    """Whether there is room for what comes in."""
    places = [
        (
            settings.ledger.parent,
            "the ledger cannot be written, pages, alerts and packages stand still",
        ),
        (settings.artifacts, "artifacts cannot be kept, collections with files are answered 503"),
    ]
    if settings.has_inbox_file:
        folder = Path(settings.inbox).parent
        places.append((folder, "the inbox cannot be written, deliveries are answered 503"))
    for link in dict.fromkeys(it for place, _ in places for it in (place, *place.parents)):
        if link.is_symlink() and not link.exists():
            yield Diagnosis(
                "disk",
                "fault",
                f"{link} leads to {link.readlink()}, which is not there",
                "mount that disk, or make that folder: nothing can be recorded there",
            )
    if not settings.has_inbox_file and settings.artifacts_in != "folder":
        del places[1]  # nothing is written there: it may be read, as before
    # Where several lie in one folder, the last counts, which is the gravest.
    for place, held_up in {existing(it): held_up for it, held_up in places}.items():
        free = shutil.disk_usage(place).free
        if (barred := not_writable(place)) is not None:
            yield Diagnosis(
                "disk",
                "fault",
                barred,
                "mount it for writing, or give the right to whoever runs Prazo: what has its place"
                " there is not recorded, or not followed, and then nobody is told of anything",
            )
        elif free < FREE_BYTES:
            yield Diagnosis(
                "disk",
                "fault",
                f"{free / 2**20:,.0f} MiB free at {place}",
                f"make room: when {held_up}",
            )
        else:
            yield Diagnosis("disk", "ok", f"{free / 2**30:,.1f} GiB free at {place}")


def inbox(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Whether the inbox can be read, and how its clock stands."""
    try:
        inbox = at_hand()
    except InboxMissing as missing:
        if kept_heads.left_of_a_log(settings):
            raise  # it was there: a fault
        other = kept_heads.other_beginning(settings)
        remedy = "`prazo serve` makes it when it starts" if other is None else other[1]
        yield Diagnosis("inbox", "warning", missing.what, remedy)
        return
    last_seq, recorded_at = inbox.last()
    yield Diagnosis("inbox", "ok", f"can be read; its last entry is {last_seq}")
    if isinstance(inbox, SqliteInbox):
        yield _of_sqlite(inbox)
    inbox.compare_clocks()
    yield clock(inbox.machine, recorded_at, inbox.dated_after(instants.now() + TOLERANCE))


def _of_sqlite(inbox: SqliteInbox) -> Diagnosis:
    """Which SQLite there is, and whether it finds the file damaged. A look is over soon; whoever
    has minutes lets `prazo verify` read all, and compare its indexes."""
    damage = inbox.first_damage(LOOK_SECONDS)
    if damage is None:
        return Diagnosis(
            "inbox",
            "ok",
            f"SQLite {VERSION}, which found no damage in {LOOK_SECONDS:g} s; `prazo verify` reads"
            " the whole file",
        )
    if damage == "ok":
        return Diagnosis("inbox", "ok", f"SQLite {VERSION}, which finds no damage in the file")
    return Diagnosis(
        "inbox",
        "fault",
        f"SQLite {VERSION} finds the file damaged: {' '.join(damage.split())}",
        PUT_BACK,
    )


def clock(machine: Clock, recorded_at: int, ahead: tuple[int, int] | None = None) -> Diagnosis:
    """What the clocks say of each other. `recorded_at`: of the newest entry. `ahead`: the entries
    that are dated after this machine's clock."""
    now, database = instants.now(), machine.database_offset
    behind = (recorded_at - now) / instants.SECOND
    if machine.doubted == DATABASE and database is not None:
        return Diagnosis(
            "clock",
            "fault",
            f"the database's clock is {database / instants.SECOND:+,.0f} s off: it has jumped",
            "set its server's clock (NTP); until then entries are stamped with the time before the"
            " jump, and marked",
        )
    if machine.doubted is not None and database is not None:
        return Diagnosis(
            "clock",
            "fault",
            f"the clock is {machine.offset / instants.SECOND:+,.0f} s off the database's",
            "set both clocks (NTP); until then entries are stamped with the database's, and marked",
        )
    if behind > TOLERANCE / instants.SECOND:
        return Diagnosis(
            "clock",
            "fault",
            f"the clock is {behind:,.0f} s behind the newest entry"
            + (f": entries {ahead[0]} to {ahead[1]} are dated ahead of it" if ahead else ""),
            "set the clock (NTP) if it is wrong; entries keep the later time until it has caught"
            + (
                " up. It is believed: what happens is dated by it"
                if machine.doubted is None
                else " up. If it is right, start the receiver once with PRAZO_BELIEVE_CLOCK=true"
            ),
        )
    if machine.doubted is not None:
        return Diagnosis(
            "clock",
            "fault",
            f"the clock is {machine.offset / instants.SECOND:+,.0f} s off: it jumped since this"
            " machine started",
            "set the clock (NTP); until then entries are stamped with the time before the jump, and"
            " marked. If the clock is right, start the receiver once with PRAZO_BELIEVE_CLOCK=true",
        )
    if (unvouched := machine.unvouched(recorded_at)) is not None:
        return Diagnosis(
            "clock",
            "warning",
            unvouched,
            "compare it with another machine's (`date -u`), and let a time service such as chrony"
            " keep it: a clock that is ahead at a start is believed",
        )
    beside = "" if database is None else f", the database's {database / instants.SECOND:+.3f} s"
    return Diagnosis("clock", "ok", f"{instants.readable(now)}{beside}")


def signing_key(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Whether the log's signing key is on this machine; nothing is made or registered."""
    keeper = settings.keeper_url
    signing = SigningKeys(at_hand(), settings.signing_key_file, keeper_url=keeper)
    if signing.known() is None:
        yield Diagnosis(
            "signing key",
            "warning",
            "the log has none yet: nothing is signed",
            f"`prazo dashboard` registers one when it starts on {keeper}"
            if keeper
            else "`prazo serve` registers one when it starts",
        )
        return
    try:
        key = signing.present()
    except InboxUnavailable:
        raise
    except OperatorError as missing:
        if keeper and signing.stranger() is None:
            yield Diagnosis("signing key", "ok", f"{keeper} signs; this machine compares")
            return
        # Where a head was kept, this machine has signed; any other may do without the key, and so
        # may one that names another by now.
        signs = keeper is None and kept_heads.place(settings).exists()
        verdict: Verdict = "fault" if signs else "warning"
        yield Diagnosis("signing key", verdict, missing.why, missing.remedy)
    else:
        yield Diagnosis("signing key", "ok", f"{key} is here")


def artifacts(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Whether the bytes of every artifact that entries name are there, as far as sizes tell."""
    inbox = at_hand()
    store = artifact_store(settings, inbox)
    held = look(inbox, store)
    if held.lacking:
        yield Diagnosis(
            "artifacts",
            "fault",
            f"{len(held.lacking)} of {held.named} are missing or damaged; {held.lacking[0]}",
            "`prazo artifacts FOLDER` takes their bytes from wherever they still are",
        )
    elif held.not_stored:
        yield Diagnosis(
            "artifacts",
            "warning",
            f"{held.not_stored} of {held.named} are in this machine's folder alone",
            "`prazo artifacts` puts them into the database, where every machine reaches them",
        )
    else:
        yield Diagnosis("artifacts", "ok", f"{held.named}, all in {store.place}")


def kept_head(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Whether the inbox has what was signed, by the newest head that can be reached."""
    guard, inbox = kept_heads.Guard(settings), at_hand()
    guard(inbox)
    if guard.unreached is not None:
        yield Diagnosis(
            "kept head",
            "warning",
            guard.unreached,
            "without it, an inbox that was put back from an older copy may be written to; see"
            " PRAZO_KEEPER_URL",
        )
    file = kept_heads.place(settings)
    head = kept_heads.kept(file)
    if head is not None:
        found = f"the inbox has the {head.size} entries that {file} vouches for"
        yield Diagnosis("kept head", "ok", found)
    elif inbox.last()[0] == 0:
        yield Diagnosis("kept head", "ok", "none yet: the dashboard leaves one after an entry")
    elif settings.keeper_url is None:
        yield Diagnosis(
            "kept head",
            "warning",
            f"none at {file}: nothing here tells an older copy of the inbox",
            "the dashboard leaves one as it follows; where it runs elsewhere, set PRAZO_KEEPER_URL",
        )


def ledger(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Looks at the ledger and changes nothing in it: opening it for use could rebuild it."""
    with remote.holder(settings) as holder:
        if holder is not None:
            held = _held(holder)
            yield held
            try:
                yield from _submissions(settings, holder)
            except PrazoError:
                if held.verdict != "fault":  # else it is that fault once more, in other words
                    raise
            return
    if not settings.ledger.exists() and settings.keeper_url is not None:
        yield Diagnosis("ledger", "ok", f"none here; {settings.keeper_url} has one")
        return
    if not settings.ledger.exists():
        yield Diagnosis(
            "ledger", "warning", f"there is none at {settings.ledger}", "`prazo serve` makes it"
        )
        return
    if (content := other_content(settings.ledger)) is not None:
        yield _not_a_ledger(settings, content)
        return
    try:
        with duckdb.connect(name_of(settings.ledger), read_only=True) as connection:
            if (content := other_database(connection)) is not None:
                yield _not_a_ledger(settings, content)
                return
            known = dict(connection.execute("select name, value from meta").fetchall())
            [(size,)] = connection.execute("select coalesce(max(seq), 0) from log").fetchall()
    except duckdb.Error as error:
        yield _unreadable_ledger(settings, str(error).splitlines()[0])
        return
    if not made_by().items() <= known.items():
        yield Diagnosis(
            "ledger", "warning", "another release wrote it", "the next start makes it again"
        )
    else:
        yield Diagnosis(
            "ledger",
            "ok",
            f"{counted(size, 'entry')} of {known.get('log')}; nobody holds it",
        )


def _of_another(settings: Settings, at_hand: AtHand, log: str, size: int) -> Diagnosis | None:
    """A ledger that nobody holds and that is not the inbox's: of another log, or with more entries,
    as where a log begins once more under its name."""
    try:
        inbox = at_hand()
    except (InboxUnavailable, SaidBefore):  # which has its own line
        return None
    last = inbox.last()[0]
    if log == inbox.log and size <= last:
        return None
    return Diagnosis(
        "ledger",
        "fault",
        f"{settings.ledger} holds {counted(size, 'entry')} of {log}, and the inbox {last} of"
        f" {inbox.log}",
        "nothing is recorded until one is found that continues the other: `prazo restore DIR` puts"
        " the log back from its backup; if PRAZO_INBOX or PRAZO_LEDGER names the wrong one, correct"
        " it",
    )


def _not_a_ledger(settings: Settings, content: str) -> Diagnosis:
    found = f"{settings.ledger} is {content}"
    return Diagnosis("ledger", "fault", found, "set PRAZO_LEDGER to a path of its own")


def _unreadable_ledger(settings: Settings, why: str) -> Diagnosis:
    if "lock" in why.lower():
        return Diagnosis(
            "ledger",
            "fault",
            "another process holds it and does not answer",
            "look for a running `prazo dashboard` or `prazo follow`, and stop it if it hangs",
        )
    if NO_SPACE in why:
        return Diagnosis("ledger", "fault", why, f"make room on the disk of {settings.ledger}")
    return Diagnosis("ledger", "fault", why, "`prazo rebuild` makes it again from the inbox")


def _held(holder: remote.Holder) -> Diagnosis:
    status = holder.status()
    behind = status["inbox_seq"] - status["last_seq"]
    if status["problem"]:
        return Diagnosis("ledger", "fault", status["problem"])
    if status["lag_seconds"] > MAX_LAG_SECONDS:
        lag = f"{counted(behind, 'entry')} and {status['lag_seconds']:.0f} s behind"
        return Diagnosis("ledger", "warning", f"held by {holder.url}, {lag}", "look at its load")
    return Diagnosis("ledger", "ok", f"held by {holder.url}, {counted(behind, 'entry')} behind")


def _submissions(settings: Settings, holder: remote.Holder) -> Iterator[Diagnosis]:
    """Whether what waits to be sent again is sent, and how attempts ended."""
    [queue] = holder.shown(Asked("retry_queue")).rows
    if queue["overdue"]:
        yield Diagnosis(
            "retries",
            "fault",
            f"{queue['overdue']} were due five minutes ago or more, and nobody sent them",
            advice.run(settings, "resume", "--follow"),
        )
    else:
        yield Diagnosis("retries", "ok", f"{queue['waiting']} wait, {queue['due']} are due")
    ended = holder.shown(Asked("attempts_by_outcome")).rows
    counted = ", ".join(f"{row['attempts']} {row['outcome']}" for row in ended)
    yield Diagnosis("attempts", "ok", counted or "there has been none yet")


def sending(_: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Whether what is to be sent is sent, or waits for a person's word."""
    if why := copies.why_held(at_hand()):
        yield Diagnosis("sending", "fault", f"nothing is sent: {why}", copies.REMEDY)
    else:
        yield Diagnosis("sending", "ok", "this inbox is the one in use")


def routines(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """When somebody last looked after retries, made a backup, verified the stores."""
    inbox = at_hand()
    beats, now = heartbeats(inbox), inbox.now()
    if settings.platform_url is not None:
        remedy = advice.run(settings, "resume", "--follow")
        yield beaten("resumer", beats.get(Part.RESUMER), now, instants.MINUTE, remedy)
    yield beaten(
        "backup", beats.get(Part.BACKUP), now, 2 * instants.DAY, "run `prazo backup DIR` every day"
    )
    yield beaten(
        "rehearsal",
        beats.get(Part.REHEARSAL),
        now,
        35 * instants.DAY,
        "run `prazo restore DIR --rehearse` every month",
    )
    yield beaten(
        "verification",
        beats.get(Part.VERIFICATION),
        now,
        7 * instants.DAY,
        "run `prazo verify` every week",
    )


def beaten(check: str, at: int | None, now: int, patience: int, remedy: str) -> Diagnosis:
    """Whether a routine was last there within its time."""
    if at is None:
        return Diagnosis(check, "warning", "there has been none yet", remedy)
    ahead = beaten_ahead(at, now)
    found = f"last {instants.readable(at)}{ahead}"
    if ahead or now - at > patience:
        return Diagnosis(check, "warning", found, remedy)
    return Diagnosis(check, "ok", found)


def beaten_ahead(at: int, now: int) -> str:
    """What there is to say of a heartbeat that is yet to come, after its instant; empty for any
    other: of nobody that has ended since it would be noticed until then."""
    if at - now <= instants.MINUTE:
        return ""
    return ", which is yet to come: a clock was ahead, and until then nobody knows more"
