"""A view of a page that people keep under a name."""

from typing import Final, Literal

from pipeline.contract.body import JsonValue
from pipeline.errors import WrongUsage
from pipeline.language.catalogue import N_
from pipeline.log.actions import signed
from pipeline.log.entries import Draft
from pipeline.log.kinds import Kind
from pipeline.texts import is_blank

SAVED_VIEW: Final = "saved_view"

KIND: Final = Kind(
    SAVED_VIEW,
    N_("Saved view"),
    icon=":material/bookmark:",
    typed=frozenset({"name", "query"}),
    is_in_files=True,
)


def view_step(
    step: Literal["saved", "dropped"],
    page: str,
    name: str,
    *,
    query: str | None = None,
    for_all: bool,
    actor: str | None,
    recorded_by: str,
) -> Draft:
    """The draft that says: a person saved a view of a page under a name, or dropped it. `query`:
    what stands in its URL. `for_all`: whether everybody finds it, or only who saved it. Raises
    `WrongUsage` where somebody, or the view, has no name."""
    if is_blank(name):
        raise WrongUsage("The view was not saved", "it has no name", "give it one")
    content: dict[str, JsonValue] = {
        "step": step,
        "page": page,
        "name": name.strip(),
        "for_all": for_all,
    }
    if query is not None:
        content["query"] = query
    return signed(SAVED_VIEW, content, actor=actor, recorded_by=recorded_by)
