"""The examples of the pages do what the pages say, each page's in a folder of their own."""

import base64
import json
import os
import re
import shlex
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pipeline import instants
from pipeline.cli import main
from pipeline.forward import endpoints
from pipeline.http import standard_webhooks
from pipeline.http.tokens import Caller, Tokens
from pipeline.log.artifacts import FolderArtifacts
from pipeline.log.kinds.collection import COLLECTION
from tests.docs import pages
from tests.docs.pages import ROOT
from tests.support.gateway import Client
from tests.support.marketplace import Marketplace, Review

PAGE = (ROOT / "docs/developers.md").read_text(encoding="utf-8")
SCREEN = b"\x89PNG what the seller saw"


def example(pattern: str) -> str:
    """The indented lines that begin with a pattern, up to the next prose."""
    [found] = re.findall(rf"^ {{4}}{pattern}.*?(?=^\S)", PAGE, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(found)


def occurrence_of(review: Review) -> dict[str, Any]:
    """The occurrence that the page shows, for a review of ours, now."""
    shown: dict[str, Any] = json.loads(example(r'\{"occurred_at"'))
    return {
        **shown,
        "occurred_at": instants.canonical(instants.now()),
        "process_id": review.process_id,
        "seller_id": review.seller_id,
    }


def kept_artifacts(marketplace: Marketplace, review: Review) -> list[bytes | None]:
    [entry] = marketplace.inbox.find(process_id=review.process_id, kind=COLLECTION)
    store = FolderArtifacts(marketplace.settings().artifacts)
    return [store.read(it["sha256"]) for it in json.loads(entry.body or b"")["artifacts"]]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_curl_sends_the_file_that_prazo_collect_takes_with_its_artifact(
    marketplace: Marketplace, gateway: Client, tmp_path: Path
) -> None:
    """The example once sent the JSON alone, which names a file of the caller's machine: 422."""
    review = marketplace.review(is_answered=False)
    (tmp_path / "answered.json").write_text(json.dumps(occurrence_of(review)))
    (tmp_path / "screen.png").write_bytes(SCREEN)
    [line] = re.findall(r"^ {4}(curl .*/v1/collections.*)$", PAGE, re.MULTILINE)
    command = shlex.split(line.replace(":8400", f":{gateway.port}"))
    done = subprocess.run([*command, "-sS"], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout)["recorded"] == "new"
    assert kept_artifacts(marketplace, review) == [SCREEN]


def test_the_client_collects(marketplace: Marketplace, gateway: Client) -> None:
    review = marketplace.review(is_answered=False)
    known = {"answered": occurrence_of(review), "screen": SCREEN}
    exec(example(r"from pipeline\.client").replace(":8400", f":{gateway.port}"), known)
    assert kept_artifacts(marketplace, review) == [SCREEN]


def test_the_python_interface_submits(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    review = marketplace.review()
    for name, value in marketplace.environment.items():
        monkeypatch.setenv(name, value)
    script = example(r"from pipeline.submit.resume import submit").replace(
        "prc_123", review.process_id
    )
    exec(script, {"payload": review.payload})
    assert capsys.readouterr().out.startswith("True Sent(")
    assert marketplace.state(review.process_id) == "FINISHED"


def shell_of(heading: str) -> str:
    """The shell's lines of one part of the page, but for those that need a server."""
    [part] = re.findall(rf"^## {heading}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    return "\n".join(re.findall(r"^ {4}((?:TOKEN=|\(|mkdir|printf|echo).*)$", part, re.MULTILINE))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not on this machine")
def test_a_token_is_made_as_the_page_says(tmp_path: Path) -> None:
    """The page said that calls need a token, and how to make one stood on the operators' page."""
    script = shell_of("A token") + '\nprintf %s "$TOKEN"'
    done = subprocess.run(["sh", "-ec", script], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / ".env").read_text() == "PRAZO_API_TOKENS_FILE=api.tokens\n"
    file = tmp_path / "api.tokens"
    assert file.stat().st_mode & 0o777 == 0o600
    caller = Tokens(file).by_token(done.stdout)
    assert caller == Caller("shop", frozenset({"collect", "submit", "read"}))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not on this machine")
def test_an_endpoint_checks_what_is_passed_on_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the file of the secret counts from the folder of Prazo
    subprocess.run(["sh", "-ec", shell_of("Hear from the platform")], check=True)
    assert (tmp_path / ".env").read_text() == "PRAZO_FORWARD_FILE=forward.toml\n"
    file = tmp_path / "keys/erp.secret"
    assert file.stat().st_mode & 0o777 == 0o600
    [endpoint] = endpoints.load(tmp_path / "forward.toml")
    assert (endpoint.name, endpoint.secret_file) == ("erp", Path("keys/erp.secret"))
    known: dict[str, Any] = {}
    exec(example("import base64, hashlib"), known)
    secret, body, now = file.read_text().strip(), b'{"type": "seller.enabled"}', instants.now()

    def is_genuine(came: bytes, *secrets: str, sent_at: int = now) -> bool:
        keys = standard_webhooks.secrets_in("\n".join(secrets), None)
        sent = standard_webhooks.signed(keys, b"msg_1", sent_at, body)
        headers = {name.decode(): value.decode() for name, value in sent}
        return bool(known["is_genuine"](headers, came, secret))

    other = "whsec_" + base64.b64encode(b"another secret of 32 bytes, or so").decode()
    assert is_genuine(body, secret)
    assert is_genuine(body, other, secret)  # while it is rotated
    assert not is_genuine(body + b" ", secret)
    assert not is_genuine(body, other)
    assert not is_genuine(body, secret, sent_at=now - 301 * instants.SECOND)


# --- commands, one after the other as a reader would type them --------------------------------

REVIEW = "prc_6a0d71c51ee01834"
"""The process of `data/samples/occurrences.ndjson`."""
NOT_RUN = {
    *("prazo serve", "prazo follow --without-bodies --port 8502"),  # run until they are stopped
    "prazo doctor --platform",  # needs a platform
    "prazo doctor --proxy https://hooks.market.example",  # needs a proxy
    "prazo quarantine --supply 17 payload.object.process_id=prc_9"
    ' --reason "the platform named it" --actor ana',  # needs such an entry
    'prazo quarantine --encoding latin-1 17 --reason "the platform said so" --actor ana',
    "prazo restore --from-ledger",  # needs a broken inbox
    # These need a store (tests/continuity/stores/test_vault.py).
    "prazo backup /mnt/backup/prazo --with-keys --every 24",
    "prazo restore --stored newest --identity backup.key",
    'prazo forget sel_b587ee467986bcfb --reason "his request of 3 May" --actor ana',  # erases them
}

Type = Callable[[str], str]


@pytest.fixture
def type_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Type]:
    """`type_("prazo show watchlist")` in a checkout with the samples alone -> what it prints."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "data/samples", tmp_path / "data/samples")
    mask = os.umask(0)
    os.umask(mask)

    def run(line: str) -> str:
        done = CliRunner().invoke(main, shlex.split(line)[1:], catch_exceptions=False)
        assert done.exit_code == 0 or line == "prazo doctor", f"{line}\n{done.output}"
        return done.output

    yield run
    os.umask(mask)


def typed(page: str) -> list[str]:
    """The commands of a page, in its order, but for those that need more than the samples."""
    return [it for it in pages.commands(ROOT / page) if it not in NOT_RUN]


def test_the_first_hour_of_the_readme(type_: Type, tmp_path: Path) -> None:
    demo, ingest, show, export, verify, doctor = typed("README.md")
    assert demo == "prazo demo"  # tests/release/test_demo.py starts it
    type_(ingest)
    assert REVIEW in type_(show)
    type_(export)
    assert (tmp_path / "review.zip").is_file()
    assert type_(verify).rstrip().splitlines()[-1].startswith("VERIFIED")
    assert "to do: " in type_(doctor)


def test_the_views_of_the_analysts_page(type_: Type, tmp_path: Path) -> None:
    type_("prazo ingest data/samples/occurrences.ndjson")
    watchlist, reasons, late, score, page, denials = typed("docs/analysts.md")
    assert "rows" in type_(watchlist)
    assert type_(reasons).startswith("reason,detail,denials,")
    type_(late)
    assert (tmp_path / "late.xlsx").read_bytes().startswith(b"PK")
    assert "brier" in type_(score).lower()
    type_(page)
    assert "<html" in (tmp_path / "reviews.html").read_text()[:200]
    type_(denials)
    assert (tmp_path / "denials.parquet").read_bytes().startswith(b"PAR1")


@pytest.mark.long
def test_the_commands_of_the_operations_page(type_: Type, tmp_path: Path) -> None:
    """Between backup and restore, all is lost but the backup."""
    samples = tmp_path / "data/samples"
    shutil.copy(samples / "occurrences.ndjson", tmp_path / "history.ndjson")
    events = [json.loads(it.read_bytes()) for it in sorted(samples.glob("*.json"))]
    (tmp_path / "saved.ndjson").write_text("".join(f"{json.dumps(it)}\n" for it in events))
    before: list[str] = []
    for line in typed("docs/operations.md"):
        if line == "prazo restore /mnt/backup/prazo":
            before = type_("prazo show log_entries --format ndjson").splitlines()
            samples.rename(tmp_path / "samples")
            shutil.rmtree(tmp_path / "data")
        type_(line.replace("/mnt/backup", str(tmp_path)).replace("FOLDER", "samples"))
    assert len(before) == 3 + len(events)
    assert type_("prazo show log_entries --format ndjson").splitlines()[: len(before)] == before


def commands(group: click.Group, name: str = "prazo") -> Iterator[str]:
    """The names of a group's commands, as they are typed."""
    for each, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {each}")
        elif not command.hidden:
            yield f"{name} {each}"


def test_each_command_is_named_on_a_page() -> None:
    text = " ".join(page.read_text(encoding="utf-8") for page in pages.PAGES)
    said = re.sub(r"\s+", " ", text)
    unnamed = [it for it in commands(main) if not re.search(rf"{it}(?![\w-])", said)]
    # `prazo alerts` alone does that.
    assert unnamed == ["prazo alerts due"], "say what it is for in README or docs/"


def written() -> Iterator[tuple[str, str]]:
    """(where, command): whatever a page or the product tells a person to type."""
    for page in pages.PAGES:
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"(?m)^    (?:[A-Z_]+=\S+ )*(prazo .*)$", text):
            yield page.name, line.partition(" #")[0]
        for name in re.findall(r"`(?:[A-Z_]+=\S+ )*(prazo [^`]*)`", re.sub(r"\s+", " ", text)):
            yield page.name, name
    for folder in ("pipeline", "app_pages"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = re.sub(r'"\s*\n\s*f?"', "", file.read_text(encoding="utf-8"))
            for name in re.findall(r"`(prazo [^`{\n]*)`", text):
                yield file.name, name
    for name, command in described(main):
        for shown in re.findall(
            r"Example: (?:[A-Z_]+=\S+ )*(prazo .*)", command.help or "", re.DOTALL
        ):
            yield name, shown


def described(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield name, command
        if isinstance(command, click.Group):
            yield from described(command)


def mistyped(command: str) -> str | None:
    """What `prazo` would not know of a command's words; None where it knows them."""
    group: click.Command = main
    words = shlex.split(command.replace("...", ""))[1:]
    while isinstance(group, click.Group) and words:
        if words[0].startswith("-"):
            return None  # of a group's own
        found = group.commands.get(words.pop(0))
        if found is None:
            return f"no such command: {command}"
        group = found
    known = {it for param in group.params for it in (*param.opts, *param.secondary_opts)}
    asked = {it.partition("=")[0] for it in words if re.match(r"--[a-z]", it)}
    unknown = asked - known - {"--help"}
    return f"no such option: {', '.join(unknown)}" if unknown else None


def test_whatever_a_page_or_a_remedy_has_somebody_type_is_a_command_with_these_options() -> None:
    """A remedy that names an option of another release leads nowhere, when it is needed most."""
    said = dict.fromkeys(written())
    assert len(said) > 150
    faults = [f"{where}: {fault}" for where, it in said if (fault := mistyped(it)) is not None]
    assert faults == []
