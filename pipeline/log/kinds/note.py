"""What a person wrote about a process."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

NOTE: Final = "note"

KIND: Final = Kind(
    NOTE,
    N_("Note"),
    icon=":material/sticky_note_2:",
    is_about_seller=True,
    is_in_files=True,
)
