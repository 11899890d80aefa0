"""Every TLS context of ours is the same under each Python, and takes nothing of the environment."""

import ast
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import trustme

from pipeline.errors import SettingsError
from pipeline.http.outgoing import contexts

ROOT = Path(__file__).parents[2]
OTHERS = [
    *(shutil.which(f"python3.{minor}") for minor in (11, 12, 13, 14)),
    *map(str, Path.home().glob(".pyenv/versions/3.1[1-4].*/bin/python")),
]
SHOWN = """
import json, ssl, sys
from pipeline.http.outgoing import contexts
it = contexts.trusting(None)
print(json.dumps({
    "options": int(it.options), "verification": int(it.verify_flags), "keys": it.keylog_filename,
    "version": int(it.minimum_version), "names": it.check_hostname, "mode": int(it.verify_mode),
    "ciphers": [each["name"] for each in it.get_ciphers()],
}))
"""


def has_ssl(python: str) -> bool:
    return subprocess.run([python, "-c", "import ssl"], check=False).returncode == 0


def pythons() -> list[str]:
    """One of each version that is here, this one first; by their names, since each worker asks."""
    found = {sys.version_info[1]: sys.executable}
    for other in filter(None, OTHERS):
        found.setdefault(int(re.findall(r"3\.(\d+)", other)[-1]), other)
    return list(found.values())


def shown_by(python: str, folder: Path) -> dict[str, object]:
    environment = {**os.environ, "SSLKEYLOGFILE": str(folder / "keys.log"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, "-c", SHOWN], env=environment, capture_output=True, text=True, check=True
    )
    shown: dict[str, object] = json.loads(done.stdout)
    return shown


@pytest.mark.parametrize("python", pythons())
def test_a_context_is_the_same_under_each_python(python: str, tmp_path: Path) -> None:
    """3.13 refused a private authority that 3.12 took, `VERIFY_X509_STRICT` being its default; and
    where `SSLKEYLOGFILE` was set, anyone who reads that file could decrypt what we send."""
    if not has_ssl(python):
        pytest.skip(f"{python} has no ssl")
    shown = shown_by(python, tmp_path)
    ciphers = shown.pop("ciphers")
    assert shown == {
        "options": 0x80000050  # OP_ALL
        | 0x02000000  # OP_NO_SSLv3
        | 0x00400000  # OP_CIPHER_SERVER_PREFERENCE
        | 0x00100000  # OP_ENABLE_MIDDLEBOX_COMPAT
        | 0x00020000  # OP_NO_COMPRESSION
        | 0x00004000  # OP_NO_TICKET
        | 0x00000080,  # OP_IGNORE_UNEXPECTED_EOF
        "verification": 0x8000 | 0x80000,  # trusted first, partial chain
        "keys": None,
        "version": 0x0303,  # TLS 1.2
        "names": True,
        "mode": 2,  # CERT_REQUIRED
    }
    assert isinstance(ciphers, list)
    assert "ECDHE-RSA-AES256-GCM-SHA384" in ciphers
    assert not [it for it in ciphers if "SHA1" in it or "RC4" in it or it.startswith("AES")]
    assert not (tmp_path / "keys.log").exists()


def test_no_other_module_makes_one() -> None:
    """A context, or a client of HTTP that makes its own, is made by `contexts` alone. What asks the
    platform has a client of its own in `clients`, which is given its context."""
    wrong = []
    for path in sorted([*ROOT.glob("pipeline/**/*.py"), *ROOT.glob("app_pages/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func).rpartition(".")[2]
            given = {it.arg for it in node.keywords}
            makes = called in ("create_default_context", "SSLContext", "_create_unverified_context")
            if makes and path.name != "contexts.py":
                wrong.append(f"{path.name}: {ast.unparse(node.func)}")
            if called in ("AsyncHTTPTransport", "HTTPTransport") and "verify" not in given:
                wrong.append(f"{path.name}: {called} without verify")
            client = called in ("Client", "AsyncClient") and "httpx" in ast.unparse(node.func)
            if client and not {"trust_env"} <= given & {"trust_env"}:
                wrong.append(f"{path.name}: {called} that heeds the environment")
            if client and not given & {"verify", "transport"}:
                wrong.append(f"{path.name}: {called} with a context of its own")
    assert wrong == []


def test_an_authority_is_taken_that_lacks_what_rfc_5280_asks_for(tmp_path: Path) -> None:
    """A private authority that is made by hand may lack a key identifier, for which Python 3.13
    refuses it by default."""
    assert not contexts.VERIFICATION & ssl.VerifyFlags.VERIFY_X509_STRICT
    authority = tmp_path / "ca.pem"
    authority.write_bytes(trustme.CA().cert_pem.bytes())
    assert len(contexts.trusting(authority).get_ca_certs()) == 1


TWO = trustme.CA().cert_pem.bytes(), trustme.CA().cert_pem.bytes()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b"  \n", "it is empty"),
        (b"-----BEGIN ", "it is not whole: it ends within a certificate"),
        (TWO[0][:200], "it is not whole: it ends within a certificate"),
        (TWO[0] + TWO[1][:9], "it is not whole: it ends within a certificate"),
        (TWO[0] + TWO[1][:-20], "it is not whole: it ends within a certificate"),
        (TWO[0].replace(TWO[0][100:164], b""), "it holds a damaged certificate"),
        (b"\x30\x82\x01\x01\x30", "it is not in PEM"),
        (b"hello\n", "it is not in PEM"),
    ],
)
def test_half_a_file_of_authorities_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    """OpenSSL took one that was cut off between two certificates for the first of them alone, and
    said "no certificate or crl found" of an empty one."""
    path = tmp_path / "ca.pem"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as refused:
        contexts.trusting(path)
    assert refused.value.what == f"The file {path} cannot be used"
    assert refused.value.why == why
    assert "certificates of authorities, in PEM" in refused.value.remedy
