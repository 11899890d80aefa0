"""Examines whether what was erased is gone: an older copy may have brought it back."""

import contextlib
from collections.abc import Iterator

import duckdb

from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.cli.erasures import unnamed_lines
from pipeline.continuity import drafts
from pipeline.erasure.forgetting import (
    back_beside_the_log,
    former_files,
    put_aside,
    recorded_again_since,
)
from pipeline.files.temporary import all_left
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.artifacts.owners import unnamed
from pipeline.inbox.erased import newest_erasure, unerased
from pipeline.inbox.postgres.remains import look
from pipeline.keys import read_key
from pipeline.ledger.facts import Keys
from pipeline.ledger.file import erased_to, name_of
from pipeline.log.erasures import BODIES, taxpayer_marks
from pipeline.places import written
from pipeline.settings import Settings
from pipeline.texts import counted, some_of


def erasures(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Nothing where nobody was ever forgotten."""
    inbox = at_hand()
    is_any, back = unerased(inbox)
    if not is_any:
        return
    if back:
        sellers = sorted({it.seller_id for it in back if it.seller_id is not None})
        yield Diagnosis(
            "erasures",
            "fault",
            f"{counted(len(back), 'entry was', 'entries were')} erased, and what came is there"
            " again",
            "an older copy was put back: `prazo forget` erases it again; it is of"
            f" {some_of(sellers) or 'whoever the erasures name'}",
        )
    else:
        yield Diagnosis("erasures", "ok", "what was erased is gone from the inbox's rows")
    yield from _held_on(settings, inbox)
    if beside := back_beside_the_log(settings, inbox):
        yield Diagnosis(
            "erasures",
            "fault",
            f"artifacts or links of {counted(len(beside), 'seller')} who came back with an older"
            " copy were erased before",
            f"`prazo forget` erases them again, of {some_of(sorted(beside))}",
        )
    if again := recorded_again_since(inbox):
        seqs = sorted(seq for some in again.values() for seq in some)
        yield Diagnosis(
            "erasures",
            "fault",
            f"entries {some_of(seqs)} were lost when their sellers were forgotten, and are recorded"
            " again as they came",
            f"`prazo forget` erases them, of {some_of(sorted(again))}",
        )
    if (folder := put_aside(settings)).exists():
        yield Diagnosis(
            "erasures",
            "warning",
            f"{folder} holds artifacts that a run of `prazo forget` had removed when it was cut"
            " off, unless it runs now",
            "run it again: it gives back what others have named since, and deletes the rest",
        )
    key = settings.taxpayer_key_file
    marks = taxpayer_marks(body for (body,) in inbox.query(BODIES))
    if key.exists() and marks - {Keys(values=b"", taxpayer=read_key(key)).taxpayer_mark}:
        yield Diagnosis(
            "erasures",
            "warning",
            f"something was erased under another key of tax ids than {key}: a ledger here does not"
            " count who of these sellers came back",
            "have the same PRAZO_TAXPAYER_KEY_FILE on every machine, then start its ledger again",
        )
    if former := former_files(settings):
        yield Diagnosis(
            "erasures",
            "warning",
            f"former files may hold what was erased: {', '.join(map(str, former))}",
            "delete them once nobody needs them",
        )


def _held_on(settings: Settings, inbox: Inbox) -> Iterator[Diagnosis]:
    """What still holds what was erased though its rows are gone: a database that was not emptied,
    and a ledger that nobody has opened since."""
    newest = newest_erasure(inbox)
    erasure = inbox.entry(newest)
    if erasure is not None and not settings.has_inbox_file:
        found = look(inbox, erasure.recorded_at)
        if found.why:
            yield Diagnosis(
                "erasures",
                "warning",
                f"the database may still hold what entry {newest} erased: {found.why}",
                "stop every receiver, and run the steps that `prazo forget` prints"
                " (docs/operations.md#what-the-database-holds-on)",
            )
        if found.elsewhere:
            yield Diagnosis(
                "erasures",
                "warning",
                f"WAL of before may be elsewhere: {found.elsewhere}",
                "let it be removed there, too",
            )
    with contextlib.suppress(duckdb.Error):  # somebody holds it, or it is no ledger: said elsewhere
        if settings.ledger.exists():
            with duckdb.connect(name_of(settings.ledger), read_only=True) as connection:
                is_older = erased_to(connection) < newest
            if is_older:
                yield Diagnosis(
                    "erasures",
                    "warning",
                    f"{settings.ledger} still holds what entry {newest} erased: nobody has opened"
                    " it since",
                    "start `prazo serve` here, or run `prazo rebuild`: it is made again without"
                    " that; or delete the file",
                )


def drafts_left(settings: Settings) -> Iterator[Diagnosis]:
    """What a killed process left of a ledger that it was making again."""
    if files := drafts.left(settings.ledger):
        size = sum(it.stat().st_size for it in files if it.is_file())
        yield Diagnosis(
            "ledger",
            "warning",
            f"{some_of([str(it) for it in files])} ({size / 2**20:,.0f} MiB): a draft of a ledger,"
            " with all that it holds in clear; it is being made now, or was left by a process that"
            " was killed",
            "start `prazo serve`, which removes what was left; or delete it, if nothing runs",
        )
    if others := all_left(written(settings)):
        yield Diagnosis(
            "ledger",
            "warning",
            f"{some_of([str(it) for it in others])}: left by a process that was killed, perhaps"
            " with personal data in clear",
            "start `prazo serve`, which removes it; or delete it",
        )


def unnamed_bytes(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """What is in the store though nothing names it; nothing where there is none."""
    inbox = at_hand()
    for line in unnamed_lines(unnamed(inbox, artifact_store(settings, inbox))):
        what, _, remedy = line.partition(": ")
        yield Diagnosis("artifacts", "warning", what, remedy)
