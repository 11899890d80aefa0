"""A package is dropped on a page, which shows the verifier's verdict; over a real server."""

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Request
from streamlit.testing.v1 import AppTest

from pipeline import verify
from pipeline.audit import export as evidence
from pipeline.audit.apart import Found
from pipeline.audit.ours import Origin, Whose
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from tests.app_pages.conftest import fill
from tests.app_pages.support.occurrences import attempt, before, collected, review
from tests.app_pages.support.reading import page_text
from tests.audit import forgery
from tests.audit.conftest import request
from tests.support.dashboard import Reader, dashboard
from tests.support.stores import settings_in

HISTORY = [
    review("prc_1", before(days=10)),
    collected("prc_1", "answered", before(days=8)),
    *attempt("prc_1", before(days=7), status=200),
]
OURS, CHANGED, ANOTHER = "ours.zip", "changed.zip", "another.zip"
KEY = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"  # a public log's
BOMB, NO_ZIP = "bomb.zip", "text.zip"


def packages_in(folder: Path) -> None:
    """A genuine package of the log in a folder, one of another log, and what is neither."""
    for name, place in ((OURS, folder), (ANOTHER, folder / "elsewhere")):
        place.mkdir(exist_ok=True)
        fill(place, HISTORY)
        with closing(LedgerService(settings_in(place))) as service:
            service.catch_up()
            evidence.export(service, request(Scope(process_id="prc_1")), folder / name)
    files = dict(forgery.read(folder / OURS))
    report = files["data/report.html"]
    at = report.index(b"prc_1")
    files["data/report.html"] = report[:at] + b"q" + report[at + 1 :]
    forgery.write(folder / CHANGED, files)
    with zipfile.ZipFile(folder / BOMB, "w", zipfile.ZIP_DEFLATED) as bomb:
        for name, size in (("bagit.txt", 1), ("data/parameters.json", 80 << 20)):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            bomb.writestr(info, bytes(size))
    (folder / NO_ZIP).write_bytes(b"<script>VERIFIED</script>\n" * 50)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("packages")
    packages_in(made)
    (made / "temporary").mkdir()
    return made


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with dashboard(folder, TMPDIR=str(folder / "temporary")) as running:
        yield running


def drop(reader: Reader, file: Path) -> None:
    reader.page.locator('input[type="file"]').set_input_files(file)


def verdict(reader: Reader, said: str) -> str:
    """The verdict on the page, once a text is in it."""
    place = reader.page.locator(".st-key-verdict")
    place.get_by_text(said).first.wait_for(timeout=60_000)
    return place.inner_text()


def said(found: Found, whose: Whose) -> AppTest:
    def page(found: object, origin: object) -> None:  # in a script of its own: no name from here
        from app_pages.desk import checking

        checking._say(found, origin)  # type: ignore[arg-type]

    return AppTest.from_function(page, kwargs={"found": found, "origin": Origin(whose, 9)}).run()


def test_a_zip_of_something_else_is_called_that(tmp_path: Path) -> None:
    """Its first file was said not to be marked as a plain file."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as ordinary:
        ordinary.writestr("a.txt", "a")
    with pytest.raises(verify.Fault, match="not an audit package") as fault:
        verify.Package(tmp_path / "a.zip")
    found = Found("ab", "NOT VERIFIED", 1, [], [], [], [], [], [str(fault.value)])
    assert "This is not a package of Prazo" in page_text(said(found, Whose.UNKNOWN))


@pytest.mark.parametrize(
    ("unchecked", "complete"),
    [
        ([], "Complete: yes. Of what Scope names, no entry that the package has to hold is"),
        (
            ["that nothing stands between 7 and 9"],
            "Complete, as far as a package can show it. What stays open stands below (1): none",
        ),
    ],
)
def test_a_plain_yes_to_complete_is_said_only_where_nothing_is_left_open(
    unchecked: list[str], complete: str
) -> None:
    """It was said of each genuine package, with what the verifier had not compared folded away."""
    found = Found("ab", "VERIFIED", 0, [], ["its digests"], [], unchecked, [], [], signer=KEY)
    app = said(found, Whose.GROWN)
    shown = page_text(app)
    assert "Genuine: yes." in shown
    assert [it for it in ("Complete: yes", "Complete, as ") if it in shown] == [complete[:13]]
    assert complete in shown
    assert [it.label for it in app.expander] == ["In the verifier's own words"]
    for line in unchecked:
        assert line in shown


def test_a_package_that_is_dropped_is_verified_by_our_own_verifier_and_not_kept(
    folder: Path, url: str, browser: Browser
) -> None:
    reader = Reader(browser.new_page(locale="en-GB"), url).open("/check")
    other = Reader(browser.new_page(locale="pt-BR"), url).open("/check")
    sent: list[Request] = []
    reader.page.on("request", lambda asked: asked.method == "PUT" and sent.append(asked))

    drop(reader, folder / OURS)
    drop(other, folder / CHANGED)  # at the same time
    genuine = verdict(reader, "so since then it has only grown")
    for said in (
        "Genuine: yes.",
        "What stays open stands below (",
        "Whether the log was rewritten before the package was made. An earlier checkpoint",
        "What this package does not prove (",
        hashlib.sha256((folder / OURS).read_bytes()).hexdigest(),
        "This is the word of our server",
    ):
        assert said in genuine
    assert "Complete: yes" not in genuine
    assert '"Ana Auditor"' in verdict(reader, "Ana Auditor")  # a table is drawn a moment later
    changed = verdict(other, "data/report.html has another digest")
    assert "Não verificado" in changed
    assert "Não confie nele" in changed
    assert "Autêntico" not in changed
    assert "cresceu" not in changed

    drop(reader, folder / ANOTHER)
    another = verdict(reader, "a key that we do not know")
    assert another.index("a key that we do not know") < another.index("Unchanged since it was")
    assert "Genuine" not in another
    assert "only grown" not in another
    assert "the package itself says so. Ask for the key by another way" in another
    for name, fault in (
        (BOMB, "its files are far too large for a zip of this size"),
        (NO_ZIP, "this is not a zip file"),
    ):
        drop(reader, folder / name)
        assert "Not verified" in verdict(reader, fault)
    assert [*(folder / "temporary").iterdir()] == []

    last = sent[-1]
    fields = {it: last.headers[it] for it in ("x-xsrftoken", "cookie") if it in last.headers}
    cookies = {it["name"]: it["value"] for it in reader.page.context.cookies()}

    def put(size: int, place: str = last.url) -> int:
        file = {"f": ("a.zip", bytes(size))}
        answer = httpx.put(place, files=file, headers=fields, cookies=cookies, timeout=30)
        return answer.status_code

    assert put(1) == 204
    assert put(33 << 20) == 413
    assert put(1, last.url + "/more") == 404
    reader.go("/help")
    assert put(1) == 404
