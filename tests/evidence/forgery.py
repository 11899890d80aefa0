"""Changes packages as a forger would: with the log's signing key or without it."""

import hashlib
import stat
import zipfile
from pathlib import Path

from pipeline.checkpoints import Signer

Files = dict[str, bytes]
SEALS = frozenset(
    {"bag-info.txt", "manifest-sha256.txt", "manifest.note", "tagmanifest-sha256.txt"}
)


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


def seal(files: Files, signer: Signer) -> Files:
    """The files with manifests, totals and signature made anew over them."""
    payload = sorted(it for it in files if it.startswith("data/"))
    sizes = [len(files[it]) for it in payload]
    info = files["bag-info.txt"].decode().partition("Payload-Oxum")[0]
    sealed = {name: it for name, it in files.items() if name not in SEALS}
    sealed["bag-info.txt"] = f"{info}Payload-Oxum: {sum(sizes)}.{len(sizes)}\n".encode()
    sealed["manifest-sha256.txt"] = manifest(sealed, payload)
    tags = sorted(it for it in sealed if not it.startswith("data/"))
    text = f"prazo package v1\n{signer.key.name}\n{manifest(sealed, tags).decode()}"
    sealed["manifest.note"] = signer.sign(text).encode()
    tags = sorted(it for it in sealed if not it.startswith("data/"))
    sealed["tagmanifest-sha256.txt"] = manifest(sealed, tags)
    return sealed


def manifest(files: Files, names: list[str]) -> bytes:
    lines = (f"{hashlib.sha256(files[it]).hexdigest()}  {it}\n" for it in names)
    return "".join(lines).encode()
