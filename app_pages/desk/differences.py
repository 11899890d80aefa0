"""Says of fields that no answer covers how what was sent differs, where nobody sees it."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from app_pages.language.i18n import N_, _
from app_pages.parts import views
from pipeline import instants
from pipeline.continuity import service
from pipeline.contract.body import parse_json
from pipeline.contract.differences import How, how_they_differ
from pipeline.contract.fields import flatten
from pipeline.errors import PrazoError
from pipeline.submit.casefile import CaseFiles

WORDS: Final[Mapping[How, str]] = {
    "composition": N_("how accents are composed"),
    "blanks": N_("blanks or characters that nobody sees"),
    "width": N_("the width or form of characters"),
    "case": N_("upper and lower case"),
    "marks": N_("punctuation, such as a mask's"),
    "accents": N_("accents"),
    "number": N_("how the number is written"),
    "type": N_("its type: one is a text, the other is not"),
}


def unseen(process_id: str, paths: Collection[str]) -> Iterator[tuple[str, str]]:
    """Of these fields, those whose value that was sent last is the seller's answer at that moment
    but for what nobody sees; with what that is, in words. Shows neither value."""
    attempts = views.read("submission_attempts", where={"process_id": process_id}, limit=1)
    if not attempts or attempts[0]["started_at"] is None:
        return
    sent_at = instants.from_datetime(attempts[0]["started_at"])
    try:
        case = CaseFiles(service.current().inbox).open(process_id, sent_at)
        sent = dict(flatten(parse_json(case.payloads.get(attempts[0]["start_seq"], b""))))
    except (PrazoError, AttributeError):  # the inbox is away, or these bytes hold nothing
        return
    for path in paths:
        answer = case.answers.get(path)
        if path in sent and answer is not None:
            how = how_they_differ(sent[path], answer.value)
            if how:
                yield path, "; ".join(_(WORDS[it]) for it in how)
