"""Checks an entry against its leaf, by recording the occurrence again with the same salts."""

import json
from typing import Final

from pipeline.contract.body import JsonValue
from pipeline.log.entries import (
    LEAF_RULES,
    LEAF_VERSION,
    Draft,
    Entry,
    Identity,
    Place,
    leaf_version,
    record_entry,
)

_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError)


def uncommitted(entry: Entry, identity: Identity) -> list[str]:
    """The parts of an entry that differ when the same occurrence is recorded again with the same
    salts: `record`, keys of the leaf, or `spelling` when only the leaf's bytes differ.

    Empty for an entry that is unchanged since it was recorded. `v` alone for one whose version is
    not known: nothing else can be said of it.
    """
    version = leaf_version(entry.leaf)
    if version is not None and version not in LEAF_RULES:
        return ["v"]
    try:
        record: dict[str, JsonValue] = json.loads(entry.record) if entry.record else {}
        salts = [
            *([entry.salt or b""] if entry.body is not None else []),
            *([bytes.fromhex(record["salt"])] if record else []),
        ]
        again = record_entry(
            Draft(
                kind=entry.kind,
                occurred_at=entry.occurred_at,
                recorded_by=entry.recorded_by,
                body=entry.body,
                particulars={name: it for name, it in record.items() if name != "salt"},
                origin=entry.origin,
                event_id=entry.event_id,
                attempt_id=entry.attempt_id,
                process_id=entry.process_id,
                seller_id=entry.seller_id,
                status=entry.status,
                ingest_key=entry.ingest_key,
            ),
            Place._make(getattr(entry, name) for name in Place._fields),
            log=identity.log,
            log_key=identity.log_key,
            random=lambda _: salts.pop(0),
            version=version or LEAF_VERSION,
        )
        stored, expected = json.loads(entry.leaf), json.loads(again.leaf)
        keys = [it for it in expected | stored if stored.get(it) != expected.get(it)]
    except _UNREADABLE:
        return ["record"]
    return [
        *(["record"] if entry.record != again.record else []),
        *(keys or (["spelling"] if entry.leaf != again.leaf else [])),
    ]
