"""Which rows of a list are ticked.

A browser says the places of rows in the grid that it shows. Ticks hold on to the rows' ids, so that
they stay what they are where a grid with other rows follows, as in another order or on another page
of the list.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import streamlit as st

from app_pages.parts import elements

MOST_GRIDS = 4
"""Grids of one list whose ticks may still be on their way."""


@dataclass(repr=False)
class Ticks:
    """What is ticked in a list, by ids as they are, unmasked."""

    ids: set[str] = field(default_factory=set)
    _grid: str = ""  # the one drawn last, whatever is ticked in it
    _key: str = ""
    _begun_with: list[int] = field(default_factory=list)  # its ticks when it was first drawn
    _said: dict[str, set[str]] = field(default_factory=dict)
    """Key of a grid -> the ids of its ticked rows, as its browser last said them."""

    def is_over(self) -> bool:
        """Whether another page was drawn since these were."""
        return bool(self._key) and self._key not in st.session_state

    def begin(
        self, name: str, ids: Sequence[str], elsewhere: Collection[str] = ()
    ) -> tuple[str, list[int]]:
        """The key of the grid that shows these rows, and the places that are ticked when it is
        first drawn: they stay the same for as long as the grid does. `elsewhere`: the ids of ticked
        rows that the list has, but not in this grid; what is in neither is ticked no more.

        A grid with other rows has another key, and so has one in which something else is ticked
        than its browser knows of, as by a tick that came from the grid before it.
        """
        self.ids.intersection_update([*ids, *elsewhere])
        here = self.ids.intersection(ids)
        grid = f"{name} {elements.edition(name, ids)}"
        if grid != self._grid or self._said[self._key] != here:
            self._grid = grid
            self._begun_with = [place for place, it in enumerate(ids) if it in here]
            ticked = elements.edition("ticked", [ids[it] for it in self._begun_with])
            self._key = f"{grid} {ticked}" if here else grid
            self._said = dict([*self._said.items()][1 - MOST_GRIDS :])
            self._said[self._key] = here
        return self._key, self._begun_with

    def take(self, key: str, ids: Sequence[str], places: Sequence[int]) -> None:
        """What a browser says is ticked in a grid, which showed the rows of these ids: what differs
        from what it said before was ticked or unticked by its reader."""
        if (before := self._said.get(key)) is None:
            return
        now = {ids[it] for it in places if it < len(ids)}
        self.ids |= now - before
        self.ids -= before - now
        self._said[key] = now


def of(view: str, unticked: int) -> Ticks:
    """The ticks of a view's list; none where another page was drawn since. `unticked`: how often
    all were unticked. What a browser still says of a grid that was drawn before the last time ticks
    nothing any more."""
    count, held = st.session_state.get(f"ticks of {view}", (None, None))
    ticks: Ticks = held if count == unticked and not held.is_over() else Ticks()
    st.session_state[f"ticks of {view}"] = unticked, ticks
    return ticks
