"""Defines an entry, one for each occurrence, and its canonical leaf.

A `Draft` is an occurrence before it is recorded; the inbox gives it a place and makes an `Entry`.
The Merkle tree hashes the leaf. The leaf stands for the whole entry, but holds no value that could
identify a person: the received bytes stand beside it, bound by salted commitments. They can be
withheld or erased, and the tree still verifies.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from pipeline import instants
from pipeline.contract.body import JsonValue, canonical_json, parse_json
from pipeline.errors import Unreadable
from pipeline.log.actors import SALT_BYTES, Actor

LEAF_VERSION: Final = 1
"""The version of the rules under which new entries are recorded; see `LEAF_RULES`."""

LOG_KEY_BYTES: Final = 32

OWN_JOURNEY: Final = "prazo journey"  # the producer of collections from the seller's page

LIVE: Final = "live"

INGESTED: Final = "ingested"

SALT: Final = "salt"
"""Key of a record: 32 random bytes in hex, without which its digest would let values be guessed."""
INGEST_KEY: Final = "ingest_key"
"""Key of a record: the HMAC, under the log's key, of the key by which its entry counts once."""

ARE_REMAINS: Final = "are_remains"
"""A particular of an entry that was recorded again after its bytes were erased."""
_ARE_REMAINS: Final = f'"{ARE_REMAINS}":true'.encode()
"""The same as bytes of a record. No value can hold them: its quotation marks are escaped."""

MOST_BYTES: Final = 2**63 - 1
"""The largest size that an entry may state of an artifact: no table holds a larger number."""


class Identity(NamedTuple):
    """What tells one log from every other: its name, and the key of the HMACs in its leaves."""

    log: str
    log_key: bytes


def new_identity() -> Identity:
    """The identity of a new log: a random name, which is its checkpoints' origin, and a key."""
    return Identity(f"prazo/{secrets.token_hex(8)}", secrets.token_bytes(LOG_KEY_BYTES))


class Draft(NamedTuple):
    """An occurrence that is to be recorded.

    `occurred_at` is in microseconds since 1970, UTC; None for what happens as it is recorded, which
    gets the inbox's time. `body` is kept byte for byte. `particulars` are what we know beside it
    (how it arrived, why it was refused): flat JSON without personal values, since exports show them
    unmasked. `ingest_key`: drafts with the same one are recorded once. With `expected_process_n`
    or `expected_seller_n`, the draft is recorded only if the process, or the seller, has exactly
    that many entries, so that a decision made from those entries still holds. `actor`: the name of
    who answers for it, whose pseudonym the body, JSON, gets as it is recorded; or the person, of a
    body that has it.
    """

    kind: str
    occurred_at: int | None
    recorded_by: str
    body: bytes | None = None
    particulars: Mapping[str, JsonValue] = MappingProxyType({})
    origin: str = LIVE
    event_id: str | None = None
    attempt_id: str | None = None
    process_id: str | None = None
    seller_id: str | None = None
    status: int | None = None
    ingest_key: bytes | None = None
    expected_process_n: int | None = None
    expected_seller_n: int | None = None
    actor: str | Actor | None = None

    @property
    def dated(self) -> int:
        """`occurred_at`, which is known of every draft that has got its place."""
        assert self.occurred_at is not None
        return self.occurred_at

    def by(self, person: Actor) -> "Draft":
        """The draft as it is recorded: its body says who by their pseudonym."""
        said = {**json.loads(self.body or b"{}"), "actor": person.pseudonym}
        return self._replace(body=canonical_json(said), actor=person)


class Place(NamedTuple):
    """Where an entry stands: in the log, in its process's stream and in its seller's."""

    seq: int
    recorded_at: int
    process_n: int | None
    process_prev: int | None
    seller_n: int | None
    seller_prev: int | None
    is_again: bool


class Entry(NamedTuple):
    """One recorded occurrence, column by column as the inbox and the log hold it."""

    seq: int
    kind: str
    occurred_at: int
    recorded_at: int
    origin: str
    recorded_by: str
    event_id: str | None
    attempt_id: str | None
    process_id: str | None
    seller_id: str | None
    status: int | None
    process_n: int | None
    process_prev: int | None
    seller_n: int | None
    seller_prev: int | None
    is_again: bool
    record: bytes | None
    body: bytes | None
    salt: bytes | None
    leaf: bytes
    pseudonym: str | None
    person: bytes | None  # the name in the map beside the log, and the salt of its pseudonym
    person_salt: bytes | None
    ingest_key: bytes | None

    @property
    def actor(self) -> Actor | None:
        """Who answers for it, if the map beside the log has them."""
        if self.pseudonym is None or self.person is None or self.person_salt is None:
            return None
        return Actor(self.pseudonym, self.person, self.person_salt)

    @property
    def name(self) -> str | None:
        """The name of who answers for it; None where nobody's is proved."""
        actor = self.actor
        return actor.text if actor is not None and actor.is_proved else None

    @property
    def is_erased(self) -> bool:
        """Whether the received bytes were erased, so that `body` is what remains of them
        (`pipeline.ledger.facts.remains`). Such remains have no salt, unless they were recorded
        again after an inbox was put back: then the record marks them."""
        return self.body is not None and (
            self.salt is None or (self.record is not None and _ARE_REMAINS in self.record)
        )

    @property
    def received(self) -> bytes | None:
        """The received bytes; None where there were none, or they were erased."""
        return None if self.is_erased else self.body

    @property
    def particulars(self) -> dict[str, JsonValue]:
        """What we know beside the body, without what protects it and makes it count once."""
        return particulars_in(json.loads(self.record)) if self.record else {}


def particulars_in(record: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """What a record says of how its entry came in."""
    return {name: it for name, it in record.items() if name not in (SALT, INGEST_KEY)}


def content_of(entry: Entry) -> dict[str, JsonValue]:
    """What an entry says, as a JSON object; nothing where it was erased, or says no such thing."""
    try:
        said = parse_json(entry.received or b"{}")
    except Unreadable:
        return {}
    return said if isinstance(said, dict) else {}


# --- leaf ------------------------------------------------------------------------------------

_OPAQUE = re.compile(
    r"(?!sha256:|hmac:)"
    r"(?![0-9.+()-]+$)"  # a CPF, a CNPJ or a telephone number, punctuated or not
    r"(?![A-Z0-9]{12}[0-9]{2}$)"  # a CNPJ of letters and digits
    r"[!-.0-?A-~]{1,128}"  # printable ASCII without blank, `/` and `@`
)


def draft_again(entry: Entry, particulars: Mapping[str, JsonValue]) -> Draft:
    """The draft of an entry's occurrence, to be recorded as it was. `particulars`: what is known of
    it beside its body."""
    return Draft(
        kind=entry.kind,
        occurred_at=entry.occurred_at,
        recorded_by=entry.recorded_by,
        body=entry.body,
        particulars=particulars,
        origin=entry.origin,
        event_id=entry.event_id,
        attempt_id=entry.attempt_id,
        process_id=entry.process_id,
        seller_id=entry.seller_id,
        status=entry.status,
        ingest_key=entry.ingest_key,
        actor=entry.actor,
    )


def public(**identifiers: str | None) -> dict[str, JsonValue]:
    """Of these identifiers those that cannot be personal, as particulars: exports show particulars
    unmasked."""
    return {name: it for name, it in identifiers.items() if it is None or _OPAQUE.fullmatch(it)}


def public_name(identifier: str, log_key: bytes) -> str:
    """How an identifier stands in a leaf: unchanged, or as an HMAC if it could be personal.

    It stays unchanged if it is printable ASCII that does not look like a tax id, a telephone number
    or an e-mail address. Anything else could be guessed from a plain hash, even a body's digest.
    """
    if _OPAQUE.fullmatch(identifier):
        return identifier
    return "hmac:" + hmac.new(log_key, identifier.encode("utf-8"), hashlib.sha256).hexdigest()


def commitment(salt: bytes, data: bytes) -> str:
    """`sha256(salt || data)` in hex: binds the data without revealing it."""
    return hashlib.sha256(salt + data).hexdigest()


class Committed(NamedTuple):
    """An entry's record, salt and leaf, under the rules of one version."""

    record: bytes | None
    salt: bytes | None
    leaf: bytes


Random = Callable[[int], bytes]
"""Takes a number of bytes and returns as many random ones."""


class Salts:
    """Gives random bytes, as a `Random` does, but draws them for a whole group of entries at once:
    each call to the system releases Python's lock, and waits to get it back."""

    def __init__(self, random: Random, entries: int) -> None:
        """`entries`: how many salts are drawn together with the first one."""
        self._random = random
        self._entries = entries
        self._drawn = b""
        self._at = 0

    def __call__(self, size: int) -> bytes:
        if self._at + size > len(self._drawn):
            self._drawn = self._random(max(size, SALT_BYTES * self._entries))
            self._at, self._entries = 0, 1
        self._at += size
        return self._drawn[self._at - size : self._at]


LeafRules = Callable[[Draft, Place, Identity, Random], Committed]


class _Leaf1(Struct, kw_only=True, omit_defaults=True, gc=False):
    """The keys of a leaf, in the order in which it has them."""

    attempt_id: str | None = None
    body_commitment: str | None = None
    body_size: int | None = None
    event_id: str | None = None
    kind: str
    log: str
    occurred_at: str
    origin: str
    process_n: int | None = None
    process_prev: int | None = None
    process_stream: str | None = None
    record_digest: str | None = None
    recorded_at: str
    recorded_by: str
    seller_n: int | None = None
    seller_prev: int | None = None
    seller_stream: str | None = None
    seq: int
    status: int | None = None
    v: int


_LEAF_ENCODER = msgspec.json.Encoder()
"""For texts and whole numbers it makes the same bytes as `canonical_json`, in an eighth of the
time."""


def _rules_1(draft: Draft, place: Place, identity: Identity, random: Random) -> Committed:
    """Version 1. The record, and so the leaf, commits to the entry's ingest key: whoever could
    change that key unseen could have a repetition recorded twice, or give the entry the key of
    another occurrence, which would then be taken for a repetition and be lost."""
    log, log_key = identity
    body_commitment = body_size = salt = record = record_digest = None
    if (body := draft.body) is not None:
        salt = random(SALT_BYTES)
        body_commitment, body_size = commitment(salt, body), len(body)
    if draft.particulars or draft.ingest_key is not None:
        known = {**draft.particulars, SALT: random(SALT_BYTES).hex()}
        if (key := draft.ingest_key) is not None:  # it follows from a line that may be withheld
            known[INGEST_KEY] = hmac.digest(log_key, b"counts once: " + key, "sha256").hex()
        record = canonical_json(known)
        record_digest = hashlib.sha256(record).hexdigest()
    leaf = _Leaf1(
        attempt_id=draft.attempt_id and public_name(draft.attempt_id, log_key),
        body_commitment=body_commitment,
        body_size=body_size,
        event_id=draft.event_id and public_name(draft.event_id, log_key),
        kind=draft.kind,
        log=log,
        occurred_at=instants.canonical(draft.dated),
        origin=draft.origin,
        process_n=place.process_n,
        process_prev=place.process_prev,
        process_stream=draft.process_id and public_name(draft.process_id, log_key),
        record_digest=record_digest,
        recorded_at=instants.canonical(place.recorded_at),
        recorded_by=draft.recorded_by,
        seller_n=place.seller_n,
        seller_prev=place.seller_prev,
        seller_stream=draft.seller_id and public_name(draft.seller_id, log_key),
        seq=place.seq,
        status=draft.status,
        v=1,
    )
    return Committed(record, salt, _LEAF_ENCODER.encode(leaf))


LEAF_RULES: Final[dict[int, LeafRules]] = {1: _rules_1}
"""Version of a leaf -> how it follows from what is recorded. An entry keeps the rules under which
it was recorded, so rules are added here and never changed. In every version a leaf is flat JSON
whose last key is `v`. `LEAF_RULES` of `pipeline/verify.py` says the same to auditors."""

_VERSION = re.compile(rb'[,{]"v":([1-9][0-9]{0,8})\}')


def leaf_version(leaf: bytes) -> int | None:
    """The version of a leaf; None where its bytes do not end like one."""
    found = _VERSION.fullmatch(leaf, max(leaf.rfind(b'"v":') - 1, 0))
    return None if found is None else int(found[1])


def is_later(version: int | None) -> bool:
    """Whether a later release recorded a leaf of this version; None: its bytes say none."""
    return version is not None and version not in LEAF_RULES


_NOBODY: Final = (None, None, None)


def record_entry(
    draft: Draft,
    place: Place,
    *,
    log: str,
    log_key: bytes,
    random: Random,
    version: int = LEAF_VERSION,
) -> Entry:
    """The entry of a draft at a place, with its leaf. Pure except for `random`, which makes salts.

    `version`: of the leaf; KeyError for one that `LEAF_RULES` does not know.
    """
    committed = LEAF_RULES[version](draft, place, Identity(log, log_key), random)
    pseudonym, person, person_salt = draft.actor if isinstance(draft.actor, Actor) else _NOBODY
    return Entry(  # by name it would take more than twice as long
        place.seq,
        draft.kind,
        draft.dated,
        place.recorded_at,
        draft.origin,
        draft.recorded_by,
        draft.event_id,
        draft.attempt_id,
        draft.process_id,
        draft.seller_id,
        draft.status,
        place.process_n,
        place.process_prev,
        place.seller_n,
        place.seller_prev,
        place.is_again,
        committed.record,
        draft.body,
        committed.salt,
        committed.leaf,
        pseudonym,
        person,
        person_salt,
        draft.ingest_key,
    )
