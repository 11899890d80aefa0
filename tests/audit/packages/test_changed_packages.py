"""Checks that every change of a package is found, even if its seals were made again with the log's
own signing key by somebody who does not hold the auditor's earlier checkpoint."""

import csv
import functools
import io
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import verify
from pipeline.audit import export
from pipeline.audit.package import preparing
from pipeline.audit.package import tables as packages
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.log.checkpoints import Checkpoint, Signer
from tests import depth
from tests.audit import forgery, story
from tests.audit.conftest import EVERYTHING, Made, copied, no_rows, quick_signatures, request
from tests.audit.forgery import SEALS, Files
from tests.support.sqlite import opened
from tests.support.stores import settings_in

pytestmark = quick_signatures


def faults(made: Made, files: Files, folder: Path) -> list[str]:
    path = forgery.write(folder / "changed.zip", files)
    return verify.verify(path, made.key, made.earlier).faults


def flipped(content: bytes, at: int) -> bytes:
    if not content:
        return b"\n"
    return content[:at] + bytes((content[at] ^ 1,)) + content[at + 1 :]


CHANGES: dict[str, Callable[[bytes], bytes | None]] = {
    "first bit flipped": lambda content: flipped(content, 0),
    "a bit in the middle flipped": lambda content: flipped(content, len(content) // 2),
    "last bit flipped": lambda content: flipped(content, len(content) - 1),
    "cut by a byte": lambda content: content[:-1],
    "longer by a line feed": lambda content: content + b"\n",
    "a line doubled": lambda content: content + content[content.rstrip(b"\n").rfind(b"\n") + 1 :],
    "emptied": lambda content: b"",
    "removed": lambda content: None,
}


def test_what_nobody_changed_has_no_fault_also_where_it_is_sealed_again(
    made: Made, tmp_path: Path
) -> None:
    files = forgery.read(made.path)
    assert faults(made, files, tmp_path) == []
    assert faults(made, forgery.seal(files, made.signer), tmp_path) == []


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_sealed", [False, True], ids=["as it is", "sealed again"])
def test_a_change_to_any_file_is_found(
    made: Made, tmp_path: Path, change: str, is_sealed: bool
) -> None:
    files = forgery.read(made.path)
    unnoticed = []
    for name, content in files.items():
        if is_sealed and name in SEALS:
            continue
        changed = CHANGES[change](content)
        if changed == content:
            continue
        forged = {it: value for it, value in files.items() if it != name}
        if changed is not None:
            forged[name] = changed
        if is_sealed:
            forged = forgery.seal(forged, made.signer)
        if not faults(made, forged, tmp_path):
            unnoticed.append(name)
    assert unnoticed == []


STREAMS = ("leaves.ndjson", "proof.txt", "records.ndjson", "bodies.csv")


@pytest.mark.parametrize("stream", STREAMS)
def test_a_changed_line_of_what_stands_in_one_file_is_found(
    made: Made, tmp_path: Path, stream: str
) -> None:
    """Each line is left out, doubled, cut, and changes places with the next; sealed again. In a
    usual run, every second one."""
    files = forgery.read(made.path)
    lines = files[f"data/{stream}"].splitlines(keepends=True)
    unnoticed = []
    for at, line in depth.few([*enumerate(lines)], 2):
        for changed in (b"", line * 2, line[:-3] + line[-1:], *lines[at + 1 : at + 2]):
            others = lines[at + 2 :] if changed in lines[at + 1 : at + 2] else lines[at + 1 :]
            swapped = changed + line if len(others) < len(lines) - at - 1 else changed
            content = b"".join([*lines[:at], swapped, *others])
            forged = forgery.seal({**files, f"data/{stream}": content}, made.signer)
            if content != files[f"data/{stream}"] and not faults(made, forged, tmp_path):
                unnoticed.append((at, changed))
    assert unnoticed == []


def test_a_changed_byte_of_any_body_is_found(made: Made, tmp_path: Path) -> None:
    files = forgery.read(made.path)
    parts = forgery.parts(files)
    leaves = [it.leaf for it in parts]
    assert forgery.with_parts(files, parts, leaves) == files
    for at, part in enumerate(parts):
        if part.body is not None:
            changed = part._replace(body=flipped(part.body, len(part.body) // 2))
            forged = forgery.with_parts(files, [*parts[:at], changed, *parts[at + 1 :]], leaves)
            found = faults(made, forgery.seal(forged, made.signer), tmp_path)
            assert found == [f"entry {part.seq}: its body is not what was recorded"]


@pytest.mark.parametrize("seq", range(1, 18))
def test_an_entry_that_is_left_out_altogether_is_found(
    made: Made, tmp_path: Path, seq: int
) -> None:
    """Also the last of a process, and the export itself: nothing can be cut off at the end. The
    forger has the whole log, and writes a proof around the entry."""
    files = forgery.without_rows(forgery.read(made.path), {seq})
    parts = forgery.parts(files)
    kept = [it for it in parts if it.seq != seq]
    forged = forgery.with_parts(files, kept, [it.leaf for it in parts])
    assert faults(made, forgery.seal(forged, made.signer), tmp_path)


def tables(files: Files) -> Iterator[tuple[str, int, int]]:
    """(table, row, column) of every cell."""
    for name in packages.TABLES:
        rows = forgery.parse_csv(files[f"data/{name}"])
        for row, cells in enumerate(rows):
            for column in range(len(cells)):
                yield name, row, column


def csv_bytes(columns: list[str], rows: packages.Rows) -> bytes:
    file = io.StringIO(newline="")
    packages.write_csv(file, columns, [rows])
    return file.getvalue().encode()


def test_every_cell_of_every_table_is_fixed(made: Made, tmp_path: Path) -> None:
    """One changed cell in each column of each table; sealed again."""
    files = forgery.read(made.path)
    seen = set()
    unnoticed = []
    for name, row, column in tables(files):
        if (name, column) in seen:
            continue
        seen.add((name, column))
        parsed = forgery.parse_csv(files[f"data/{name}"])
        columns = list(parsed[0])
        rows = [tuple(it.values()) for it in parsed]
        forged_row = (*rows[row][:column], rows[row][column] + "1", *rows[row][column + 1 :])
        content = csv_bytes(columns, [*rows[:row], forged_row, *rows[row + 1 :]])
        forged = forgery.seal({**files, f"data/{name}": content}, made.signer)
        if not faults(made, forged, tmp_path):
            unnoticed.append((name, columns[column]))
    assert len(seen) > 60
    assert unnoticed == []


@pytest.mark.parametrize(
    "name", ["data/extra.txt", "extra.txt", "data/bodies/9.bin", "data/artifacts/a.png"]
)
def test_a_file_too_many_is_found(made: Made, tmp_path: Path, name: str) -> None:
    files = {**forgery.read(made.path), name: b"extra"}
    assert faults(made, files, tmp_path)
    assert faults(made, forgery.seal(files, made.signer), tmp_path)


@pytest.mark.parametrize("name", ["../evil", "/evil", "data/../../evil", "data//evil", "a\\b"])
def test_a_path_that_leaves_the_package_is_refused(made: Made, tmp_path: Path, name: str) -> None:
    found = faults(made, {**forgery.read(made.path), name: b"x"}, tmp_path)
    assert found == [f"the path {verify.quoted(name)} leaves the package or is not plain"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("mode", "name", "why"),
    [
        (
            stat.S_IFLNK | 0o777,
            "data/link",
            "data/link is not marked as a plain file: no package has that, and another program may"
            " have packed this one again",
        ),
        (stat.S_IFREG | 0o644, "data/processes.csv", "a path stands twice in the package"),
    ],
)
def test_a_link_and_a_second_file_of_one_path_are_refused(
    made: Made, tmp_path: Path, mode: int, name: str, why: str
) -> None:
    path = tmp_path / "more.zip"
    shutil.copy(made.path, path)
    with zipfile.ZipFile(path, "a") as package:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.create_system = 3
        info.external_attr = mode << 16
        package.writestr(info, "/etc/passwd")
    assert verify.verify(path, made.key, made.earlier).faults == [why]


@pytest.mark.parametrize("with_folders", [True, False])
def test_a_package_that_was_unpacked_and_packed_again_says_so(
    made: Made, tmp_path: Path, with_folders: bool
) -> None:
    """As a mail gateway or a desktop does it, with nothing changed in any file: it was called a
    link, or a path that leaves the package."""
    unpacked, path = tmp_path / "unpacked", tmp_path / "again.zip"
    with zipfile.ZipFile(made.path) as package:
        package.extractall(unpacked)
    with zipfile.ZipFile(path, "w") as package:
        for each in sorted(unpacked.rglob("*")):
            name = each.relative_to(unpacked).as_posix()
            if with_folders:
                package.write(each, name)
            elif each.is_file():
                package.writestr(name, each.read_bytes())
    [fault] = verify.verify(path, made.key, made.earlier).faults
    assert "another program may have packed this one again" in fault


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b"", b"x", "this is not a zip file, or bytes follow its own end"),
        (b"x", b"", "bytes that belong to no file lie before"),
    ],
)
def test_bytes_around_the_zip_are_found(
    made: Made, tmp_path: Path, before: bytes, after: bytes, why: str
) -> None:
    path = tmp_path / "around.zip"
    path.write_bytes(before + made.path.read_bytes() + after)
    [fault] = verify.verify(path, made.key, made.earlier).faults
    assert why in fault


@pytest.mark.parametrize(
    ("record", "at", "value"),
    [
        (b"PK\x05\x06", 8, b"\x05\0\x05\0"),  # how many files there are: a reader shows five
        (b"PK\x05\x06", 8, b"\0\0\0\0"),
        (b"PK\x05\x06", 4, b"\1\0\1\0"),  # the number of the disk
        (b"PK\x01\x02", 4, b"\x2d"),  # the version that made it
        (b"PK\x01\x02", 5, b"\0"),  # the system that made it
        (b"PK\x01\x02", 34, b"\1"),  # the disk on which the file is
        (b"PK\x01\x02", 36, b"\1"),  # that it is text
        (b"PK\x01\x02", 38, b"\x12"),  # a hidden folder, to DOS
    ],
)
def test_a_directory_in_which_readers_differ_is_found(
    made: Made, tmp_path: Path, record: bytes, at: int, value: bytes
) -> None:
    """Some readers show as many files as the zip's end says, and hide the others."""
    content = bytearray(made.path.read_bytes())
    start = content.rindex(record) + at
    content[start : start + len(value)] = value
    path = tmp_path / "other.zip"
    path.write_bytes(content)
    assert verify.verify(path, made.key, made.earlier).faults == [
        "the zip's directory is not as a package has it: readers may differ in it"
    ]


@pytest.mark.parametrize(("files", "gap"), [(3, 0), (2**16 + 1, 0), (3, 2**31), (2, 2**32)])
def test_a_large_zip_is_described_as_it_is_written(files: int, gap: int, tmp_path: Path) -> None:
    """Of more files or bytes than the first form of a zip can say, as Python writes it: the last
    file stands behind a hole as long as the files before it would be, and the first is listed in
    the place of each of these."""
    path = tmp_path / "large.zip"
    with path.open("wb") as file, zipfile.ZipFile(file, "w") as package:
        for name in ("first", "last"):
            if name == "last" and gap:
                package.start_dir += gap
                file.seek(package.start_dir)
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            package.writestr(info, b"")
        package.filelist[1:1] = package.filelist[:1] * (files - 2)
        directory = package.start_dir
    with zipfile.ZipFile(path) as package:
        infos = package.infolist()
    entries = b"".join(map(verify._directory_entry, infos))
    with path.open("rb") as file:
        file.seek(directory)
        assert file.read() == entries + verify._directory_end(files, len(entries), directory)


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x05\x06" + bytes(18)])
def test_what_is_not_a_package_is_a_fault_and_no_traceback(
    made: Made, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "none.zip"
    path.write_bytes(content)
    assert verify.verify(path, made.key, made.earlier).faults


def test_random_damage_to_the_file_is_found_or_changes_no_file(made: Made, tmp_path: Path) -> None:
    """Every 211th byte of the zip, one at a time. A bit that no reader looks at may go unnoticed,
    as long as every file stays what it is: a deflate stream has such bits at its end."""
    content = made.path.read_bytes()
    files = forgery.read(made.path)
    path = tmp_path / "damaged.zip"
    unnoticed = 0
    for at in range(0, len(content), 211):
        path.write_bytes(flipped(content, at))
        if not verify.verify(path, made.key, made.earlier).faults:
            assert forgery.read(path) == files
            unnoticed += 1
    assert unnoticed < len(content) / 211 / 10


def test_another_key_than_the_one_that_was_handed_over_is_refused(
    made: Made, tmp_path: Path
) -> None:
    """Somebody made a log of their own under the same name."""
    forger = Signer.made(made.signer.key.name, tmp_path / "forger.key")
    files = forgery.read(made.path)
    resigned = {
        name: content.replace(str(made.signer.key).encode(), str(forger.key).encode())
        for name, content in files.items()
    }
    [fault] = faults(made, forgery.seal(resigned, forger), tmp_path)
    given, signer = ("+".join(str(it).split("+")[:2]) for it in (made.key, forger.key))
    assert fault == (
        f"the package is signed by the key {signer}, and no rotation in it leads there from the key"
        f" given, {given}: a key is needed from which one does"
    )


# --- an insider who also rewrites the log ------------------------------------------------------


@no_rows
def test_a_log_that_was_rewritten_before_the_export_is_found(
    made: Made, rewritten: Path, tmp_path: Path
) -> None:
    """The insider records another answer of the platform, with the log's name, its secrets and its
    signing key, and exports from that: only the checkpoint that the auditor kept shows it."""
    with copied(rewritten, tmp_path) as forged:
        exported = export.export(forged, request(EVERYTHING), tmp_path / "forged.zip")
    assert verify.verify(exported.path, made.key).faults == []
    assert verify.verify(exported.path, made.key, made.earlier).faults == [
        "the package proves nothing about a checkpoint of 16 entries: ask for a new package,"
        " exported --against that checkpoint"
    ]


@no_rows
def test_a_rewritten_log_cannot_prove_the_earlier_size_either(
    made: Made, rewritten: Path, tmp_path: Path
) -> None:
    with copied(rewritten, tmp_path) as forged:
        forged.checkpoint()  # of 16 entries as well, with the forged root
        exported = export.export(forged, request(EVERYTHING), tmp_path / "forged.zip")
    assert verify.verify(exported.path, made.key).faults == []
    assert verify.verify(exported.path, made.key, made.earlier).faults == [
        "THE LOG WAS REWRITTEN: the earlier checkpoint has another root at 16 entries"
    ]


@no_rows
def test_a_rewritten_log_cannot_name_the_former_root_beside_its_own(
    made: Made, rewritten: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two roots at one size only the last was proved, and either was believed: a log that
    somebody rewrote once continued every checkpoint that they knew to be kept."""
    honest, former = preparing._earlier, Checkpoint.read(made.earlier.decode()).root.hex()
    monkeypatch.setattr(preparing, "_earlier", lambda *given: [[16, former], *honest(*given)])
    with copied(rewritten, tmp_path) as forged:
        forged.checkpoint()
        exported = export.export(forged, request(EVERYTHING), tmp_path / "forged.zip")
    assert verify.verify(exported.path, made.key, made.earlier).faults == [
        "parameters.json names two earlier checkpoints of one size"
    ]


@pytest.fixture(scope="module")
def rewritten(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a log of the same name and key, in which the platform accepted the first
    attempt."""
    original, folder = made.path.parent, tmp_path_factory.mktemp("rewritten")
    (folder / "keys").mkdir()
    shutil.copy(original / "keys" / "signing.key", folder / "keys" / "signing.key")
    LedgerService(settings_in(folder)).close()
    with closing(opened(folder / "inbox.db")) as connection, connection:
        connection.execute(
            "update meta set value = ? where name = 'log'", (made.signer.key.name.encode(),)
        )
        connection.execute("drop trigger signing_keys_no_delete")
        connection.execute("delete from signing_keys")  # the key is one of the log's name, too
    (folder / "ledger.duckdb").unlink()
    with closing(LedgerService(settings_in(folder))) as forged:
        story.record(forged.inbox, forged.settings.artifacts, first_answer=200)
        forged.catch_up()
    return folder


# --- an exporter who lies in the tables --------------------------------------------------------


def test_tables_that_were_falsified_before_the_export_do_not_follow_from_the_entries(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """verify.py cannot know: the export's entry fixes the lie. The query run again does."""
    honest = packages.rows_of

    def lying(table: Any) -> Iterator[packages.Rows]:
        for rows in honest(table):
            yield [tuple("PENDING" if it == "EXPIRED" else it for it in row) for row in rows]

    with monkeypatch.context() as altered:
        altered.setattr(packages, "rows_of", lying)
        exported = export.export(service, request(EVERYTHING), tmp_path / "lying.zip")
    assert verify.verify(exported.path, exported.key).faults == []
    assert verify_package(exported.path, key=exported.key).faults == [
        "processes.csv: row 2 does not follow from the entries",
        "processes.csv: row 3 does not follow from the entries",
        "processes.csv lacks rows that follow from the entries: 2",
    ]


def test_what_a_row_rests_on_is_said_in_our_words_alone(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row was compared without its last cell, where anything could stand and be verified."""
    with monkeypatch.context() as altered:
        altered.setattr(packages, "OF_PACKAGE", "package, and the platform agrees")
        exported = export.export(service, request(Scope(process_id="p3")), tmp_path / "lying.zip")
    found = verify_package(exported.path, key=exported.key).faults
    assert "processes.csv: row 1 does not follow from the entries" in found


def test_a_table_has_one_spelling(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With line ends that only some programs take for such, a terminal writes row over row. The
    verifier that an auditor runs alone took any spelling."""
    with monkeypatch.context() as altered:
        with_returns = functools.partial(csv.writer, lineterminator="\r")
        altered.setattr(packages.csv, "writer", with_returns)
        exported = export.export(service, request(Scope(process_id="p3")), tmp_path / "p.zip")
    [fault] = verify.verify(exported.path, exported.key).faults
    assert fault.endswith("data/entries.csv is spelled in a way in which readers may differ")


def test_a_report_that_was_falsified_before_the_export_does_not_say_what_the_tables_say(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = export.report.render

    def lying(*arguments: object) -> str:
        return honest(*arguments).replace("Expired", "Pending")

    with monkeypatch.context() as patched:
        patched.setattr(export.report, "render", lying)
        exported = export.export(service, request(EVERYTHING), tmp_path / "lying.zip")
    assert verify.verify(exported.path, exported.key).faults == []
    assert verify_package(exported.path, key=exported.key).faults == [
        "report.html does not say what the tables say"
    ]
