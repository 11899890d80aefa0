"""What stands on a page, as links at its top: what is below the fold is known without scrolling."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app_pages.language import formats
from app_pages.language.i18n import _


def place() -> DeltaGenerator:
    """Where these links come to stand, each with its header, in two lines."""
    line = st.container(horizontal=True, vertical_alignment="center", gap="small", key="findings")
    line.markdown(formats.muted(_("On this page:")), width="content")
    return line


def beside(found: Sequence[tuple[str, str]]) -> None:
    """The same of a page that begins with a list: below its card, where the first rows stay where
    they are. `found`: titles and names, as `header` takes them."""
    with st.container(gap="xsmall", key="found_below"):
        st.markdown(formats.muted(_("On this page:")))
        for title, name in found:
            link(title, name)


def link(title: str, name: str) -> None:
    """Leads to a header of the page."""
    st.markdown(f"[{title}](#{name})", width="content")


def header(title: str, name: str, listed_in: DeltaGenerator | None) -> None:
    """A header, to which a link leads. `title`: Markdown; `name`: as an address has it, behind a
    `#`."""
    st.header(title, anchor=name)
    if listed_in is not None:
        with listed_in:
            link(title, name)
