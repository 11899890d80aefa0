"""What is left to do before the first review can come: the Overview of an empty log.

Nothing on it is advice in general: the address, the command and what is not set yet are those of
this installation.
"""

import json
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

import streamlit as st

from app_pages.door import access
from app_pages.language import formats
from app_pages.language.i18n import _, ngettext
from app_pages.parts import acting, folds, views
from pipeline.continuity import service
from pipeline.http import addresses
from pipeline.inbox.artifacts.taking import Taking
from pipeline.receive import ingest
from pipeline.serve.roles import Permission
from pipeline.settings import Settings
from pipeline.shipped import SAMPLES

SAMPLE: Final = SAMPLES / "occurrences.ndjson"
TRIAL: Final = {
    "id": "evt_trial",
    "type": "seller.created",
    "payload": {"object": {"id": "sel_trial", "resource": "seller"}},
}
"""A delivery that asks for no review."""


class Step(NamedTuple):
    """Something to do: whether it is done, its name, and how."""

    is_done: bool
    name: str
    how: str


def show() -> None:
    """The checklist, with the address for webhooks and a command that tries it."""
    settings = service.current().settings
    steps = list(_steps(settings))
    done = sum(step.is_done for step in steps)
    with st.container(border=True, key="first_steps"):
        st.header(_("No review has come yet"), anchor=False)
        st.markdown(
            ngettext(
                "{done} of {n} steps is done. The first review appears here within seconds.",
                "{done} of {n} steps are done. The first review appears here within seconds.",
                done,
                done=formats.number(done),
                n=formats.number(len(steps)),
            )
        )
        for step in steps:
            icon = (
                ":material/check_circle:" if step.is_done else ":material/radio_button_unchecked:"
            )
            st.markdown(f"{icon} **{step.name}**  \n{formats.muted(step.how)}")
    if not access.may(Permission.ANNOTATE):
        return
    with st.container(border=True):
        st.header(_("Where the platform sends its webhooks"), anchor=False)
        st.code(webhook_url(settings), language=None)
        st.markdown(
            formats.muted(_("From outside: your proxy's address, with the same path behind it."))
        )
        st.markdown(_("Try it with a delivery that asks for no review:"))
        st.code(curl(settings), language=None, wrap_lines=True)
        _samples()


def _steps(settings: Settings) -> Iterator[Step]:
    intake = views.read_one("intake")
    yield Step(
        settings.webhook_auth != "none",
        _("Deliveries are authenticated"),
        _("PRAZO_WEBHOOK_AUTH and its secret: without them anyone can make up reviews."),
    )
    yield Step(
        intake is not None and intake["last_at"] is not None,
        _("A delivery has come"),
        _("Give the platform the address below, or try it with the command there."),
    )
    yield Step(
        None
        not in (
            settings.platform_url,
            settings.client_cert_file,
            settings.platform_credentials_file,
            settings.marketplace_id,
        ),
        _("Answers can be sent to the platform"),
        _(
            "PRAZO_PLATFORM_URL, PRAZO_CLIENT_CERT_FILE with its key,"
            " PRAZO_PLATFORM_CREDENTIALS_FILE and PRAZO_MARKETPLACE_ID."
        ),
    )
    yield Step(
        bool(service.current().alert_rules.get().recipients),
        _("Somebody is notified of what is alarming"),
        _("PRAZO_ALERTS_FILE names recipients and how they are reached."),
    )
    yield Step(
        settings.login != "none",
        _("People log in"),
        _("PRAZO_LOGIN: until then everybody on this machine may look and act."),
    )


def webhook_url(settings: Settings) -> str:
    """Where the receiver of this installation takes deliveries."""
    return f"{addresses.at(settings.receiver_host, settings.receiver_port)}/webhooks"


def curl(settings: Settings) -> str:
    """A command that delivers `TRIAL` as the settings want it. It reads the secret from its file,
    so that the secret stands neither here nor in a shell's history."""
    url, body = shlex.quote(webhook_url(settings)), shlex.quote(json.dumps(TRIAL))
    first = f"$(head -n 1 {shlex.quote(str(settings.webhook_secret_file))})"
    if settings.webhook_auth == "hmac":
        return "\n".join(
            (
                f"body={body}",
                "at=$(date +%s)",
                f"key=$(printf %s \"{first}\" | sed 's/^whsec_//' | base64 -d"
                " | od -An -vtx1 | tr -d ' \\n')",
                'signature=$(printf \'trial.%s.%s\' "$at" "$body"'
                ' | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)',
                f'curl -sS {url} -H "webhook-id: trial" -H "webhook-timestamp: $at"'
                ' -H "webhook-signature: v1,$signature" -d "$body"',
            )
        )
    proof = {
        "none": "",
        "header": f' -H "{settings.webhook_header}: {first}"',
        "basic": f' -u "{first}"',
    }[settings.webhook_auth]
    return f"curl -sS {url}{proof} -d {body}"


def _samples() -> None:
    """The way to a first look without a platform; only where the log holds nothing to mix with."""
    if views.as_of() is not None:
        return
    place = folds.popover(_("Load samples"), icon=":material/science:", key="samples_loading")
    if place is None:
        return
    with place:
        st.markdown(
            _(
                "One review's submission goes into this log, for good: an entry is never taken"
                " away. Do it in a log that is for trying out."
            )
        )
        acting.button("samples", _("Load them"), _load, may=Permission.ANNOTATE)


def _load() -> acting.Feedback:
    held = service.current()
    taking = Taking.of(held.settings, held.inbox)
    error = acting.tried(lambda: ingest.ingest(SAMPLE, held.inbox, lambda _: None, taking))
    return acting.Feedback("", is_done=error is None, error=error)
