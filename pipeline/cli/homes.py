"""Finds the home in which Streamlit looks for settings before the dashboard starts."""

import os
from pathlib import Path


def home() -> Path | None:
    """None where the machine knows none, as of a user who is a number in a container, or where this
    user may not look into it: Streamlit would fail with a traceback."""
    try:
        found = Path.home()
    except RuntimeError:
        return None
    return found if os.access(found, os.X_OK) else None
