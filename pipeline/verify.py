#!/usr/bin/env python3
"""Verifies an audit package: offline, on Python 3.9 or newer with the openssl command, and no more.

    python3 verify.py PACKAGE.zip --key VKEY [--against CHECKPOINT] [--policy POLICY]
                                  [--authority CA.pem [--archive STAMP.tsr ...]] [--seconds N]

A copy of this file is in every package. If you distrust the package, get this file from elsewhere,
together with the log's verification key, an earlier checkpoint of the log or a policy of witnesses,
and the certificate of the timestamp authority: what the package says about them proves nothing.

The seals come first: while the manifests are not signed by the log, nothing else is looked at. What
a verdict quotes from a package stands in it between quotation marks, without control characters.
Only `Stream` knows how a package keeps its entries.

Exit codes: 0 verified, but for what the verdict lists as not checked; 1 at least one fault (each is
named); 2 wrong usage, or no openssl, or no room for temporary files or for the verdict; 3 no fault,
but undecided, because the given checkpoint is newer than the package, or of a past that the log
says it lost, or because entries were recorded by a clock that was ahead.
"""

from __future__ import annotations

import sys

# Python looks beside this file before it takes its own library, and where PYTHONPATH leads, which
# may be here. Of a package that somebody unpacked, a `csv.py` there would run before anything was
# checked.
if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]

import os

if __name__ == "__main__":
    _HERE = os.path.dirname(os.path.realpath(__file__))  # noqa: PTH120 - pathlib comes after it
    sys.path[:] = [it for it in sys.path if os.path.realpath(it) != _HERE]

import argparse
import base64
import csv
import hashlib
import io
import json
import math
import re
import stat
import struct
import subprocess
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timedelta, timezone
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Callable, Iterable, Iterator, NamedTuple, Sequence

MIB = 1 << 20
# Limits, so that no package can fill memory or keep a verifier busy beyond its own size.
MAX_DIRECTORY_BYTES = 16 * MIB  # of the zip's directory: some 170,000 files
MAX_RATIO, MAX_SMALL_BYTES = 100, 64 * MIB  # all files together, beside the zip's own size
MAX_JSON_BYTES = 16 * MIB
MAX_UNSEALED_BYTES = MIB // 4  # of a JSON file that is read before the seals hold
MAX_LEAF_BYTES = MIB
MAX_NUMBER = 10**15 - 1  # in a leaf
MAX_CELL = 128 * MIB
MAX_PARSED_BODY_BYTES = 128 * MIB
MAX_ROTATIONS = 400  # the log's key is not replaced more often
MAX_BETWEEN = 100_000  # leaves that a full package of a process or seller holds up to its export
MAX_NAMED = 20  # of artifacts, processes or sellers that one line is about
MAX_LINES = 100  # of one kind in the verdict
MAX_SHOWN = 600  # characters of a line of the verdict
MAX_QUOTED = 100  # characters of a text of the package in it
MAX_SECONDS = 3600.0  # for all of it, unless somebody gives it more
MAX_OPENSSL_SECONDS = 60.0
PIECE = MIB
CLOCK_TOLERANCE = timedelta(minutes=5)
MAKING_TOLERANCE = timedelta(hours=1)  # from the instant of the tables to the export's entry

BAG = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
START = "START-HERE.html"
TAG_FILES = {
    *("bagit.txt", "bag-info.txt", "manifest-sha256.txt", "manifest.note", "verify.py"),
    START,
}
FORMAT = "prazo package v1"
TABLES = ("data/processes.csv", "data/entries.csv", "data/findings.csv", "data/coverage.csv")
FILES = {
    *("data/report.html", "data/report.pt.html", "data/contents.json", "data/parameters.json"),
    *("data/query.sql", "data/checkpoint.note", "data/consistency.json", *TABLES),
    *("data/leaves.ndjson", "data/proof.txt", "data/records.ndjson", "data/bodies.csv"),
    *("data/rotations.json", "data/names.ndjson", "data/actors.ndjson"),
}
EXTENSIONS = {  # of an artifact's file, by its media type; any other is .bin
    "application/json": "json",
    "application/pdf": "pdf",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "text/html": "html",
    "text/plain": "txt",
}
# Why a body is withheld; the third, where an erasure of the log names the entry.
BY_EXPORTER, BY_PROFILE, ERASED = "by the exporter", "the masked profile", "erased"
# What stands in the place of a record that is withheld: the reason as JSON, which no record is.
NO_RECORD = b'"%s"' % BY_PROFILE.encode("ascii")
KEPT_ELSEWHERE = "kept by another system"  # why an artifact is left out, without a fault
# What is made after the export's own entry, which names the digests of all other files.
AFTER_THE_EXPORT = {
    *("data/checkpoint.note", "data/checkpoint.tsr", "data/consistency.json"),
    *("data/leaves.ndjson", "data/proof.txt", "data/records.ndjson", "data/bodies.csv"),
    *("data/rotations.json", "data/actors.ndjson", "data/timestamp.pem"),
}
SCOPES = (
    *({"process"}, {"seller"}, {"from", "to"}, {"seller", "from", "to"}),
    {"from", "to", "sample", "number", "checkpoint", "population"},
)
SAMPLE = "prazo-sample v1"
PARAMETERS = {
    *("actor", "as_of", "contact", "earlier", "format", "key", "log", "log_size", "not_of_log"),
    *("profile", "range", "reason", "rows", "scope", "software", "timestamp_authority", "totals"),
}
CONTENTS = {"withheld", "withheld_artifacts", "withheld_records"}  # what contents.json counts
STATED = {  # what may be stated of a withheld body, by the kind of its entry: the first once
    "webhook": ("webhooks", "unreadable_parts", "reviews", "seller_events", "bank_account_events"),
    "quarantine": ("quarantined",),
    "rejection": ("rejections",),
    "submission_started": ("attempt_starts", "sent_fields"),
    "submission_finished": ("attempt_finishes",),
    "collection": ("collections", "answered_fields", "artifacts"),
    "seller_notice": ("actions", "notices"),
    **dict.fromkeys(("seller_notice_result", "retraction"), ("actions", "notice_results")),
    "": ("actions",),  # any other
}
NAMING_ARTIFACTS = {"collection", "seller_notice", "notice_schedule"}  # kinds of entries
OF_MESSAGES = {"seller_notice_result", "retraction"}  # may name no process, but only its message
MANY_STATED = {"unreadable_parts", "sent_fields", "answered_fields", "artifacts"}
BODY_COLUMNS = b"seq,salt,file,offset,size,withheld"
ROTATION = "prazo key rotation v1"
PSEUDONYM = re.compile("act_[0-9a-f]{64}")
SALT = re.compile("[0-9a-f]{64}")
HASHED = re.compile("hmac:[0-9a-f]{64}")
IDENTIFIERS = {
    **{"event_id": "event_id", "attempt_id": "attempt_id"},
    **{"process_id": "process_stream", "seller_id": "seller_stream"},
}
INSTANTS = ("occurred_at", "recorded_at")
INSTANT = re.compile(r"-?[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z")
QUOTED = (  # other columns of entries.csv that quote a key of the leaf
    *("seq", "kind", "origin", "recorded_by", "status", "body_size"),
    *("process_n", "process_prev", "seller_n", "seller_prev"),
)
# An identifier that stands in a leaf as it is; any other could be personal, and stands as an HMAC.
OPAQUE = re.compile(r"(?!sha256:|hmac:)(?![0-9.+()-]+$)(?![A-Z0-9]{12}[0-9]{2}$)[!-.0-?A-~]{1,128}")
DERIVED = (
    "what follows from the entries: processes.csv, findings.csv, coverage.csv, the columns of"
    " entries.csv that are read out of bodies, the reports and, where there is one,"
    " START-HERE.html, and query.sql, which says how. `prazo verify` makes them again"
)

MASKED = (
    "whether the masked profile hides all that could be about a person, and withholds no record"
    " for nothing: `prazo verify` judges each body, each record of an attempt and each stated value"
)


class LeafRules(NamedTuple):
    """What the leaves of one version hold, and the hash by which they commit to a body."""

    texts: set[str]
    numbers: set[str]
    hash: Callable[[bytes], Any]  # over salt || body


# version (`v` in a leaf) -> its rules; an entry keeps those it was recorded under. A record commits
# to the key by which its entry counts once, which no package holds, too.
LEAF_RULES = {
    1: LeafRules(
        texts={
            *("attempt_id", "body_commitment", "event_id", "kind", "log", "occurred_at", "origin"),
            *("process_stream", "record_digest", "recorded_at", "recorded_by", "seller_stream"),
        },
        numbers={
            *("body_size", "process_n", "process_prev", "seller_n", "seller_prev", "seq", "status"),
            "v",
        },
        hash=hashlib.sha256,
    )
}


def may_lack_record(kind: str, origin: str) -> bool:
    """Whether the masked profile may withhold the record of such an entry. Another system wrote in
    these what it liked. In the end of an attempt of ours stands a code, and from the record of any
    other kind follows what is verified.
    """
    return kind == "submission_started" or (kind, origin) == ("submission_finished", "ingested")


class Fault(Exception):
    """Something in the package is wrong."""


class Late(Exception):
    """The time is up that somebody allowed for all of it: no check may take it for its answer."""


class Unusable(Exception):
    """The verifier was called wrongly, or something that it needs is missing."""


# --- limits and texts ------------------------------------------------------------------------

_limit: ContextVar[tuple[float, float]] = ContextVar("limit", default=(math.inf, math.inf))


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """All that is verified within must be done by then; otherwise `seconds_left` raises `Late`."""
    token = _limit.set(min(_limit.get(), (time.monotonic() + seconds, seconds)))
    try:
        yield
    finally:
        _limit.reset(token)


def seconds_left() -> float:
    """The time that is left. Whatever may go on for long asks for it at each step."""
    end, seconds = _limit.get()
    left = end - time.monotonic()
    if left <= 0:
        raise Late(f"it could not be verified within {seconds:g} seconds: give it more (--seconds)")
    return left


BLANK = {*"\u115f\u1160\u2800\u3164\uffa0"}  # letters and signs that look like a space


def plain(text: str) -> str:
    """A text as one line that no terminal takes for anything else: no control, direction or line
    break in it, and not endless."""
    more = f"... and {len(text) - MAX_SHOWN} more characters" if len(text) > MAX_SHOWN else ""
    written = (it if it.isprintable() else f"\\u{ord(it):04x}" for it in text[:MAX_SHOWN])
    return "".join(written) + more


def number_of(number: int, one: str, many: str) -> str:
    """How many there are of something, and what is said of it."""
    return f"{number} {one if number == 1 else many}"


def quoted(text: object) -> str:
    """What a package says, in a line of the verdict: between quotation marks that it cannot end,
    short, and without blanks that could move a part of it to where a line begins."""
    whole = str(text)
    escaped = re.sub(r'["\\]', r"\\\g<0>", whole[:MAX_QUOTED])
    seen = (it.isprintable() and it not in BLANK for it in escaped)
    pairs = zip(escaped, seen)  # noqa: B905
    shown = "".join(letter if is_seen else f"\\u{ord(letter):04x}" for letter, is_seen in pairs)
    more = f" and {len(whole) - MAX_QUOTED} more characters" if len(whole) > MAX_QUOTED else ""
    return '"' + re.sub("(?<= ) ", r"\\u0020", shown) + f'"{more}'


class Verdict:
    """What was checked, what was not, what is wrong, and what this package cannot decide."""

    def __init__(self) -> None:
        self.about: list[str] = []
        self.checked: list[str] = []
        self.unchecked: list[str] = []
        self.faults: list[str] = []
        self.undecided: list[str] = []
        self.notes: list[str] = []
        self._found = self._known_faults = 0

    def fault(self, text: str) -> None:
        """Adds a fault: the package is not verified. There is a most that are named."""
        self._found += 1
        if len(self.faults) < MAX_LINES:
            self.faults.append(text)
        elif len(self.faults) == MAX_LINES:
            self.faults.append(f"and more: only the first {MAX_LINES} are named")

    def passed(self, text: str) -> None:
        """Adds a check that passed, unless a fault was added since the last call."""
        if self._found == self._known_faults:
            self.checked.append(text)
        self._known_faults = self._found

    @property
    def exit_code(self) -> int:
        """0: verified; 1: not; 3: it cannot be decided."""
        return 1 if self.faults else 3 if self.undecided else 0

    def lines(self) -> Iterator[str]:
        """The verdict for people, one finding per line, the result last."""
        for name, texts in (
            ("scope   ", self.about),
            ("checked ", self.checked),
            ("note    ", self.notes),
            ("NOT CHECKED", self.unchecked),
            ("OPEN    ", self.undecided),
            ("FAULT   ", self.faults),
        ):
            yield from (f"  {name} {plain(it)}" for it in texts[:MAX_LINES])
            if len(texts) > MAX_LINES:  # the last of faults says so; nobody kept how many there are
                rest = f"and {len(texts) - MAX_LINES} more"
                yield f"  {name} {texts[-1] if texts is self.faults else rest}"
        if self.faults:
            count = len(self.faults)
            noun = "fault" if count == 1 else "faults"
            yield f"NOT VERIFIED: {count if count <= MAX_LINES else f'over {MAX_LINES}'} {noun}"
        elif self.undecided:
            yield "UNDECIDED: no fault was found, and not everything could be compared"
        elif self.unchecked:
            named = min(len(self.unchecked), MAX_LINES + 1)
            noun = "line" if named == 1 else "lines"
            yield f"VERIFIED, but for what is not checked: {named} {noun} above"
        else:
            yield "VERIFIED"


# --- the tree (RFC 9162) ---------------------------------------------------------------------


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of a leaf (RFC 9162, section 2.1.1)."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two subtrees (RFC 9162, section 2.1.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_over(size: int, leaves: Iterator[tuple[int, bytes]], nodes: Iterator[bytes]) -> bytes:
    """The root of a tree of which some leaves are there, as (index, hash) in order, and the roots
    `nodes`, from left to right, of the largest subtrees in which none is. Fault if they don't fit.
    """
    end = (size, b"")
    following = next(leaves, end)

    def root(first: int, behind: int) -> bytes:
        nonlocal following
        if following[0] >= behind:
            node = next(nodes, None)
            if node is None:
                raise Fault("the proof is too short")
            return node
        if behind - first == 1:
            if following[0] != first:
                raise Fault("the leaves are not in order")
            found, following = following[1], next(leaves, end)
            return found
        middle = first + (1 << (behind - first - 1).bit_length() - 1)
        return node_hash(root(first, middle), root(middle, behind))

    whole = root(0, size)
    if following != end or next(nodes, None) is not None:
        raise Fault("the proof is too long")
    return whole


def roots_by_consistency(
    old: int, new: int, old_root: bytes, proof: list[bytes]
) -> tuple[bytes, bytes]:
    """The roots of both trees that a proof leads to; ValueError if it cannot fit the trees."""
    if not 0 < old <= new or (old == new) != (not proof):
        raise ValueError("the proof does not fit the sizes")
    if old == new:
        return old_root, old_root
    path = [old_root, *proof] if old & (old - 1) == 0 else proof
    at, last = old - 1, new - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    before = after = path[0]
    for node in path[1:]:
        if last == 0:
            raise ValueError("the proof is too long")
        if at & 1 or at == last:
            before, after = node_hash(node, before), node_hash(node, after)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            after = node_hash(after, node)
        at, last = at >> 1, last >> 1
    if last:
        raise ValueError("the proof is too short")
    return before, after


# --- signed notes and checkpoints (C2SP) -----------------------------------------------------

LOG_KEY, WITNESS_KEY = 1, 4  # the kinds of Ed25519 keys: they sign a note, or cosign a checkpoint
SIGNATURE = "— ([^ \n]+) ([A-Za-z0-9+/=]+)\n"


class Key(NamedTuple):
    """A verification key, as `--key` gives it."""

    name: str
    id: bytes
    public: bytes

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}"


class Checkpoint(NamedTuple):
    """What a signed checkpoint says: the log's name, its size and its root."""

    log: str
    size: int
    root: bytes


def read_key(vkey: str, kind: int = LOG_KEY) -> Key:
    """A verification key `name+hash+key`; ValueError for any other text."""
    parts = vkey.strip().split("+", 2)
    if len(parts) < 3:
        raise ValueError("a verification key is name+hash+key")
    name, digest, encoded = parts
    if not re.fullmatch(r"[!-~]{1,200}", name):
        raise ValueError("the name of a key is of visible ASCII characters")
    key = base64.b64decode(encoded, validate=True)
    known = hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]
    if len(key) != 33 or key[0] != kind or known.hex() != digest:
        raise ValueError("not an Ed25519 verification key whose hash fits")
    return Key(name, known, key[1:])


def openssl(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the openssl command; raises `Unusable` where it is not installed, does not start, or
    was ended by somebody else: what is verified is not to blame for that."""
    seconds = min(seconds_left(), MAX_OPENSSL_SECONDS)
    try:
        ended = subprocess.run(
            ["openssl", *arguments], capture_output=True, timeout=seconds, check=False
        )
    except FileNotFoundError:
        raise Unusable("the openssl command (3.0 or newer) is not installed") from None
    except OSError as error:
        why = error.strerror or error
        raise Unusable(f"openssl cannot be started ({why}), so there is no verdict") from None
    except subprocess.TimeoutExpired:
        raise Late(f"openssl did not finish within {seconds:g} seconds") from None
    if -ended.returncode in (9, 15):  # killed, as by a system that is short of memory
        raise Unusable("openssl was killed, so there is no verdict: try again")
    return ended


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder for what openssl reads and writes. Raises `Unusable` where there is none, or its
    files find no room: what is verified is not to blame for that."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield folder
    except OSError as error:
        raise Unusable(
            f"temporary files cannot be written ({error.strerror or error}), so there is no"
            " verdict: make room for them, or let TMPDIR name another folder"
        ) from None


def signed_text(note: bytes, *keys: Key, is_cosigned: bool = False) -> str:
    """The text of a note; Fault unless these keys, in this order and no other, signed it.
    `is_cosigned`: signatures of others may follow."""
    text, blank, lines = note.rpartition(b"\n\n")
    signatures = re.findall(SIGNATURE, lines.decode("utf-8"))
    whole = "".join(f"— {name} {encoded}\n" for name, encoded in signatures)
    signers = {(name, encoded[:5]) for name, encoded in signatures}  # 5 digits hold most of an id
    too_many = (len(signatures) > len(keys) and not is_cosigned) or len(signers) < len(signatures)
    if not blank or whole.encode() != lines or len(signatures) < len(keys) or too_many:
        raise Fault(f"is not a note with {len(keys)} signature" + "s" * (len(keys) > 1))
    for key, (name, encoded) in zip(keys, signatures):  # noqa: B905
        signature = base64.b64decode(encoded, validate=True)
        if name != key.name or signature[:4] != key.id or encoded != _base64(signature):
            raise Fault(f"is not signed by the key {key}")
        if not is_signed(text + b"\n", signature[4:], key):
            raise Fault("has a signature that does not fit")
    return (text + b"\n").decode("utf-8")


def is_signed(text: bytes, signature: bytes, key: Key) -> bool:
    """Whether a key signed a text, by Ed25519. Raises `Unusable` where this openssl says of no
    signature that it fits: an old one, and LibreSSL, do not know how to look at one."""
    if _fits(text, signature, key.public):
        return True
    if not _fits(*map(bytes.fromhex, KNOWN)):
        raise Unusable(
            "the openssl command here cannot check signatures by Ed25519, so there is no verdict:"
            " OpenSSL 3.0 or newer has to come first in PATH (LibreSSL, as macOS has it, cannot)"
        )
    return False


KNOWN = (  # a text, its signature and the key of that (RFC 8032, section 7.1, test 2)
    "72",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
)


def _fits(text: bytes, signature: bytes, public: bytes) -> bool:
    der = bytes.fromhex("302a300506032b6570032100") + public
    pem = b"-----BEGIN PUBLIC KEY-----\n" + base64.b64encode(der) + b"\n-----END PUBLIC KEY-----\n"
    with temporary_folder() as folder:
        paths = [str(Path(folder) / it) for it in ("key", "text", "signature")]
        for path, content in zip(paths, (pem, text, signature)):  # noqa: B905
            Path(path).write_bytes(content)
        verified = openssl(
            *("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", paths[0]),
            *("-in", paths[1], "-sigfile", paths[2]),
        )
    return verified.returncode == 0


def read_checkpoint(text: str) -> Checkpoint:
    """Reads the text of a checkpoint, without signature; raises `ValueError` for any other."""
    log, size, root, end = text.split("\n")
    if end or not re.fullmatch("[1-9][0-9]{0,15}", size):
        raise ValueError("not a checkpoint")
    return Checkpoint(log, int(size), _hash(root))


def _as_written(text: bytes) -> bytes:
    """A text without what an editor or a mail program put into its file: a byte order mark, and
    line ends of two characters."""
    return text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


def stated_by(note: bytes) -> Checkpoint:
    """What a signed checkpoint that somebody gives says, whoever signed it. Raises `Unusable` for
    any other file: nothing that was to be verified is to blame for it."""
    try:
        return read_checkpoint(note.decode("utf-8").partition("\n\n")[0] + "\n")
    except ValueError:
        raise Unusable(
            "--against is not a checkpoint: give what `prazo checkpoint` printed, as it is"
        ) from None


def _hash(text: str) -> bytes:
    value = base64.b64decode(text, validate=True)
    if len(value) != 32 or _base64(value) != text:
        raise ValueError("not a hash")
    return value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


# --- witnesses (C2SP tlog-cosignature, tlog-policy) ------------------------------------------


class Policy:
    """Which witnesses must have cosigned a checkpoint: a text in the form of C2SP's tlog-policy."""

    def __init__(self, text: str) -> None:
        """Raises ValueError, with the line, for a text of another form."""
        self.logs: list[Key] = []
        self.witnesses: dict[str, Key] = {}
        self.urls: dict[str, str] = {}  # for those who ask them
        self._groups: dict[str, tuple[int, list[str]]] = {}
        self._quorum = ""
        for number, line in enumerate(text.splitlines(), start=1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            try:
                self._read(words[0], words[1:])
            except (ValueError, KeyError, IndexError) as error:
                raise ValueError(f"line {number} cannot be read: {error}") from None
        if not self._quorum:
            raise ValueError("it has no quorum line")

    def _read(self, what: str, words: list[str]) -> None:
        if what == "log" and len(words) in (1, 2):
            self.logs.append(read_key(words[0]))
        elif what == "witness" and len(words) in (2, 3):
            key = read_key(words[1], WITNESS_KEY)
            if any(key.public == it.public for it in self.witnesses.values()):
                raise ValueError("this witness stands there already")
            self.witnesses[self._new(words[0])] = key
            if len(words) > 2:
                self.urls[words[0]] = words[2]
        elif what == "group" and len(words) > 2:
            name, least, *members = words
            needed = {"any": 1, "all": len(members)}.get(least) or int(least)
            taken = {it for _, others in self._groups.values() for it in others}
            if not 1 <= needed <= len(members) or len({*members}) < len(members):
                raise ValueError("it cannot be fulfilled")
            if taken & {*members} or not {*members} <= self.witnesses.keys() | self._groups.keys():
                raise ValueError("a member is not known, or is in a group already")
            self._groups[self._new(name)] = (needed, members)
        elif what == "quorum" and len(words) == 1 and not self._quorum:
            known = self.witnesses.keys() | self._groups.keys() | {"none"}
            if words[0] not in known:
                raise ValueError(f"{words[0]} is not known")
            self._quorum = words[0]
        else:
            raise ValueError("it is not a line of a policy")

    def _new(self, name: str) -> str:
        if name in self.witnesses or name in self._groups or name == "none":
            raise ValueError(f"{name} stands there already")
        return name

    def holds(self, cosigned: set[str]) -> bool:
        """Whether these witnesses are enough."""

        def is_there(name: str) -> bool:
            if name in self._groups:
                needed, members = self._groups[name]
                return sum(map(is_there, members)) >= needed
            return name in cosigned

        return self._quorum == "none" or is_there(self._quorum)


def cosigned_at(note: bytes, witness: Key) -> datetime | None:
    """When a witness cosigned a checkpoint; None where it did not."""
    text, _, lines = note.rpartition(b"\n\n")
    for name, encoded in re.findall(SIGNATURE, lines.decode("utf-8")):
        signature = base64.b64decode(encoded, validate=True)
        if name == witness.name and signature[:4] == witness.id and len(signature) == 76:
            at = int.from_bytes(signature[4:12], "big")
            stated = b"cosignature/v1\ntime %d\n%s\n" % (at, text)
            if at < 1 << 37 and is_signed(stated, signature[12:], witness):
                return datetime.fromtimestamp(at, timezone.utc)
    return None


# --- the log's keys --------------------------------------------------------------------------


class Rotation(NamedTuple):
    """An entry in which one key hands over to another, and the statement that both signed."""

    seq: int
    retired: Key
    taken: Key
    statement: str


def read_rotation(seq: int, note: str, log: str) -> Rotation:
    """Fault unless this is a statement of this log that both of its keys signed."""
    title, of, retired, taken = note.partition("\n\n")[0].split("\n")
    rotation = Rotation(seq, read_key(retired), read_key(taken), note)
    if title != ROTATION or {of, rotation.retired.name, rotation.taken.name} != {log}:
        raise Fault(
            f"rotation {seq} is of {quoted(of)}, not of the log {quoted(log)} of the key that was"
            " given, or of a version that is not known here"
        )
    try:
        signed_text(note.encode("utf-8"), rotation.retired, rotation.taken)
    except Fault as fault:
        raise Fault(f"the statement of rotation {seq} {fault}") from None
    return rotation


class LogKeys:
    """The keys that signed for the log, with the number of entries from which on each did. Each
    is there because it and the key next to it signed for each other."""

    def __init__(self, given: Key, rotations: list[Rotation]) -> None:
        self.tenures = [(0, rotations[0].retired if rotations else given)]
        for rotation in rotations:
            if rotation.retired != self.current or rotation.seq <= self.tenures[-1][0]:
                raise Fault(f"rotation {rotation.seq} does not follow the one before it")
            self.tenures.append((rotation.seq, rotation.taken))

    def __contains__(self, key: Key) -> bool:
        return any(key == it for _, it in self.tenures)

    @property
    def current(self) -> Key:
        """The key that signs now."""
        return self.tenures[-1][1]

    def at(self, size: int) -> Key:
        """The key that signs when the log has `size` entries."""
        return [key for since, key in self.tenures if since <= size][-1]


class GivenUp(NamedTuple):
    """What an entry says of a past that the log lost and gave up: how far both are the same, how
    far that one went, and the roots that it had."""

    seq: int
    fork: int
    reached: int
    roots: set[tuple[int, bytes]]  # (size, root)


def read_given_up(seq: int, body: bytes, log: str) -> list[GivenUp]:
    """What a reconciliation says, if it can be read."""
    try:
        said = json.loads(body.decode("utf-8"))
        roots = {(int(said["abandoned_size"]), bytes.fromhex(said["abandoned_root"]))}
        if said["checkpoint"] is not None:
            signed = read_checkpoint(said["checkpoint"].partition("\n\n")[0] + "\n")
            roots |= {(signed.size, signed.root)} if signed.log == log else set()
        reached = max(size for size, _ in roots)
        return [GivenUp(seq, int(said["fork"]), reached, roots)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


# --- the zip and the bag ---------------------------------------------------------------------


class Package:
    """The files of a package. Raises Fault if the zip could show different things to different
    readers (a repeated path, a path outside it, links, bytes between its files), or would unfold
    to far more than its own size."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        try:
            self._read_directory()
        except BaseException:
            self._file.close()
            raise
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read_directory(self) -> None:
        try:
            _check_directory(self._file)
            self._zip = zipfile.ZipFile(self._file)
            infos = self._zip.infolist()
            if not any(it.filename.endswith("bagit.txt") for it in infos):
                raise Fault(f"{NO_PACKAGE}: it has no bagit.txt")
            self._check_layout(self._file, infos)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise Fault(f"this is not a zip file: {quoted(error)}") from None
        self._infos = {it.filename: it for it in infos}
        self.names = [it.filename for it in infos]
        self.sizes = {it.filename: it.file_size for it in infos}  # of all that `read` gives
        if len({*self.names}) < len(infos):
            raise Fault("a path stands twice in the package")
        if sum(self.sizes.values()) > MAX_SMALL_BYTES + MAX_RATIO * self._file.seek(0, 2):
            raise Fault("its files are far too large for a zip of this size")

    def _check_layout(self, file: IO[bytes], infos: list[zipfile.ZipInfo]) -> None:
        """Checks that the zip holds files one after another, each described once, and no more."""
        offset = 0
        for info in infos:
            name, kind = info.filename, info.external_attr >> 16
            is_plain = re.fullmatch(r"[A-Za-z0-9._/-]{1,200}", name)
            if is_plain and name.endswith("/"):
                raise Fault(f"{name} is a folder: {_PACKED_AGAIN}")
            if not is_plain or {"", ".", ".."} & {*name.split("/")}:
                raise Fault(f"the path {quoted(name)} leaves the package or is not plain")
            if info.flag_bits or info.compress_type not in (0, 8):
                raise Fault(f"{name} is encrypted or packed in another way")
            if not stat.S_ISREG(kind):
                raise Fault(f"{name} is not marked as a plain file: {_PACKED_AGAIN}")
            says_more = _is_large(info) or offset > LARGE
            if info.header_offset != offset or info.comment or (info.extra and not says_more):
                raise Fault(f"bytes that belong to no file lie before {name}")
            if info.date_time != (1980, 1, 1, 0, 0, 0) or stat.S_IMODE(kind) != 0o644:
                raise Fault(f"{name} has a date or a mode of its own: {_PACKED_AGAIN}")
            header = _local_header(info)
            if _bytes_at(file, offset, len(header)) != header:
                raise Fault(f"{name} is described in two ways")
            offset += len(header) + info.compress_size
        if offset != self._zip.start_dir or self._zip.comment:
            raise Fault("bytes that belong to no file lie behind the last one")
        directory = b"".join(map(_directory_entry, infos))
        directory += _directory_end(len(infos), len(directory), offset)
        if _bytes_at(file, offset, len(directory) + 1) != directory:
            raise Fault("the zip's directory is not as a package has it: readers may differ in it")

    def open(self, name: str) -> IO[bytes]:
        """A file to read from its start; raises `Fault` if it is missing, and so does reading it
        where it is damaged."""
        if name not in self._infos:
            raise Fault(f"{name} is missing")
        return io.BufferedReader(_Member(self._file, self._infos[name]), PIECE)

    def read(self, name: str, limit: int = MAX_JSON_BYTES) -> bytes:
        """The bytes of a file; raises `Fault` if it is missing, damaged or over the limit."""
        if self.sizes.get(name, 0) > limit:
            raise Fault(f"{name} is over {limit} bytes, more than this verifier reads at once")
        with self.open(name) as file:
            return file.read()

    def digest(self, name: str) -> str:
        """The SHA-256 of a file, in hex; it is read once."""
        if name not in self._digests:
            digest = hashlib.sha256()
            with self.open(name) as file:
                for piece in iter(lambda: file.read(PIECE), b""):
                    digest.update(piece)
            self._digests[name] = digest.hexdigest()
        return self._digests[name]

    def json(self, name: str, limit: int = MAX_JSON_BYTES) -> Any:
        """The value in a JSON file; Fault unless the file is canonical JSON."""
        return canonical(self.read(name, limit), name)

    def lines(self, name: str, limit: int) -> Iterator[bytes]:
        """The lines of a file, without their ends; Fault for one that is too long or has no end."""
        with self.open(name) as file:
            for line in iter(lambda: file.readline(limit), b""):
                if line[-1:] != b"\n":
                    raise Fault(f"{name} has a line that is over {limit} bytes, or has no end")
                yield line[:-1]

    def rows(self, name: str) -> Iterator[list[str]]:
        """The rows of a CSV file, its columns first; raises `Fault` if it is not a table, or not
        spelled as one is here: other programs may read other rows in it."""
        spelled = _Digested()
        written = csv.writer(spelled)
        with self.open(name) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            # A line over the limit is cut, so its cells are wrong instead of filling memory.
            rows = csv.reader(iter(partial(text.readline, MAX_CELL), ""))
            columns = next(rows, [])
            if not columns or len({*columns}) < len(columns):
                raise Fault(f"{name} is not a table")
            written.writerow(columns)
            yield columns
            for row in rows:
                if len(row) != len(columns):
                    raise Fault(f"{name} is not a table")
                written.writerow(row)
                yield row
        if spelled.digest.hexdigest() != self.digest(name):
            raise Fault(f"{name} is spelled in a way in which readers may differ")


class _Digested:
    """A file that keeps nothing but the digest of what is written."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def write(self, text: str) -> None:
        """As any file has it."""
        self.digest.update(text.encode("utf-8"))


class _Member(io.RawIOBase):
    """A file of the zip. Reading it to its end raises `Fault` unless its packed bytes are one
    deflate stream and no more, which gives what the zip's directory says."""

    def __init__(self, file: IO[bytes], info: zipfile.ZipInfo) -> None:
        self._file, self._info = file, info
        self._at = info.header_offset + len(_local_header(info))
        self._end = self._at + info.compress_size
        self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS) if info.compress_type else None
        self._packed = b""
        self._size = self._crc = 0

    def readable(self) -> bool:
        """It is only read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As `io.RawIOBase` describes it."""
        seconds_left()
        name = self._info.filename
        try:
            data = self._unpacked(len(buffer)) if self._unpacker else self._next(len(buffer))
        except zlib.error as error:
            raise Fault(f"{name} cannot be read: {error}") from None
        self._size += len(data)
        self._crc = zlib.crc32(data, self._crc)
        is_whole = (self._size, self._crc) == (self._info.file_size, self._info.CRC)
        if self._size > self._info.file_size or not (data or is_whole):
            raise Fault(f"{name} is not what the zip's directory says")
        buffer[: len(data)] = data
        return len(data)

    def _next(self, most: int) -> bytes:
        self._file.seek(self._at)
        data = self._file.read(min(most, self._end - self._at))
        self._at += len(data)
        return data

    def _unpacked(self, most: int) -> bytes:
        unpacker = self._unpacker
        while unpacker is not None and not unpacker.eof:
            packed = self._packed or self._next(PIECE)
            data = unpacker.decompress(packed, most)
            self._packed = unpacker.unconsumed_tail
            if data:
                return data
            if not packed and not unpacker.eof:
                raise Fault(f"{self._info.filename} ends too early")
        if self._at < self._end or (unpacker is not None and unpacker.unused_data):
            raise Fault(f"bytes that belong to no file lie behind the end of {self._info.filename}")
        return b""


def _check_directory(file: IO[bytes]) -> None:
    """Checks, before anything is opened, that the zip ends with its directory, and how large that
    is."""
    end = file.seek(0, 2)
    last = _bytes_at(file, max(0, end - 22), 22)
    if len(last) < 22 or last[:4] != b"PK\x05\x06" or last[20:] != b"\0\0":
        raise Fault("this is not a zip file, or bytes follow its own end")
    size, offset = struct.unpack("<2L", last[12:20])
    if end >= 98 and _bytes_at(file, end - 42, 4) == b"PK\x06\x07":  # of a large zip
        size, offset = struct.unpack("<2Q", _bytes_at(file, end - 98 + 40, 16))
        end -= 76
    if size > MAX_DIRECTORY_BYTES:
        raise Fault("the zip has more files than any package")
    if offset + size + 22 != end:
        raise Fault("bytes that belong to no file lie before the zip, or behind its files")


NO_PACKAGE = "this is not an audit package of Prazo"
_PACKED_AGAIN = "no package has that, and another program may have packed this one again"
_FIRST_DAY = (0, 33)  # the time and the day of each file, as a zip spells them
LARGE = 2**31 - 1  # of a larger file, or one behind it, a zip says sizes and places in more bytes
_SAID_THERE = 2**32 - 1  # in the place of such a number


def _is_large(info: zipfile.ZipInfo) -> bool:
    return max(info.file_size, info.compress_size) > LARGE


def _local_header(info: zipfile.ZipInfo) -> bytes:
    """The header that must stand before a file's bytes, according to the zip's directory."""
    packed, size, extra, version = info.compress_size, info.file_size, b"", 20
    if _is_large(info):
        extra, version = struct.pack("<2H2Q", 1, 16, size, packed), 45
        packed = size = _SAID_THERE
    sizes = (info.CRC, packed, size, len(info.filename), len(extra))
    parts = (b"PK\x03\x04", version, 0, info.compress_type, *_FIRST_DAY, *sizes)
    return struct.pack("<4s5H3L2H", *parts) + info.filename.encode() + extra


def _directory_entry(info: zipfile.ZipInfo) -> bytes:
    """What must stand of a file in the zip's directory, to the byte: some readers make something
    else of other attributes, versions or disks."""
    packed, size, offset = info.compress_size, info.file_size, info.header_offset
    large: list[int] = []
    if _is_large(info):
        large += (size, packed)
        packed = size = _SAID_THERE
    if offset > LARGE:
        large.append(offset)
        offset = _SAID_THERE
    extra, version = b"", 20
    if large:
        extra, version = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large), 45
    name, mode = info.filename.encode(), (stat.S_IFREG | 0o644) << 16
    sizes = (info.CRC, packed, size, len(name), len(extra), 0)
    parts = (b"PK\x01\x02", version, 3, version, 0, 0, info.compress_type, *_FIRST_DAY, *sizes)
    return struct.pack("<4s4B4H3L5H2L", *parts, 0, 0, mode, offset) + name + extra


def _directory_end(files: int, size: int, offset: int) -> bytes:
    """What must stand behind the directory: readers believe the number of files that it says."""
    large = b""
    if files > 2**16 - 1 or max(size, offset) > LARGE:
        counts = (files, files, size, offset)
        large = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, *counts)
        large += struct.pack("<4sLQL", b"PK\x06\x07", 0, offset + size, 1)
    files, size, offset = min(files, 2**16 - 1), min(size, _SAID_THERE), min(offset, _SAID_THERE)
    return large + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, files, files, size, offset, 0)


def _bytes_at(file: IO[bytes], offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def _whole_number(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError("a number of more than 20 digits")
    return int(digits)


_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_parsed = json.JSONDecoder(parse_int=_whole_number).decode
_parsed_plainly = json.JSONDecoder().decode


def _parsed_leaf(text: str) -> Any:
    """A short text holds no number that takes long to read; leaves are checked for their numbers
    later, since that costs far less than to be asked for each."""
    return _parsed_plainly(text) if len(text) < 4000 else _parsed(text)


def canonical(data: bytes, name: str, parsed: Callable[[str], Any] = _parsed) -> Any:
    """The value of canonical JSON; raises `Fault` if the bytes spell it in another way."""
    try:
        value = parsed(data.decode("utf-8"))
        if _canonical(value).encode("utf-8") == data:
            return value
    except (ValueError, RecursionError) as error:
        raise Fault(f"{name} is not JSON: {error}") from None
    raise Fault(f"{name} is not canonical JSON: a key twice, or another spelling")


def _check_manifest(package: Package, manifest: str, listed: set[str], verdict: Verdict) -> None:
    """Checks both ways: every file is listed with its digest, and every listed file exists. Reads
    no further than to the first line that is not about the file that follows."""
    expected = iter(sorted(listed))
    for line in package.lines(manifest, 1000):
        digest, _, name = line.decode("utf-8").partition("  ")
        following = next(expected, None)
        if name != following:
            if name not in listed:
                verdict.fault(f"{manifest} lists {quoted(name)}, which is not there")
            elif following is None or name < following:
                verdict.fault(f"{manifest} is not the sorted list of its files")
            else:
                verdict.fault(f"{following} is not listed in {manifest}")
            return
        if package.digest(name) != digest:
            verdict.fault(f"{name} has another digest than {manifest} says")
    for name in expected:
        verdict.fault(f"{name} is not listed in {manifest}")


# --- seals -----------------------------------------------------------------------------------


class Sealed(NamedTuple):
    """A package whose manifests its log signed: from here on, what it says is the exporter's."""

    package: Package
    data: set[str]  # all files below data/
    parameters: dict[str, Any]
    keys: LogKeys
    rotations: list[Rotation]
    note: bytes  # the checkpoint
    checkpoint: Checkpoint

    @property
    def is_masked(self) -> bool:
        """Whether records may be withheld."""
        return bool(self.parameters["profile"] == "masked")


def _seals(
    package: Package, given: Key | None, policy: Policy | None, verdict: Verdict
) -> Sealed | None:
    """The package, once its seals hold. Where they do not, None, and the verdict says why."""
    parameters = package.json("data/parameters.json", MAX_UNSEALED_BYTES)
    signer = read_key(parameters["key"])
    data = {it for it in package.names if it.startswith("data/")}
    rotations = _read_rotations(package, data, given.name if given else signer.name)
    logs = [] if policy is None else policy.logs
    named = [it for it in logs if it.name == signer.name]
    if logs and not named:
        raise Fault(f"it is of the log {quoted(signer.name)}, and the policy names other logs")
    if given is None and named:
        # A log whose key was rotated may stand there with several, later ones among them.
        leading = [it for it in named if it in LogKeys(it, rotations)]
        given = signer if signer in named else next(iter(leading), named[0])
    if given is None:
        given = signer
        verdict.unchecked.append(
            f"that {quoted(given)} is the log's key: this is the package's own word. Compare it"
            " with one that came another way, and give it as --key"
        )
    keys = LogKeys(given, rotations)
    if given not in keys or keys.current != signer:
        raise Fault(
            f"the package is signed by the key {signer}, and no rotation in it leads there from the"
            f" key given, {given}: a key is needed from which one does"
        )
    note = _open(package, "manifest.note", signer)
    form = note.partition("\n")[0]
    if form != FORMAT:
        raise Fault(
            f"the package is a {quoted(form)}, and this verifier knows {FORMAT}: take a newer"
            " verify.py"
        )
    lines = [f"{package.digest(it)}  {it}" for it in sorted(TAG_FILES - {"manifest.note"})]
    if note != "\n".join([form, given.name, *lines, ""]):
        verdict.fault("manifest.note is not signed over these manifests")
    for name in sorted({*package.names} - data - TAG_FILES - {"tagmanifest-sha256.txt"}):
        verdict.fault(f"{name} does not belong into a package")
    _check_manifest(package, "tagmanifest-sha256.txt", TAG_FILES, verdict)
    _check_manifest(package, "manifest-sha256.txt", data, verdict)
    if verdict.faults:
        verdict.notes.append("nothing else was looked at: the seals come first")
        return None
    verdict.passed(
        f"manifests list all {len(package.names)} files, with their digests; in which order they"
        " lie in the zip, and how they are packed, is signed by nobody"
    )
    checkpoint_note = package.read("data/checkpoint.note")
    text = _open(package, "data/checkpoint.note", signer, is_cosigned=True)
    checkpoint = read_checkpoint(text)
    if checkpoint.log != given.name:
        raise Fault("data/checkpoint.note is of another log than the key")
    verdict.passed(f"manifests and checkpoint are signed by {signer}")
    if signer != given:
        verdict.passed(
            f"the key given, {given}, leads to that one by {len(rotations)} rotations of the log's"
            " key, each signed by the key before it"
        )
    return Sealed(package, data, parameters, keys, rotations, checkpoint_note, checkpoint)


def _open(package: Package, name: str, key: Key, *, is_cosigned: bool = False) -> str:
    try:
        return signed_text(package.read(name, PIECE), key, is_cosigned=is_cosigned)
    except Fault as fault:
        raise Fault(f"{name} {fault}") from None


def _read_rotations(package: Package, data: set[str], log: str) -> list[Rotation]:
    """The rotations that the package names, in order, with both signatures checked."""
    if "data/rotations.json" not in data:
        raise Fault("data/rotations.json is missing")
    stated = package.json("data/rotations.json", MAX_UNSEALED_BYTES)
    found = [(int(it["seq"]), it["statement"]) for it in stated]
    if _canonical(stated) != _canonical([{"seq": at, "statement": it} for at, it in found]):
        raise Fault("data/rotations.json says more than which rotations there are")
    if len(found) > MAX_ROTATIONS:
        raise Fault(f"it names more than {MAX_ROTATIONS} rotations")
    return [read_rotation(seq, statement, log) for seq, statement in found]


def _check_form(sealed: Sealed, verdict: Verdict) -> None:
    """Checks that the package has the files of its format, and says of itself what it is."""
    package, parameters, data = sealed.package, sealed.parameters, sealed.data
    if package.read("bagit.txt", 1000) != BAG:
        verdict.fault("bagit.txt is not that of a BagIt 1.0 bag")
    # Which files these folders hold exactly, `Stream`, `Stated` and artifacts say.
    folders = ["artifacts", "bodies", "stated"]
    possible = {"data/checkpoint.tsr"}
    if "data/checkpoint.tsr" in data:
        possible.add("data/timestamp.pem")
    for name in sorted(data - FILES - possible):
        if name.split("/")[1] not in folders or name.count("/") < 2:
            verdict.fault(f"{name} does not belong into a package")
    for name in sorted(FILES - data):
        verdict.fault(f"{name} is missing")
    if parameters.keys() != PARAMETERS:
        verdict.fault("parameters.json has other keys than it should")
    if not _are_numbers_right(parameters):
        verdict.fault("parameters.json has numbers that no package has")
    if parameters["profile"] not in ("full", "masked"):
        verdict.fault("parameters.json names a profile that no package has")
    if parameters["log"] != sealed.checkpoint.log:
        verdict.fault("parameters.json names another log than the checkpoint")
    if parameters["format"] != FORMAT:
        verdict.fault(f"the package is not as {FORMAT} says")
    sizes = [package.sizes[it] for it in data]
    info = (
        f"Bag-Software-Agent: {parameters['software']}\nBagging-Date: {parameters['as_of'][:10]}\n"
        f"External-Identifier: {sealed.checkpoint.log}\nPayload-Oxum: {sum(sizes)}.{len(sizes)}\n"
    )
    if package.read("bag-info.txt", PIECE).decode("utf-8") != info:
        verdict.fault("bag-info.txt does not describe this package")
    if package.digest("verify.py") != hashlib.sha256(Path(__file__).read_bytes()).hexdigest():
        verdict.unchecked.append(
            "verify.py in the package: it is another one than this, so do not run it before you"
            " have compared it with that of its release"
        )


def _are_numbers_right(parameters: dict[str, Any]) -> bool:
    """Whether each is a whole number in its own place: reports print them, and add some up."""
    outside, range_ = parameters["not_of_log"], parameters["range"]
    sizes = [size for size, _ in parameters["earlier"]]
    numbers = [parameters["log_size"], *sizes, *outside.values(), *parameters["rows"].values()]
    return (
        all(type(it) is int and 0 <= it <= MAX_NUMBER for it in [*numbers, *(range_ or ())])
        and outside.keys() == {it.partition("/")[2] for it in TABLES} - {"entries.csv"}
        and (range_ is None or (type(range_) is list and len(range_) == 2))
    )


# --- how a package keeps its entries ---------------------------------------------------------


class Body(NamedTuple):
    """What a package has of an entry's body: its commitment's hash over salt and bytes, or the
    reason why it is withheld."""

    digest: str
    size: int
    bytes: bytes | None  # only of the kinds that are read here
    withheld: str | None = None


class Stream:
    """Entries: leaves, records and bodies in files of many, in one order."""

    def __init__(self, sealed: Sealed) -> None:
        self._package = package = sealed.package
        self._bodies = package.lines("data/bodies.csv", PIECE)
        if next(self._bodies, b"") != BODY_COLUMNS:
            raise Fault("bodies.csv has other columns")
        self._records = package.lines("data/records.ndjson", MAX_PARSED_BODY_BYTES)
        self._checkpoint = sealed.checkpoint
        self._chunk: IO[bytes] | None = None
        self._name, self._at, self._number = "", 0, 0
        self._chunks = {it for it in sealed.data if it.startswith("data/bodies/")}

    def leaves(self) -> Iterator[bytes]:
        """The bytes of each leaf, in order."""
        return self._package.lines("data/leaves.ndjson", MAX_LEAF_BYTES)

    def prove(self, leaves: Iterator[tuple[int, bytes]]) -> None:
        """Fault unless these leaves (index, hash) stand in the log of the checkpoint."""
        nodes = (_hash(it.decode("ascii")) for it in self._package.lines("data/proof.txt", 50))
        if root_over(self._checkpoint.size, leaves, nodes) != self._checkpoint.root:
            raise Fault("leaves.ndjson and proof.txt do not lead to the checkpoint: not in the log")

    def record(self, seq: int) -> bytes:
        """The record of the next entry that has one."""
        record = next(self._records, None)
        if record is None:
            raise Fault(f"records.ndjson ends before entry {seq}")
        return record

    def body(self, seq: int, rules: LeafRules, keep: bool) -> Body:
        """The body of the next entry that has one."""
        row = next(self._bodies, b"").decode("utf-8").split(",")
        if len(row) != 6 or row[0] != str(seq):
            raise Fault(f"bodies.csv has no row for entry {seq} in its place")
        _, salted, file, offset, sized, withheld = row
        if withheld:
            reasons = (BY_EXPORTER, BY_PROFILE, ERASED)
            if salted or file or offset or sized or withheld not in reasons:
                raise Fault(f"the body of entry {seq} is withheld, and there, or nobody knows why")
            return Body("", 0, None, withheld)
        salt, size = bytes.fromhex(salted), int(sized)
        if (salted, sized) != (salt.hex(), str(size)) or len(salt) != 32:
            raise Fault(f"bodies.csv does not describe the body of entry {seq}")
        if file != self._name:
            self._next_chunk(file)
        if offset != str(self._at) or self._chunk is None:
            raise Fault(f"the body of entry {seq} does not stand where bodies.csv says")
        self._at += size + 1
        return self._read(self._chunk, rules.hash(salt), size, keep)

    @staticmethod
    def _read(chunk: IO[bytes], digest: Any, size: int, keep: bool) -> Body:
        pieces = []
        for length in (*[PIECE] * (size // PIECE), size % PIECE):
            piece = chunk.read(length)
            if len(piece) < length:
                raise Fault("a file of bodies ends too early")
            digest.update(piece)
            if keep and size <= MAX_PARSED_BODY_BYTES:
                pieces.append(piece)
        if chunk.read(1) != b"\n":
            raise Fault("a body does not end where bodies.csv says")
        return Body(digest.hexdigest(), size, b"".join(pieces) if keep else None)

    def _next_chunk(self, name: str) -> None:
        self._number += 1
        if name != f"data/bodies/{self._number:05}.bin" or name not in self._chunks:
            raise Fault(f"bodies.csv names {quoted(name)}, which is not there, or not the next")
        self._end_of_chunk()
        self._chunks.remove(name)
        self._name, self._at, self._chunk = name, 0, self._package.open(name)

    def _end_of_chunk(self) -> None:
        if self._chunk is not None and self._chunk.read(1):
            raise Fault(f"{self._name} goes on behind the last body that bodies.csv names")

    def end(self) -> None:
        """Fault unless everything was read."""
        self._end_of_chunk()
        if (
            self._chunks
            or next(self._bodies, None) is not None
            or next(self._records, None) is not None
        ):
            raise Fault("records.ndjson, bodies.csv or a file of bodies holds what no entry has")


class Stated:
    """What the exporter states of withheld bodies and records: rows of facts, by table, in order of
    entries."""

    def __init__(self, package: Package, data: set[str]) -> None:
        tables = [it for of in STATED.values() for it in of]
        known = {f"data/stated/facts.{it}.ndjson": it for it in tables}
        self._rows: dict[str, Iterator[bytes]] = {}
        for name in sorted(it for it in data if it.startswith("data/stated/")):
            if name not in known:
                raise Fault(f"{name} does not belong into a package")
            self._rows[known[name]] = package.lines(name, MAX_CELL)
        self._next = {table: next(rows, b"") for table, rows in self._rows.items()}
        for table, row in self._next.items():
            if not row:
                raise Fault(f"data/stated/facts.{table}.ndjson states nothing")

    def of(self, seq: int, kind: str, *, has_body: bool) -> list[tuple[str, bytes]]:
        """(table, row) of all that is stated of the next withheld entry; Fault unless it is what
        an entry of its kind can hold: without a body, one row about its record."""
        found = []
        tables = STATED.get(kind, STATED[""])
        for table in tables if has_body else tables[:1]:
            rows = []
            while self._next.get(table, b"").startswith(b"[%d," % seq):
                rows.append((table, self._next[table]))
                self._next[table] = next(self._rows[table], b"")
            if (len(rows) > 1 and table not in MANY_STATED) or (not rows and table == tables[0]):
                raise Fault(f"data/stated has {len(rows)} rows of {table} about it, instead of one")
            found += rows
        return found

    def end(self) -> None:
        """Fault unless everything was read."""
        for table, row in self._next.items():
            if row:
                raise Fault(
                    f"data/stated/facts.{table}.ndjson states what no withheld body can hold"
                )


# --- entries and what they show of the scope -------------------------------------------------


class Tail(NamedTuple):
    """How far a stream was followed: the number and the seq of its newest entry."""

    n: int
    seq: int | None


class Scope:
    """What the package says to be about, and which entries belong to it."""

    def __init__(self, sealed: Sealed, names: dict[str, str]) -> None:
        stated: dict[str, str] = sealed.parameters["scope"]
        hashes = {name: it for it, name in names.items()}
        if stated.keys() not in SCOPES:
            raise Fault("parameters.json names no scope that is known here")
        self.stream = "process" if "process" in stated else "seller" if "seller" in stated else ""
        name = stated.get(self.stream, "")
        self.name = hashes.get(name, name)
        said = [f"{self.stream} {quoted(name)}"] if self.stream else []
        self.is_sample, self.is_period = "sample" in stated, "from" in stated
        if self.is_sample:
            numbers = [stated[it] for it in ("sample", "checkpoint", "population")]
            if not all(re.fullmatch("[1-9][0-9]{0,14}", it) for it in numbers):
                raise Fault("parameters.json has no right numbers of its sample")
            self.size, self.checkpoint, self.population = map(int, numbers)
            self.number = stated["number"]
            if not re.fullmatch("[0-9]{0,9}", self.number):
                raise Fault("parameters.json has no right number to draw with")
            said += [f"a sample of {self.size}"]
        if self.is_period:
            self.since, self.until = (_full_instant(stated[it]) for it in ("from", "to"))
            said += [f"from {stated['from']}, to {stated['to']}"]
        self.stated = ", ".join(said)

    def names(self, leaf: dict[str, Any]) -> bool:
        """Whether an entry belongs to it by itself, not only by its process."""
        if self.is_sample:
            no_stream = {"process_stream", "seller_stream"}.isdisjoint(leaf)
            return leaf["kind"] == "export" and no_stream
        return self.is_then(leaf) and self.is_of_stream(leaf)

    def is_then(self, leaf: dict[str, Any]) -> bool:
        """Whether an entry occurred in the period, where it is one of a period."""
        return not self.is_period or self.since <= leaf["occurred_at"] < self.until

    def is_of_stream(self, leaf: dict[str, Any]) -> bool:
        """Whether an entry is of its process or seller, at any time; of a period all are."""
        return not self.stream or bool(leaf.get(f"{self.stream}_stream") == self.name)

    @property
    def is_cut(self) -> bool:
        """Whether it is a period of a seller: of that seller's other entries only leaves are here,
        which show when they occurred."""
        return self.is_period and bool(self.stream)


def drawn(population: Iterable[str], root: bytes, number: str, size: int) -> list[str]:
    """The names of processes, as leaves have them, that a sample consists of: the first by SHA-256
    over the root of a checkpoint, what an auditor typed, and the name."""
    begin = f"{SAMPLE}\n{root.hex()}\n{number}\n"

    def place(name: str) -> bytes:
        return hashlib.sha256(f"{begin}{name}".encode()).digest()

    return sorted(population, key=place)[:size]


def _full_instant(text: str) -> str:
    """An instant as leaves have it, with microseconds; Fault for any other text."""
    match = re.fullmatch(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8})(?:\.([0-9]{1,6}))?Z", text)
    try:
        datetime.strptime(f"{match[1]}Z" if match else "", "%Y-%m-%dT%H:%M:%S%z")
    except ValueError:  # a text like "2026-01-01T::::::::Z" would come after all of its day
        match = None
    if match is None:
        raise Fault(f"{quoted(text)} is not an instant")
    return f"{match[1]}.{(match[2] or ''):0<6}Z"


class Entries:
    """Goes once through all leaves of a package, and checks each: its spelling, its record and
    body, its place in its streams, and the row that quotes it."""

    def __init__(
        self,
        sealed: Sealed,
        source: Stream,
        names: dict[str, str],
        people: dict[str, tuple[str, bytes]],
    ) -> None:
        self._sealed, self._source, self.names, self.people = sealed, source, names, people
        self._unnamed = {*people}  # of no body as yet
        self.scope = Scope(sealed, names)
        self._rows = sealed.package.rows("data/entries.csv")
        self._quotes = Quotes(next(self._rows), names)
        # An identifier may look like a hash; then no other may stand here by that very hash.
        self._like_hashes = {it for it in names.values() if HASHED.fullmatch(it)}
        self._row = next(self._rows, None)
        # Keys and types of leaves in which these are right -> those of their numbers.
        self._shapes: dict[tuple[Any, ...], list[str]] = {}
        self.rotations = {it.seq: it for it in sealed.rotations}
        self._named = {*self.rotations}
        self.given_up: list[GivenUp] = []
        self.handovers: list[int] = []  # leaves of rotations that are not named, without a body
        self._stated = Stated(sealed.package, sealed.data)
        self.stated_rows = 0
        self.listed_at = ""  # when the newest listed entry was recorded
        self.size = sealed.parameters["log_size"]
        self.export: dict[str, Any] = {}
        self.export_body: dict[str, Any] = {}
        self.recorded_at = ""  # of the newest leaf
        self.listed = 0
        self.kinds: Counter[str] = Counter()
        self.withheld: Counter[tuple[str, str]] = Counter()
        self.without_record: Counter[str] = Counter()  # by kind, those whose record is withheld
        self.erased: set[int] = set()  # entries whose bodies are withheld as erased
        self.said_erased: set[int] = set()  # those of which entries of the package say so
        self.may_say_erased: set[int] = set()  # those whose own record, which is withheld, may
        self.unread_erasure = 0  # the newest of which only the leaf is here
        self.artifacts: dict[str, tuple[int, bool]] = {}  # digest -> entry, whether we keep it
        self.artifact_files: set[str] = set()
        self.tails: dict[str, dict[str, Tail]] = {"process": {}, "seller": {}}
        self.notices: dict[int, str | None] = {}  # entry -> its message; None where it is withheld
        self.of_messages: dict[int, str | None] = {}  # likewise, those here by their message alone
        self.in_scope: set[str] = set()  # processes of entries that belong to it by themselves
        self.population: set[str] = set()  # of a sample: the processes of the period
        self.draws: list[int] = []  # earlier packages of samples
        self.unread_draws = 0  # earlier ones of samples or periods, whose bodies are withheld
        self.beyond: set[str] = set()  # processes of leaves that are not listed
        self.others: set[str] = set()  # sellers that entries name
        self.before: list[tuple[int, str]] = []  # (seq, recorded_at) around the range of a period
        first, last = sealed.parameters["range"] or (0, 0)
        self._ends = {first, last}
        # That of a process or seller reaches the export, which may follow the others at a distance.
        self._range = range(first, MAX_NUMBER if first and self.scope.stream else last + 1)
        self.in_range = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """(index, hash) of each leaf, after it was checked. Raises `Fault` for the first that is
        wrong."""
        previous = 0
        for data in self._source.leaves():
            seconds_left()
            if self.export:
                raise Fault(f"an entry follows the export's own, {self.export['seq']}")
            leaf = canonical(data, f"the leaf behind entry {previous}", _parsed_leaf)
            try:
                rules = self._check_leaf(leaf, previous)
                previous = leaf["seq"]
                hashed = leaf_hash(data)
                self._take(leaf, hashed, rules)
            except Fault as fault:
                raise Fault(f"entry {leaf['seq']}: {fault}") from None
            yield previous - 1, hashed
        if self._row is not None:
            raise Fault("entries.csv does not list the entries of the package, each once, in order")
        self._source.end()
        self._stated.end()
        if self._unnamed:
            raise Fault("data/actors.ndjson names somebody whom no body here does")

    def _check_leaf(self, leaf: dict[str, Any], previous: int) -> LeafRules:
        version = leaf.get("v")
        if type(version) is not int or version not in LEAF_RULES:
            known = ", ".join(map(str, LEAF_RULES))
            raise Fault(
                f"it is of version {quoted(version)}, and this verifier knows {known}: take a newer"
                " verify.py"
            )
        rules = LEAF_RULES[version]
        shape = (version, *leaf, *map(type, leaf.values()))
        numbers = self._shapes.get(shape)
        if numbers is None:
            for key, value in leaf.items():
                if key not in {int: rules.numbers, str: rules.texts}.get(type(value), ()):
                    raise Fault(f"its leaf has no right {quoted(key)}")
            numbers = self._shapes[shape] = [key for key in leaf if key in rules.numbers]
        values = [leaf[key] for key in numbers]
        if min(values) < 0 or max(values) > MAX_NUMBER:
            raise Fault("its leaf has a number that no leaf has")
        if leaf["log"] != self._sealed.checkpoint.log or leaf["seq"] <= previous:
            raise Fault("its leaf is of another log, or not in order")
        if not all(INSTANT.fullmatch(leaf[it]) for it in INSTANTS):
            raise Fault("its leaf has no right instant")
        if leaf["recorded_at"] < self.recorded_at:
            raise Fault(f"it was recorded at {leaf['recorded_at']}, before the entry before it")
        self.recorded_at = leaf["recorded_at"]
        return rules

    def _take(self, leaf: dict[str, Any], hashed: bytes, rules: LeafRules) -> None:
        seq: int = leaf["seq"]
        if self._like_hashes and self._like_hashes & {leaf.get(it) for it in IDENTIFIERS.values()}:
            raise Fault("names.ndjson gives another identifier the name of one of its own")
        if seq in self._range:
            self.in_range += 1
        if seq in self._ends:
            self.before.append((seq, leaf["recorded_at"]))
        is_listed = self._row is not None and self._quotes.seq(self._row) == str(seq)
        is_export = not is_listed and seq > self.size and leaf["kind"] == "export"
        if self.scope.stream:  # another's may have been recorded before it
            is_export = is_export and self.scope.is_of_stream(leaf)
        rotation = self.rotations.pop(seq, None)
        if rotation is not None and leaf["kind"] != "key_rotation":
            raise Fault("rotations.json names it, and it does not replace the key")
        is_unnamed = leaf["kind"] == "key_rotation" and seq not in self._named
        if is_unnamed and not is_listed:
            self.handovers.append(seq)
        if is_listed:
            self._list(leaf)
        elif not is_export:
            self._pass_by(leaf, rotation)
        if not (is_listed or is_export or rotation):
            return
        body = self._body(leaf, rules, has_record=self._check_record(leaf))
        if rotation is not None and _value(body, "statement") != rotation.statement:
            raise Fault("it is not the rotation that rotations.json names")
        if is_unnamed and self._is_handover(seq, body):
            raise Fault("it replaces the log's key, and rotations.json does not name it")
        if is_listed and leaf["kind"] == "reconciliation" and body and body.bytes is not None:
            self.given_up += read_given_up(seq, body.bytes, leaf["log"])
        if is_listed and self._row is not None:
            self._quotes.check(self._row, leaf, hashed, body)
            self._row = next(self._rows, None)
        if is_listed:
            self._take_message(leaf, body)
            self._take_draw(leaf, body)
        if is_export:
            self.export = leaf
            self.export_body = _parsed(((body and body.bytes) or b"{}").decode("utf-8"))
        if is_export and self.scope.stream:
            self._follow(self.scope.stream, leaf)

    def _take_message(self, leaf: dict[str, Any], body: Body | None) -> None:
        """Which message a listed entry is about: a notice, or what belongs to the package only as
        what became of one. It may come before the notice."""
        is_notice = leaf["kind"] == "seller_notice"
        by_message = leaf["kind"] in OF_MESSAGES and "process_stream" not in leaf
        if is_notice or (by_message and not self.scope.names(leaf)):
            message = _value(body, "message_id")
            (self.notices if is_notice else self.of_messages)[leaf["seq"]] = message

    def _take_draw(self, leaf: dict[str, Any], body: Body | None) -> None:
        """Whether a listed entry says that another sample was drawn before."""
        if self.scope.is_sample and self.scope.names(leaf):
            said = _value(body, "scope")
            self.unread_draws += said is None
            self.draws += [leaf["seq"]] if isinstance(said, dict) and "sample" in said else []

    def _is_handover(self, seq: int, body: Body | None) -> bool:
        """Whether a rotation changes the key. Without the word of the key in force it does not."""
        if body is None or body.bytes is None:
            return True
        try:
            statement = _value(body, "statement")
            found = read_rotation(seq, statement, self._sealed.checkpoint.log)
        except (Fault, ValueError, KeyError, TypeError, AttributeError):
            return False
        keys = self._sealed.keys
        return found.retired == keys.at(seq) and found.taken not in keys

    def _list(self, leaf: dict[str, Any]) -> None:
        """An entry that the package is about."""
        if leaf["seq"] > self.size:
            raise Fault(f"the package is made of the first {self.size} entries, and lists it")
        self.listed += 1
        self.listed_at = leaf["recorded_at"]
        self.kinds[leaf["kind"]] += 1
        process, seller = leaf.get("process_stream"), leaf.get("seller_stream")
        self._populate(leaf)
        if process is not None:
            self._follow("process", leaf)
            if self.scope.names(leaf):
                self.in_scope.add(process)
        elif not self.scope.names(leaf) and leaf["kind"] not in OF_MESSAGES:
            raise Fault(f"it does not belong to {self.scope.stated}")
        if seller is not None and self.scope.stream == "seller" and seller == self.scope.name:
            self._follow("seller", leaf)
        elif seller is not None:
            self.others.add(self.names.get(seller, seller))

    def _pass_by(self, leaf: dict[str, Any], rotation: Rotation | None) -> None:
        """An entry that the package is not about: it stands between others, or is a rotation."""
        scope, is_before = self.scope, leaf["seq"] <= self.size
        is_its_sellers = scope.is_cut and scope.is_of_stream(leaf)
        if not (is_its_sellers or rotation is not None or leaf["seq"] in self._range):
            raise Fault("it is neither listed in entries.csv nor in the range of the package")
        if leaf["kind"] == "erasure" and (is_its_sellers or not scope.stream):
            self.unread_erasure = leaf["seq"]
        # The number of the export's entry says that nothing came to its stream since the tables.
        if scope.names(leaf) if is_before else scope.stream and scope.is_of_stream(leaf):
            raise Fault(f"it belongs to {scope.stated}, and entries.csv does not list it")
        if is_its_sellers:
            self._follow(scope.stream, leaf)
        if is_before and "process_stream" in leaf:
            self.beyond.add(leaf["process_stream"])
            self._populate(leaf)

    def _populate(self, leaf: dict[str, Any]) -> None:
        is_known = self.scope.is_sample and leaf["seq"] <= self.scope.checkpoint
        if is_known and "process_stream" in leaf and self.scope.is_then(leaf):
            self.population.add(leaf["process_stream"])

    def _follow(self, stream: str, leaf: dict[str, Any]) -> None:
        """Checks that an entry of a stream is the one after the last that was followed there."""
        name = leaf[f"{stream}_stream"]
        tail = self.tails[stream].get(name, Tail(0, None))
        if leaf[f"{stream}_n"] != tail.n + 1 or leaf.get(f"{stream}_prev") != tail.seq:
            raise Fault(f"entries of the {stream} {quoted(name)} are missing before it")
        self.tails[stream][name] = Tail(tail.n + 1, leaf["seq"])

    def _check_record(self, leaf: dict[str, Any]) -> bool:
        """Whether all that was recorded beside the body is here: its record is not withheld."""
        if "record_digest" not in leaf:
            return True
        record = self._source.record(leaf["seq"])
        if record == NO_RECORD:
            is_possible = may_lack_record(leaf["kind"], leaf["origin"])
            if not (self._sealed.is_masked and is_possible):
                raise Fault(
                    "its record is withheld, as only a masked package may do, and only of an"
                    " attempt's start, or of the end of one that came from a file"
                )
            self.without_record[leaf["kind"]] += 1
            return False
        if hashlib.sha256(record).hexdigest() != leaf["record_digest"]:
            raise Fault("its record is not what was recorded")
        if b'"erased":' in record or b'"are_remains":' in record:
            self._take_erased(leaf, _parsed(record.decode("utf-8")))
        return True

    def _take_erased(self, leaf: dict[str, Any], record: dict[str, Any]) -> None:
        """Which entries lost their bytes: those that an erasure names, and those that were recorded
        again when the bytes were gone."""
        if record.get("are_remains") is True:
            self.said_erased.add(leaf["seq"])
        if leaf["kind"] == "erasure":
            named = (str(it).partition(":")[0] for it in record.get("erased") or ())
            self.said_erased |= {int(it) for it in named if re.fullmatch("[1-9][0-9]{0,15}", it)}

    def _body(self, leaf: dict[str, Any], rules: LeafRules, *, has_record: bool) -> Body | None:
        if "body_commitment" not in leaf:
            if not has_record:
                self._take_stated(leaf, has_body=False)
            return None
        is_action = STATED.get(leaf["kind"], STATED[""])[0] == "actions"
        keep = leaf["kind"] == "collection" or is_action
        body = self._source.body(leaf["seq"], rules, keep)
        if body.withheld is not None:
            self.withheld[leaf["kind"], body.withheld] += 1
            if body.withheld == ERASED:
                self.erased.add(leaf["seq"])
                self.may_say_erased |= set() if has_record else {leaf["seq"]}
            self._take_stated(leaf, has_body=True)
        elif not has_record:
            raise Fault("its record is withheld, and its body is not")
        elif (body.digest, body.size) != (leaf["body_commitment"], leaf["body_size"]):
            raise Fault("its body is not what was recorded")
        elif is_action:
            self._name_actor(body.bytes or b"")
        if leaf["kind"] in NAMING_ARTIFACTS and body.bytes is not None:
            for artifact in _parsed(body.bytes.decode("utf-8")).get("artifacts") or []:
                if artifact.get("sha256"):
                    self._name(artifact, leaf)
        return body

    def _name_actor(self, body: bytes) -> None:
        """Checks that whoever a body holds under a pseudonym has a name in this package."""
        if b'"act_' not in body:
            return
        said = _parsed(body.decode("utf-8"))
        actor = said.get("actor") if isinstance(said, dict) else None
        if isinstance(actor, str) and PSEUDONYM.fullmatch(actor):
            if actor not in self.people:
                raise Fault("data/actors.ndjson does not name who did it")
            self._unnamed.discard(actor)

    def _take_stated(self, leaf: dict[str, Any], *, has_body: bool) -> None:
        self.stated_rows += len(self._stated.of(leaf["seq"], leaf["kind"], has_body=has_body))

    def _name(self, artifact: dict[str, Any], leaf: dict[str, Any]) -> None:
        """Remembers who keeps an artifact, as its entry says: our store before any other."""
        is_kept_here = artifact.get("kept") != "elsewhere"
        digest, extension = (
            artifact["sha256"],
            EXTENSIONS.get(str(artifact.get("media_type")), "bin"),
        )
        self.artifact_files.add(f"data/artifacts/{digest}.{extension}")
        if not self.artifacts.get(digest, (0, False))[1]:
            self.artifacts[digest] = (leaf["seq"], is_kept_here)


def _value(body: Body | None, key: str) -> Any:
    return _parsed(body.bytes.decode("utf-8")).get(key) if body is not None and body.bytes else None


class Quotes:
    """Compares the rows of entries.csv with their entries."""

    def __init__(self, columns: list[str], names: dict[str, str]) -> None:
        quoting = [*QUOTED, *INSTANTS, *IDENTIFIERS, "leaf_hash", "body"]
        if missing := {*quoting} - {*columns}:
            raise Fault(f"entries.csv has no {', '.join(sorted(missing))}")
        self._columns, self._names = quoting, names
        self._cells = itemgetter(*map(columns.index, quoting))
        self.seq = itemgetter(columns.index("seq"))

    def check(self, row: list[str], leaf: dict[str, Any], hashed: bytes, body: Body | None) -> None:
        """Fault unless a row says what its entry says."""
        get = leaf.get
        values = [
            *[str(get(it, "")) for it in QUOTED],
            *[leaf[it][:-1].rstrip("0").rstrip(".") + "Z" for it in INSTANTS],
            *[self._names.get(it, it) for it in [get(key, "") for key in IDENTIFIERS.values()]],
            hashed.hex(),
            "" if body is None else "withheld" if body.withheld else "disclosed",
        ]
        cells = self._cells(row)
        if cells != tuple(values):
            for column, cell, value in zip(self._columns, cells, values):  # noqa: B905
                if not _is_quoted(cell, value):
                    raise Fault(f"entries.csv does not quote {column} as it is")


GUARD = re.compile("(^|[;\t\r\n])'(?=\\s*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")


def _unguarded(cell: str) -> str:
    """A cell without the apostrophes that keep spreadsheets from running it."""
    return GUARD.sub(r"\1", cell) if "'" in cell else cell


def _is_quoted(cell: str, value: str) -> bool:
    """Whether a cell says a value. It may have such apostrophes more than the value, and lacks none
    that the value has itself."""
    at = start = 0
    for guard in GUARD.finditer(cell):
        piece = cell[start : guard.end() - 1]
        if not value.startswith(piece, at):
            return False
        at, start = at + len(piece), guard.end()
        at += value.startswith("'", at)
    return value[at:] == cell[start:]


def _read_names(package: Package) -> dict[str, str]:
    """What stands for hashed identifiers: each a name that a leaf could not hold, and its own."""
    lines = package.lines("data/names.ndjson", MAX_LEAF_BYTES)
    pairs = [canonical(it, "a line of data/names.ndjson") for it in lines]
    names: dict[str, str] = dict(pairs)
    if len(names) < len(pairs):
        raise Fault("data/names.ndjson names a hash twice")
    for hashed, name in names.items():
        if not HASHED.fullmatch(hashed) or OPAQUE.fullmatch(name):
            raise Fault(
                f"{quoted(hashed)} is given the name {quoted(name)}, and is not a hash of such a"
                " name"
            )
    if len({*names.values()}) < len(names):
        raise Fault("two hashed identifiers are given one name")
    return names


def read_people(package: Package) -> dict[str, tuple[str, bytes]]:
    """Pseudonym -> the name and the salt that it was made of."""
    people: dict[str, tuple[str, bytes]] = {}
    for line in package.lines("data/actors.ndjson", MAX_LEAF_BYTES):
        pseudonym, name, salt = canonical(line, "a line of data/actors.ndjson")
        salted = SALT.fullmatch(salt) and bytes.fromhex(salt)
        made = hashlib.sha256((salted or b"") + b"prazo actor v1: " + name.encode("utf-8"))
        if not salted or pseudonym != f"act_{made.hexdigest()}" or pseudonym in people:
            raise Fault(
                f"data/actors.ndjson gives {quoted(pseudonym)} another name, or names it twice"
            )
        people[pseudonym] = name, salted
    return people


# --- the whole -------------------------------------------------------------------------------


def verify(
    path: Path,
    key: str | None = None,
    against: bytes | None = None,
    authority: str | None = None,
    *,
    policy: bytes | None = None,
    archives: Sequence[bytes] = (),
    seconds: float = MAX_SECONDS,
) -> Verdict:
    """Runs every check that the package allows; whatever its bytes are, the answer is a verdict.

    `authority`: path of a file. `archives`: timestamps over the package, oldest first. `seconds`:
    how long it may take. Raises Unusable only for a wrong argument. An empty one is wrong too,
    since it would silently skip a check.
    """
    verdict = Verdict()
    given_texts = {"--key": key, "--against": against, "--authority": authority, "--policy": policy}
    for name, value in given_texts.items():
        if value is not None and not value.strip():
            raise Unusable(f"{name} is empty")
    try:
        given = read_key(key) if key is not None else None
    except ValueError as error:
        raise Unusable(f"--key is not a verification key: {error}") from None
    try:
        trusted = Policy(policy.decode("utf-8")) if policy is not None else None
    except ValueError as error:
        raise Unusable(f"--policy is not a policy of witnesses: {error}") from None
    if against is not None:
        stated_by(against)
    if archives and authority is None:
        raise Unusable("--archive needs --authority, whose certificates it is checked with")
    if authority is not None and not (Path(authority).is_file() and os.access(authority, os.R_OK)):
        raise Unusable(f"--authority: there is no file {authority} that can be read")
    if not seconds > 0:
        raise Unusable("--seconds must be more than 0")
    csv.field_size_limit(MAX_CELL)
    try:
        with limited(seconds), Package(path) as package:
            sealed = _seals(package, given, trusted, verdict)
            if sealed is not None:
                entries = _check(sealed, against, trusted, verdict)
                _check_timestamp(sealed, path, entries, authority, archives, verdict)
    except (Fault, Late) as fault:
        verdict.fault(str(fault))
    except Unusable:
        raise
    except Exception as error:  # any bytes at all end in a verdict, never in a traceback
        verdict.fault(f"the package cannot be read: {type(error).__name__}: {quoted(error)}")
    return verdict


def _check(
    sealed: Sealed, against: bytes | None, policy: Policy | None, verdict: Verdict
) -> Entries | None:
    """Everything behind the seals but the timestamp; the entries, if the package has its form."""
    parameters = sealed.parameters
    contents = sealed.package.json("data/contents.json")
    _check_form(sealed, verdict)
    if contents.keys() != CONTENTS:
        verdict.fault("contents.json has other keys than it should")
    if verdict.faults:
        return None
    source = Stream(sealed)
    people = read_people(sealed.package)
    entries = Entries(sealed, source, _read_names(sealed.package), people)
    source.prove(iter(entries))
    if not entries.export:
        raise Fault("the export's own entry is missing")
    verdict.about.append(
        f"{entries.scope.stated}; as of {quoted(parameters['as_of'])};"
        f" {quoted(parameters['profile'])} profile; {entries.listed} entries of the first"
        f" {entries.size} of {quoted(sealed.checkpoint.log)};"
        f" exported by {quoted(parameters['actor'])}, because of {quoted(parameters['reason'])},"
        f" entry {entries.export['seq']} of {entries.export['recorded_at']}, with"
        f" {quoted(parameters['software'])}"
    )
    verdict.passed(
        f"{entries.listed + 1} entries stand in the log of {sealed.checkpoint.size}, canonical,"
        " their records and bodies as committed, and entries.csv quotes them"
    )
    for seq in sorted(entries.rotations):
        verdict.fault(f"the entry of rotation {seq} is missing")
    _check_instant(sealed, entries, verdict)
    _check_last_key(sealed, entries, verdict)
    _check_completeness(sealed, entries, verdict)
    _check_export(sealed, entries, contents, verdict)
    _check_artifacts(sealed, entries, contents, verdict)
    _check_erased(sealed, entries, verdict)
    _check_tables(sealed, entries, contents, verdict)
    is_witnessed = _check_witnesses(sealed, policy, entries.recorded_at, verdict)
    _check_consistency(sealed, against, entries.given_up, is_witnessed, verdict)
    return entries


def _check_instant(sealed: Sealed, entries: Entries, verdict: Verdict) -> None:
    """States and days left are those of `as_of`: no earlier than the entries, no later than the
    export."""
    as_of, newest_at = sealed.parameters["as_of"], entries.listed_at
    of_export = [entries.export[it] for it in ("recorded_at", "occurred_at")]
    at, newest, exported, happened = (
        datetime.strptime(_full_instant(instant), "%Y-%m-%dT%H:%M:%S.%f%z")
        for instant in (as_of, newest_at, *of_export)
    )
    is_before = at < newest - CLOCK_TOLERANCE
    # `recorded_at` never goes back: it stands still after a clock that was ahead was put right.
    is_put_right = happened < exported - CLOCK_TOLERANCE and (
        happened - MAKING_TOLERANCE <= at <= happened + CLOCK_TOLERANCE
    )
    if at > exported + CLOCK_TOLERANCE or (is_before and not is_put_right):
        verdict.fault(f"as_of, {as_of}, is before its newest entry, or after the export")
    elif is_before:
        verdict.undecided.append(
            f"what tables and reports say: they are as of {as_of}, and its newest entry was"
            f" recorded at {newest_at}. The log's clock was ahead until it was put back, if it is"
            f" true that the export is of {of_export[1]}, as its entry says. Ask for a new package"
            f" after {of_export[0]}"
        )
    elif at < exported - MAKING_TOLERANCE:
        verdict.unchecked.append(
            f"why tables and reports say what was true at {as_of}, long before the export at"
            f" {entries.export['recorded_at']}: what was late or expired by then they do not say"
        )


def _check_last_key(sealed: Sealed, entries: Entries, verdict: Verdict) -> None:
    """Whether the key that signed was still in force: a rotation is an entry like any other."""
    first, last = sealed.parameters["range"] or (0, 0)
    reaches = entries.scope.stream or last + 1 == entries.export["seq"]
    is_whole = first <= (sealed.keys.tenures[-1][0] or 1) and reaches
    if not (first and is_whole):
        verdict.unchecked.append(
            f"whether the key {sealed.keys.current} was replaced later, before the export: not all"
            " entries since it signs are here. Compare it with the newest that the log published"
        )
    if entries.handovers:
        verdict.unchecked.append(
            f"whether {len(entries.handovers)} entries replaced the key: they are of that kind, and"
            f" only their leaves are here; {_some({str(it) for it in entries.handovers})}"
        )


def _check_completeness(sealed: Sealed, entries: Entries, verdict: Verdict) -> None:
    """Whether all of the scope is there: its streams, or the range of its period. Streams were
    followed entry by entry before; here is what is missing altogether, and what nobody can tell."""
    scope, tails = entries.scope, entries.tails
    possible = entries.population if scope.is_sample else entries.in_scope
    for name in sorted(tails["process"].keys() - possible):
        if scope.stream != "process" or name != scope.name:
            verdict.fault(f"the process {quoted(name)} does not belong to {scope.stated}")
    for name in sorted(tails["process"].keys() & entries.beyond):
        verdict.fault(f"entries.csv does not list every entry of the process {quoted(name)}")
    processes = len(tails["process"])
    if scope.stream:
        if scope.name not in tails[scope.stream]:
            verdict.fault(f"{scope.stated} has no entry")
        else:
            _check_end(sealed, entries, verdict)
    else:
        _check_range(sealed, entries, verdict)
    if scope.is_sample:
        _check_sample(sealed, entries, verdict)
    if scope.stream != "process" and processes:
        theirs = ("process is there from its", "processes are there from their")
        verdict.passed(f"{number_of(processes, *theirs)} first entry on, without gap")
    _check_messages(entries, verdict)
    _, after = sealed.parameters["range"] or (0, 0)
    if scope.stream == "seller" or (not scope.stream and after + 1 < entries.export["seq"]):
        verdict.unchecked.append(
            f"whether {number_of(processes, 'process goes', 'processes go')} on in entries"
            + (" that do not name the seller" if scope.stream else f" after {after}")
            + ": where a process ends is the exporter's word. A package of one process shows it"
        )
    if entries.others:
        named = ("seller that entries name, and that is", "sellers that entries name, and that are")
        verdict.unchecked.append(
            f"what else the log holds of {number_of(len(entries.others), *named)} not complete"
            f" here: {_some(entries.others)}"
        )


def _check_messages(entries: Entries, verdict: Verdict) -> None:
    """Whether what names no process is about messages of the package. No stream holds it."""
    messages, unread = {*entries.notices.values()}, list[str]()
    for seq, message in entries.of_messages.items():
        if entries.notices and (message is None or (message not in messages and None in messages)):
            unread.append(str(seq))
        elif message not in messages:
            verdict.fault(
                f"entry {seq} does not belong to {entries.scope.stated}: no message here is its own"
            )
    if unread:
        verdict.unchecked.append(
            "whether entries that name no process are about messages of this package: a body that"
            f" says so is withheld; {_some({*unread})}"
        )
    if entries.notices:
        verdict.unchecked.append(
            "whether the log holds more results or retractions of its seller notices that name no"
            " process: no stream holds these, so that they are all here is the exporter's word"
        )


def _check_end(sealed: Sealed, entries: Entries, verdict: Verdict) -> None:
    """A process or seller: the number of the export's entry in its stream, and when that was
    recorded, are what its exporter wrote. The leaves between show what stands there."""
    scope, range_ = entries.scope, sealed.parameters["range"]
    newest, end = entries.export.get(f"{scope.stream}_prev"), entries.export["seq"]
    is_near = entries.size - (newest or 0) <= MAX_BETWEEN
    if not range_ and is_near and sealed.parameters["profile"] != "masked":
        verdict.fault(
            f"the leaves between {newest or 0} and the export, {end}, are left out: a full package"
            f" holds up to {MAX_BETWEEN:,}, which show whether entries of {scope.stated} are among"
            " them"
        )
        return
    if scope.is_cut:
        said = f"all entries of {scope.stream} {quoted(scope.name)} are there"
        its = ", and those of the period are listed"
    else:
        said, its = f"{scope.stated} is there", ""
    if not range_:
        verdict.passed(f"{said} from its first entry to {newest}, without gap{its}")
        verdict.unchecked.append(
            f"whether entries of {scope.stated} stand between {newest} and the export, {end}, and"
            " whether that is dated back: the leaves between are not here, so both are the"
            f" exporter's word. A package of a period from {entries.listed_at} on shows it"
        )
        return
    if range_ != [newest, entries.size] or entries.in_range != end - newest + 1:
        verdict.fault(f"leaves between {newest} and the export, {end}, are missing")
    whole = f"{said}, from the first to the export{its}" if scope.is_cut else ""
    verdict.passed(whole or f"{scope.stated} is complete, from its first entry to the export")


def _check_range(sealed: Sealed, entries: Entries, verdict: Verdict) -> None:
    """A period: every leaf of its range is there, so that a left-out entry would be missed."""
    scope, range_ = entries.scope, sealed.parameters["range"]
    if not range_:
        verdict.fault("parameters.json names no range, which shows whether the period is complete")
        return
    first, last = range_
    recorded = dict(entries.before)
    if entries.in_range != last - first + 1 or not 1 <= first <= last <= entries.size:
        verdict.fault(f"leaves of the range {first} to {last} are missing")
        return
    if first > 1 and recorded[first] >= scope.since:
        verdict.fault(f"the range starts with entry {first}, recorded within the period")
    listed = "the exports of periods and samples" if scope.is_sample else "those of the period"
    verdict.passed(
        f"all entries of the log from {first} to {last} are there, and {listed} are listed"
    )
    if first > 1:
        verdict.unchecked.append(
            f"whether an entry before {first} belongs to the period: all were recorded before it"
        )
    if last + 1 < entries.export["seq"]:
        when = "after the period" if recorded[last] >= scope.until else "at any time"
        verdict.unchecked.append(
            f"whether an entry from {last + 1} to {entries.export['seq'] - 1} belongs to the"
            f" period: they were recorded {when}, and are not here"
        )


def _check_sample(sealed: Sealed, entries: Entries, verdict: Verdict) -> None:
    """A sample: draws it again from the leaves of the period. Who could have steered it nobody can
    tell from the package alone, so that is said."""
    scope, there = entries.scope, entries.tails["process"].keys()
    root = _earlier(sealed).get(str(scope.checkpoint))
    if root is None or scope.checkpoint > entries.size:
        verdict.fault(f"the sample rests on a checkpoint of {scope.checkpoint} entries, not proved")
        return
    _, last = sealed.parameters["range"] or (0, 0)
    if last < scope.checkpoint and dict(entries.before).get(last, "") < scope.until:
        verdict.fault(f"the range ends with entry {last}, before the period and its checkpoint do")
    if len(entries.population) != scope.population:
        verdict.fault(
            f"the sample is said to be of {scope.population} processes, and the period has"
            f" {len(entries.population)}"
        )
    right = drawn(entries.population, root, scope.number, scope.size)
    for name in sorted(there & entries.population - {*right}):
        verdict.fault(f"the process {quoted(name)} was not drawn, and is here")
    for name in sorted({*right} - there):
        verdict.fault(f"the process {quoted(name)} was drawn, and is not here")
    verdict.passed(
        f"{number_of(len(right), 'process is', 'processes are')} the sample of {scope.size} that"
        f" follows from the {len(entries.population)} of the period, the checkpoint of"
        f" {scope.checkpoint} entries and {quoted(scope.number) if scope.number else 'no number'}"
    )
    verdict.passed(
        f"{number_of(len(entries.draws), 'sample was', 'samples were')} drawn before it, as far as"
        " the exports say that are listed: " + (_some({*map(str, entries.draws)}) or "none")
    )
    if entries.unread_draws:
        verdict.unchecked.append(
            f"whether {number_of(entries.unread_draws, 'export', 'exports')} before it drew a"
            " sample, too: their bodies are withheld"
        )
    verdict.unchecked.append(
        f"whether {quoted(scope.number)} is an auditor's own, and was given only after they had the"
        f" checkpoint of {scope.checkpoint} entries: else the sample could be tried out. Whoever"
        " gave it knows"
        if scope.number
        else "whether somebody waited for a checkpoint whose sample pleased them: trying out leaves"
        " no entry. A number that an auditor gives, after having the checkpoint, excludes it"
    )


def _some(names: set[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(map(quoted, sorted(names)[:MAX_NAMED])) + more


def _check_export(
    sealed: Sealed, entries: Entries, contents: dict[str, Any], verdict: Verdict
) -> None:
    """Checks that the export's own entry fixes all files that were made before it."""
    package, parameters, recorded = sealed.package, sealed.parameters, entries.export_body
    if entries.export["seq"] > sealed.checkpoint.size:
        verdict.fault("the export is not in the log")
    bound = [
        *(
            name
            for name in sealed.data
            if not name.startswith("data/bodies/") and name not in AFTER_THE_EXPORT
        ),
        *("verify.py", START),
    ]
    lines = [f"{package.digest(it)}  {it}\n" for it in sorted(bound)]
    if recorded.get("contents") != hashlib.sha256("".join(lines).encode()).hexdigest():
        verdict.fault("a file is not the one that the export's entry in the log was made for")
    if (actor := recorded.get("actor")) in entries.people:
        recorded = {**recorded, "actor": entries.people[actor][0]}
    for key in ("actor", "reason", "as_of", "profile", "scope"):
        if recorded.get(key) != parameters[key]:
            verdict.fault(f"{key} is not what the export's entry in the log says")
    verdict.passed(
        f"the export is entry {entries.export['seq']} of the log, which fixes tables, reports,"
        " query, parameters, artifacts and what is left out"
    )


def _check_artifacts(
    sealed: Sealed, entries: Entries, contents: dict[str, Any], verdict: Verdict
) -> None:
    """Each artifact that an entry names is there, or its entry says that another keeps it."""
    named, there = entries.artifacts, set()
    for name in sorted(sealed.data):
        if name.startswith("data/artifacts/"):
            digest = name[len("data/artifacts/") :].partition(".")[0]
            if digest in there:
                verdict.fault(f"{name} stands there under another name, too")
            there.add(digest)
            if sealed.package.digest(name) != digest:
                verdict.fault(f"{name} is not what was collected")
            if name not in entries.artifact_files:
                verdict.fault(f"{name} is named by no collection of these")
    reasons = contents["withheld_artifacts"]
    for digest in sorted(reasons.keys() - (named.keys() - there)):
        verdict.fault(f"the artifact {quoted(digest)} is listed as left out, and is not")
    elsewhere = set()
    for digest in sorted(named.keys() - there):
        seq, is_kept_here = named[digest]
        if is_kept_here:
            why = quoted(reasons.get(digest, "missing from the package"))
            verdict.fault(f"the artifact {quoted(digest)} of entry {seq} is lost: {why}")
        elif reasons.get(digest) != KEPT_ELSEWHERE:  # reports count these
            verdict.fault(f"the artifact {quoted(digest)} is left out, and nobody knows why")
        else:
            elsewhere.add(digest)
    if elsewhere:
        verdict.unchecked.append(
            f"{number_of(len(elsewhere), 'artifact, which is', 'artifacts, which are')} not here:"
            f" another system keeps them, as their entries say; {_some(elsewhere)}"
        )
    theirs = (
        "artifact is the one that its entry names",
        "artifacts are those that their entries name",
    )
    verdict.passed(number_of(len(there), *theirs))


def _check_erased(sealed: Sealed, entries: Entries, verdict: Verdict) -> None:
    """Each body that is withheld as erased is named by an erasure, which is newer. That belongs to
    the same process and seller, so it is here; of a period it may not be, unless all leaves from
    the body's own to the export are here, and no erasure is among those that are not listed. Of a
    seller's period, it is the seller's own leaves that may hold an erasure that is not listed."""
    unsaid = sorted(entries.erased - entries.said_erased - entries.may_say_erased)
    if unread := entries.may_say_erased - entries.said_erased:
        verdict.unchecked.append(
            f"whether {number_of(len(unread), 'body was', 'bodies were')} erased: no erasure here"
            " names them, and their own records, which may say so, are withheld"
        )
    first, last = sealed.parameters["range"] or (0, 0)
    is_whole = first and last + 1 == entries.export["seq"]
    from_here = max(first, entries.unread_erasure) if is_whole else math.inf
    if entries.scope.stream:
        from_here = entries.unread_erasure
    if open_ones := [it for it in unsaid if it < from_here]:
        verdict.unchecked.append(
            f"whether {number_of(len(open_ones), 'body was', 'bodies were')} erased: the entries"
            " that would say so are not of this period"
        )
    for seq in unsaid[len(open_ones) :]:
        verdict.fault(f"entry {seq}: its body is withheld as erased, and no erasure names it")


def _check_tables(
    sealed: Sealed, entries: Entries, contents: dict[str, Any], verdict: Verdict
) -> None:
    """Counts rows and totals, and says what of the tables is the exporter's word."""
    package, parameters = sealed.package, sealed.parameters
    tails = entries.tails["process"]
    processes: dict[str, list[str]] = {}
    for named in (entries.names.get(it, it) for it in tails):
        processes.setdefault(_unguarded(named), []).append(named)
    counted = {"entries": dict(entries.kinds), "processes": Counter(), "findings": Counter()}
    rows = Counter({"entries.csv": entries.listed})
    for name, key, column in (
        ("processes.csv", "processes", "state"),
        ("findings.csv", "findings", "severity"),
        ("coverage.csv", "", ""),
    ):
        table = package.rows(f"data/{name}")
        columns = next(table)
        value = columns.index(column) if key else 0
        process = columns.index("process_id")
        for row in table:
            rows[name] += 1
            if key:
                counted[key][row[value]] += 1
            alike = processes.get(_unguarded(row[process]), ())
            if name != "findings.csv" and not any(_is_quoted(row[process], it) for it in alike):
                verdict.fault(f"{name} names the process {quoted(row[process])}, which is not here")
    if parameters["rows"] != {it: rows[it] for it in (name.partition("/")[2] for name in TABLES)}:
        verdict.fault("the tables have other numbers of rows than parameters.json says")
    # As they are spelled: of values, 1.0 and true are 1.
    if _canonical(parameters["totals"]) != _canonical(counted):
        verdict.fault("the control totals in parameters.json are not those of the tables")
    bodies_of: dict[str, dict[str, int]] = {}
    for (kind, why), bodies in entries.withheld.items():
        bodies_of.setdefault(kind, {})[why] = bodies
    if _canonical(contents["withheld"]) != _canonical(bodies_of):
        verdict.fault("contents.json counts other withheld bodies than there are")
    hidden = entries.without_record
    if _canonical(contents["withheld_records"]) != _canonical(hidden):
        verdict.fault("contents.json counts other withheld records than there are")
    verdict.passed(f"rows and totals of {len(TABLES)} tables agree")
    reasons: Counter[str] = Counter()
    for (_, why), bodies in entries.withheld.items():
        reasons[why] += bodies
    if BY_PROFILE in reasons and parameters["profile"] != "masked":
        verdict.fault("bodies are withheld by the masked profile, and the package is a full one")
    for why, bodies in sorted(reasons.items()):
        verdict.unchecked.append(
            f"the content of {number_of(bodies, 'body that is', 'bodies that are')} withheld"
            f" ({why}): it is bound by commitments, and what is said of it is the exporter's word"
        )
    if hidden:
        kept = ("record that is", "records that are")
        verdict.unchecked.append(
            f"the content of {number_of(sum(hidden.values()), *kept)} withheld ({BY_PROFILE}): it"
            " is bound by digests, and why an attempt had no answer, when to try again, how it came"
            " in and for how long it waited is the exporter's word"
        )
    if entries.stated_rows:
        said = ("row in data/stated, which says", "rows in data/stated, which say")
        what = "withheld bodies and records hold" if hidden else "withheld bodies hold"
        verdict.unchecked.append(
            f"{number_of(entries.stated_rows, *said)} what {what} and which tables rest on: the"
            " exporter's word"
        )
    if entries.names:
        hashed = (
            "name in the tables is the one whose keyed hash stands",
            "names in the tables are those whose keyed hashes stand",
        )
        verdict.unchecked.append(
            f"whether {number_of(len(entries.names), *hashed)}"
            " in the leaves: only the log's key and the bodies can tell"
        )
    if parameters["profile"] == "masked":
        verdict.unchecked.append(MASKED)
    verdict.unchecked.append(DERIVED)


def _check_consistency(
    sealed: Sealed,
    against: bytes | None,
    given_up: list[GivenUp],
    is_witnessed: bool,
    verdict: Verdict,
) -> None:
    checkpoint = sealed.checkpoint
    proofs = sealed.package.json("data/consistency.json")
    earlier = _earlier(sealed)
    if proofs.keys() != earlier.keys():
        verdict.fault(
            "data/consistency.json is not about the earlier checkpoints of parameters.json"
        )
    for size, root in earlier.items():
        path = [_hash(it) for it in proofs.get(size, [])]
        roots = roots_by_consistency(int(size), checkpoint.size, root, path)
        if roots != (root, checkpoint.root):
            verdict.fault(f"the log does not continue its own earlier checkpoint of {size} entries")
    if against is None:
        if not is_witnessed:
            verdict.unchecked.append(
                "that the log was not rewritten before the export: give an earlier checkpoint"
                " (--against) or a policy of witnesses (--policy)"
            )
        return
    try:
        held, key = _signed_earlier(sealed.keys, against)
    except (Fault, ValueError) as error:
        raise Fault(f"the earlier checkpoint cannot be used: {error}") from None
    in_force = sealed.keys.at(held.size)
    continued = {**earlier, str(checkpoint.size): checkpoint.root}
    ended = [it for it in given_up if it.fork < held.size <= it.reached]
    lost = f"; entry {ended[-1].seq} says that a past was lost" if ended else ""
    if held.log != checkpoint.log:
        verdict.fault("the earlier checkpoint is of another log")
    elif held.root == continued.get(str(held.size)) and key == in_force:
        verdict.passed(
            "the earlier checkpoint is the package's own"
            if held.size == checkpoint.size
            else f"the log continues the earlier checkpoint at {held.size}"
        )
    elif explained := [it for it in ended if (held.size, held.root) in it.roots]:
        verdict.undecided.append(
            f"the checkpoint given, of {held.size} entries, is of a past that was given up: entry"
            f" {explained[-1].seq} says that the log lost what followed entry"
            f" {explained[-1].fork}, and why. Read that entry, which whoever had the key may have"
            " made up, and compare with a checkpoint of the log as it is now"
        )
    elif key != in_force:
        verdict.fault(
            f"the checkpoint given is signed by the log's key {key}, and {in_force} is the one that"
            f" signs for {held.size} entries{lost}: it is of a past that was lost, and that"
            " `prazo verify --against` explains, or somebody used a key that was not in force"
        )
    elif str(held.size) in earlier:
        verdict.fault(
            f"THE LOG WAS REWRITTEN: the earlier checkpoint has another root at {held.size}"
            f" entries{lost}"
        )
    elif held.size > checkpoint.size:
        verdict.undecided.append(
            f"newer: cannot compare. The checkpoint given has {held.size} entries, the package's"
            f" own has {checkpoint.size}: compare with an older one, or ask for a new package"
        )
    elif held.size == checkpoint.size:
        verdict.fault(
            f"THE LOG WAS REWRITTEN: the checkpoint given has the package's own {held.size}"
            f" entries, and another root{lost}"
        )
    else:
        verdict.fault(
            f"the package proves nothing about a checkpoint of {held.size} entries{lost}: ask for a"
            " new package, exported --against that checkpoint"
        )


def _earlier(sealed: Sealed) -> dict[str, bytes]:
    """The root at each size of which the package says that its checkpoint continues it. Fault where
    two stand at one size: only one of them would be proved."""
    stated = sealed.parameters["earlier"]
    earlier = {str(int(size)): bytes.fromhex(root) for size, root in stated}
    if any(bytes.fromhex(root).hex() != root for _, root in stated):
        raise Fault("parameters.json has an earlier root in another spelling")
    if len(earlier) < len(stated):
        raise Fault("parameters.json names two earlier checkpoints of one size")
    return earlier


def _signed_earlier(keys: LogKeys, note: bytes) -> tuple[Checkpoint, Key]:
    """What a checkpoint says, and the key of the log that signed it: of those, the one that is in
    force at its size, if that did. In a past that was lost, another may have been."""
    stated = stated_by(note)
    in_force = keys.at(stated.size)
    others = [key for _, key in keys.tenures if key != in_force]
    refused = Fault("")
    for key in (in_force, *others):
        try:
            return read_checkpoint(signed_text(note, key, is_cosigned=True)), key
        except Fault as fault:
            refused = refused if refused.args[0] else fault
    raise refused


def _check_witnesses(sealed: Sealed, policy: Policy | None, newest: str, verdict: Verdict) -> bool:
    """Whether witnesses cosigned the checkpoint, after its newest entry, and enough of them: each
    had followed the log, and signs nothing that does not continue what it saw. A cosignature from
    before that entry does not count, since a clock or the log is wrong; enough others outweigh it,
    as they do a witness that is away, so it is named and no fault by itself."""
    if policy is None:
        return False
    since = datetime.strptime(newest, "%Y-%m-%dT%H:%M:%S.%f%z") - CLOCK_TOLERANCE
    times = {name: cosigned_at(sealed.note, key) for name, key in policy.witnesses.items()}
    cosigned = {name: at for name, at in times.items() if at is not None and at >= since}
    for name, at in times.items():
        if at is not None and at < since:
            verdict.unchecked.append(
                f"the cosignature of {name}, which does not count: it is of {at:%Y-%m-%d %H:%M:%S}"
                f" UTC, before the checkpoint's newest entry was recorded, at {newest}"
            )
    said = ", ".join(f"{name} at {at:%Y-%m-%d %H:%M:%S} UTC" for name, at in cosigned.items())
    is_held = policy.holds({*cosigned})
    if not is_held:
        verdict.fault(
            f"the policy of witnesses is not fulfilled: of {len(times)} witnesses,"
            f" {said or 'none'} cosigned the checkpoint"
        )
    elif cosigned:
        verdict.passed(
            f"the log continues what its witnesses saw: the checkpoint was cosigned by {said}"
        )
    return is_held and bool(cosigned)


# --- timestamps (RFC 3161) -------------------------------------------------------------------


class Stamp(NamedTuple):
    """An authority's answer about the SHA-256 of something: a TimeStampResp, DER."""

    answer: bytes
    digest: str


def _check_timestamp(
    sealed: Sealed,
    path: Path,
    entries: Entries | None,
    authority: str | None,
    archives: Sequence[bytes],
    verdict: Verdict,
) -> None:
    """Checks what an authority says about when the checkpoint existed. `archives` are newer stamps
    over the whole package, which show that an older one was there while its certificate held."""
    package = sealed.package
    is_there = "data/checkpoint.tsr" in package.sizes
    if is_there != (sealed.parameters["timestamp_authority"] is not None):
        verdict.fault("data/checkpoint.tsr is missing, or there unannounced")
    if not is_there:
        if authority is not None:
            verdict.fault("the package has no timestamp of an authority")
        return
    stamp = Stamp(
        package.read("data/checkpoint.tsr", PIECE), hashlib.sha256(sealed.note).hexdigest()
    )
    kept = b""
    if "data/timestamp.pem" in package.sizes:
        kept = package.read("data/timestamp.pem", MAX_JSON_BYTES)
        if not kept or kept != pem(pem_blocks(kept)):
            raise Fault("data/timestamp.pem is empty, or holds more than certificates and lists")
    try:
        if authority is None:
            _stamped(stamp, None, None, kept)
            verdict.unchecked.append(
                "the timestamp: give the certificate of its authority as --authority"
            )
            return
        at = _stamped_long_ago(stamp, authority, _over(path, archives), kept, verdict)
    except Fault as fault:
        verdict.fault(f"data/checkpoint.tsr {fault}")
        return
    if entries is not None:
        _check_clock(entries, at, verdict)
    verdict.passed(f"all of it existed by {at:%Y-%m-%d %H:%M:%S} UTC, says the authority")
    if CRL not in {kind for kind, _ in pem_blocks(kept)}:
        verdict.unchecked.append(
            "whether the authority's certificate was revoked at the time: the package holds no"
            " revocation list"
        )


def _check_clock(entries: Entries, at: datetime, verdict: Verdict) -> None:
    """No entry is of after the timestamp over it, unless the log's clock was ahead: the log dates
    none before the one before it, so that goes on after the clock was put right, and the export
    then says when it happened. `at`: when the checkpoint was stamped."""
    newest, listed, happened = (
        datetime.strptime(instant, "%Y-%m-%dT%H:%M:%S.%f%z")
        for instant in (entries.recorded_at, entries.listed_at, entries.export["occurred_at"])
    )
    if newest <= at + CLOCK_TOLERANCE:
        return
    said = f"{entries.recorded_at}, after the checkpoint's timestamp {at}"
    if not at - MAKING_TOLERANCE <= happened <= at + CLOCK_TOLERANCE:
        verdict.fault(f"an entry was recorded at {said}")
    elif listed <= at + CLOCK_TOLERANCE:
        verdict.unchecked.append(
            f"when entries were recorded that are not listed here: the newest says at {said}, so"
            " the log's clock was ahead"
        )
    else:
        verdict.undecided.append(
            f"when what is listed here was recorded: the newest entry says at {said}. The log's"
            " clock was ahead until it was put back, if it is true that the export is of"
            f" {entries.export['occurred_at']}, as its entry says. Ask for a new package after"
            f" {entries.recorded_at}"
        )


def _over(path: Path, archives: Sequence[bytes]) -> list[Stamp]:
    """Each archive timestamp is over the package and the ones before it."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for piece in iter(lambda: file.read(PIECE), b""):
            digest.update(piece)
    stamps = []
    for answer in archives:
        stamps.append(Stamp(answer, digest.hexdigest()))
        digest.update(answer)
    return stamps


def _stamped_long_ago(
    stamp: Stamp, authority: str, archives: list[Stamp], kept: bytes, verdict: Verdict
) -> datetime:
    """When a stamp was given. Each was valid when the next one was given, and the last is now."""
    seen: datetime | None = None
    for newer in reversed(archives):
        try:
            seen = _stamped(newer, authority, seen, kept)
        except Fault as fault:
            raise Fault(f"is not held by the archive timestamp: that {fault}") from None
    try:
        return _stamped(stamp, authority, seen, kept)
    except Fault:
        if seen is not None:
            raise
    # Its certificate may have ended since. What it was worth at its own time is still to be said.
    at = _stamped(stamp, None, None, kept)
    at = _stamped(stamp, authority, at, kept)
    verdict.unchecked.append(
        "whether the authority's key was misused later: its certificate does not hold today, though"
        " it did at the time that the timestamp names. An archive timestamp (--archive) shows it"
    )
    return at


def _stamped(
    stamp: Stamp, authority: str | None, valid_at: datetime | None, kept: bytes
) -> datetime:
    """The time in the part of a stamp that its authority signed; Fault unless it is over the
    digest. Without `authority`, only that the stamp is whole. `kept`: certificates and revocation
    lists of the time, PEM, which are believed only as far as the authority's lead to them."""
    check_answer(stamp.answer)
    with temporary_folder() as folder:
        names = ("answer", "token", "trusted", "others", "signed")
        answer, token, trusted, others, signed = (str(Path(folder) / it) for it in names)
        Path(answer).write_bytes(stamp.answer)
        Path(token).write_bytes(bytes(2 * len(stamp.answer)))  # room for what openssl will write
        Path(token).unlink()
        if openssl("ts", "-reply", "-in", answer, "-token_out", "-out", token).returncode:
            raise Fault("is not a timestamp")
        extracting = ["cms", "-verify", "-inform", "DER", "-in", token, "-out", signed, "-binary"]
        chain: list[str] = []
        blocks = pem_blocks(kept)
        lists, more = (pem([it for it in blocks if it[0] == kind]) for kind in (CRL, CERTIFICATE))
        if authority is not None:
            Path(trusted).write_bytes(_as_written(given_in(Path(authority))) + b"\n" + lists)
            Path(others).write_bytes(more)
            chain = ["-CAfile", trusted]
            then = ["-attime", str(int(valid_at.timestamp()))] if valid_at else []
            extracting += [*chain, *then, "-purpose", "timestampsign"]
            extracting += ["-certfile", others] if more else []
        else:
            extracting.append("-noverify")
        if openssl(*extracting).returncode:
            raise Fault("is not signed by the timestamp authority given" if chain else "is damaged")
        digest, at = _read_signed(Path(signed).read_bytes())
        if digest != stamp.digest:
            raise Fault("is not a timestamp of this")
        if chain:
            chain += ["-untrusted", others] if more else []
            chain += ["-attime", str(int(at.timestamp()))]
            verifying = ["ts", "-verify", "-digest", digest, "-token_in", "-in", token, *chain]
            if openssl(*verifying).returncode:
                raise Fault("is not what RFC 3161 asks of a timestamp")
            if lists and openssl(*verifying, "-crl_check").returncode:
                raise Fault(
                    "is not to be believed: its certificate was revoked, or data/timestamp.pem"
                    " holds no revocation list of that time"
                )
    return at


def check_answer(answer: bytes) -> None:
    """Fault unless an authority's answer is one TimeStampResp, in DER, and nothing beside or within
    it can hold what nobody signed: openssl reads no further than its end, and passes over texts and
    attributes."""
    stated = 256  # bytes of a status in words
    [(_, response)] = _one(answer, 0x30)
    parts = _der(response)
    if [tag for tag, _ in parts] != [0x30, 0x30]:
        raise Fault("is not a timestamp")
    if len(parts[0][1]) > stated or _der(parts[0][1])[0][0] != 0x02:
        raise Fault("has a status that is not one, or too long")
    kind, *signed = _der(parts[1][1])
    if kind != (6, bytes.fromhex("2a864886f70d010702")) or [it for it, _ in signed] != [0xA0]:
        raise Fault("is not signed data and nothing else")
    [(_, content)] = _one(signed[0][1], 0x30)
    tag, signers = _der(content)[-1]
    if tag != 0x31 or len(_der(signers)) != 1:
        raise Fault("has not one signer")
    if 0xA1 in {it for it, _ in _der(_der(signers)[0][1])[4:]}:
        raise Fault("has attributes that nobody signed")
    certificates = [held for tag, held in _der(content) if tag == 0xA0]
    if {tag for held in certificates for tag, _ in _der(held)} - {0x30}:
        raise Fault("holds something else than certificates")


def _one(data: bytes, tag: int) -> list[tuple[int, bytes]]:
    with suppress(Fault):
        values = _der(data)
        if [it for it, _ in values] == [tag]:
            return values
    raise Fault("is not one value in DER, or bytes stand behind its end")


CERTIFICATE, CRL = b"CERTIFICATE", b"X509 CRL"


def pem_blocks(text: bytes) -> list[tuple[bytes, bytes]]:
    """(kind, DER) of each certificate and revocation list in a PEM file; ValueError for a block
    of these kinds that holds something else."""
    form = rb"-----BEGIN (CERTIFICATE|X509 CRL)-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END \1-----"
    blocks = [(kind, base64.b64decode(it)) for kind, it in re.findall(form, text)]
    for _, content in blocks:
        parts = [tag for _, held in _der(content) for tag, _ in _der(held)]
        if content[:1] != b"\x30" or len(_der(content)) != 1 or parts != [0x30, 0x30, 0x03]:
            raise ValueError("it holds a block that is neither certificate nor revocation list")
    return blocks


def pem(blocks: Sequence[tuple[bytes, bytes]]) -> bytes:
    """These blocks in their one spelling, and nothing else."""
    lines = []
    for kind, content in blocks:
        encoded = base64.b64encode(content)
        parts = [encoded[at : at + 64] for at in range(0, len(encoded), 64)]
        lines += [b"-----BEGIN %s-----" % kind, *parts, b"-----END %s-----" % kind]
    return b"".join(it + b"\n" for it in lines)


def _read_signed(data: bytes) -> tuple[str, datetime]:
    """The digest (hex) and the time of a TSTInfo (RFC 3161, section 2.4.2), in DER."""
    [(_, content)] = _der(data)
    fields = _der(content)
    (_, algorithm), (_, digest) = _der(fields[2][1])
    if _der(algorithm)[0] != (6, bytes.fromhex("608648016503040201")):
        raise Fault("is over another hash than SHA-256")
    tag, text = fields[4]
    match = re.fullmatch(rb"([0-9]{14})(?:\.[0-9]+)?Z", text)
    if tag != 0x18 or match is None:
        raise Fault("names no time")
    at = datetime.strptime(match[1].decode("ascii") + "+0000", "%Y%m%d%H%M%S%z")
    return digest.hex(), at


def _der(data: bytes) -> list[tuple[int, bytes]]:
    """The values that stand one after another in DER: (tag, content)."""
    values, at = [], 0
    while at < len(data):
        if at + 1 == len(data):
            raise Fault("is cut off")
        tag, length, at = data[at], data[at + 1], at + 2
        if length & 0x80:
            octets = length & 0x7F
            spelled, at = data[at : at + octets], at + octets
            length = int.from_bytes(spelled, "big")
            if length < 0x80 or spelled[0] == 0:
                raise Fault("spells a length otherwise than DER does")
        if at + length > len(data):
            raise Fault("is cut off")
        values.append((tag, data[at : at + length]))
        at += length
    return values


def given_in(path: Path) -> bytes:
    """What a file holds that is given beside the package. Raises `Unusable` for a pipe or a device,
    which may have no end, and for more bytes than any such file has."""
    if path.exists() and not path.is_file():
        raise Unusable(f"{path} is not a plain file")
    with path.open("rb") as file:
        content = file.read(MIB + 1)
    if len(content) > MIB:
        raise Unusable(f"{path} is over {MIB} bytes")
    return content


def main(arguments: list[str] | None = None) -> int:
    """The command: prints the verdict and returns the exit code; 2 for wrong usage."""
    parser = argparse.ArgumentParser(description="Verifies an audit package of Prazo, offline.")
    parser.add_argument("package", type=Path, help="the zip file")
    parser.add_argument("--key", help="the log's verification key, name+hash+key")
    parser.add_argument("--against", type=Path, help="an earlier signed checkpoint of the log")
    parser.add_argument("--policy", type=Path, help="the witnesses to ask for (C2SP tlog-policy)")
    parser.add_argument("--authority", help="certificates of the timestamp authority")
    later = "a later timestamp over the package; of several, the oldest first"
    parser.add_argument("--archive", type=Path, action="append", default=[], help=later)
    limit = "how long it may take (default: %(default)g)"
    parser.add_argument("--seconds", type=float, default=MAX_SECONDS, metavar="N", help=limit)
    given = parser.parse_args(arguments)
    if sys.stdout is None:  # closed before this began: what is printed then is lost without a word
        print("Error: the verdict could not be written: standard output is closed", file=sys.stderr)
        return 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        against, policy = (
            None if file is None else _as_written(given_in(file))
            for file in (given.against, given.policy)
        )
        if given.package.is_dir():
            raise Unusable(f"{given.package} is a folder: give the zip file as it came")
        if not given.package.is_file():
            raise Unusable(f"there is no file {given.package}")
        verdict = verify(
            given.package,
            given.key,
            against,
            given.authority,
            policy=policy,
            archives=[given_in(it) for it in given.archive],
            seconds=given.seconds,
        )
    except (Unusable, OSError) as error:
        print(f"Error: {plain(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Error: interrupted, so there is no verdict", file=sys.stderr)
        return 2
    try:
        print("\n".join(verdict.lines()), flush=True)
    except OSError as error:  # no second try at the end of the program: the code is the verdict's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # as `| head` does: it has seen enough
            print(f"Error: the verdict could not be written: {error.strerror}", file=sys.stderr)
            return 2
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
