"""Checks an installation: settings, keys, disk, clock, inbox, ledger; each with a remedy."""

import difflib
import os
import shutil
import stat
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import httpx
from cryptography import x509

from pipeline import holder, instants
from pipeline.errors import InboxMissing, LedgerInUse, PrazoError
from pipeline.inbox import open_inbox
from pipeline.platform import faults as platform_faults
from pipeline.roles import RoleMap
from pipeline.service import LedgerService
from pipeline.settings import Settings
from pipeline.tokens import Tokens

FREE_BYTES: Final = 2**30
CLOCK_TOLERANCE_SECONDS: Final = 5
_OIDC_NEEDS: Final = (
    "redirect_uri",
    "cookie_secret",
    "client_id",
    "client_secret",
    "server_metadata_url",
)
EXPIRY_DAYS: Final = 30
"""A certificate that ends sooner is worth a warning: issuing one takes weeks in some places."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one check found, and what to do where it is not well."""

    check: str
    verdict: Literal["ok", "warning", "fault"]
    found: str
    remedy: str = ""


def examine(settings: Settings) -> Iterator[Diagnosis]:
    """Every check in turn; one that cannot be made is a fault of its own, never an exception."""
    for name, check in _CHECKS:
        try:
            yield from check(settings)
        except PrazoError as error:
            found = f"{error.what}: {error.why}" if error.why else error.what
            yield Diagnosis(name, "fault", found, error.remedy)


def _names(settings: Settings) -> Iterator[Diagnosis]:
    """A setting under a misspelt name is none, and its default holds without a word."""
    known = [f"PRAZO_{name.upper()}" for name in type(settings).model_fields]
    for name in sorted(os.environ):
        if name.startswith("PRAZO_") and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            remedy = f"is it {near[0]}?" if near else "the README lists every setting"
            yield Diagnosis("settings", "warning", f"there is no setting {name}", remedy)


def _authenticity(settings: Settings) -> Iterator[Diagnosis]:
    if settings.webhook_auth == "none":
        yield Diagnosis(
            "deliveries",
            "warning",
            "deliveries are not authenticated; only this machine can post them",
            "set PRAZO_WEBHOOK_AUTH and PRAZO_WEBHOOK_SECRET_FILE before real use",
        )
    else:
        yield Diagnosis("deliveries", "ok", f"authenticated by {settings.webhook_auth}")


def _tokens(settings: Settings) -> Iterator[Diagnosis]:
    Tokens(settings.api_tokens_file)
    if settings.api_tokens_file is None:
        yield Diagnosis("API", "ok", "no tokens: open to this machine, closed to every other")
    else:
        yield Diagnosis("API", "ok", f"tokens of {settings.api_tokens_file}")


def _login(settings: Settings) -> Iterator[Diagnosis]:
    if settings.login == "none":
        yield Diagnosis("login", "ok", "nobody logs in: the dashboard serves this machine alone")
        return
    if settings.roles_file is not None:
        RoleMap(settings.roles_file)
        yield Diagnosis("login", "ok", f"by {settings.login}; roles of {settings.roles_file}")
    if settings.login == "oidc" and settings.oidc_file is not None:
        yield from _oidc(settings.oidc_file)


def _oidc(path: Path) -> Iterator[Diagnosis]:
    """Whether the file has what Streamlit needs to send people to their provider."""
    try:
        section = tomllib.loads(path.read_text(encoding="utf-8")).get("auth", {})
    except (OSError, ValueError) as error:
        yield Diagnosis("login", "fault", f"{path}: {error}", "write it as TOML")
        return
    missing = [name for name in _OIDC_NEEDS if not section.get(name)]
    if missing:
        remedy = "add it to the [auth] section, as the README shows"
        yield Diagnosis("login", "fault", f"{path} lacks {', '.join(missing)}", remedy)


def _secrets(settings: Settings) -> Iterator[Diagnosis]:
    for path in (
        settings.webhook_secret_file,
        settings.taxpayer_key_file,
        settings.signing_key_file,
        settings.platform_credentials_file,
        settings.client_key_file,
        settings.oidc_file,
        settings.proxy_secret_file,
        settings.ledger,
        None if "://" in settings.inbox else Path(settings.inbox),
    ):
        if path is None or not path.exists():
            continue
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield Diagnosis(
                "secrets", "fault", f"{path} can be read by others", f"chmod 600 {path}"
            )
        else:
            yield Diagnosis("secrets", "ok", f"{path} is its owner's alone")


def _platform(settings: Settings) -> Iterator[Diagnosis]:
    """The way to the platform, as far as files tell; nothing is sent."""
    if settings.platform_url is None:
        yield Diagnosis("platform", "ok", "not set up: reviews can be watched but not submitted")
        return
    for fault in platform_faults(settings):
        yield Diagnosis(
            "platform", "fault", fault.what + (f": {fault.why}" if fault.why else ""), fault.remedy
        )
    named = [("client certificate", settings.client_cert_file)]
    if settings.platform_ca_file is not None:
        named.append(("platform's CA", settings.platform_ca_file))
    for name, path in named:
        if path is not None and path.exists():
            yield _expiry(name, path)
    if settings.platform_ca_file is None:
        yield Diagnosis("platform", "ok", "the system's authorities vouch for the platform")


def _expiry(name: str, path: Path) -> Diagnosis:
    """Of the certificate in a chain that ends first."""
    try:
        chain = x509.load_pem_x509_certificates(path.read_bytes())
        ends_at = min(instants.from_datetime(it.not_valid_after_utc) for it in chain)
    except (OSError, ValueError) as error:
        return Diagnosis("certificates", "fault", f"{path}: {error}", "write it as PEM")
    days = (ends_at - instants.now()) // instants.DAY
    found = f"the {name} {path} ends {instants.readable(ends_at)}"
    if days < 0:
        return Diagnosis(
            "certificates", "fault", found, "the handshake fails: put a new one in its place now"
        )
    if days < EXPIRY_DAYS:
        return Diagnosis(
            "certificates", "warning", f"{found}, in {days} days", "order its successor"
        )
    return Diagnosis("certificates", "ok", f"{found}, in {days} days")


def _disk(settings: Settings) -> Iterator[Diagnosis]:
    places = [settings.ledger.parent, settings.artifacts]
    if "://" not in settings.inbox:
        places.append(Path(settings.inbox).parent)
    for place in dict.fromkeys(_existing(it) for it in places):
        free = shutil.disk_usage(place).free
        if free < FREE_BYTES:
            yield Diagnosis(
                "disk",
                "fault",
                f"{free / 2**20:,.0f} MiB free at {place}",
                "make room: when the inbox cannot be written, deliveries are answered 503",
            )
        else:
            yield Diagnosis("disk", "ok", f"{free / 2**30:,.1f} GiB free at {place}")


def _existing(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path.resolve()


def _inbox(settings: Settings) -> Iterator[Diagnosis]:
    try:
        inbox = open_inbox(settings.inbox, create=False)
    except InboxMissing as missing:
        yield Diagnosis("inbox", "warning", missing.what, "`prazo serve` makes it when it starts")
        return
    try:
        inbox.probe()
        last_seq, recorded_at = inbox.last()
        yield Diagnosis("inbox", "ok", f"can be written; its last entry is {last_seq}")
        ahead = (recorded_at - instants.now()) / instants.SECOND
        if ahead > CLOCK_TOLERANCE_SECONDS:
            yield Diagnosis(
                "clock",
                "fault",
                f"the clock is {ahead:,.0f} s behind the newest entry",
                "set the clock (NTP); entries keep the later time until it has caught up",
            )
        else:
            yield Diagnosis("clock", "ok", f"{instants.readable(instants.now())}")
    finally:
        inbox.close()


def _ledger(settings: Settings) -> Iterator[Diagnosis]:
    try:
        service = LedgerService(settings, may_create=False)
    except LedgerInUse:
        yield _held(settings)
        return
    except InboxMissing:
        yield Diagnosis("ledger", "warning", "there is no inbox to follow yet")
        return
    try:
        service.catch_up()
        status = service.status()
        if status.healed:
            yield Diagnosis("ledger", "warning", status.healed)
        yield Diagnosis("ledger", "ok", f"{status.last_seq} entries, up to the inbox's last")
    finally:
        service.close()


def _held(settings: Settings) -> Diagnosis:
    held = holder.find(settings.ledger)
    if held is not None:
        try:
            status = httpx.get(
                f"{held.url}/api/status",
                headers={"Authorization": f"Bearer {held.token}"},
                trust_env=False,
            ).json()
        except (httpx.HTTPError, ValueError):
            status = {}
        if status.get("problem"):
            return Diagnosis("ledger", "fault", status["problem"])
        if "last_seq" in status:
            behind = status["inbox_seq"] - status["last_seq"]
            return Diagnosis("ledger", "ok", f"held by {held.url}, {behind} entries behind")
    return Diagnosis(
        "ledger",
        "fault",
        "another process holds it and does not answer",
        "look for a running `prazo dashboard` or `prazo follow`, and stop it if it hangs",
    )


_CHECKS: Final[tuple[tuple[str, Callable[[Settings], Iterator[Diagnosis]]], ...]] = (
    ("settings", _names),
    ("deliveries", _authenticity),
    ("API", _tokens),
    ("login", _login),
    ("secrets", _secrets),
    ("platform", _platform),
    ("disk", _disk),
    ("inbox", _inbox),
    ("ledger", _ledger),
)
