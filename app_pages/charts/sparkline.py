"""Draws the small bars under a figure of the overview, as an image."""

import base64
from collections.abc import Sequence
from typing import Final

import streamlit as st

from app_pages.language import formats

_WIDTH: Final = 300
_HEIGHT: Final = 42
_GAP: Final = 0.28  # as a share of a bar's room


def sparkline(values: Sequence[float], colour: str, alt: str) -> None:
    """Small bars without axes, as an image whose `alt` says each value.

    Streamlit's own sparkline has marks without a text alternative (WCAG 1.1.1).
    """
    highest = max(values, default=0) or 1
    step = _WIDTH / max(len(values), 1)
    bars = "".join(
        f'<rect x="{step * (place + _GAP / 2):.1f}" y="{_HEIGHT - height:.1f}"'
        f' width="{step * (1 - _GAP):.1f}" height="{height:.1f}" rx="1"/>'
        for place, height in enumerate(
            max(_HEIGHT * value / highest, 1 if value else 0.5) for value in values
        )
    )
    image = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' width="{_WIDTH}" height="{_HEIGHT}" fill="{colour}">{bars}</svg>'
    )
    encoded = base64.b64encode(image.encode()).decode()
    st.markdown(f"![{formats.plain(alt)}](data:image/svg+xml;base64,{encoded})")
