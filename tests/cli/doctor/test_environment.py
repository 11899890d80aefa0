"""What variables of other programs do, or do not, is said where one is set."""

import os
import re
from pathlib import Path

import pytest

from pipeline import places
from pipeline.cli.doctor import examine
from pipeline.cli.doctor.environment import environment
from tests.support.commands import run
from tests.support.marketplace import Marketplace


@pytest.fixture(autouse=True)
def none_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if re.search(r"(?i)_PROXY$|^SSL|BUNDLE$|^NETRC$|^OPENSSL", name):
            monkeypatch.delenv(name)
    monkeypatch.setattr(places, "left_out", set())


def said(marketplace: Marketplace, **changes: object) -> list[tuple[str, str]]:
    found = environment(marketplace.settings(**changes))
    return [(it.verdict, it.found) for it in found]


def test_nothing_is_said_where_nothing_is_set(marketplace: Marketplace) -> None:
    assert said(marketplace) == []


def test_a_proxy_of_the_environment_is_said_to_have_no_effect(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was ignored without a word, and submissions failed behind a firewall where curl's did
    not. The value, which may hold a password, is not shown."""
    monkeypatch.setenv("https_proxy", "http://market:s3cret@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "*")
    [(verdict, found)] = said(marketplace)
    assert verdict == "warning"
    assert found.startswith("Prazo does not go by HTTPS_PROXY, NO_PROXY; ")
    assert "s3cret" not in found
    [(verdict, _)] = said(marketplace, platform_proxy="http://proxy.example:3128")
    assert verdict == "ok"
    every = [it for it in examine(marketplace.settings()) if it.check == "environment"]
    assert len(every) == 1


def test_what_streamlit_reads_at_its_start_has_to_be_readable(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The dashboard ended with a traceback of another program."""
    monkeypatch.setenv("HOME", str(tmp_path))
    config = tmp_path / ".streamlit" / "config.toml"
    config.parent.mkdir()
    config.touch()
    assert said(marketplace) == []
    is_let = os.access
    monkeypatch.setattr(
        os, "access", lambda at, how: is_let(at, how) and (at != config or how != os.R_OK)
    )
    [(verdict, found)] = said(marketplace)
    assert verdict == "fault"
    assert found.startswith(f"Streamlit reads {config}, and this user may not")
    monkeypatch.setattr(os, "access", lambda at, how: is_let(at, how) and at != tmp_path)
    [(verdict, found)] = said(marketplace)
    assert verdict == "ok"
    assert found.endswith(f"the dashboard is given {Path.cwd()}")


def test_authorities_that_are_not_there_are_a_fault(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Then nobody is believed, and each handshake failed without a reason."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    (first, why), (second, used) = said(marketplace)
    assert (first, second) == ("fault", "ok")
    assert why.startswith(f"SSL_CERT_FILE names {tmp_path / 'none.pem'}, which is not there")
    assert used.endswith(f"those of {tmp_path} count")


def test_a_log_of_keys_is_left_out_for_libraries_too(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """Anyone who reads that file can decrypt what was sent, credentials and payloads among it."""
    log = tmp_path / "keys.log"
    done = run(marketplace, "doctor", "--platform", SSLKEYLOGFILE=str(log))
    assert "SSLKEYLOGFILE is set, and left out" in done.out + done.err
    assert not log.exists()


def test_what_openssl_reads_is_named(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENSSL_CONF", "/etc/ssl/other.cnf")
    monkeypatch.setenv("NETRC", "/home/ana/.netrc")
    assert [it for _, it in said(marketplace)] == [
        "Prazo does not go by NETRC; Apprise and the login by oidc alone, which are not ours, do",
        "OpenSSL reads OPENSSL_CONF; versions, ciphers, options and checks of TLS stay as Prazo"
        " sets them",
    ]
