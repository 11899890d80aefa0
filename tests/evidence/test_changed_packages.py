"""Whatever is changed in a package is found, even where its seals were made anew with the log's
own signing key by somebody who does not hold the auditor's earlier checkpoint."""

import functools
import itertools
import re
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import evidence, packages, verify
from pipeline.checkpoints import Signer
from pipeline.reproduction import verify_package
from pipeline.service import LedgerService
from tests.evidence import forgery, story
from tests.evidence.conftest import EVERYTHING, Made, request
from tests.evidence.forgery import SEALS, Files


@pytest.fixture(autouse=True)
def quick_signatures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same signature over the same note is not put to openssl a thousand times."""
    monkeypatch.setattr(verify, "signed_text", _signed_text)


_signed_text = functools.lru_cache(maxsize=None)(verify.signed_text)


def faults(made: Made, files: Files, folder: Path) -> list[str]:
    path = forgery.write(folder / "changed.zip", files)
    return verify.verify(path, made.key, made.earlier).faults


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes((content[at] ^ 1,)) + content[at + 1 :]


CHANGES: dict[str, Callable[[bytes], bytes | None]] = {
    "first bit flipped": lambda it: flipped(it, 0),
    "a bit in the middle flipped": lambda it: flipped(it, len(it) // 2),
    "last bit flipped": lambda it: flipped(it, len(it) - 1),
    "cut by a byte": lambda it: it[:-1],
    "longer by a line feed": lambda it: it + b"\n",
    "a line doubled": lambda it: it + it[it.rstrip(b"\n").rfind(b"\n") + 1 :],
    "emptied": lambda it: b"",
    "removed": lambda it: None,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_sealed", [False, True], ids=["as it is", "sealed anew"])
def test_a_change_to_any_file_is_found(
    made: Made, tmp_path: Path, change: str, is_sealed: bool
) -> None:
    files = forgery.read(made.path)
    assert faults(made, files, tmp_path) == []
    assert faults(made, forgery.seal(files, made.signer), tmp_path) == []
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


def same_kind(name: str) -> str:
    return re.sub(r"entries/[0-9]+/|artifacts/.*", "", name)


@pytest.mark.parametrize("is_sealed", [False, True], ids=["as it is", "sealed anew"])
def test_files_that_change_places_are_found(made: Made, tmp_path: Path, is_sealed: bool) -> None:
    files = forgery.read(made.path)
    by_kind: dict[str, list[str]] = {}
    for name in files:
        by_kind.setdefault(same_kind(name), []).append(name)
    pairs = [
        (one, other)
        for names in by_kind.values()
        for one, other in itertools.pairwise(names)
        if files[one] != files[other]
    ]
    assert len(pairs) > 50
    unnoticed = []
    for one, other in pairs:
        forged = {**files, one: files[other], other: files[one]}
        if is_sealed:
            forged = forgery.seal(forged, made.signer)
        if not faults(made, forged, tmp_path):
            unnoticed.append((one, other))
    assert unnoticed == []


@pytest.mark.parametrize("seq", range(1, 18))
def test_an_entry_that_is_left_out_altogether_is_found(
    made: Made, tmp_path: Path, seq: int
) -> None:
    """Also the last of a process, and the export itself: nothing can be cut off at the end."""
    files = {
        name: it
        for name, it in forgery.read(made.path).items()
        if not name.startswith(f"data/entries/{seq}/")
    }
    assert faults(made, forgery.seal(files, made.signer), tmp_path)


def test_whole_processes_cannot_be_left_out(made: Made, tmp_path: Path) -> None:
    files = forgery.read(made.path)
    of_p3 = {name: it for name, it in files.items() if not name.startswith("data/entries/15/")}
    for table in ("processes", "entries", "coverage", "findings"):
        lines = files[f"data/{table}.csv"].splitlines(keepends=True)
        of_p3[f"data/{table}.csv"] = b"".join(it for it in lines if b"p3" not in it)
    assert faults(made, forgery.seal(of_p3, made.signer), tmp_path)


def tables(files: Files) -> Iterator[tuple[str, int, int]]:
    """(table, row, column) of every cell."""
    for name in packages.TABLES:
        rows = packages.parse_csv(files[f"data/{name}"])
        for row, cells in enumerate(rows):
            for column in range(len(cells)):
                yield name, row, column


def test_every_cell_of_every_table_is_fixed(made: Made, tmp_path: Path) -> None:
    """One changed cell in each column of each table; sealed anew."""
    files = forgery.read(made.path)
    seen = set()
    unnoticed = []
    for name, row, column in tables(files):
        if (name, column) in seen:
            continue
        seen.add((name, column))
        parsed = packages.parse_csv(files[f"data/{name}"])
        columns = list(parsed[0])
        rows = [tuple(it.values()) for it in parsed]
        forged_row = (*rows[row][:column], rows[row][column] + "1", *rows[row][column + 1 :])
        content = packages.csv_bytes(columns, [*rows[:row], forged_row, *rows[row + 1 :]])
        forged = forgery.seal({**files, f"data/{name}": content}, made.signer)
        if not faults(made, forged, tmp_path):
            unnoticed.append((name, columns[column]))
    assert len(seen) > 60
    assert unnoticed == []


@pytest.mark.parametrize(
    "name", ["data/extra.txt", "extra.txt", "data/entries/3/extra", "data/artifacts/a.png"]
)
def test_a_file_too_many_is_found(made: Made, tmp_path: Path, name: str) -> None:
    files = {**forgery.read(made.path), name: b"extra"}
    assert faults(made, files, tmp_path)
    assert faults(made, forgery.seal(files, made.signer), tmp_path)


@pytest.mark.parametrize("name", ["../evil", "/evil", "data/../../evil", "data//evil", "a\\b"])
def test_a_path_that_leaves_the_package_is_refused(made: Made, tmp_path: Path, name: str) -> None:
    found = faults(made, {**forgery.read(made.path), name: b"x"}, tmp_path)
    assert found == [f"the path {name!r} leaves the package or is not plain"]


def test_a_link_is_refused(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "link.zip"
    shutil.copy(made.path, path)
    with zipfile.ZipFile(path, "a") as package:
        info = zipfile.ZipInfo("data/link", (1980, 1, 1, 0, 0, 0))
        info.create_system = 3
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        package.writestr(info, "/etc/passwd")
    found = verify.verify(path, made.key, made.earlier).faults
    assert found == ["data/link is a link, encrypted or too large"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_path_are_refused(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "twice.zip"
    shutil.copy(made.path, path)
    with zipfile.ZipFile(path, "a") as package:
        info = zipfile.ZipInfo("data/processes.csv", (1980, 1, 1, 0, 0, 0))
        info.create_system = 3
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        package.writestr(info, "process_id\n")
    found = verify.verify(path, made.key, made.earlier).faults
    assert found == ["a path stands twice in the package"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b"", b"x", "bytes follow the zip's own end"),
        (b"x", b"", "bytes that belong to no file lie before"),
    ],
)
def test_bytes_around_the_zip_are_found(
    made: Made, tmp_path: Path, before: bytes, after: bytes, why: str
) -> None:
    path = tmp_path / "around.zip"
    path.write_bytes(before + made.path.read_bytes() + after)
    [fault] = verify.verify(path, made.key, made.earlier).faults
    assert why in fault or "no zip file" in fault


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_package_is_a_fault_and_no_traceback(
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
    forger = Signer(made.signer.key.name, tmp_path / "forger.key")
    files = forgery.read(made.path)
    resigned = {
        name: it.replace(str(made.signer.key).encode(), str(forger.key).encode())
        for name, it in files.items()
    }
    [fault] = faults(made, forgery.seal(resigned, forger), tmp_path)
    assert fault == f"manifest.note is not signed by the key {'+'.join(made.key.split('+')[:2])}"


# --- an insider who also rewrites the log ------------------------------------------------------


def test_a_log_that_was_rewritten_before_the_export_is_found(made: Made, tmp_path: Path) -> None:
    """The insider records another answer of the platform, with the log's name, its secrets and its
    signing key, and exports from that: only the checkpoint that the auditor kept shows it."""
    forged = rewritten(made, tmp_path)
    try:
        exported = evidence.export(forged, request(EVERYTHING), tmp_path / "forged.zip")
    finally:
        forged.close()
    assert verify.verify(exported.path, made.key).faults == []
    assert verify.verify(exported.path, made.key, made.earlier).faults == [
        "the package proves nothing about a checkpoint of 16 entries: ask for it anew, exported"
        " --against that checkpoint"
    ]


def test_a_rewritten_log_cannot_prove_the_earlier_size_either(made: Made, tmp_path: Path) -> None:
    forged = rewritten(made, tmp_path)
    try:
        forged.checkpoint()  # of 16 entries as well, with the forged root
        exported = evidence.export(forged, request(EVERYTHING), tmp_path / "forged.zip")
    finally:
        forged.close()
    assert verify.verify(exported.path, made.key).faults == []
    assert verify.verify(exported.path, made.key, made.earlier).faults == [
        "THE LOG WAS REWRITTEN: the earlier checkpoint has another root at 16 entries"
    ]


def rewritten(made: Made, folder: Path) -> LedgerService:
    """A log of the same name and key, in which the platform accepted the first attempt."""
    original = made.path.parent
    (folder / "keys").mkdir()
    shutil.copy(original / "keys" / "signing.key", folder / "keys" / "signing.key")
    forged = LedgerService(story.settings(folder))
    forged.close()
    with closing(sqlite3.connect(folder / "inbox.db")) as connection, connection:
        connection.execute(
            "update meta set value = ? where name = 'log'", (made.signer.key.name.encode(),)
        )
    (folder / "ledger.duckdb").unlink()
    forged = LedgerService(story.settings(folder))
    story.record(forged.inbox, forged.settings.artifacts, first_answer=200)
    forged.catch_up()
    return forged


# --- an exporter who lies in the tables --------------------------------------------------------


def test_tables_that_were_falsified_before_the_export_do_not_follow_from_the_entries(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """verify.py cannot know: the export's entry fixes the lie. The query run again does."""
    honest = packages.csv_bytes

    def lying(columns: list[str], rows: packages.Rows) -> bytes:
        return honest(columns, rows).replace(b"EXPIRED", b"PENDING")

    monkeypatch.setattr(packages, "csv_bytes", lying)
    exported = evidence.export(service, request(EVERYTHING), tmp_path / "lying.zip")
    assert verify.verify(exported.path, exported.key).faults == []
    assert verify_package(exported.path, key=exported.key).faults == [
        "processes.csv: row 2 does not follow from the entries",
        "processes.csv: row 3 does not follow from the entries",
        "processes.csv lacks rows that follow from the entries: 2",
    ]


def test_a_report_that_was_falsified_before_the_export_does_not_say_what_the_tables_say(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = evidence.report.render

    def lying(*arguments: object) -> str:
        return honest(*arguments).replace("Expired", "Pending")

    with monkeypatch.context() as patched:
        patched.setattr(evidence.report, "render", lying)
        exported = evidence.export(service, request(EVERYTHING), tmp_path / "lying.zip")
    assert verify.verify(exported.path, exported.key).faults == []
    assert verify_package(exported.path, key=exported.key).faults == [
        "report.html does not say what the tables say"
    ]
