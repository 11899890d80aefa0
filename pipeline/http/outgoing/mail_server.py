"""Says which server takes our e-mail, and what an address is that it takes."""

import re
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pipeline.hosts import bare, in_ascii

_ADDRESS: Final = re.compile(
    r"[^\s@,;:<>()\[\]\"\\]+@[^\s@,;:<>()\[\]\"\\.]+(\.[^\s@,;:<>()\[\]\"\\.]+)*"
)
_ADDRESS_WITHIN: Final = re.compile(r"[^\s<>@:;,\"']+@[^\s<>@:;,\"']+")
_NAMED: Final = re.compile(
    r'\s*(?:"(?P<quoted>[^"\\]*)"|(?P<name>[^"\\<>]*))\s*<(?P<at>[^<>]*)>\s*'
)
_HOST: Final = re.compile(r"[A-Za-z0-9_.:-]+")


def mailbox(text: str) -> str:
    """One address as it is handed to a mail server: its host's letters outside ASCII by IDNA.
    ValueError, with words to put behind the address, for what is none: mail servers read a comma as
    the end of one, and `<>` as its brackets."""
    local, _, host = text.rpartition("@")
    if _ADDRESS.fullmatch(text) is None or not text.isprintable():
        raise ValueError(
            "is not one e-mail address such as ana@market.example"
            ": several people are several recipients"
        )
    if not local.isascii():
        raise ValueError(
            "has letters outside ASCII before the @, which few mail servers take (SMTPUTF8): give"
            " another address of the same person"
        )
    return f"{local}@{in_ascii(host)}"


def without_addresses(text: str) -> str:
    """A text with `***` in place of each e-mail address."""
    return _ADDRESS_WITHIN.sub("***", text)


def sender_of(text: str) -> tuple[str, str]:
    """The name that is shown of a sender such as `Prazo <prazo@market.example>`, empty where there
    is none, and the address. ValueError, with words to put behind the text, for another."""
    found = _NAMED.fullmatch(text)
    name, address = (found["quoted"] or found["name"] or "", found["at"]) if found else ("", text)
    if not name.isprintable():
        raise ValueError("has a name with characters that cannot be shown")
    return name.strip(), mailbox(address)


def _mail_address(text: str) -> str:
    try:
        mailbox(text)
    except ValueError as error:
        raise ValueError(f"{text!r} {error}") from None
    return text  # as it was written: logins and assignments name it so


def _sender(text: str) -> str:
    try:
        sender_of(text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} {error}; a name is written as in Prazo <prazo@market.example>"
        ) from None
    return text


def _user(text: str) -> str:
    if not text.isascii():
        raise ValueError(f"{text!r} has letters outside ASCII, which no login by SMTP takes here")
    return text


def _host(name: str) -> str:
    host = in_ascii(bare(name))
    if not _HOST.fullmatch(host):
        raise ValueError(f"{name!r} is not the name of a host such as mail.market.example")
    return host


MailAddress = Annotated[str, AfterValidator(_mail_address)]


class Mail(BaseModel):
    """The server that takes our e-mail."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: Annotated[str, AfterValidator(_host)]
    port: int = Field(587, ge=1, le=65_535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: Annotated[str, AfterValidator(_sender)]
    user: Annotated[str, AfterValidator(_user)] | None = None
    password_file: Path | None = None
    ca_file: Path | None = None

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if (self.user is None) != (self.password_file is None):
            raise ValueError("user and password_file go together")
        if self.security == "none" and self.host not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError("without TLS only a server on this machine is allowed")
        return self
