"""Serves the page behind the link of a message: one button, which acknowledges one alert, and a
form that puts it off with a reason.

The holder of the link sees nothing of the alert. A program that follows links, as mail servers do,
acknowledges nothing: that takes a POST from the page.
"""

import base64
import hashlib
import logging
from typing import Final
from urllib.parse import parse_qs

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from pipeline import instants
from pipeline.alert.acting import acknowledge, snooze
from pipeline.alert.messages.links import PATH, Links
from pipeline.continuity.service import current
from pipeline.errors import PrazoError
from pipeline.language.catalogue import N_, said_in
from pipeline.serve import standing
from pipeline.serve.openapi import HTML, Call

LOG = logging.getLogger(__name__)

RECORDED_BY: Final = "alert link"
MAX_REASON_CHARACTERS: Final = 500
_STYLE: Final = """
*{box-sizing:border-box}
body{margin:0;font:18px/1.5 system-ui,sans-serif;color:#1b1f24;background:#fff}
main{max-width:34rem;margin:0 auto;padding:.5rem 1.25rem}
h1{font-size:1.25rem}
a{color:#3b3fb6}
button,select,input,summary,a{font:inherit;min-height:3rem}
button,select,input{display:block;width:100%;padding:.5rem .75rem;border-radius:.4rem}
button{margin:1rem 0;color:#fff;background:#3b3fb6;border:0;font-weight:600;cursor:pointer}
select,input{color:inherit;background:inherit;border:2px solid #59636e}
summary{padding:.65rem 0}
:focus-visible{outline:3px solid currentcolor;outline-offset:2px}
@media (prefers-color-scheme:dark){
body{color:#e6e9ee;background:#0e1117}
a{color:#9a9dff}
select,input{background:#0e1117;border-color:#9aa4b2}
}
"""
"""It is read on a phone, where a button as browsers draw it is too small for a thumb."""
_PAGE: Final = """<!doctype html>
<html lang="pt-BR"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>Prazo</title>
<style>{style}</style>
<body><main><h1>Prazo</h1>
<p>{portuguese}</p>
<p lang="en">{english}</p>
{after}</main></body></html>
"""
_ON: Final = '<p><a href="../../../alerts" rel="noreferrer">{on}</a></p>'
SNOOZE_HOURS: Final = (4, 24, 72)
MAX_BODY_BYTES: Final = 16_384
_FORMS: Final = """<form method="post"><button>{confirm}</button></form>
<details><summary>{snooze}</summary>
<form method="post">
<p><label>{how_long}
<select name="hours">{hours}</select></label></p>
<p><label>{why}
<input name="reason" required maxlength="{most}"></label></p>
<button name="do" value="snooze">{snooze}</button></form></details>
"""
_ASKING: Final = N_(
    "Confirm that somebody sees to this alert. Nobody else is notified of it after that."
)
# Who takes a message of hours ago may think the deadline that passed meanwhile taken, too.
_DONE: Final = N_(
    "Recorded: somebody sees to this alert. What comes later, such as the deadline, is another."
)
_PUT_OFF: Final = N_("Recorded: nobody is notified of this alert until then.")
_NO_REASON: Final = N_("It was not recorded: say why it can wait, in 500 characters at most.")
_REFUSED: Final = N_("This link is no longer valid. Open Prazo to see the alerts.")
_FAILED: Final = N_("It could not be recorded now. Try again in a minute.")
_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none';"
    f" style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


def calls() -> list[Call]:
    """Those of a link. It asks for no login: the link is the permission."""
    path = f"{PATH}{{token}}"
    shown = "What following the link of a message would record"
    recorded = "Records it: somebody sees to an alert, or puts it off"
    return [
        Call("GET", path, _link, shown, HTML, is_open=True),
        Call("POST", path, _link, recorded, HTML, is_open=True),
    ]


async def _link(request: Request) -> Response:
    service = current()
    links = Links(None, service.inbox.log_key)
    grant = links.read(request.path_params["token"], service.now())
    named = service.alert_rules.get().recipients
    # Who was taken out of the file may have left. One that names nobody is not the sender's.
    if grant is None or (named and grant.name not in named):
        return _answer(_REFUSED, 404)
    if request.method != "POST":
        return _answer(_ASKING, forms=_forms())
    asked = await _form(request)
    if asked is None:
        return _answer(_REFUSED, 400)
    inbox, who = service.inbox, grant.name
    is_snooze = asked.get("do") == "snooze"
    hours, reason = asked.get("hours", ""), asked.get("reason", "").strip()
    if is_snooze and (
        hours not in map(str, SNOOZE_HOURS) or not 0 < len(reason) <= MAX_REASON_CHARACTERS
    ):
        return _answer(_NO_REASON, 400, forms=_forms())

    def record() -> None:
        if is_snooze:
            # To the minute, so that the same form sent over and over is one entry a minute.
            until = (service.now() // instants.MINUTE + int(hours) * 60) * instants.MINUTE
            snooze(
                inbox,
                grant.alert,
                until=until,
                reason=reason,
                actor=who,
                recorded_by=RECORDED_BY,
                is_once=True,
            )
        else:
            acknowledge(inbox, grant.alert, actor=who, recorded_by=RECORDED_BY, is_once=True)

    try:
        await to_thread.run_sync(record)
    except PrazoError as error:
        LOG.error("an answer to an alert was not recorded: %s", error.in_one_line)
        standing.note(service, "alert_links", error)
        return _answer(_FAILED, 503)
    return _answer(_PUT_OFF if is_snooze else _DONE)


async def _form(request: Request) -> dict[str, str] | None:
    """The fields of the page's form; None for any other body."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            return None
    try:
        found = parse_qs(body.decode(), strict_parsing=bool(body), max_num_fields=8)
    except ValueError:
        return None
    return {name: values[0] for name, values in found.items()}


def _forms() -> str:
    """What can be done on the page."""
    return _FORMS.format(
        confirm=_both(N_("Confirm")),
        snooze=_both(N_("Snooze")),
        how_long=_both(N_("For how many hours?")),
        why=_both(N_("Why can it wait?")),
        hours="".join(f"<option>{it}</option>" for it in SNOOZE_HOURS),
        most=MAX_REASON_CHARACTERS,
    )


def _both(text: str) -> str:
    """In both languages: nothing says which its reader speaks."""
    return f"{said_in('pt', text)} · {said_in('en', text)}"


def _answer(text: str, status: int = 200, *, forms: str = "") -> Response:
    """`forms`: what can be done here; where there is nothing, the way on."""
    page = _PAGE.format(
        style=_STYLE,
        portuguese=said_in("pt", text),
        english=said_in("en", text),
        after=forms or _ON.format(on=_both(N_("Open Prazo"))),
    )
    return HTMLResponse(page, status, headers=_HEADERS)
