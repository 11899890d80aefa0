"""Examines whether what was erased is gone: an older copy may have brought it back."""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.erasure.forgetting import former_files
from pipeline.errors import InboxUnavailable
from pipeline.inbox import open_inbox
from pipeline.inbox.erased import unerased
from pipeline.keys import read_key
from pipeline.ledger.facts import Keys
from pipeline.log.entries import ERASURE
from pipeline.log.erasures import taxpayer_marks
from pipeline.settings import Settings

MOST_NAMED: Final = 10


def erasures(settings: Settings) -> Iterator[Diagnosis]:
    """Nothing where nobody was ever forgotten; the inbox's own check says why it cannot be read."""
    try:
        with closing(open_inbox(settings.inbox, create=False)) as inbox:
            is_any, back = unerased(inbox)
            marks = taxpayer_marks(inbox.find(kind=ERASURE))
            log_key = inbox.log_key
    except InboxUnavailable:
        return
    if not is_any:
        return
    if back:
        sellers = sorted({it.seller_id for it in back if it.seller_id is not None})
        named = ", ".join(sellers[:MOST_NAMED]) + (" and others" if sellers[MOST_NAMED:] else "")
        yield Diagnosis(
            "erasures",
            "fault",
            f"{len(back)} entries were erased, and what came is there again",
            "an older copy was put back: `prazo forget` erases it again; it is of"
            f" {named or 'whoever the erasures name'}",
        )
    else:
        yield Diagnosis("erasures", "ok", "what was erased is gone from the inbox")
    key = settings.taxpayer_key_file
    if key.exists() and marks - {Keys(values=log_key, taxpayer=read_key(key)).taxpayer_mark}:
        yield Diagnosis(
            "erasures",
            "warning",
            f"something was erased under another key of tax ids than {key}: a ledger here does not"
            " count who of these sellers came back",
            "have the same PRAZO_TAXPAYER_KEY_FILE on every machine, then start its ledger again",
        )
    if former := former_files(settings):
        yield Diagnosis(
            "erasures",
            "warning",
            f"former files may hold what was erased: {', '.join(map(str, former))}",
            "delete them once nobody needs them",
        )
