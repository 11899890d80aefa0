"""Examines who may come in: deliveries, API, login, and what is open without any proof."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pipeline.cli.doctor import advice
from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.http import addresses
from pipeline.http.tokens import Tokens
from pipeline.receive.authenticity import Authenticator
from pipeline.serve import intake
from pipeline.serve.roles import RoleMap, provider, proxy_secrets
from pipeline.settings import Settings

_OIDC_NEEDS: Final = (
    "redirect_uri",
    "cookie_secret",
    "client_id",
    "client_secret",
    "server_metadata_url",
)


def receiver(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """Whether the receiver that these settings describe runs, and can record into their inbox."""
    answer = intake.ask(settings)
    url = addresses.local(settings.receiver_host, settings.receiver_port)
    if (other := at_hand.other_than(answer.log)) is not None:
        yield Diagnosis(
            "receiver",
            "fault",
            f"what answers at {url} records into the log {answer.log}, and {other}",
            "give each its own PRAZO_RECEIVER_PORT; if both should be one, correct PRAZO_INBOX, and"
            " start that receiver again",
        )
    elif answer.is_ready:
        yield Diagnosis("receiver", "ok", f"it records what comes to {url}")
    elif answer.is_there:
        found = f"it does not take all that comes: {answer.why}"
        yield Diagnosis("receiver", "fault", found, "its log says since when")
    else:
        found = f"{answer.why}: nothing that the platform sends is taken there"
        yield Diagnosis("receiver", "warning", found, advice.run(settings, "receive", here=True))


def authenticity(settings: Settings) -> Iterator[Diagnosis]:
    """Whether deliveries prove that the platform sent them."""
    if settings.webhook_auth == "none":
        yield Diagnosis(
            "deliveries",
            "warning",
            "deliveries are not authenticated; only this machine can post them",
            "set PRAZO_WEBHOOK_AUTH and PRAZO_WEBHOOK_SECRET_FILE before real use",
        )
        return
    Authenticator(settings.webhook_auth, settings.webhook_secret_file)
    yield Diagnosis("deliveries", "ok", f"authenticated by {settings.webhook_auth}")


def tokens(settings: Settings) -> Iterator[Diagnosis]:
    """Who may call collections, the gateway and the API."""
    known = Tokens.of(settings)
    if not known.are_none:
        yield Diagnosis("API", "ok", f"tokens of {settings.api_tokens_file}")
    elif known.are_required:
        yield Diagnosis(
            "API",
            "warning",
            "tokens are required and there are none: collections and the gateway answer 401,"
            " and of the API only this machine's commands get more",
            "put tokens into the file of PRAZO_API_TOKENS_FILE where anybody is to collect, submit"
            " or read (docs/developers.md)",
        )
    else:
        yield Diagnosis(
            "API",
            "warning",
            "no tokens: collections, the gateway and the API are open to every program on this"
            " machine, and through a proxy that leaves no trace to whoever reaches it",
            "set PRAZO_API_TOKENS_FILE before anything on this machine passes requests on",
        )


def open_paths(settings: Settings) -> Iterator[Diagnosis]:
    """What a stranger at the ports gets without a token, a secret or a login."""
    paths = ["receiver: /healthz, /readyz, /metrics, /checkpoint"]
    if settings.webhook_auth == "none":
        paths.append("receiver: /webhooks")
    paths.append("dashboard: /_stcore/health, /api/head")
    if settings.login == "none":
        paths.append("dashboard: every page")
    whom = "whoever reaches the ports" if settings.expects_strangers else "this machine alone"
    yield Diagnosis("open", "ok", f"without proof, to {whom}: {'; '.join(paths)}")


def login(settings: Settings) -> Iterator[Diagnosis]:
    """Who may look at the pages, and whether the files say so that are needed for that."""
    if settings.login == "none":
        yield Diagnosis("login", "ok", "nobody logs in: the dashboard serves this machine alone")
        return
    if settings.login == "proxy" and settings.proxy_secret_file is not None:
        proxy_secrets(settings.proxy_secret_file)
    if settings.roles_file is not None:
        RoleMap(settings.roles_file)
        yield Diagnosis("login", "ok", f"by {settings.login}; roles of {settings.roles_file}")
    if settings.login == "oidc" and settings.oidc_file is not None:
        yield from _oidc(settings.oidc_file)


def _oidc(path: Path) -> Iterator[Diagnosis]:
    """Whether the file has what Streamlit needs to send people to their provider."""
    section = provider(path)
    missing = [name for name in _OIDC_NEEDS if not section.get(name)]
    if missing:
        remedy = "add it to the [auth] section, as docs/operations.md shows"
        yield Diagnosis("login", "fault", f"{path} lacks {', '.join(missing)}", remedy)
