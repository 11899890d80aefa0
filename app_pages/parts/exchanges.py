"""Shows what an attempt sent and what the platform answered, as the log keeps both.

Both can hold personal data: values are masked until somebody has said why they need to see them.
"""

import json
from typing import Final

import streamlit as st

from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import elements, views
from pipeline.continuity import service
from pipeline.contract.body import JsonValue, parse_json
from pipeline.contract.fields import flatten
from pipeline.errors import PrazoError, Unreadable
from pipeline.language import codes
from pipeline.log.entries import Entry
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.submit.platform.certificate_asked import OurCertificate

MASK: Final = "•••"
IMPERSONAL: Final = frozenset({"process_id", "type"})
MAX_SHOWN_BYTES: Final = 65_536
_HEADERS: Final = {
    "Location": "location",
    "Retry-After": "retry_after",
    "Content-Type": "content_type",
}
"""Headers of an answer -> how its entry names what they said."""
_CERTIFICATES: Final[dict[str, str]] = {
    OurCertificate.GIVEN: N_("Mutual TLS: the platform asked for our certificate and got it."),
    OurCertificate.WITHHELD: N_(
        "No mutual TLS: the platform asked for a certificate that ours is not, and got none."
    ),
    OurCertificate.NOT_ASKED: N_("No mutual TLS: the platform did not ask for our certificate."),
}
"""What became of our client certificate, as an attempt's end has it."""


def show(attempt: views.Row, *, is_masked: bool) -> None:
    """The request and the answer of one attempt, side by side."""
    try:
        entries = service.current().inbox.find(attempt_id=attempt["attempt_id"])
    except PrazoError as error:
        elements.say(error)
        return
    seqs = {attempt["start_seq"], attempt["finish_seq"]}
    counted = {entry.kind: entry for entry in entries if entry.seq in seqs}
    sent, answered = st.columns(2, gap="medium")
    with sent:
        _request(counted.get(SUBMISSION_STARTED), attempt, is_masked)
    with answered:
        _answer(counted.get(SUBMISSION_FINISHED), attempt, is_masked)


def _request(entry: Entry | None, attempt: views.Row, is_masked: bool) -> None:
    st.markdown(f"**{_('Request')}**")
    if entry is None:
        st.markdown(_("Its start is not in the log."))
        return
    known = entry.particulars

    def shown(identifier: str) -> str:
        return views.shown("seller_id", identifier) if is_masked else identifier

    st.markdown(
        formats.code(
            f"PUT /v1/marketplaces/{shown(known.get('marketplace_id') or '…')}"
            f"/sellers/{shown(attempt['seller_id'] or '…')}/registration/review"
        )
    )
    key = known.get("idempotency_key")
    if key is not None:
        st.markdown(f"{formats.code('Idempotency-Key')}: {formats.code(shown(key))}")
    _body(entry, is_masked, alt=_("What was sent"))
    place = _("entry {seq}", seq=formats.number(entry.seq))
    digest = attempt["payload_sha256"] or "–"
    digest = formats.code((views.shown("payload_sha256", digest) if is_masked else digest)[:16])
    st.markdown(formats.muted(f"SHA-256 {digest} · {place}"))


def _answer(entry: Entry | None, attempt: views.Row, is_masked: bool) -> None:
    st.markdown(f"**{_('Answer')}**")
    if entry is None:
        st.markdown(_("No answer is in the log."))
        return
    if attempt["status"] is None:
        st.markdown(_("No answer came."))
        error = entry.particulars.get("error")
        if not is_masked and isinstance(error, str) and error not in codes.ERRORS:
            st.markdown(formats.plain(error))
    else:
        st.markdown(f"HTTP {attempt['status']}")
        for name, key in _HEADERS.items():
            said = entry.particulars.get(key)
            if isinstance(said, str):
                said = code_texts.masked(said) if is_masked else said
                st.markdown(f"{formats.code(name)}: {formats.code(said)}")
        _body(entry, is_masked, alt=_("What was answered"))
    if (said := _CERTIFICATES.get(str(entry.particulars.get("client_certificate")))) is not None:
        st.markdown(_(said))
    place = _("entry {seq}", seq=formats.number(entry.seq))
    st.markdown(formats.muted(f"{formats.second(attempt['finished_at'])} · {place}"))


def _body(entry: Entry, is_masked: bool, *, alt: str) -> None:
    """An object as path and value; anything else as it came, once it may be seen."""
    body = entry.received
    if entry.is_erased:
        st.markdown(formats.muted(_("Erased, as the audit trail says.")))
        return
    if not body:
        st.markdown(formats.muted(_("No body.")))
        return
    try:
        content = parse_json(body)
    except Unreadable:
        content = None
    if isinstance(content, dict) and content:
        elements.details(
            {
                formats.code(code_texts.masked(path) if is_masked else path): _value(
                    path, value, is_masked
                )
                for path, value in dict(flatten(content)).items()
            },
            alt=alt,
        )
    elif is_masked:
        size = ngettext("{n} byte", "{n} bytes", len(body), n=formats.number(len(body)))
        st.markdown(formats.muted(f"{size} · {_('masked')}"))
    else:
        st.code(body[:MAX_SHOWN_BYTES].decode("utf-8", "replace"), language=None, wrap_lines=True)
        if len(body) > MAX_SHOWN_BYTES:
            st.markdown(formats.muted(_("Only the beginning is shown.")))


def _value(path: str, value: JsonValue, is_masked: bool) -> str:
    if is_masked:
        # A platform that refuses a type may repeat what came in words, or list what is wrong.
        if path not in IMPERSONAL or not isinstance(value, str) or len(value.split()) > 1:
            return MASK
        value = views.shown(path, value)
    return in_clear(value)


def in_clear(value: JsonValue) -> str:
    """A value as it came, in fixed width."""
    return formats.code(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
