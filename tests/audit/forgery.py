"""Changes packages as a forger would: with the log's signing key or without it."""

import base64
import csv
import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.audit.package.tables import read_csv
from pipeline.log import tree
from pipeline.log.checkpoints import Signer
from pipeline.verify import FORMAT

Files = dict[str, bytes]
SEALS = frozenset(
    {"bag-info.txt", "manifest-sha256.txt", "manifest.note", "tagmanifest-sha256.txt"}
)
BODIES = "data/bodies/00001.bin"


def read(path: Path) -> Files:
    with zipfile.ZipFile(path) as package:
        return {it.filename: package.read(it) for it in package.infolist()}


def write(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as package:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            info.create_system = 3
            info.compress_type = zipfile.ZIP_STORED
            package.writestr(info, content)
    return path


def seal(files: Files, signer: Signer, *, form: str = FORMAT) -> Files:
    """The files with manifests, totals and signature made again over them."""
    payload = sorted(it for it in files if it.startswith("data/"))
    sizes = [len(files[it]) for it in payload]
    info = files["bag-info.txt"].partition(b"Payload-Oxum")[0]  # bytes: a forger's may be no text
    sealed = {name: it for name, it in files.items() if name not in SEALS}
    sealed["bag-info.txt"] = info + b"Payload-Oxum: %d.%d\n" % (sum(sizes), len(sizes))
    sealed["manifest-sha256.txt"] = manifest(sealed, payload)
    tags = sorted(it for it in sealed if not it.startswith("data/"))
    text = f"{form}\n{signer.key.name}\n{manifest(sealed, tags).decode()}"
    sealed["manifest.note"] = signer.sign(text).encode()
    tags = sorted(it for it in sealed if not it.startswith("data/"))
    sealed["tagmanifest-sha256.txt"] = manifest(sealed, tags)
    return sealed


def manifest(files: Files, names: list[str]) -> bytes:
    lines = (f"{hashlib.sha256(files[it]).hexdigest()}  {it}\n" for it in names)
    return "".join(lines).encode()


def parse_csv(content: bytes) -> list[dict[str, str]]:
    """The rows of a package's table: column -> cell, as text."""
    return list(read_csv(io.StringIO(content.decode("utf-8"), newline="")))


# --- entries of a package ----------------------------------------------------------------------


class Part(NamedTuple):
    """What a package has of one entry."""

    leaf: bytes
    record: bytes | None
    salt: str
    body: bytes | None
    withheld: str

    @property
    def seq(self) -> int:
        return int(json.loads(self.leaf)["seq"])


def parts(files: Files) -> list[Part]:
    """What a package has of each entry: those that stand between others have a leaf alone."""
    records = iter(files["data/records.ndjson"].splitlines())
    leaves = files["data/leaves.ndjson"].splitlines()
    whole = {int(it["seq"]) for it in parse_csv(files["data/entries.csv"])}
    whole |= {it["seq"] for it in json.loads(files["data/rotations.json"])}
    whole.add(json.loads(leaves[-1])["seq"])  # the export's own
    bodies = {row["seq"]: row for row in parse_csv(files["data/bodies.csv"])}
    found = []
    for leaf in leaves:
        said = json.loads(leaf)
        row = bodies.get(str(said["seq"]), {"salt": "", "file": "", "withheld": ""})
        body = None
        if row["file"]:
            start = int(row["offset"])
            body = files[row["file"]][start : start + int(row["size"])]
        has_record = "record_digest" in said and said["seq"] in whole
        record = next(records) if has_record else None
        found.append(Part(leaf, record, row["salt"], body, row["withheld"]))
    return found


def with_parts(files: Files, changed: Sequence[Part], all_leaves: Sequence[bytes]) -> Files:
    """The package with these entries, as well as somebody can write it who has the whole log."""
    table = io.StringIO(newline="")
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(["seq", "salt", "file", "offset", "size", "withheld"])
    bodies = b""
    for part in changed:
        if part.withheld:
            rows.writerow([part.seq, "", "", "", "", part.withheld])
        elif part.body is not None:
            rows.writerow([part.seq, part.salt, BODIES, len(bodies), len(part.body), ""])
            bodies += part.body + b"\n"
    indices = [it.seq - 1 for it in changed]
    proof = tree.batch_proof(indices, len(all_leaves), subtree_over(all_leaves))
    return {
        **files,
        "data/leaves.ndjson": lines(it.leaf for it in changed),
        "data/records.ndjson": lines(it.record for it in changed if it.record is not None),
        "data/bodies.csv": table.getvalue().encode(),
        BODIES: bodies,
        "data/proof.txt": lines(map(base64.b64encode, proof)),
    }


def without_rows(files: Files, seqs: set[int]) -> Files:
    """The package whose entries.csv does not list these entries."""
    header, *rows = files["data/entries.csv"].splitlines(keepends=True)
    kept = [it for it in rows if int(it.partition(b",")[0]) not in seqs]
    return {**files, "data/entries.csv": b"".join([header, *kept])}


def lines(items: Iterable[bytes]) -> bytes:
    return b"".join(it + b"\n" for it in items)


def subtree_over(leaves: Sequence[bytes]) -> tree.Subtree:
    hashes = [tree.leaf_hash(it) for it in leaves]

    def subtree(level: int, position: int) -> bytes:
        if level == 0:
            return hashes[position]
        below = (subtree(level - 1, position * 2), subtree(level - 1, position * 2 + 1))
        return tree.node_hash(*below)

    return subtree
