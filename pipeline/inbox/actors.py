"""Reads from the map of an inbox who a pseudonym in a body is. A name that its pseudonym was not
made of is not shown."""

from typing import Any, Final

from pipeline.inbox.store import Inbox
from pipeline.log.actors import Actor, is_pseudonym

_ONE: Final = "select pseudonym, name, salt from actors where pseudonym = $1"


def named(inbox: Inbox, said: Any) -> Any:
    """What a body says, with the name of its actor; as it is without a proved one."""
    if not isinstance(said, dict) or not isinstance(actor := said.get("actor"), str):
        return said
    found = map(Actor._make, inbox.query(_ONE, actor) if is_pseudonym(actor) else ())
    return {**said, "actor": next((it.text for it in found if it.is_proved), actor)}
