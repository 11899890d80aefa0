"""Names variables of other programs that change, or seem to change, how hosts are spoken to."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pipeline import places
from pipeline.cli import homes
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.settings import Settings

_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_OF_LIBRARIES: Final = ("NETRC", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_OF_OPENSSL: Final = ("OPENSSL_CONF", "OPENSSL_MODULES")
_OTHERS: Final = "Apprise and the login by oidc alone, which are not ours, do"
"""Of the messages that `apprise_file` sends, and of the calls to the provider of logins."""


def environment(settings: Settings) -> Iterator[Diagnosis]:
    """Each such variable that is set, and what becomes of it. No value is shown but a path."""
    if named := _set(*_PROXIES):
        yield _proxies(named, settings)
    if named := _set(*_OF_LIBRARIES):
        yield Diagnosis("environment", "ok", f"Prazo does not go by {named}; {_OTHERS}")
    if named := _set(*_OF_OPENSSL):
        kept = "versions, ciphers, options and checks of TLS stay as Prazo sets them"
        yield Diagnosis("environment", "ok", f"OpenSSL reads {named}; {kept}")
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if path := os.environ.get(name):
            yield _authorities(name, path)
    yield from _streamlit()
    if places.left_out:
        names = ", ".join(sorted(places.left_out))
        yield Diagnosis(
            "environment",
            "warning",
            f"{names} is set, and left out: Prazo writes down no keys of its connections",
            f"unset {names}: programs beside Prazo may heed it",
        )


def _streamlit() -> Iterator[Diagnosis]:
    """Whether the dashboard finds a home, and may read what Streamlit reads there at its start."""
    home, here = homes.home(), Path.cwd()
    if home is None:
        found = f"this user has no home that can be looked into: the dashboard is given {here}"
        yield Diagnosis("environment", "ok", found)
    for folder in dict.fromkeys((home or here, here)):
        file = folder / ".streamlit" / "config.toml"
        if os.access(file, os.F_OK) and not os.access(file, os.R_OK):
            yield Diagnosis(
                "environment",
                "fault",
                f"Streamlit reads {file}, and this user may not: the dashboard does not start",
                "let the user who runs Prazo read it, or give that user a HOME of its own",
            )


def _set(*names: str) -> str:
    """Those of the names that are set, in either case, with commas between."""
    found = {it for it in names if os.environ.get(it) or os.environ.get(it.lower())}
    return ", ".join(it for it in names if it in found)


def _proxies(named: str, settings: Settings) -> Diagnosis:
    found = f"Prazo does not go by {named}; {_OTHERS}"
    if settings.platform_url is None or settings.platform_proxy is not None:
        return Diagnosis("environment", "ok", found)
    return Diagnosis(
        "environment",
        "warning",
        f"{found}. The platform is asked straight",
        "set PRAZO_PLATFORM_PROXY where it is reached by that proxy alone; else nothing is to do",
    )


def _authorities(name: str, path: str) -> Diagnosis:
    is_there = Path(path).is_file() if name == "SSL_CERT_FILE" else Path(path).is_dir()
    if not is_there:
        return Diagnosis(
            "environment",
            "fault",
            f"{name} names {path}, which is not there: no authority of this machine is believed",
            f"unset {name}, or let it name what holds them",
        )
    found = f"{name} is set: where no setting names a file of authorities, those of {path} count"
    return Diagnosis("environment", "ok", found)
