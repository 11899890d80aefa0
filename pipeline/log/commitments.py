"""Checks an entry against its leaf, by recording the occurrence again with the same salts."""

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from pipeline.contract.body import JsonValue, canonical_json, parse_json
from pipeline.errors import EntriesNewer, Unreadable
from pipeline.log.actors import is_pseudonym
from pipeline.log.entries import (
    LEAF_RULES,
    LEAF_VERSION,
    SALT,
    Entry,
    Identity,
    Place,
    draft_again,
    is_later,
    leaf_version,
    particulars_in,
    record_entry,
)
from pipeline.log.erasures import digest_of
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.rejection import REJECTION
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK

OF_OTHERS: Final = frozenset(
    {WEBHOOK, QUARANTINE, REJECTION, SUBMISSION_STARTED, SUBMISSION_FINISHED, COLLECTION}
)
"""Kinds whose bodies are not written here, so that a pseudonym in them is nobody's."""
_OF_BODY: Final = ("body_commitment", "body_size")
_UNREADABLE: Final = (ValueError, LookupError, TypeError, AttributeError, OverflowError)


def is_changed(entry: Entry, other: Entry, identity: Identity, erased: Mapping[int, bytes]) -> bool:
    """Whether `other` alone, the same entry in another store, is as it was recorded. `erased`: as
    below."""
    return bool(uncommitted(entry, identity, erased)) and not uncommitted(other, identity, erased)


def uncommitted(
    entry: Entry, identity: Identity, erased: Mapping[int, bytes] = MappingProxyType({})
) -> list[str]:
    """The parts of an entry that differ when the same occurrence is recorded again with the same
    salts: `record`, keys of the leaf, or `spelling` when only the leaf's bytes differ; and `person`
    where the name beside the log is not the one that the body's pseudonym was made of.

    Empty for an entry that is unchanged since it was recorded. `v` alone for one whose version is
    not known: nothing else can be said of it. `erased`: the digests by which the log's erasures
    name what stays of entries; the bytes that came can no longer be compared for these.
    """
    version = leaf_version(entry.leaf)
    if is_later(version):
        return ["v"]
    is_named = entry.seq in erased and erased[entry.seq] == digest_of(entry.body or b"")
    of_body = _OF_BODY if entry.is_erased and is_named else ()
    try:
        again = _recorded_again(entry, identity, version or LEAF_VERSION)
        stored, expected = json.loads(entry.leaf), json.loads(again.leaf)
        expected |= {it: stored[it] for it in of_body}
        keys = [it for it in expected | stored if stored.get(it) != expected.get(it)]
        is_spelled_so = entry.leaf == (canonical_json(expected) if of_body else again.leaf)
    except _UNREADABLE:
        return ["record"]
    return [
        *(["record"] if entry.record != again.record else []),
        *(keys or ([] if is_spelled_so else ["spelling"])),
        *([] if _is_named(entry) else ["person"]),
    ]


def pseudonym_in(entry: Entry) -> str | None:
    """The pseudonym in the body of an entry about people's work, or in what stays of it."""
    body = entry.body or b""
    if entry.kind in OF_OTHERS or b'"act_' not in body:
        return None
    try:
        said = parse_json(body)
        actor = (said["facts"][0][1] if entry.is_erased else said).get("actor")
    except (Unreadable, *_UNREADABLE):
        return None
    return actor if isinstance(actor, str) and is_pseudonym(actor) else None


def _is_named(entry: Entry) -> bool:
    pseudonym = pseudonym_in(entry)
    if pseudonym is None or entry.pseudonym != pseudonym:
        return pseudonym is entry.pseudonym is None
    return entry.actor is not None and entry.actor.is_proved


def require_known(entries: Iterable[Entry], what: str) -> None:
    """Raises `EntriesNewer` where a later release recorded one of the entries: whether it is as it
    was recorded, only that release can say. `what`: what was not done."""
    for entry in entries:
        if is_later(version := leaf_version(entry.leaf)):
            raise EntriesNewer(
                what,
                f"entry {entry.seq} has a leaf of version {version}, and this release knows"
                f" {', '.join(map(str, LEAF_RULES))}",
                "use the release of Prazo that recorded it, or a newer one",
            )


def _recorded_again(entry: Entry, identity: Identity, version: int) -> Entry:
    """The same occurrence recorded at the same place, with the salts that the entry has. Raises one
    of `_UNREADABLE` where the entry does not hold what that takes."""
    record: dict[str, JsonValue] = json.loads(entry.record) if entry.record else {}
    # In the order in which they are asked for: the body's, then the record's.
    salts = [
        *([entry.salt or b""] if entry.body is not None else []),
        *([bytes.fromhex(record[SALT])] if record else []),
    ]
    return record_entry(
        draft_again(entry, particulars_in(record)),
        Place._make(getattr(entry, name) for name in Place._fields),
        log=identity.log,
        log_key=identity.log_key,
        random=lambda _: salts.pop(0),
        version=version,
    )
