#!/usr/bin/env python3
"""Verifies an audit package: offline, on Python 3.9 or newer with the openssl command, and no more.

    python3 verify.py PACKAGE.zip --key VKEY [--against CHECKPOINT] [--authority CA.pem]

A copy of this file lies in every package. Whoever distrusts the package takes it from elsewhere,
together with the log's verification key, an earlier checkpoint of the log, and the certificate
of the timestamp authority: what the package itself says of those proves nothing.

Exit codes: 0 verified, 1 at least one fault (each is named), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import json
import re
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import IO, Any, Iterator, NamedTuple

MAX_FILE_BYTES = 1 << 30
CLOCK_TOLERANCE = timedelta(minutes=5)
BAG = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
TAG_FILES = {"bagit.txt", "bag-info.txt", "manifest-sha256.txt", "manifest.note", "verify.py"}
DATA_FILES = {
    *("data/report.html", "data/report.pt.html", "data/processes.csv", "data/entries.csv"),
    *("data/findings.csv", "data/coverage.csv", "data/contents.json", "data/parameters.json"),
    *("data/query.sql", "data/checkpoint.note", "data/consistency.json"),
}
# What is made after the export's own entry, which names the digests of all other files.
AFTER_THE_EXPORT = {"data/checkpoint.note", "data/checkpoint.tsr", "data/consistency.json"}
ENTRY_FILES = {"entry.json", "entry.tlog-proof", "record.json", "body.bin", "body.salt"}
LEAF_TEXTS = {
    *("attempt_id", "body_commitment", "event_id", "kind", "log", "occurred_at", "origin"),
    *("process_stream", "record_digest", "recorded_at", "recorded_by", "seller_stream"),
}
LEAF_NUMBERS = {
    *("body_size", "process_n", "process_prev", "seller_n", "seller_prev", "seq", "status", "v"),
}
QUOTED = {  # columns of entries.csv -> keys of the leaf
    **{it: it for it in ("seq", "kind", "occurred_at", "recorded_at", "origin", "recorded_by")},
    **{it: it for it in ("event_id", "attempt_id", "status", "body_size")},
    **{it: it for it in ("process_n", "process_prev", "seller_n", "seller_prev")},
    **{"process_id": "process_stream", "seller_id": "seller_stream"},
}


class Fault(Exception):
    """Something in the package is not as it must be."""


class Unusable(Exception):
    """The verifier was called wrongly, or lacks what it needs."""


class Verdict:
    """What was checked, what was found wrong, and what could not be checked."""

    def __init__(self) -> None:
        self.checked: list[str] = []
        self.faults: list[str] = []
        self.notes: list[str] = []
        self._known_faults = 0

    def fault(self, text: str) -> None:
        self.faults.append(text)

    def passed(self, text: str) -> None:
        """Says what was checked, unless a fault was found since this was last called."""
        if len(self.faults) == self._known_faults:
            self.checked.append(text)
        self._known_faults = len(self.faults)

    def lines(self) -> Iterator[str]:
        yield from (f"  checked  {it}" for it in self.checked)
        yield from (f"  note     {it}" for it in self.notes)
        yield from (f"  FAULT    {it}" for it in self.faults)
        yield f"NOT VERIFIED: {len(self.faults)} faults" if self.faults else "VERIFIED"


# --- the tree (RFC 9162) ---------------------------------------------------------------------


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_by_inclusion(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """The root that a proof leads to from a leaf's hash; ValueError if it fits no such tree."""
    at, last, root = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise ValueError("the proof is too long")
        if at & 1 or at == last:
            root = node_hash(sibling, root)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            root = node_hash(root, sibling)
        at, last = at >> 1, last >> 1
    if last or index >= size:
        raise ValueError("the proof is too short")
    return root


def roots_by_consistency(
    old: int, new: int, old_root: bytes, proof: list[bytes]
) -> tuple[bytes, bytes]:
    """The roots of both trees that a proof leads to; ValueError if it fits no such trees."""
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


class Key(NamedTuple):
    name: str
    id: bytes
    public: bytes


class Checkpoint(NamedTuple):
    origin: str
    size: int
    root: bytes


def read_key(vkey: str) -> Key:
    """A verification key `name+hash+key`; ValueError for what is none."""
    name, digest, encoded = vkey.strip().split("+", 2)
    key = base64.b64decode(encoded, validate=True)
    known = hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]
    if len(key) != 33 or key[0] != 1 or known.hex() != digest:
        raise ValueError("not an Ed25519 verification key whose hash fits")
    return Key(name, known, key[1:])


def openssl(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["openssl", *arguments], capture_output=True, timeout=60, check=False)
    except FileNotFoundError:
        raise Unusable("the openssl command (3.0 or newer) is not installed") from None


def signed_text(note: bytes, key: Key) -> str:
    """The text of a signed note; Fault unless the key signed it, and it alone."""
    text, blank, signatures = note.rpartition(b"\n\n")
    match = re.fullmatch("— ([^ \n]+) ([A-Za-z0-9+/=]+)\n", signatures.decode("utf-8"))
    if not blank or match is None:
        raise Fault("is no note with one signature")
    signature = base64.b64decode(match[2], validate=True)
    if match[1] != key.name or signature[:4] != key.id or match[2] != _base64(signature):
        raise Fault(f"is not signed by the key {key.name}+{key.id.hex()}")
    der = bytes.fromhex("302a300506032b6570032100") + key.public
    pem = b"-----BEGIN PUBLIC KEY-----\n" + base64.b64encode(der) + b"\n-----END PUBLIC KEY-----\n"
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / it) for it in ("key", "text", "signature")]
        for path, content in zip(paths, (pem, text + b"\n", signature[4:])):  # noqa: B905
            Path(path).write_bytes(content)
        verified = openssl(
            *("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", paths[0]),
            *("-in", paths[1], "-sigfile", paths[2]),
        )
    if verified.returncode != 0:
        raise Fault("has a signature that does not fit")
    return (text + b"\n").decode("utf-8")


def read_checkpoint(text: str) -> Checkpoint:
    origin, size, root, end = text.split("\n")
    if end or not re.fullmatch("[1-9][0-9]{0,15}", size):
        raise ValueError("not a checkpoint")
    return Checkpoint(origin, int(size), _hash(root))


def _hash(text: str) -> bytes:
    value = base64.b64decode(text, validate=True)
    if len(value) != 32 or _base64(value) != text:
        raise ValueError("not a hash")
    return value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


# --- the zip and the bag ---------------------------------------------------------------------


class Package:
    """The files of a package. Raises Fault where the zip could show different readers
    different things: a path twice or outside of it, links, bytes between its files."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError) as error:
            raise Fault(f"{path} is no zip file: {error}") from None
        infos = self._zip.infolist()
        self.names = [it.filename for it in infos]
        self.sizes = {it.filename: it.file_size for it in infos}  # of all that `read` gives
        with path.open("rb") as file:
            self._check_layout(file, infos)
        if len({*self.names}) < len(infos):
            raise Fault("a path stands twice in the package")

    def _check_layout(self, file: IO[bytes], infos: list[zipfile.ZipInfo]) -> None:
        """The files lie one behind the other, each described once, and nothing else."""
        offset = 0
        for info in infos:
            name, kind = info.filename, info.external_attr >> 16
            is_plain = re.fullmatch(r"[A-Za-z0-9._/-]{1,200}", name)
            if not is_plain or {"", ".", ".."} & {*name.split("/")}:
                raise Fault(f"the path {name!r} leaves the package or is not plain")
            if not stat.S_ISREG(kind) or info.flag_bits & 1 or info.file_size > MAX_FILE_BYTES:
                raise Fault(f"{name} is a link, encrypted or too large")
            if info.header_offset != offset or info.comment or (info.extra and offset < 2**32 - 1):
                raise Fault(f"bytes that belong to no file lie before {name}")
            if info.date_time != (1980, 1, 1, 0, 0, 0) or stat.S_IMODE(kind) != 0o644:
                raise Fault(f"{name} has a date or a mode that no package has")
            header = _local_header(info)
            if _bytes_at(file, offset, len(header)) != header:
                raise Fault(f"{name} is described in two ways")
            offset += len(header) + info.compress_size
        if offset != self._zip.start_dir or self._zip.comment:
            raise Fault("bytes that belong to no file lie behind the last one")
        if _bytes_at(file, file.seek(0, 2) - 22, 4) != b"PK\x05\x06":
            raise Fault("bytes follow the zip's own end")

    def read(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except KeyError:
            raise Fault(f"{name} is missing") from None
        except Exception as error:  # zipfile and zlib raise many kinds for bytes gone wrong
            raise Fault(f"{name} cannot be read: {error}") from None

    def json(self, name: str) -> Any:
        """A JSON file in the one spelling that canonical JSON allows it."""
        return canonical(self.read(name), name)

    def table(self, name: str) -> list[dict[str, str]]:
        rows = list(csv.reader(io.StringIO(self.read(name).decode("utf-8"), newline="")))
        if not rows or any(len(it) != len(rows[0]) for it in rows):
            raise Fault(f"{name} is no table")
        return [dict(zip(rows[0], it)) for it in rows[1:]]  # noqa: B905


def _local_header(info: zipfile.ZipInfo) -> bytes:
    """What must stand before a file's bytes, if it says what the zip's directory says."""
    sizes = (info.CRC, info.compress_size, info.file_size, len(info.filename), 0)
    first_day = (0, 33)
    parts = (b"PK\x03\x04", 20, 0, info.compress_type, *first_day, *sizes)
    return struct.pack("<4s5H3L2H", *parts) + info.filename.encode()


def _bytes_at(file: IO[bytes], offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def canonical(data: bytes, name: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise Fault(f"{name} has a key twice")
        return dict(pairs)

    value = json.loads(data.decode("utf-8"), object_pairs_hook=unique)
    again = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if again.encode("utf-8") != data:
        raise Fault(f"{name} is not canonical JSON")
    return value


def _check_manifest(package: Package, manifest: str, listed: set[str], verdict: Verdict) -> None:
    """Both ways: every file listed with its digest, every listed one there, and nothing else."""
    text = package.read(manifest).decode("utf-8")
    pairs = (line.partition("  ") for line in text.splitlines())
    digests = {name: digest for digest, _, name in pairs}
    for name in sorted(listed - digests.keys()):
        verdict.fault(f"{name} is not listed in {manifest}")
    for name in sorted(digests.keys() - listed):
        verdict.fault(f"{manifest} lists {name!r}, which is not there")
    right = {it: hashlib.sha256(package.read(it)).hexdigest() for it in sorted(listed)}
    for name in sorted(digests.keys() & listed):
        if right[name] != digests[name]:
            verdict.fault(f"{name} has another digest than {manifest} says")
    if text != "".join(f"{digest}  {name}\n" for name, digest in right.items()):
        verdict.fault(f"{manifest} is not the sorted list of its files")


# --- entries ---------------------------------------------------------------------------------


class Entry(NamedTuple):
    """An entry that was proved to stand in the log, and what the package discloses of it."""

    leaf: dict[str, Any]
    hash: bytes
    body: bytes | None
    record: bytes | None


def read_entry(
    package: Package, seq: str, files: set[str], checkpoint: Checkpoint, note: str, withheld: bool
) -> Entry:
    folder = f"data/entries/{seq}"
    if files - ENTRY_FILES:
        raise Fault(f"holds what does not belong there: {', '.join(sorted(files - ENTRY_FILES))}")
    data = package.read(f"{folder}/entry.json")
    leaf = canonical(data, "entry.json")
    for key, value in leaf.items():
        is_number = key in LEAF_NUMBERS and type(value) is int and 0 <= value < 2**53
        if not is_number and not (key in LEAF_TEXTS and isinstance(value, str)):
            raise Fault(f"entry.json has no right {key}")
    if leaf["v"] != 1 or str(leaf["seq"]) != seq or leaf["log"] != checkpoint.origin:
        raise Fault("entry.json belongs to another place or another log")
    hashed = leaf_hash(data)
    proof = package.read(f"{folder}/entry.tlog-proof").decode("utf-8")
    head, _, signed = proof.partition("\n\n")
    magic, index, *hashes = head.split("\n")
    if (magic, index, signed) != ("c2sp.org/tlog-proof@v1", f"index {leaf['seq'] - 1}", note):
        raise Fault("its proof is for another entry or another checkpoint")
    path = [_hash(it) for it in hashes]
    if root_by_inclusion(leaf["seq"] - 1, checkpoint.size, hashed, path) != checkpoint.root:
        raise Fault("its proof does not lead to the checkpoint: the entry is not in the log")
    record = body = None
    if ("record.json" in files) != ("record_digest" in leaf):
        raise Fault("record.json is there without being recorded, or the other way round")
    if "record.json" in files:
        record = package.read(f"{folder}/record.json")
        if hashlib.sha256(record).hexdigest() != leaf["record_digest"]:
            raise Fault("record.json is not what was recorded")
        canonical(record, "record.json")
    given = {"body.bin", "body.salt"} & files
    if given and (withheld or len(given) < 2 or "body_commitment" not in leaf):
        raise Fault("body.bin and body.salt are there although there is no body to disclose")
    if not given and not withheld and "body_commitment" in leaf:
        raise Fault("its body is neither there nor listed as withheld")
    if withheld and "body_commitment" not in leaf:
        raise Fault("a body is listed as withheld that never was")
    if given:
        body = package.read(f"{folder}/body.bin")
        salt = package.read(f"{folder}/body.salt").decode("ascii")
        committed = hashlib.sha256(bytes.fromhex(salt) + body).hexdigest()
        if committed != leaf["body_commitment"] or len(body) != leaf["body_size"]:
            raise Fault("body.bin is not what was recorded")
        if len(salt) != 64 or salt != salt.lower():
            raise Fault("body.salt is not in its one spelling")
    return Entry(leaf, hashed, body, record)


def _check_streams(
    entries: dict[int, Entry], streams: dict[str, list[str]], verdict: Verdict
) -> None:
    """Each stream that the package calls complete counts 1 to n without a gap."""
    for stream in ("process", "seller"):
        found: dict[str, list[dict[str, Any]]] = {it: [] for it in streams[stream]}
        for _, entry in sorted(entries.items()):
            found.get(entry.leaf.get(f"{stream}_stream", ""), []).append(entry.leaf)
        for name, leaves in found.items():
            previous = None
            for n, leaf in enumerate(leaves, start=1):
                if leaf[f"{stream}_n"] != n or leaf.get(f"{stream}_prev") != previous:
                    verdict.fault(
                        f"entries of the {stream} {name} are missing before {leaf['seq']}"
                    )
                    break
                previous = leaf["seq"]
            if not leaves:
                verdict.fault(f"the {stream} {name} has no entry")


# --- the whole -------------------------------------------------------------------------------


def verify(
    path: Path,
    key: str | None = None,
    against: bytes | None = None,
    authority: str | None = None,
) -> Verdict:
    """Every check that the package allows. Raises Unusable only for what the caller gave: what is
    given and empty would be a check that nobody makes."""
    verdict = Verdict()
    for name, value in (("--key", key), ("--against", against), ("--authority", authority)):
        if value is not None and not value.strip():
            raise Unusable(f"{name} is empty")
    try:
        given = read_key(key) if key is not None else None
    except ValueError as error:
        raise Unusable(f"--key is no verification key: {error}") from None
    try:
        _verify(Package(path), given, against, authority, verdict)
    except Fault as fault:
        verdict.fault(str(fault))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        verdict.fault(f"the package cannot be read: {type(error).__name__}: {error}")
    return verdict


def _verify(
    package: Package,
    given: Key | None,
    against: bytes | None,
    authority: str | None,
    verdict: Verdict,
) -> None:
    names = {*package.names}
    data = {it for it in names if it.startswith("data/")}
    if package.read("bagit.txt") != BAG:
        verdict.fault("bagit.txt is not that of a BagIt 1.0 bag")
    for name in sorted(names - data - TAG_FILES - {"tagmanifest-sha256.txt"}):
        verdict.fault(f"{name} does not belong into a package")
    _check_manifest(package, "manifest-sha256.txt", data, verdict)
    _check_manifest(package, "tagmanifest-sha256.txt", TAG_FILES, verdict)
    verdict.passed(f"manifests list all {len(names)} files, with their digests")

    parameters = package.json("data/parameters.json")
    contents = package.json("data/contents.json")
    if given is None:
        given = read_key(parameters["key"])
        verdict.notes.append(
            f"the key {given.name}+{given.id.hex()} is the package's own word: compare it with one"
            " that came another way, and give it as --key"
        )
    note = _open(package, "manifest.note", given)
    digest = {it: hashlib.sha256(package.read(it)).hexdigest() for it in sorted(TAG_FILES & names)}
    lines = [f"{value}  {it}" for it, value in digest.items() if it != "manifest.note"]
    if note != "\n".join(["prazo package v1", given.name, *lines, ""]):
        verdict.fault("manifest.note is not signed over these manifests")
    sizes = [package.sizes[it] for it in data]
    info = (
        f"Bag-Software-Agent: {parameters['software']}\nBagging-Date: {parameters['as_of'][:10]}\n"
        f"External-Identifier: {given.name}\nPayload-Oxum: {sum(sizes)}.{len(sizes)}\n"
    )
    if package.read("bag-info.txt").decode("utf-8") != info:
        verdict.fault("bag-info.txt does not describe this package")
    checkpoint = read_checkpoint(_open(package, "data/checkpoint.note", given))
    if checkpoint.origin != given.name:
        verdict.fault("data/checkpoint.note is of another log than the key")
    verdict.passed(f"manifests and checkpoint are signed by {given.name}+{given.id.hex()}")

    entries = _check_entries(package, data, checkpoint, contents, verdict)
    _check_streams(entries, parameters["streams"], verdict)
    processes, sellers = (len(parameters["streams"][it]) for it in ("process", "seller"))
    verdict.passed(f"{processes} processes and {sellers} sellers are complete, without gap")
    _check_export(package, data, entries, contents, parameters, verdict)
    _check_artifacts(package, data, entries, contents, verdict)
    _check_tables(package, entries, contents, parameters, verdict)
    _check_consistency(package, checkpoint, parameters, given, against, verdict)
    _check_timestamp(package, parameters, entries, authority, verdict)


def _open(package: Package, name: str, key: Key) -> str:
    try:
        return signed_text(package.read(name), key)
    except Fault as fault:
        raise Fault(f"{name} {fault}") from None


def _check_entries(
    package: Package,
    data: set[str],
    checkpoint: Checkpoint,
    contents: dict[str, Any],
    verdict: Verdict,
) -> dict[int, Entry]:
    files: dict[str, set[str]] = {}
    for name in data:
        kind, _, rest = name[len("data/") :].partition("/")
        if kind == "entries":
            files.setdefault(rest.partition("/")[0], set()).add(rest.partition("/")[2])
        elif kind != "artifacts" and name not in DATA_FILES | {"data/checkpoint.tsr"}:
            verdict.fault(f"{name} does not belong into a package")
    note = package.read("data/checkpoint.note").decode("utf-8")
    entries: dict[int, Entry] = {}
    for seq in sorted(files, key=lambda it: (len(it), it)):
        try:
            withheld = seq in contents["withheld"]
            entry = read_entry(package, seq, files[seq], checkpoint, note, withheld)
            entries[entry.leaf["seq"]] = entry
        except (Fault, ValueError, KeyError, TypeError, AttributeError) as error:
            verdict.fault(f"entry {seq}: {error}")
    verdict.passed(
        f"{len(entries)} entries stand in the log of {checkpoint.size}, canonical, their records"
        " and bodies as committed"
    )
    for seq in sorted(contents["withheld"], key=int):
        if int(seq) not in entries:
            verdict.fault(f"the body of {seq} is listed as withheld, which is no entry of these")
    reasons = Counter(it["why"] for it in contents["withheld"].values())
    for why, bodies in sorted(reasons.items()):
        verdict.notes.append(
            f"{bodies} bodies are withheld ({why}): bound by their commitments, and what is said"
            " of their content is the exporter's word, fixed by the export's entry"
        )
    return entries


def _check_export(
    package: Package,
    data: set[str],
    entries: dict[int, Entry],
    contents: dict[str, Any],
    parameters: dict[str, Any],
    verdict: Verdict,
) -> None:
    """The export's own entry is the last, and names all entries and all other files."""
    listed = {*contents["entries"]}
    for seq in sorted(listed - entries.keys()):
        verdict.fault(f"entry {seq} is listed in contents.json and missing or not right")
    others = sorted(entries.keys() - listed)
    if len(others) != 1 or entries[others[0]].leaf["kind"] != "export":
        verdict.fault(f"there is not one export beside the listed entries, but {others}")
        return
    export = entries[others[0]]
    told = json.loads(export.body or b"")
    bound = [
        *(it for it in data if not it.startswith("data/entries/") and it not in AFTER_THE_EXPORT),
        "verify.py",
    ]
    lines = [f"{hashlib.sha256(package.read(it)).hexdigest()}  {it}\n" for it in sorted(bound)]
    if told["contents"] != hashlib.sha256("".join(lines).encode()).hexdigest():
        verdict.fault("a file is not the one that the export's entry in the log was made for")
    for it in ("actor", "reason", "as_of", "profile", "scope"):
        if told[it] != parameters[it]:
            verdict.fault(f"{it} is not what the export's entry in the log says")
    for stream in ("process", "seller"):
        name = export.leaf.get(f"{stream}_stream")
        if name is not None and name not in parameters["streams"][stream]:
            verdict.fault(f"the export is of the {stream} {name}, which is not given as complete")
        for entry in entries.values():
            is_of_it = name and entry.leaf.get(f"{stream}_stream") == name
            if is_of_it and entry.leaf[f"{stream}_n"] > export.leaf[f"{stream}_n"]:
                verdict.fault(f"entry {entry.leaf['seq']} is newer than the export")
    verdict.passed(
        f"the export is entry {others[0]} of the log, which fixes tables, reports, query,"
        " parameters, artifacts and what is left out"
    )


def _check_artifacts(
    package: Package,
    data: set[str],
    entries: dict[int, Entry],
    contents: dict[str, Any],
    verdict: Verdict,
) -> None:
    named = {}
    for entry in entries.values():
        if entry.leaf["kind"] == "collection" and entry.body is not None:
            for it in json.loads(entry.body).get("artifacts") or []:
                if it.get("sha256"):
                    named[it["sha256"]] = entry.leaf["seq"]
    there = {}
    for name in data:
        if name.startswith("data/artifacts/"):
            digest = name[len("data/artifacts/") :].partition(".")[0]
            there[digest] = name
            if hashlib.sha256(package.read(name)).hexdigest() != digest:
                verdict.fault(f"{name} is not what was collected")
            if digest not in named:
                verdict.fault(f"{name} is named by no collection of these")
    withheld = contents["withheld_artifacts"]
    for digest in sorted(named.keys() - there.keys() - withheld.keys()):
        verdict.fault(f"the artifact {digest} of entry {named[digest]} is missing")
    for digest in sorted(withheld.keys() - (named.keys() - there.keys())):
        verdict.fault(f"the artifact {digest} is listed as withheld, and is not")
    for why, artifacts in sorted(Counter(withheld.values()).items()):
        verdict.notes.append(f"{artifacts} artifacts are withheld ({why}); their digests stand")
    verdict.passed(f"{len(there)} artifacts are those that their collections name")


def _check_tables(
    package: Package,
    entries: dict[int, Entry],
    contents: dict[str, Any],
    parameters: dict[str, Any],
    verdict: Verdict,
) -> None:
    tables = {it: package.table(f"data/{it}") for it in parameters["rows"]}
    for name, rows in tables.items():
        if len(rows) != parameters["rows"][name]:
            verdict.fault(f"{name} has {len(rows)} rows of {parameters['rows'][name]}")
    rows = tables["entries.csv"]
    if [int(it["seq"]) for it in rows] != contents["entries"]:
        verdict.fault("entries.csv does not list the entries of the package, each once, in order")
    for row in rows:
        entry = entries.get(int(row["seq"]))
        for column in _misquoted(row, entry, contents) if entry else ():
            verdict.fault(f"entries.csv: {column} of {row['seq']} is not what the entry says")
    processes = {it["process_id"] for it in rows}
    for name in ("processes.csv", "coverage.csv"):
        for it in {row["process_id"] for row in tables[name]} - processes:
            verdict.fault(f"{name} tells of the process {it!r}, which has no entry here")
    for row in tables["findings.csv"]:
        if row["basis"] == "package" and row["seq"] and int(row["seq"]) not in entries:
            verdict.fault(f"findings.csv rests on entry {row['seq']}, which is not here")
    totals = {
        "entries": Counter(it["kind"] for it in rows),
        "processes": Counter(it["state"] for it in tables["processes.csv"]),
        "findings": Counter(it["severity"] for it in tables["findings.csv"]),
    }
    if parameters["totals"] != totals:
        verdict.fault("the control totals in parameters.json are not those of the tables")
    verdict.passed(
        f"{len(rows)} rows of entries.csv quote their entries; rows and totals of"
        f" {len(tables)} tables agree"
    )


def _misquoted(row: dict[str, str], entry: Entry, contents: dict[str, Any]) -> Iterator[str]:
    for column, key in QUOTED.items():
        value = str(entry.leaf.get(key, ""))
        if key.endswith("_at"):
            value = value[:-1].rstrip("0").rstrip(".") + "Z"
        value = contents["names"].get(value, value)
        if row[column] not in (value, f"'{value}" if value[:1] in ("=", "+", "-", "@") else value):
            yield column
    if row["leaf_hash"] != entry.hash.hex():
        yield "leaf_hash"
    disclosed = "disclosed" if entry.body is not None else "withheld"
    if row["body"] != (disclosed if "body_commitment" in entry.leaf else ""):
        yield "body"


def _check_consistency(
    package: Package,
    checkpoint: Checkpoint,
    parameters: dict[str, Any],
    key: Key,
    against: bytes | None,
    verdict: Verdict,
) -> None:
    proofs = package.json("data/consistency.json")
    earlier = {str(size): bytes.fromhex(root) for size, root in parameters["earlier"]}
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
        verdict.notes.append(
            "no earlier checkpoint was given (--against): whoever holds the signing key could have"
            " written the log anew"
        )
        return
    try:
        held = read_checkpoint(signed_text(against, key))
    except (Fault, ValueError) as error:
        raise Fault(f"the earlier checkpoint cannot be used: {error}") from None
    if held.origin != checkpoint.origin:
        verdict.fault("the earlier checkpoint is of another log")
    elif held.size == checkpoint.size and held.root == checkpoint.root:
        verdict.passed("the earlier checkpoint is the package's own")
    elif str(held.size) in earlier:
        if earlier[str(held.size)] != held.root:
            verdict.fault(
                f"THE LOG WAS REWRITTEN: the earlier checkpoint has another root at {held.size}"
                " entries"
            )
        else:
            verdict.passed(f"the log continues the earlier checkpoint at {held.size}")
    elif held.size >= checkpoint.size:
        verdict.fault(
            f"the checkpoint given has {held.size} entries, no fewer than the package's"
            f" {checkpoint.size}, with another root: it is not an earlier one of this log"
        )
    else:
        verdict.fault(
            f"the package proves nothing about a checkpoint of {held.size} entries: ask for it"
            " anew, exported --against that checkpoint"
        )


def _check_timestamp(
    package: Package,
    parameters: dict[str, Any],
    entries: dict[int, Entry],
    authority: str | None,
    verdict: Verdict,
) -> None:
    is_there = "data/checkpoint.tsr" in package.names
    if is_there != (parameters["timestamp_authority"] is not None):
        verdict.fault("data/checkpoint.tsr is missing, or there unannounced")
    if not is_there:
        if authority is not None:
            verdict.fault("the package has no timestamp of an authority")
        return
    with tempfile.TemporaryDirectory() as folder:
        token, stamped = Path(folder) / "token", Path(folder) / "note"
        token.write_bytes(package.read("data/checkpoint.tsr"))
        stamped.write_bytes(package.read("data/checkpoint.note"))
        shown = openssl("ts", "-reply", "-in", str(token), "-text").stdout.decode(errors="replace")
        verified = None
        if authority is not None:
            arguments = ("-in", str(token), "-data", str(stamped), "-CAfile", authority)
            verified = openssl("ts", "-verify", *arguments)
    match = re.search(r"^Time stamp: (\w+ +\d+ [\d:]+)(?:\.\d+)? (\d{4}) GMT$", shown, re.MULTILINE)
    digest = "".join(re.findall(r"^    [0-9a-f]{4} - ([0-9a-f -]{48})", shown, re.MULTILINE))
    note = hashlib.sha256(package.read("data/checkpoint.note")).hexdigest()
    if match is None or digest.replace(" ", "").replace("-", "") != note:
        verdict.fault("data/checkpoint.tsr is no timestamp of this checkpoint")
        return
    if verified is not None and verified.returncode != 0:
        verdict.fault("data/checkpoint.tsr is not signed by the timestamp authority given")
    at = datetime.strptime(f"{match[1]} {match[2]}", "%b %d %H:%M:%S %Y").replace(
        tzinfo=timezone.utc
    )
    newest = max(it.leaf["recorded_at"] for it in entries.values())
    if datetime.strptime(newest, "%Y-%m-%dT%H:%M:%S.%f%z") > at + CLOCK_TOLERANCE:
        verdict.fault(f"an entry was recorded at {newest}, after the checkpoint's timestamp {at}")
    if verified is None:
        verdict.notes.append(
            f"a timestamp of {at:%Y-%m-%d %H:%M:%S} UTC is there; give its authority's certificate"
            " as --authority to have it checked"
        )
    else:
        verdict.passed(f"all of it existed by {at:%Y-%m-%d %H:%M:%S} UTC, says the authority")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Verifies an audit package of Prazo, offline.")
    parser.add_argument("package", type=Path, help="the zip file")
    parser.add_argument("--key", help="the log's verification key, name+hash+key")
    parser.add_argument("--against", type=Path, help="an earlier signed checkpoint of the log")
    parser.add_argument("--authority", help="certificates of the timestamp authority")
    given = parser.parse_args(arguments)
    try:
        against = None if given.against is None else given.against.read_bytes()
        if not given.package.is_file():
            raise Unusable(f"there is no file {given.package}")
        verdict = verify(given.package, given.key, against, given.authority)
    except (Unusable, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    print("\n".join(verdict.lines()))
    return 1 if verdict.faults else 0


if __name__ == "__main__":
    sys.exit(main())
