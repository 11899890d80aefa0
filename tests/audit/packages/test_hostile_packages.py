"""Packages that somebody made to deceive, stop or exhaust a verifier, and honest ones that look
odd."""

import dataclasses
import io
import json
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import verify
from pipeline.audit import export as evidence
from pipeline.audit import reproduce
from pipeline.audit.package import preparing, tables
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from tests.audit import forgery, story
from tests.audit.conftest import Made, copied, no_rows, quick_signatures, request
from tests.support.stores import settings_in

LARGE = 1 << 27
pytestmark = quick_signatures


@pytest.fixture(scope="module")
def service(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    with copied(followed, tmp_path_factory.mktemp("hostile")) as opened:
        yield opened


# --- what it says -------------------------------------------------------------------------------


@no_rows
def test_no_text_of_a_package_reaches_the_terminal_as_anything_but_a_part_of_one_line(
    service: LedgerService, tmp_path: Path
) -> None:
    """An actor's name once cleared the screen and wrote VERIFIED."""
    actor = "Ana\x1b[2J\x1b[H\r\nVERIFIED\u202e\x9b1m\u2028" + "x" * 1900
    asked = dataclasses.replace(request(Scope(process_id="p3")), actor=actor)
    exported = evidence.export(service, asked, tmp_path / "p3.zip")
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    lines = [*verdict.lines()]
    assert all(line.isprintable() and len(line) < 900 for line in lines)
    assert [it for it in lines if it.startswith("VERIFIED")] == lines[-1:]
    assert any("Ana\\u001b[2J\\u001b[H\\u000d\\u000aVERIFIED\\u202e\\u009b1m" in it for it in lines)


def test_nothing_of_a_package_is_looked_at_before_its_seals_hold(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its SQL was run although the manifests were not signed."""

    def never(*_: object) -> None:
        raise AssertionError("a package whose seals do not hold was read on")

    monkeypatch.setattr(reproduce, "reproduce", never)
    monkeypatch.setattr(verify, "_check", never)
    files = forgery.read(made.path)
    for name in files:
        changed = {**files, name: files[name] + b"\x1b[2JVERIFIED\n"}
        verdict = verify_package(forgery.write(tmp_path / "p.zip", changed), key=made.key)
        assert verdict.faults
        assert all(it.isprintable() for it in verdict.lines())


def test_sql_of_a_package_is_compared_and_never_run(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another release it is not even that: its tables are named as not checked."""
    ours, honest = tables.software(), tables.query_file()
    with monkeypatch.context() as altered:
        altered.setattr(tables, "query_file", lambda: f"{honest}\n-- and more\n")
        exported = evidence.export(service, request(Scope(process_id="p3")), tmp_path / "a.zip")
        altered.setattr(tables, "software", lambda: "prazo 9.9 (0123456789ab)")
        another = evidence.export(service, request(Scope(process_id="p3")), tmp_path / "b.zip")
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == [
        "the tables cannot be made again: query.sql is not that of the software which the package"
        " names"
    ]
    verdict = verify_package(another.path, key=another.key)
    assert verdict.faults == []
    said = f'calls itself "prazo 9.9 (0123456789ab)", makes the same; this is {ours}'
    assert any(it.endswith(said) for it in verdict.unchecked)


@no_rows
@pytest.mark.parametrize(("column", "value"), [(1, "a9"), (2, "p9"), (4, 0), (5, True)])
def test_what_is_stated_of_a_withheld_body_is_what_the_log_says_of_its_entry(
    service: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    column: int,
    value: object,
) -> None:
    """Entry 13 starts the attempt a3 of p2; its process, attempt, instant and whether it came
    again are not the exporter's word."""
    honest = tables.Stating.of

    def of(self: tables.Stating, withheld: Any) -> Iterator[tuple[str, list[list[Any]]]]:
        for table, rows in honest(self, withheld):
            if table == "fact_attempt_starts":
                rows[0][column] = value
            yield table, rows

    asked = request(Scope(process_id="p2"), withhold=frozenset({13}))
    with monkeypatch.context() as altered:
        altered.setattr(tables.Stating, "of", of)
        exported = evidence.export(service, asked, tmp_path / "p2.zip")
    with verify.Package(exported.path) as package, pytest.raises(verify.Fault) as raised:
        reproduce.reproduce(package, verify.Verdict())
    name = ("", "attempt_id", "process_id", "", "occurred_at", "is_again")[column]
    assert f"gives entry 13 another {name} than the log" in str(raised.value)


@no_rows
def test_another_verifier_inside_is_named(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "verify.py"
    other.write_bytes(b"print('VERIFIED')\n")
    monkeypatch.setattr(preparing, "VERIFIER", other)
    exported = evidence.export(service, request(Scope(process_id="p3")), tmp_path / "p3.zip")
    verdict = verify.verify(exported.path, exported.key)
    assert verdict.faults == []
    assert any(it.startswith("verify.py in the package: it is another") for it in verdict.unchecked)


# --- what it costs ------------------------------------------------------------------------------


def bomb(path: Path, name: str, content: bytes, times: int) -> Path:
    """A zip of one file that holds something many times."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.create_system, info.external_attr = 3, 0o100644 << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        with package.open(info, "w") as file:
            for _ in range(times):
                file.write(content)
    return path


def measured(check: Callable[[], verify.Verdict]) -> tuple[verify.Verdict, int]:
    """A verdict, and the most memory that it took."""
    tracemalloc.start()
    try:
        return check(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_zip_that_unfolds_to_far_more_than_its_size_is_refused_before_it_is_unfolded(
    tmp_path: Path,
) -> None:
    """4 MB of zip cost 1 to 2 GiB of memory."""
    path = bomb(tmp_path / "bomb.zip", "bagit.txt", bytes(1 << 20), 80)
    assert path.stat().st_size < 120_000
    verdict, peak = measured(lambda: verify_package(path))
    assert verdict.faults == ["its files are far too large for a zip of this size"]
    assert peak < 4 << 20


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data/parameters.json", b"[" + b"[[]]," * 400_000 + b"[]]"),
        ("data/rotations.json", b"[" + b"[[]]," * 400_000 + b"[]]"),
        ("tagmanifest-sha256.txt", b"  ab\n" * 1_000_000),
        ("manifest-sha256.txt", b"  ab\n" * 1_000_000),
    ],
)
def test_what_is_read_before_the_seals_hold_costs_little(
    made: Made, tmp_path: Path, name: str, content: bytes
) -> None:
    """Within the ratio that packages have, and by somebody without a key: 24 KB cost 643 MB."""
    path = forgery.write(tmp_path / "p.zip", {**forgery.read(made.path), name: content})
    verdict, peak = measured(lambda: verify.verify(path, made.key))
    assert verdict.faults
    assert peak < 24 << 20


def test_a_directory_of_more_files_than_any_package_has_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    path.write_bytes(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, 17 << 20, 0, 0))
    assert verify.verify(path).faults == ["the zip has more files than any package"]


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"key":' + b"9" * 5_000 + b"}",
        b'{"key":1e999}',
        b'{"key":"\\ud800"}',
        b"\xff\xfe[\x00]\x00",
        b"null",
    ],
)
def test_json_that_no_package_has_is_a_fault(made: Made, tmp_path: Path, content: bytes) -> None:
    files = {**forgery.read(made.path), "data/parameters.json": content}
    assert verify_package(forgery.write(tmp_path / "p.zip", files), key=made.key).faults


@pytest.mark.parametrize("name", ["leaves.ndjson", "bodies.csv", "entries.csv", "proof.txt"])
def test_a_line_without_an_end_does_not_fill_memory(
    made: Made, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealed with the key. What is read at once is bounded, whatever a file is."""
    monkeypatch.setattr(verify, "MAX_CELL", 1 << 20)
    files = forgery.read(made.path)
    files[f"data/{name}"] += b"9" * (32 << 20)
    path = forgery.write(tmp_path / "p.zip", forgery.seal(files, made.signer))
    verdict, peak = measured(lambda: verify.verify(path, made.key))
    assert verdict.faults
    assert peak < 24 << 20


# --- any bytes ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def believed() -> Iterator[None]:
    """Every signature is believed, so that no example needs openssl, and the seals never help."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(verify, "is_signed", lambda *_: True)
        yield


edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=60)), min_size=1, max_size=4
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
)


def edited(content: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    for place, length, put in changes:
        at = int(place * len(content))
        content = content[:at] + put + content[at + length :]
    return content


@given(changes=edits)
@settings(max_examples=settings().max_examples // 2)
def test_any_bytes_at_all_end_in_a_verdict(
    made: Made, believed: None, changes: list[tuple[float, int, bytes]], tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.zip"
    path.write_bytes(edited(made.path.read_bytes(), changes))
    verdict = verify_package(path)
    assert verdict.faults or forgery.read(path) == forgery.read(made.path)


@given(data=st.data())
@settings(max_examples=settings().max_examples // 4)
def test_any_change_behind_the_seals_ends_in_a_verdict_too(
    made: Made, believed: None, data: st.DataObject, tmp_path_factory: Any
) -> None:
    """By somebody with the key: bytes of any file, or any value in one of its JSON files."""
    files = forgery.read(made.path)
    name = data.draw(st.sampled_from(sorted(files)))
    content = edited(files[name], data.draw(edits))
    if name.endswith(".json") and data.draw(st.booleans()):
        value = json.loads(files[name])
        if isinstance(value, dict) and value:
            value[data.draw(st.sampled_from(sorted(value)))] = data.draw(values)
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        content = text.encode("utf-8", "surrogatepass")
    forged = forgery.seal({**files, name: content}, made.signer)
    path = forgery.write(tmp_path_factory.getbasetemp() / "behind.zip", forged)
    verdict = verify.verify(path, made.key, made.earlier)
    assert all(it.isprintable() for it in verdict.lines())
    assert verdict.faults or forged == files or name in forgery.SEALS or name == NOTE
    # A signature that nobody knows may stand below the log's own: that of a witness.


NOTE = "data/checkpoint.note"


def test_a_sealed_description_of_the_bag_that_is_not_a_text_ends_in_a_verdict(
    made: Made, believed: None, tmp_path: Path
) -> None:
    """The test above drew it once in ten runs, and its own forgery could not make it."""
    files = forgery.read(made.path)
    for before in (b"\xff", b"\xc3", b"\xed\xa0\x80"):
        forged = forgery.seal(
            {**files, "bag-info.txt": before + files["bag-info.txt"]}, made.signer
        )
        assert forged["bag-info.txt"].startswith(before)
        verdict = verify.verify(forgery.write(tmp_path / "p.zip", forged), made.key, made.earlier)
        assert verdict.faults
        assert all(it.isprintable() for it in verdict.lines())


# --- honest, and odd ----------------------------------------------------------------------------


def test_an_honest_package_with_odd_names_and_huge_cells_is_verified(
    tmp_path: Path,
) -> None:
    """Tabs in ids, cells beyond 131,072 characters, and names that a spreadsheet would run."""
    opened = LedgerService(settings_in(tmp_path))
    try:
        for number, process in enumerate(["p\t1", "=p2", "p;=3\r\n+4", "'=5"]):
            body = story.review(f"@e\t{number}", process, "-s\t1").body or b""
            event = json.loads(body)
            event["payload"]["object"]["requested_fields"] = [
                f"{'f' * 7000}.{field}" for field in range(20 if number == 0 else 2)
            ]
            story.deliver_bytes(opened.inbox, json.dumps(event).encode())
        opened.catch_up()
        everything = Scope(since=0, until=LARGE**2)
        exported = evidence.export(opened, request(everything), tmp_path / "odd.zip")
        cells = forgery.read(exported.path)["data/entries.csv"]
        assert max(map(len, io.StringIO(cells.decode(), newline=""))) > 131_072
        assert verify_package(exported.path, key=exported.key).faults == []
    finally:
        opened.close()
