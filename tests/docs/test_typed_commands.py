"""Every command that the product or its pages print can be typed: programs are run here, with paths
that hold blanks and quotes, and `prazo` is asked whether it knows each of its own.

What is found is found by reading the sources, so that a new command cannot be left out.
"""

import ast
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from pipeline.cli import main
from pipeline.cli.doctor.stores import owners_alone
from pipeline.http.outgoing import contexts, pem
from pipeline.texts import shell, typed
from tests.docs import pages
from tests.docs.pages import ROOT

SOURCES = sorted([*ROOT.glob("pipeline/**/*.py"), *ROOT.glob("app_pages/**/*.py"), ROOT / "app.py"])
ODD = 'Ana\'s "own" $folder'
OPENSSL = shutil.which("openssl")
NEEDS_OPENSSL = pytest.mark.skipif(OPENSSL is None, reason="openssl is not on this machine")
RUN_HERE = {
    "chmod 600",
    "openssl pkcs12 -legacy -in",
    "openssl pkey -in",
    # The tool that reads DER is chosen by what is wanted.
    "openssl",
    "jq -c",  # by tests/cli/test_ingest_and_show.py
}
"""How the programs begin that somebody should type, beside `prazo`. Each is run below, but for
those that a test beside their own part runs."""


def strings(tree: ast.AST) -> Iterator[str]:
    """The texts of a module, its docstrings too; a value within a text is `{}`."""
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
        ):
            yield node.value


def built() -> Iterator[list[str]]:
    """The words of each command that the product builds, by `typed` or `shell`; `{}`: a value."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("typed", "shell"):
                words = [
                    str(each.value) if isinstance(each, ast.Constant) else "{}"
                    for each in node.args
                ]
                if words != ["{}"]:  # the one calls the other
                    yield words


def test_no_command_is_put_together_without_quoting_what_it_holds() -> None:
    """`prazo export` printed one that broke at a blank in a file's name."""
    wrong = [
        f"{path.name}: {found}"
        for path in SOURCES
        for text in strings(ast.parse(path.read_text(encoding="utf-8")))
        for found in re.findall(r"(?:`|  )((?:prazo|openssl|chmod|curl) [^`\n]*\{\}[^`\n]*)", text)
        if path.name != "first_steps.py"  # tested with each way to prove a delivery
        and found != "prazo {}"  # a command's own name
        and not found.startswith('curl -H "Authorization')  # the demo's: tests/cli/test_demo.py
    ]
    assert wrong == [], "build it by `typed` of pipeline/texts.py"


def test_every_other_program_that_somebody_should_type_is_run_here() -> None:
    begun = {
        " ".join(words[: words.index("{}")] if "{}" in words else words)
        for words in built()
        if words[0] != "prazo"
    }
    assert begun == RUN_HERE, "run it below, with odd paths, and name it in RUN_HERE"


def said_of_prazo() -> set[str]:
    """Each `prazo ...` in backticks of a source or a page, and those that are built."""
    found = {shell(*words) for words in built() if words[0] == "prazo"}
    texts = [
        *(it for path in SOURCES for it in strings(ast.parse(path.read_text(encoding="utf-8")))),
        *(page.read_text(encoding="utf-8") for page in pages.PAGES),
        *((ROOT / "pipeline/language/locale/pt_BR.po").read_text(encoding="utf-8"),),
    ]
    for text in texts:
        for quoted in re.findall(r"`(prazo [^`]+)`", text):
            found.add(re.sub(r"\s+", " ", quoted.replace('"\n"', " ")))
        for example in re.findall(r"Example: (?:[A-Z_]+=\S+ )*(prazo [^\n]+)", text):
            found.add(example)
    for page in pages.PAGES:
        found.update(pages.commands(page))
    return found


def test_prazo_knows_each_command_and_option_that_somebody_should_type() -> None:
    unknown = {it: why for it in sorted(said_of_prazo()) if (why := unknown_in(it)) is not None}
    assert unknown == {}


def unknown_in(line: str) -> str | None:
    """What of a line `prazo` does not know; None where it knows all."""
    try:
        words = shlex.split(line.replace("...", ""))[1:]
    except ValueError as error:
        return str(error)
    command: click.Command = main
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        child = command.commands.get(words[0])
        if child is None:
            is_name = words[0].isupper() or words[0] == "{}"
            return None if is_name or command is not main else f"no command {words[0]}"
        command, words = child, words[1:]
    known = {name for it in command.params for name in (*it.opts, *it.secondary_opts)}
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("-") and option not in known | {"--help", "-h", "-"}:
            return f"no option {option} of {command.name}"
    return None


# --- programs, run as they are printed ----------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / ODD
    made.mkdir()
    return made


def commands_in(text: str) -> list[str]:
    return re.findall(r"`((?:openssl|chmod) [^`]+)`", text)


def run(command: str, given: str = "") -> None:
    """As a person types it; a password comes from standard input where there is no terminal."""
    done = subprocess.run(
        ["sh", "-ec", command],
        input=given,
        text=True,
        capture_output=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"


Issued = tuple[bytes, bytes]


@pytest.fixture
def issued() -> Issued:
    """A certificate and its key, in PEM."""
    ours = trustme.CA().issue_cert("market.example")
    return ours.cert_chain_pems[0].bytes(), ours.private_key_pem.bytes()


def test_the_mode_of_a_secret_is_set_as_doctor_says(folder: Path) -> None:
    secret = folder / "a secret"
    secret.touch(0o644)
    secret.chmod(0o644)
    run(owners_alone(secret).remedy)
    assert owners_alone(secret).verdict == "ok"


@NEEDS_OPENSSL
@pytest.mark.parametrize("ciphers", [["-legacy"], []], ids=["RC2 and Triple-DES", "AES"])
def test_a_pfx_is_written_as_pem_as_doctor_says(
    folder: Path, issued: Issued, ciphers: list[str]
) -> None:
    """`openssl pkcs12 -nodes`, which was the remedy, fails on what Brazilian authorities issue: it
    does not read RC2 without `-legacy`, and leaves an empty file."""
    for name, content in zip(("our.pem", "our.key"), issued, strict=True):
        (folder / name).write_bytes(content)
    pfx = folder / "our certificate.p12"
    files = ("-in", folder / "our.pem", "-inkey", folder / "our.key", "-out", pfx)
    run(shell("openssl", "pkcs12", "-export", *ciphers, *files, "-passout", "pass:s3cret"))
    made = {}
    for wanted in ("CERTIFICATE", "PRIVATE KEY"):
        flaw = pem.flaw_of(pfx, pfx.read_bytes(), wanted)  # type: ignore[arg-type]
        assert flaw is not None
        assert flaw.why == "is not in PEM"
        [command] = commands_in(flaw.remedy)
        run(command, "s3cret\n")
        made[wanted] = Path(shlex.split(command)[-1])
    assert len(set(made.values())) == 2
    pem.load_pair(contexts.bare(), made["CERTIFICATE"], made["PRIVATE KEY"])
    assert made["PRIVATE KEY"].stat().st_mode & 0o077 == 0
    empty = folder / "empty.pem"
    empty.touch()
    flaw = pem.flaw_of(empty, b"", "CERTIFICATE")
    assert flaw is not None
    [again] = commands_in(flaw.remedy)
    run(again.replace("FILE.p12", shlex.quote(str(pfx))), "s3cret\n")
    assert b"BEGIN CERTIFICATE" in empty.read_bytes()


@NEEDS_OPENSSL
def test_der_is_written_as_pem_as_doctor_says(folder: Path, issued: Issued) -> None:
    certificate, key = folder / "our.cer", folder / "our.key"
    certificate.write_bytes(x509.load_pem_x509_certificate(issued[0]).public_bytes(Encoding.DER))
    run(
        shell("openssl", "pkey", "-in", "/dev/stdin", "-outform", "DER", "-out", key),
        issued[1].decode(),
    )
    made = []
    for path, wanted in ((certificate, "CERTIFICATE"), (key, "PRIVATE KEY")):
        flaw = pem.flaw_of(path, path.read_bytes(), wanted)  # type: ignore[arg-type]
        assert flaw is not None
        [command] = commands_in(flaw.remedy)
        run(command)
        made.append(Path(shlex.split(command)[-1]))
    pem.load_pair(contexts.bare(), *made)


@NEEDS_OPENSSL
def test_a_key_is_decrypted_as_doctor_says(folder: Path, issued: Issued) -> None:
    certificate, key = folder / "our.pem", folder / "our.key"
    certificate.write_bytes(issued[0])
    locked = BestAvailableEncryption(b"s3cret")
    key.write_bytes(
        load_pem_private_key(issued[1], None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, locked
        )
    )
    with pytest.raises(Exception, match="is encrypted") as refused:
        pem.load_pair(contexts.bare(), certificate, key)
    [command] = commands_in(str(refused.value))
    run(command, "s3cret\n")
    opened = Path(shlex.split(command)[-1])
    pem.load_pair(contexts.bare(), certificate, opened)
    assert opened.stat().st_mode & 0o077 == 0


def test_a_built_command_gives_back_its_words() -> None:
    words = ("prazo", "verify", ODD, "x`y", "", "key+AQ==")
    assert shlex.split(shell(*words)) == list(words)
    assert typed("prazo", "doctor") == "`prazo doctor`"
