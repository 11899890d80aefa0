"""What a person wrote about a process."""

import secrets
from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.actions import By, action
from pipeline.log.entries import Draft
from pipeline.log.kinds import Kind

NOTE: Final = "note"
TAKEN_BACK: Final = "taken_back"

KIND: Final = Kind(
    NOTE,
    N_("Note"),
    icon=":material/sticky_note_2:",
    steps={TAKEN_BACK: N_("Note undone")},
    is_about_seller=True,
    is_in_files=True,
)


def new_note_id() -> str:
    """An id that no other note has."""
    return f"note_{secrets.token_hex(12)}"


def note(
    note_id: str,
    by: By,
    *,
    process_id: str,
    seller_id: str | None,
    is_taken_back: bool = False,
) -> Draft:
    """The draft of a note, whose text is the reason; or of what takes the note of this id back.
    Raises `WrongUsage` without a text or a name."""
    step = {"step": TAKEN_BACK} if is_taken_back else {}
    return action(
        NOTE, **by._asdict(), process_id=process_id, seller_id=seller_id, note_id=note_id, **step
    )
