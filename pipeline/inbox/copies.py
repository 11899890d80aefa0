"""Tells a copy of an inbox from the one that is in use. A copy records, and sends nothing until a
person says that it is the one: what it would send may have been sent by the other since.

An inbox says in `meta` where it stands: where it was begun, or where a person confirmed it. A copy
that we make, as a backup and a restore do, says that it stands nowhere yet; a copy that anybody
else makes still says where the other one stands. What a copy of a whole disk, or a standby that
takes over, says of itself is true of both: such a copy is not told.
"""

from typing import Final

from pipeline.errors import CallerError, CopyHeld
from pipeline.inbox import schema
from pipeline.inbox.store import Inbox, Statement
from pipeline.log.actions import By, action
from pipeline.log.kinds.restoration import CONFIRMED, RESTORATION
from pipeline.texts import typed

_SAID: Final = f"select value from meta where name = '{schema.STANDS}'"
_SET: Final = f"""
    insert into meta (name, value) values ('{schema.STANDS}', $1)
    on conflict (name) do update set value = excluded.value
    where meta.value is distinct from excluded.value"""
REMEDY: Final = (
    "see that no other copy of this log is in use, then say so: "
    f"{typed('prazo', 'restore', '--confirm', 'REASON', '--actor', 'NAME')}"
)


def why_held(inbox: Inbox) -> str:
    """Why the inbox sends nothing; empty where it sends. Raises `InboxUnavailable`."""
    said = [bytes(value) for (value,) in inbox.query(_SAID)]
    if not said:  # of a release that did not say it
        return ""
    if said == [schema.NOWHERE]:
        return "it was put back from a copy, and nobody has said yet that this is the one in use"
    if said != [inbox.stands().encode()]:
        return "it is a copy of one that stands elsewhere, or was moved, and nobody has said which"
    return ""


def require_in_use(inbox: Inbox) -> None:
    """Raises `CopyHeld` where the inbox is a copy that nobody has confirmed: for whoever is about
    to send something that follows from it."""
    if why := why_held(inbox):
        raise CopyHeld("Nothing is sent from this inbox", why, REMEDY)


def hold(inbox: Inbox) -> None:
    """Has an inbox send nothing: it gets what another recorded. Raises `InboxUnavailable`."""
    inbox.execute(_SET, schema.NOWHERE)


def confirm(inbox: Inbox, by: By) -> int:
    """Records who says that this copy is the one in use, and from then on it sends; the entry's
    seq. Raises `CallerError` where it is in use already."""
    drafts = [action(RESTORATION, **by._asdict(), step=CONFIRMED)]
    claim = Statement(_SET, (inbox.stands().encode(),))
    [receipt] = inbox.append(drafts, claim=claim)
    if receipt.entry is None:
        raise CallerError("Nothing was recorded", "this inbox is the one in use already")
    return receipt.entry.seq
