"""What an erasure says: which entries lost the bytes that came, and what stays of each.

The bytes are gone, and with them whatever could prove the rest. So the erasure's entry, which the
tree holds like any other, fixes what stays by its digest: no one can change it afterwards.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from pipeline.contract.body import JsonValue
from pipeline.log.actions import action
from pipeline.log.entries import Draft
from pipeline.log.kinds.erasure import ERASURE

MOST_ENTRIES: Final = 1000
"""That one erasure names: its entry stays small, and one commit short."""

_OF_ERASURES: Final = f"from entries where kind = '{ERASURE}' and seq > 0"
"""A row below the first entry stands in no tree: whoever wrote it had no need of the log's key."""
ASKED: Final = f"select seq, record {_OF_ERASURES} order by seq"
"""Gives the rows of an inbox that `known` reads."""
BODIES: Final = f"select body {_OF_ERASURES} order by seq"
NEWEST: Final = f"select coalesce(max(seq), 0) {_OF_ERASURES}"
"""The seq of the newest erasure of an inbox; 0 while nothing was erased."""

_ERASED: Final = "erased"
_TAXPAYER_MARK: Final = "taxpayer_mark"
_NAMED: Final = re.compile("([1-9][0-9]{0,17}):([0-9a-f]{64})")


def erasure(
    remains: Mapping[int, bytes],
    *,
    reason: str,
    actor: str | None,
    recorded_by: str,
    seller_id: str | None,
    process_id: str | None,
    taxpayer_mark: str,
    **content: JsonValue,
) -> Draft:
    """The draft that says: the bytes of these entries were erased. `remains`: seq -> what stays.
    `taxpayer_mark`: of the key under which tax ids stay comparable.

    Raises `WrongUsage` as `action` does.
    """
    draft = action(
        ERASURE,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        seller_id=seller_id,
        process_id=process_id,
        entries=len(remains),
        **{_TAXPAYER_MARK: taxpayer_mark},
        **content,
    )
    named: JsonValue = [f"{seq}:{digest_of(it).hex()}" for seq, it in sorted(remains.items())]
    return draft._replace(particulars={_ERASED: named})


def taxpayer_marks(bodies: Iterable[bytes | None]) -> set[str]:
    """Of the keys under which tax ids stay comparable after these erasures, as far as they say."""
    said = (json.loads(body or b"{}").get(_TAXPAYER_MARK) for body in bodies)
    return {it for it in said if it is not None}


def digest_of(remains: bytes) -> bytes:
    """By which an erasure names what stays of an entry."""
    return hashlib.sha256(remains).digest()


def named_in(particulars: JsonValue) -> dict[int, bytes]:
    """What the particulars of an erasure name: seq -> digest of what stays. Nothing for what is
    not as this release writes it."""
    named = particulars.get(_ERASED) if isinstance(particulars, dict) else None
    found = (_NAMED.fullmatch(str(it)) for it in (named if isinstance(named, list) else ()))
    return {int(it[1]): bytes.fromhex(it[2]) for it in found if it is not None}


def known(rows: Iterable[tuple[int, bytes | None]]) -> dict[int, bytes]:
    """Of each entry that was erased, the digest of what stays of it, by its newest erasure. `rows`:
    (seq, record) of the erasures, in order. A record that cannot be read names nothing: the
    comparison of that erasure with its leaf says what is wrong."""
    found: dict[int, bytes] = {}
    for _, record in rows:
        with suppress(ValueError, TypeError):
            found |= named_in(json.loads(record or b"{}"))
    return found


def up_to(particulars: Mapping[str, JsonValue], fork: int) -> dict[str, JsonValue]:
    """The particulars of an erasure that is recorded again after a fork. It names the entries up to
    that. Those behind it have other seqs now: what stays of them is recorded, and their own leaves
    fix it."""
    named: JsonValue = [
        f"{seq}:{digest.hex()}"
        for seq, digest in named_in(dict(particulars)).items()
        if seq <= fork
    ]
    return {**particulars, _ERASED: named}
