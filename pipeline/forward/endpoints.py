"""Reads the file of endpoints: who gets which deliveries, and with which secret they are signed."""

import re
import ssl
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from pipeline import settings_files
from pipeline.errors import SettingsError
from pipeline.files.reread import RereadFile
from pipeline.http.outgoing.contexts import trusting
from pipeline.http.standard_webhooks import MAX_SIGNATURES, secrets_in

MAX_ENDPOINTS: Final = 32
EVERYTHING: Final = "*"

_WHAT: Final = "The endpoints"
_PAGE: Final = "docs/forwarding.md"
_PATTERN: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}\*?|\*")


def _secret_file(path: Path) -> Path:
    try:
        secrets = secrets_of(path).get()
    except SettingsError as error:
        raise ValueError(f"{error.what}: {error.why}") from None
    if len(secrets) > MAX_SIGNATURES:
        raise ValueError(f"{path} has more than {MAX_SIGNATURES} secrets")
    return path


def _ca_file(path: Path | None) -> Path | None:
    try:
        trust_of(path)
    except SettingsError as error:
        raise ValueError(f"{error.what}: {error.why}") from None
    return path


class Endpoint(BaseModel):
    """One of the marketplace's endpoints (docs/forwarding.md#settings)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")
    url: settings_files.PlainUrl
    secret_file: Annotated[Path, AfterValidator(_secret_file)]
    events: tuple[str, ...] = (EVERYTHING,)
    redeliveries: bool = True
    ca_file: Annotated[Path | None, AfterValidator(_ca_file)] = None
    timeout_seconds: float = Field(10, ge=0.5, le=60)
    concurrency: int = Field(8, ge=1, le=64)
    give_up_hours: float = Field(72, gt=0, le=720)

    @field_validator("events")
    @classmethod
    def _patterns(cls, events: tuple[str, ...]) -> tuple[str, ...]:
        if not events:
            raise ValueError("names no event type; leave it out for all of them")
        odd = [it for it in events if not _PATTERN.fullmatch(it)]
        if odd:
            raise ValueError(f"{odd[0]!r} is neither an event type nor the beginning of one and *")
        return events

    def takes(self, event_type: str) -> bool:
        """Whether its filter lets an event type through."""
        return any(matches(pattern, event_type) for pattern in self.events)


def matches(pattern: str, event_type: str) -> bool:
    """Whether a pattern of a filter is an event type, or its beginning and `*`."""
    if pattern.endswith("*"):
        return event_type.startswith(pattern[:-1])
    return event_type == pattern


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: tuple[Endpoint, ...] = Field((), max_length=MAX_ENDPOINTS)  # none: to nobody

    @field_validator("endpoint")
    @classmethod
    def _each_name_once(cls, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
        counted = Counter(it.name for it in endpoints)
        if twice := [name for name, count in counted.items() if count > 1]:
            raise ValueError(f"more than one is named {', '.join(twice)}")
        return endpoints


def load(path: Path | None) -> tuple[Endpoint, ...]:
    """The endpoints of a file; none without one. Raises `SettingsError`, which names every fault,
    also of the files that it names."""
    if path is None:
        return ()
    file = settings_files.read(path, _File, what=_WHAT, page=_PAGE)
    return file.endpoint


class Followed:
    """The endpoints of a file, with the secrets and authorities that they name: each file is read
    again when it changes, and one with a fault leaves in force what was read from it before.

    To be kept for as long as a process passes on: a new one has nothing that it read before. For
    one thread at a time.
    """

    def __init__(self, path: Path | None) -> None:
        """Raises `SettingsError` as `load` does."""
        self._secrets: dict[Path, RereadFile[list[bytes]]] = {}
        self._trusts: dict[Path, Callable[[], ssl.SSLContext]] = {}
        self._file = None if path is None else RereadFile(path, lambda text: self._read(text, path))

    def _read(self, text: str, path: Path) -> tuple[Endpoint, ...]:
        given = settings_files.parsed(text, path, _File, what=_WHAT, page=_PAGE).endpoint
        for one in given:  # before they are in force: else one bad file would hold up all of them
            self._secrets[one.secret_file] = self.secrets_of(one)
            if one.ca_file is not None:
                self._trusts[one.ca_file] = self.trust_of(one)
        return given

    def get(self) -> tuple[Endpoint, ...]:
        """The endpoints that are in force; none without a file."""
        return () if self._file is None else self._file.get()

    def secrets_of(self, endpoint: Endpoint) -> RereadFile[list[bytes]]:
        """As the function of that name; raises nothing for an endpoint that is in force."""
        return self._secrets.get(endpoint.secret_file) or secrets_of(endpoint.secret_file)

    def trust_of(self, endpoint: Endpoint) -> Callable[[], ssl.SSLContext]:
        """As the function of that name; raises nothing for an endpoint that is in force."""
        known = None if endpoint.ca_file is None else self._trusts.get(endpoint.ca_file)
        return known or trust_of(endpoint.ca_file)


def secrets_of(path: Path) -> RereadFile[list[bytes]]:
    """The secrets of a file, the first one first; read again when it changes."""
    return RereadFile(path, lambda text: secrets_in(text, path))


def trust_of(path: Path | None) -> Callable[[], ssl.SSLContext]:
    """What gives the context of connections that trust the authorities of a file, or without one
    those of this machine: another one once the file has changed. Raises `SettingsError`."""
    if path is None:
        always = trusting(None)
        return lambda: always
    return RereadFile(path, lambda _: trusting(path)).get
