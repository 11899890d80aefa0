"""Defines every setting, with its default, unit and meaning.

Set them as `PRAZO_*` environment variables or in a `.env` file. A secret is given as the path of a
file, so that it appears in no process list and can be rotated without a restart. Whatever runs goes
on with the settings of its start.
"""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pipeline.errors import SettingsError
from pipeline.hosts import (
    bare,
    forward_proxy,
    is_host,
    is_loopback,
    networks,
    parts_of_url,
    url_in_ascii,
    words,
)
from pipeline.places import (
    HOME,
    PREFIX,
    FilePath,
    FolderPath,
    HeaderName,
    HeadPath,
    InboxPlace,
    LedgerPath,
    Zone,
    named_twice,
    refuse_elsewhere,
    variables,
)
from pipeline.values import misread

Port = Annotated[int, Field(ge=1, le=65535)]
FourEyes = Literal["override", "unmask", "export", "forget"]
"""An act that can need a second person."""
NamesRole = Literal["officer", "auditor", "admin"]
"""A role that may always see names."""
_BASE_URLS = ("platform_url", "keeper_url", "journey_url")
"""URLs to which paths are added. One with a query takes no path: it would belong to the query."""
_PROSE = ("audit_contact", "journey_name")
"""Settings that people read as they stand."""
_WITH_PASSWORDS = ("inbox", "timestamp_url")
"""Settings in whose addresses a password may stand."""


def unknown() -> dict[str, str]:
    """Variable that begins with `PRAZO_` and names no setting -> what to do about it. A misspelt
    name leaves a default in force."""
    import difflib  # nearly every name is right

    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    nearest = {it: difflib.get_close_matches(it, known, 1) for it in variables() if it not in known}
    other = "docs/operations.md lists every setting"
    remedies = {it: f"is it {near[0]}?" if near else other for it, near in sorted(nearest.items())}
    if HOME in remedies:
        remedies[HOME] = "set it in the environment, in capitals: .env lies there"
    return remedies


class Settings(BaseModel):
    """All settings, checked together; `Settings.load` reads them and reports every problem at
    once."""

    model_config = ConfigDict(extra="forbid", validate_default=True)

    # --- where things are kept ---
    inbox: InboxPlace = Field(
        "data/inbox.db", description="SQLite file of the inbox, or a postgresql:// URL."
    )
    ledger: LedgerPath = Field(Path("data/ledger.duckdb"), description="DuckDB file of the ledger.")
    artifacts: FolderPath = Field(
        Path("data/artifacts"), description="Folder of collected artifacts."
    )
    artifacts_in: Literal["folder", "database"] | None = Field(
        None,
        description="folder: `PRAZO_ARTIFACTS`. database: the PostgreSQL inbox. Not set: with the"
        " inbox.",
    )
    signing_key_file: FilePath = Field(
        Path("data/keys/signing.key"), description="Ed25519 key that signs checkpoints."
    )
    head_file: HeadPath | None = Field(
        None,
        description="File of the newest signed head; beside the ledger where it is not set.",
    )
    keeper_url: str | None = Field(
        None,
        description="Where the dashboard that signs listens, if on another machine.",
    )
    timestamp_url: str | None = Field(
        None,
        description="RFC 3161 authority that stamps the checkpoint of every package. It gets the"
        " checkpoint's digest alone; a user and password in the URL go to it alone.",
    )
    timestamp_chain_file: FilePath | None = Field(
        None,
        description="Certificates and revocation lists of that authority, PEM; a copy goes into"
        " every package. Keep the lists up to date.",
    )
    witnesses_file: FilePath | None = Field(
        None,
        description="Policy (C2SP tlog-policy) of the witnesses that cosign the checkpoint of every"
        " package. They get the checkpoint and a proof.",
    )
    audit_contact: str | None = Field(
        None,
        max_length=200,
        description="Whom the reader of a package asks, such as a name and an address.",
    )
    taxpayer_key_file: FilePath = Field(
        Path("data/keys/taxpayer.key"),
        description="Key under which tax ids are compared; made on first use. Keep it apart from"
        " backups of the ledger.",
    )
    backup_to: str | None = Field(
        None,
        description="Where `prazo backup` sends an encrypted copy: a folder, or s3://bucket/path"
        " (docs/operations.md#copies-elsewhere).",
    )
    backup_recipient: str | None = Field(
        None, description="Public key of age, `age1...`, to which it is encrypted."
    )
    backup_keep: str = Field(
        "7,4,12", description="Of how many days, weeks and months the newest such copy is kept."
    )

    # --- receiver ---
    receiver_host: str = Field("127.0.0.1", description="Address the receiver listens on.")
    receiver_port: Port = Field(8400, description="Port the receiver listens on.")
    webhook_auth: Literal["none", "header", "basic", "hmac"] = Field(
        "none",
        description="How deliveries prove that the platform sent them. none: loopback only."
        " header: a secret in a header. basic: user:password. hmac: Standard Webhooks signature.",
    )
    webhook_secret_file: FilePath | None = Field(
        None,
        description="One secret per line, all valid at once; reread.",
    )
    webhook_header: HeaderName = Field(
        "X-Webhook-Secret", description="Header that carries the secret with `header`."
    )
    webhook_tolerance_seconds: float = Field(
        300, gt=0, le=86_400, description="Maximum age of an hmac signature, in seconds."
    )
    max_body_bytes: int = Field(
        1_048_576,
        ge=1024,
        le=67_108_864,
        description="Largest delivery, and largest collection without its artifacts, in bytes.",
    )
    quarantine_status: Annotated[Literal[200, 422], BeforeValidator(int)] = Field(
        200,
        description="Answer to a delivery that cannot be read: 200, or 422.",
    )
    believe_clock: bool = Field(
        False,
        description="Your word, at a start of the receiver, that this machine's clock is right."
        " Take it away again after that start.",
    )
    max_collection_bytes: int = Field(
        33_554_432,
        ge=1024,
        le=1_073_741_824,
        description="Largest multipart collection with its artifacts, in bytes.",
    )
    allow_remote: bool = Field(
        False,
        description="Lets a listener bind an address beyond loopback; needs authentication.",
    )

    # --- dashboard and API ---
    dashboard_host: str = Field("127.0.0.1", description="Address the dashboard listens on.")
    dashboard_port: Port = Field(8501, description="Port the dashboard listens on.")
    api_tokens_file: FilePath | None = Field(
        None,
        description="One `name:scopes:sha256 of the token` per line. May be missing where this"
        " machine alone calls.",
    )
    login: Literal["none", "oidc", "proxy"] = Field(
        "none",
        description="Who may look at the dashboard. none: this machine alone. oidc: people of an"
        " OpenID Connect provider. proxy: people whom a proxy in front has let in.",
    )
    roles_file: FilePath | None = Field(
        None,
        description="One `role:claim:value` per line; roles are officer, analyst, auditor, admin."
        " Reread.",
    )
    oidc_file: FilePath | None = Field(
        None, description="TOML file with Streamlit's `[auth]` section, for `oidc`."
    )
    proxy_addresses: str = Field(
        "127.0.0.1,::1",
        description="Addresses or networks of the trusted proxies, with commas between.",
    )
    proxy_secret_file: FilePath | None = Field(
        None,
        description="Secrets that the proxy sends as `X-Proxy-Secret`, one per line, all valid at"
        " once; reread.",
    )
    proxy_user_header: HeaderName = Field(
        "X-Forwarded-User", description="Header in which the proxy names the person."
    )
    proxy_groups_header: HeaderName = Field(
        "X-Forwarded-Groups",
        description="Header with the person's groups, with commas between: the claim `groups`.",
    )
    session_seconds: float = Field(
        28_800,
        gt=0,
        le=2_592_000,
        description="Seconds until people must log in again, at the latest.",
    )
    unmask_seconds: float = Field(
        900,
        gt=0,
        le=86_400,
        description="Seconds until personal data that a page shows is masked again.",
    )
    show_names_to: str = Field(
        "",
        description="Roles that see sellers' names on lists without a reason, with commas between:"
        " officer, auditor, admin.",
    )
    four_eyes: str = Field(
        "",
        description="Acts that wait for a second person (docs/operations.md#four-eyes), with commas"
        " between: override, unmask, export, forget.",
    )
    four_eyes_hours: float = Field(
        24,
        gt=0,
        le=720,
        description="Hours within which such a request must be approved and the act begun.",
    )
    await_seller_hours: int | None = Field(
        None,
        ge=0,
        le=8760,
        description="Hours that a seller is given after a contact; 72 where it is not set.",
    )
    on_time_target: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Share of reviews to be finished in time, such as 0.95: a line on the page"
        " Trends.",
    )
    alerts_file: FilePath | None = Field(
        None,
        description="TOML file that says what is alarming (docs/alerts.md). Reread.",
    )
    notices_file: FilePath | None = Field(
        None,
        description="TOML file that says how sellers are notified (docs/notices.md). Reread.",
    )
    assign_file: FilePath | None = Field(
        None,
        description="TOML file that says to whom new reviews are assigned"
        " (docs/operations.md#assignment-by-rule). Reread.",
    )
    forward_file: FilePath | None = Field(
        None,
        description="TOML file of the endpoints to which deliveries are passed on"
        " (docs/forwarding.md). Reread.",
    )
    time_zone: Zone = Field(
        "America/Sao_Paulo",
        description="Zone of instants on pages by default, and of a day that a command or the API"
        " is given.",
    )
    log_format: Literal["text", "json"] = Field(
        "text",
        description="Form of the text log (docs/operations.md#text-log).",
    )
    traces_url: str | None = Field(
        None,
        description="Where traces go, by OTLP over HTTP (docs/operations.md#traces). Not set:"
        " nowhere.",
    )

    # --- platform ---
    platform_url: str | None = Field(None, description="Base URL of the platform's API; https.")
    platform_ca_file: FilePath | None = Field(None, description="CA of the platform, if private.")
    client_cert_file: FilePath | None = Field(None, description="Our TLS client certificate, PEM.")
    client_key_file: FilePath | None = Field(
        None, description="Key of the client certificate, PEM."
    )
    platform_auth: Literal["basic", "bearer"] = Field(
        "basic", description="Form of the Authorization header that the platform wants."
    )
    platform_credentials_file: FilePath | None = Field(
        None, description="`user:password` for basic, the token for bearer."
    )
    platform_proxy: str | None = Field(
        None,
        description="Forward proxy to the platform, http://host:port, by CONNECT; a user and"
        " password in the URL go to it alone.",
    )
    platform_proxy_credentials_file: FilePath | None = Field(
        None,
        description="`user:password` of that proxy, instead of in its URL; reread.",
    )
    platform_headers_file: FilePath | None = Field(
        None,
        description="Further headers of each call of the platform, one `name: value` a line;"
        " reread.",
    )
    marketplace_id: str | None = Field(None, description="Our id in the platform's paths.")
    request_timeout_seconds: float = Field(
        60, gt=0, le=600, description="Longest wait for the platform's answer, in seconds."
    )
    evidence_gate: Literal["block", "warn"] = Field(
        "block",
        description="What happens to a payload with a field that the seller did not answer.",
    )
    allow_numeric_revenue: bool = Field(
        False, description="Accept `revenue` as a JSON number, as the contract's samples show it."
    )
    revenue_bands_file: FilePath | None = Field(
        None,
        description="The platform's revenue bands, `<lower>_to_<upper>`, one per line. Not set: any"
        " such band.",
    )

    # --- the seller's page ---
    journey_host: str = Field("127.0.0.1", description="Address the seller's page listens on.")
    journey_port: Port = Field(8600, description="Port the seller's page listens on.")
    journey_url: str | None = Field(
        None,
        description="Public base URL of the seller's page (docs/journey.md), an origin of its own;"
        " https but on loopback. Not set: no links.",
    )
    journey_hours: float = Field(
        72, gt=0, le=720, description="Hours for which a link to the seller's page works."
    )
    journey_idle_minutes: float = Field(
        30,
        gt=0,
        le=1440,
        description="Minutes without a step after which a seller is asked for a code.",
    )
    journey_submit: Literal["auto", "ready"] = Field(
        "ready",
        description="What follows a seller's confirmation. auto: the answers are submitted. ready:"
        " an officer submits them.",
    )
    journey_name: str = Field(
        "Marketplace", min_length=1, max_length=80, description="Your name, as sellers know it."
    )
    journey_logo_file: FilePath | None = Field(
        None, description="Your logo on the seller's page: PNG, JPEG or SVG, at most 30 kB."
    )
    journey_colour: str = Field(
        "#0b5cad",
        pattern=r"^#[0-9a-fA-F]{6}$",
        description="Colour of buttons and links, #rrggbb; dark enough for white text on it.",
    )
    journey_return_urls: str = Field(
        "",
        description="URLs to which a seller may be led back, with commas between; each allows what"
        " begins with it.",
    )
    journey_code_url: str | None = Field(
        None,
        description="Your endpoint that sends a seller the code (docs/journey.md#codes); https but"
        " on loopback.",
    )
    journey_code_secret_file: FilePath | None = Field(
        None, description="Standard Webhooks secrets that sign what goes there, one per line."
    )
    journey_trace: Literal["none", "masked"] = Field(
        "none",
        description="masked: a step's entry has the seller's network (/24 or /48), and the names of"
        " browser and system.",
    )
    journey_browser: FilePath | None = Field(
        None, description="Chromium that takes pictures of the screens, and makes PDFs."
    )

    # --- ledger ---
    ledger_memory: str = Field(
        "2GB", pattern=r"^\d+(\.\d+)?\s?[KMGT]i?B$", description="Most memory DuckDB may use."
    )
    ledger_threads: int = Field(2, ge=1, le=256, description="Threads that DuckDB may use.")

    @field_validator("*", mode="before")
    @classmethod
    def _as_it_was_meant(cls, value: Any, info: ValidationInfo) -> Any:
        name = info.field_name or ""
        annotation = cls.model_fields[name].annotation
        is_place = name == "inbox" or Path in (annotation, *get_args(annotation))
        if isinstance(value, str) and (
            wrong := misread(
                value,
                is_prose=name in _PROSE,
                may_be_secret=name in _WITH_PASSWORDS,
                is_folder=os.path.isdir if is_place else None,
            )
        ):
            raise ValueError(wrong)
        return value

    @field_validator("platform_url")
    @classmethod
    def _https_only(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith("https://"):
            raise ValueError("must start with https://: the platform asks for mutual TLS")
        return url.rstrip("/") if url else url

    @field_validator(
        *("platform_url", "keeper_url", "timestamp_url", "traces_url"),
        *("journey_url", "journey_code_url"),
    )
    @classmethod
    def _readable_url(cls, url: str | None, info: ValidationInfo) -> str | None:
        if not url:
            return None
        url = url_in_ascii(url)
        if "@" in parts_of_url(url).netloc and info.field_name != "timestamp_url":
            raise ValueError("holds credentials: a URL is shown in logs; leave them out")
        if info.field_name in _BASE_URLS and set(url) & set("?# "):
            raise ValueError("holds a ?, a # or a space: paths are put behind it")
        return url

    @field_validator("platform_proxy")
    @classmethod
    def _forward_proxy(cls, url: str | None) -> str | None:
        if not url:
            return None
        forward_proxy(url)
        return url

    @field_validator("journey_url", "journey_code_url")
    @classmethod
    def _https_but_here(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is None or not url:
            return None
        parts = urlsplit(url)
        is_here = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if parts.scheme != "https" and not is_here:
            raise ValueError("must start with https://, or be http:// on loopback")
        if info.field_name == "journey_url" and parts.path.strip("/"):
            raise ValueError("holds a path: no link would lead to the page, which is at the root")
        return url.rstrip("/")

    @field_validator("receiver_host", "dashboard_host", "journey_host")
    @classmethod
    def _address(cls, host: str) -> str:
        if not is_host(bare(host)):
            raise ValueError(
                "is neither an IP address nor a name of a host: one alone is expected,"
                " such as 127.0.0.1 or ::1, without a scheme or a port"
            )
        return bare(host)

    @field_validator("backup_keep")
    @classmethod
    def _kept(cls, text: str) -> str:
        if not re.fullmatch("[0-9]{1,4},[0-9]{1,4},[0-9]{1,4}", text):
            raise ValueError("is not three numbers, of days, weeks and months, such as 7,4,12")
        return text

    @field_validator("four_eyes")
    @classmethod
    def _acts(cls, text: str) -> str:
        if unknown := set(words(text)) - set(get_args(FourEyes)):
            known = ", ".join(get_args(FourEyes))
            raise ValueError(f"{', '.join(sorted(unknown))}: the acts that can wait are {known}")
        return text

    @field_validator("show_names_to")
    @classmethod
    def _roles(cls, text: str) -> str:
        if unknown := set(words(text)) - set(get_args(NamesRole)):
            known = ", ".join(get_args(NamesRole))
            raise ValueError(f"{', '.join(sorted(unknown))}: the roles that can are {known}")
        return text

    @field_validator("proxy_addresses")
    @classmethod
    def _networks(cls, text: str) -> str:
        networks(text)
        return text

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        problems = named_twice(self)
        if self.webhook_auth != "none" and self.webhook_secret_file is None:
            problems.append(
                f"PRAZO_WEBHOOK_AUTH is {self.webhook_auth}: PRAZO_WEBHOOK_SECRET_FILE is missing"
            )
        if self.artifacts_in == "database" and self.has_inbox_file:
            problems.append(
                "PRAZO_ARTIFACTS_IN is database: PRAZO_INBOX must be a postgresql:// URL"
            )
        if self.show_names_to and "unmask" in self.acts_of_two:
            problems.append(
                "PRAZO_SHOW_NAMES_TO shows names without a reason, and PRAZO_FOUR_EYES=unmask asks"
                " a second person first: choose one"
            )
        if (self.backup_to is None) != (self.backup_recipient is None):
            problems.append("PRAZO_BACKUP_TO and PRAZO_BACKUP_RECIPIENT go together")
        for name in ("receiver_host", "dashboard_host", "journey_host"):
            if not is_loopback(host := getattr(self, name)) and not self.allow_remote:
                problems.append(
                    f"PRAZO_{name.upper()} is {host}, which other machines reach: set"
                    " PRAZO_ALLOW_REMOTE=true if that is meant, or listen on 127.0.0.1"
                )
        if self.webhook_auth == "none" and not is_loopback(self.receiver_host):
            problems.append(
                "PRAZO_WEBHOOK_AUTH is none and PRAZO_RECEIVER_HOST is not loopback: anyone could"
                " post deliveries; choose header, basic or hmac"
            )
        for name in ("receiver_host", "dashboard_host"):
            if not is_loopback(getattr(self, name)) and self.api_tokens_file is None:
                problems.append(
                    f"PRAZO_{name.upper()} is not loopback and PRAZO_API_TOKENS_FILE is missing:"
                    " anyone could submit, collect and read"
                )
        if self.login == "none" and not is_loopback(self.dashboard_host):
            problems.append(
                "PRAZO_LOGIN is none and PRAZO_DASHBOARD_HOST is not loopback: anyone could look;"
                " choose oidc or proxy"
            )
        # Behind a proxy on this machine, every caller seems to be on this machine: without tokens,
        # the API would be open to people whom the login keeps out.
        needed = {
            "oidc": ("roles_file", "oidc_file", "api_tokens_file"),
            "proxy": ("roles_file", "proxy_secret_file", "api_tokens_file"),
        }
        problems += [
            f"PRAZO_LOGIN is {self.login}: PRAZO_{name.upper()} is missing"
            for name in needed.get(self.login, ())
            if getattr(self, name) is None
        ]
        if (self.journey_code_url is None) != (self.journey_code_secret_file is None):
            problems.append("PRAZO_JOURNEY_CODE_URL and PRAZO_JOURNEY_CODE_SECRET_FILE go together")
        if (self.client_cert_file is None) != (self.client_key_file is None):
            problems.append("PRAZO_CLIENT_CERT_FILE and PRAZO_CLIENT_KEY_FILE go together")
        if self.platform_proxy_credentials_file is not None and (
            self.platform_proxy is None or "@" in self.platform_proxy
        ):
            problems.append(
                "PRAZO_PLATFORM_PROXY_CREDENTIALS_FILE goes with a PRAZO_PLATFORM_PROXY that holds"
                " no user and password"
            )
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which days are meant and instants shown, unless a reader chose another."""
        return ZoneInfo(self.time_zone)

    @property
    def marketplace(self) -> str | None:
        """The name of ours, where it was set."""
        return self.journey_name if "journey_name" in self.model_fields_set else None

    @property
    def has_inbox_file(self) -> bool:
        """Whether the inbox is a file of this machine, not a database that others reach as well."""
        return "://" not in self.inbox

    @property
    def acts_of_two(self) -> frozenset[FourEyes]:
        """The acts that wait for a second person."""
        return frozenset(it for it in get_args(FourEyes) if it in words(self.four_eyes))

    @property
    def roles_shown_names(self) -> frozenset[str]:
        """The roles that see sellers' names without a reason."""
        return frozenset(words(self.show_names_to))

    @property
    def expects_strangers(self) -> bool:
        """Whether requests from beyond this machine are expected, since something is authenticated
        or can be reached from other machines. Their headers and address may not show it."""
        return (
            self.webhook_auth != "none"
            or self.login != "none"
            or self.allow_remote
            or not (is_loopback(self.receiver_host) and is_loopback(self.dashboard_host))
        )

    @classmethod
    def load(cls, **overrides: Any) -> "Settings":
        """The settings of the environment, with overrides; an override that is None is ignored.

        Raises `SettingsError`, which names every fault.
        """
        try:
            refuse_elsewhere()
            given = {name.removeprefix(PREFIX).lower(): it for name, it in variables().items()}
            known = {name: it for name, it in given.items() if name in cls.model_fields}
            said = [*known.items(), *overrides.items()]
            return cls(**{name: it for name, it in said if it is not None})
        except ValidationError as error:
            faults = [
                f"{'PRAZO_' + str(fault['loc'][0]).upper() + ': ' if fault['loc'] else ''}"
                f"{fault['msg'].removeprefix('Value error, ')}"
                for fault in error.errors()
            ]
        except ValueError as error:
            faults = [str(error)]
        # Raised here, not in the block: pydantic's error would stay in memory with its frames.
        raise SettingsError(
            "The settings cannot be used",
            "; ".join(faults),
            "correct the PRAZO_* variables or the .env file; `prazo doctor` checks them",
        )
