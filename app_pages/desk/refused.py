"""Says of a review whose payload the platform found invalid (400) what was wrong, and whose it is
to correct.

Of the platform's answer, whose form the contract does not show, only the paths of asked fields are
read: it may repeat what came. What is wrong there is said by our own rules, which judge the payload
as it was sent; no value is shown.
"""

from collections.abc import Collection
from typing import Final

import streamlit as st

from app_pages.desk import calls
from app_pages.language import code_texts, formats, refusals
from app_pages.language.i18n import _
from app_pages.parts import views
from pipeline import instants
from pipeline.continuity import service
from pipeline.contract.body import parse_json
from pipeline.errors import InboxUnavailable, PrazoError
from pipeline.journey.reviews import Reviews
from pipeline.language import codes
from pipeline.log.entries import INGESTED
from pipeline.submit import rules
from pipeline.submit.casefile import CaseFile, CaseFiles
from pipeline.submit.decision import Terms
from pipeline.submit.retries import Attempt

_OF_FORM: Final = ("wrong_format", "numeric_revenue")


def say(process: views.Row) -> None:
    """Which of the asked fields the platform's answer names, as the link of the next message asks
    for these alone; what our own rules find in what was sent; and whether the seller was contacted
    since."""
    if views.as_of() is not None:
        return
    try:
        review, case = Reviews(service.current().inbox).look_whole(process["process_id"])
    except InboxUnavailable:  # the page goes on
        return
    if review.refused_at is None:  # the log is ahead of the page
        return
    if review.to_correct:
        fields = ", ".join(map(code_texts.field, review.to_correct))
        text = _(
            "The platform refused: {fields}. *Ask again* asks the seller for nothing else.",
            fields=fields,
        )
    else:
        text = _("The answer names no field that was asked: see *Request and answer*.")
    st.markdown(text)
    _say_by_our_rules(process, next(it for it in case.attempts if it.is_last))
    _say_contacted(process, review.refused_at)


def _say_by_our_rules(process: views.Row, last: Attempt) -> None:
    held = service.current()
    try:
        case = CaseFiles(held.inbox).open(process["process_id"], last.ordered_at)
        payload = parse_json(case.payloads.get(last.start_seq or -1, b""))
        terms = Terms.of(held.settings)
    except PrazoError:  # the inbox is away, these bytes hold nothing, or the bands cannot be read
        return
    verdict = rules.check(
        payload,
        case.process,
        case.answers,
        process_id=process["process_id"],
        seller_id=last.seller_id or "",
        evidence_gate="warn",  # whether answers prove it is ours alone to judge
        allow_numeric_revenue=terms.allow_numeric_revenue,
        bands=terms.bands,
        seller_type=case.seller_type,
        needs_process_id=last.via != "gateway",
    )
    if not verdict.violations:
        text = _("Our own rules find nothing wrong in what was sent: what it says may be wrong.")
        st.markdown(text)
        return
    others = {it.path for it in verdict.warnings if it.rule == "field_without_evidence"}
    found = [_in_words(it, case, others) for it in verdict.violations]
    st.markdown(_("What our own rules find in what was sent:") + "\n" + "\n".join(found))
    if last.via == INGESTED:
        st.markdown(formats.muted(_("Prazo did not send it, and would have held it back.")))


def _in_words(violation: rules.Violation, case: CaseFile, others: Collection[str]) -> str:
    """A violation as an item of a list, and whose to correct. `others`: fields that were sent
    otherwise than the seller answered them."""
    path, rule = violation.path, violation.rule
    is_answered = path in case.answers
    if rule == "missing" and is_answered:
        why = _("it is asked for, and was not sent, though the seller has answered it")
        said = f"{formats.code(code_texts.masked(path))}: {why}"
    else:
        said = refusals.reason(violation)
    if rule in _OF_FORM and is_answered and path not in others:
        said += f". {_('The seller gave it so: ask them again.')}"
    elif rule != "missing" or is_answered:
        said += f". {_('That is ours to correct.')}"
    return f"- {said}"


def _say_contacted(process: views.Row, refused_at: int) -> None:
    since = instants.naive(refused_at)
    told = calls.notices({"process_id": process["process_id"]})
    stands = (it for it in told if it["contacted_at"] is not None and it["sent_at"] >= since)
    if (latest := next(stands, None)) is None:
        return
    st.info(
        _(
            "The seller was contacted since, on **{instant}**: {channel}, {name}.",
            instant=formats.minute(latest["sent_at"]),
            channel=formats.plain(code_texts.word(codes.SELLER_CHANNELS, latest["channel"])),
            name=formats.plain(latest["actor"] or _("by the schedule")),
        ),
        icon=":material/mark_email_read:",
    )
