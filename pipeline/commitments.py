"""Says whether an entry is what its leaf commits to: records it again, with the salts it kept."""

import json
from typing import Final

from pipeline.contract import JsonValue
from pipeline.inbox import Identity
from pipeline.occurrences import Draft, Entry, Place, record_entry

_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError)


def uncommitted(entry: Entry, identity: Identity) -> list[str]:
    """What recording the same occurrence again, with the same salts, would not give: `record`, or
    keys of the leaf. Empty for an entry that is as it was recorded."""
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
        )
        said, follows = json.loads(entry.leaf), json.loads(again.leaf)
        keys = [it for it in follows | said if said.get(it) != follows.get(it)]
    except _UNREADABLE:
        return ["record"]
    return [
        *(["record"] if entry.record != again.record else []),
        *(keys or (["spelling"] if entry.leaf != again.leaf else [])),
    ]
