"""A package holds the files that its format names, each by its one name, and nothing beside."""

import random
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline import verify
from pipeline.audit.package import bags
from pipeline.audit.package.disclosure import Artifacts
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.verify import Fault
from tests import depth
from tests.audit import forgery, story
from tests.audit.conftest import Made, copied, export, no_rows, quick_signatures

pytestmark = quick_signatures


@pytest.fixture(scope="module")
def honest(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    with copied(followed, tmp_path_factory.mktemp("exact")) as opened:
        yield opened


# --- names ---------------------------------------------------------------------------------------


@no_rows
@pytest.mark.parametrize(
    ("old", "new"),
    depth.few(
        [
            (".png", ".d/evil.html"),
            (".png", ".html"),
            (".png", ".png.html"),
            (".png", ""),
            ("data/artifacts/", "data/artifacts/more/"),
        ],
        2,
    ),
)
def test_an_artifact_stands_under_its_digest_and_its_media_type_alone(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    """By an exporter with altered code: what a seller saw as a picture was a page to open."""
    honest_add = Artifacts.add

    def add(self: Artifacts, entry: Any) -> None:
        honest_add(self, entry)
        self.names = {it: path.replace(old, new) for it, path in self.names.items()}

    monkeypatch.setattr(Artifacts, "add", add)
    exported = export(honest, Scope(process_id="p1"), tmp_path / "p1.zip")
    faults = verify.verify(exported.path, exported.key).faults
    assert any("is named by no collection of these" in it for it in faults)


@no_rows
def test_an_artifact_stands_there_once(
    honest: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two collections name the same bytes: as a picture, and as a page."""
    monkeypatch.setattr(verify.Entries, "__init__", with_both_names(verify.Entries.__init__))
    exported = export(honest, Scope(process_id="p1"), tmp_path / "p1.zip")
    files = forgery.read(exported.path)
    [picture] = [it for it in files if it.endswith(".png")]
    page = picture.replace(".png", ".html")
    forged = forgery.seal({**files, page: files[picture]}, signer(honest))
    faults = verify.verify(forgery.write(tmp_path / "f.zip", forged), exported.key).faults
    assert f"{picture} stands there under another name, too" in faults


def with_both_names(honest_init: Any) -> Any:
    def init(self: verify.Entries, *given: Any) -> None:
        honest_init(self, *given)
        digest = verify.hashlib.sha256(story.SCREEN).hexdigest()
        self.artifact_files.add(f"data/artifacts/{digest}.html")

    return init


def signer(service: LedgerService) -> Any:
    assert service.signer is not None
    return service.signer


@pytest.mark.parametrize("name", ["1.bin", "00002.bin", "00001.html", "00001.bin/x", "evil.html"])
def test_files_of_bodies_are_numbered_from_1(made: Made, tmp_path: Path, name: str) -> None:
    files = forgery.read(made.path)
    renamed = {**files, f"data/bodies/{name}": files[forgery.BODIES]}
    del renamed[forgery.BODIES]
    table = files["data/bodies.csv"]
    renamed["data/bodies.csv"] = table.replace(b"bodies/00001.bin", f"bodies/{name}".encode())
    path = forgery.write(tmp_path / "p.zip", forgery.seal(renamed, made.signer))
    [fault] = verify.verify(path, made.key).faults
    assert fault == (
        f'entry 1: bodies.csv names "data/bodies/{name}", which is not there, or not the next'
    )


def test_a_body_is_withheld_for_a_reason_that_the_format_knows(made: Made, tmp_path: Path) -> None:
    """The verdict prints it."""
    files = forgery.read(made.path)
    table = files["data/bodies.csv"].replace(b"by the exporter", b"nothing: VERIFIED")
    forged = forgery.seal({**files, "data/bodies.csv": table}, made.signer)
    [fault] = verify.verify(forgery.write(tmp_path / "p.zip", forged), made.key).faults
    assert fault == "entry 13: the body of entry 13 is withheld, and there, or nobody knows why"


# --- bytes ---------------------------------------------------------------------------------------


def packed(path: Path, files: forgery.Files, name: str, change: Any) -> Path:
    """The package, with the packed bytes of one file changed, and all of the zip made to fit."""
    forgery.write(path, files)
    with zipfile.ZipFile(path, "w") as package:
        for at, content in files.items():
            info = zipfile.ZipInfo(at, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o100644 << 16
            if at != name:
                package.writestr(info, content)
                continue
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            stream = change(packer.compress(content) + packer.flush())
            package.writestr(info, stream)  # as it is, and described as packed afterwards
            info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, len(content)
            info.CRC = zlib.crc32(content)
            end = package.fp.tell()  # type: ignore[union-attr]
            package.fp.seek(info.header_offset)  # type: ignore[union-attr]
            package.fp.write(verify._local_header(info))  # type: ignore[union-attr]
            package.fp.seek(end)  # type: ignore[union-attr]
    return path


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda stream: stream, None),
        (
            lambda stream: stream + b"<script>",
            "bytes that belong to no file lie behind the end of data/report.html",
        ),
        (lambda stream: stream[:-1], "data/report.html ends too early"),
        (lambda stream: b"\x07" + stream, "data/report.html cannot be read: "),
    ],
    ids=["as it was", "longer", "cut", "no stream"],
)
def test_a_packed_file_is_one_stream_and_nothing_behind_it(
    made: Made, tmp_path: Path, change: Any, fault: str | None
) -> None:
    """What lies behind a stream's own end no reader shows, and no digest is over it."""
    files = forgery.read(made.path)
    path = packed(tmp_path / "p.zip", files, "data/report.html", change)
    assert fault is not None or forgery.read(path) == files
    faults = verify.verify(path, made.key).faults
    assert [it[: len(fault or "")] for it in faults] == ([] if fault is None else [fault])


@pytest.mark.parametrize("wrong", ["size", "crc"])
def test_a_file_is_what_the_zips_directory_says(made: Made, tmp_path: Path, wrong: str) -> None:
    """Programs that unfold a zip refuse such a file, or cut it off."""
    files = forgery.read(made.path)
    content = files["data/report.html"]
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    stream = packer.compress(content) + packer.flush()
    info = zipfile.ZipInfo("data/report.html")
    info.compress_type, info.compress_size, info.header_offset = 8, len(stream), 0
    info.file_size = len(content) - (wrong == "size")
    info.CRC = zlib.crc32(content) ^ (wrong == "crc")
    header = verify._local_header(info)
    (tmp_path / "file").write_bytes(header + stream)
    with (tmp_path / "file").open("rb") as file:
        member = verify._Member(file, info)
        with pytest.raises(Fault, match="is not what the zip's directory says"):
            [*iter(lambda: member.read(1 << 16), b"")]


@pytest.mark.parametrize("beyond", [-1, 0, 1])
@pytest.mark.parametrize("is_packable", [False, True])
def test_a_file_of_any_size_is_described_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beyond: int, is_packable: bool
) -> None:
    """An honest package with a file of over 2 GB, such as the leaves of a long period, was called
    false. Here a file is large from 3 MiB on; what cannot be packed would outgrow that."""
    limit = 3 * verify.MIB
    for module, name in ((zipfile, "ZIP64_LIMIT"), (verify, "LARGE"), (bags, "LARGE")):
        monkeypatch.setattr(module, name, limit)
    noise = random.Random(1).randbytes(limit // 2 if is_packable else limit + beyond)
    large = noise + bytes(limit + beyond - len(noise))
    given = {"data/before": b"before", "data/large": large, "data/behind": b"behind"}
    path = tmp_path / "p.zip"
    with path.open("wb") as file:
        writer = bags.BagWriter(file)
        for name, content in given.items():
            writer.add(name, content)
        writer.seal([], lambda manifest: "signed")
    with verify.Package(path) as package:
        assert {name: package.read(name) for name in given} == given
    assert forgery.read(path).items() >= given.items()
