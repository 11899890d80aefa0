"""What stands on a page, as links at its top: what is below the fold is known without scrolling."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app_pages.language import formats
from app_pages.language.i18n import _


def place() -> DeltaGenerator:
    """Where these links come to stand, each with its header, in two lines."""
    line = st.container(horizontal=True, vertical_alignment="center", gap="small", key="findings")
    line.markdown(formats.muted(_("On this page:")), width="content")
    return line


def header(title: str, name: str, listed_in: DeltaGenerator | None) -> None:
    """A header with its link. `title`: Markdown; `name`: as an address has it, behind a `#`."""
    st.header(title, anchor=False if listed_in is None else name)
    if listed_in is not None:
        listed_in.markdown(f"[{title}](#{name})", width="content")
