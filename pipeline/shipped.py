"""Finds the files that are shipped beside the packages of code: `app.py`, `queries/`, `data/`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final


def _folder() -> Path:
    """The folder of the package `prazo`, which pyproject.toml maps: the top of a checkout that is
    installed, the folder `prazo` of a wheel. Raises `ModuleNotFoundError` where neither is."""
    try:
        script = find_spec("prazo.app")
    except ModuleNotFoundError:
        script = None
    if script is None or script.origin is None:
        raise ModuleNotFoundError("Prazo is not installed: run make setup, or install its wheel")
    return Path(script.origin).resolve().parent


FOLDER: Final = _folder()
DASHBOARD: Final = FOLDER / "app.py"
QUERIES: Final = FOLDER / "queries"
SAMPLES: Final = FOLDER / "data" / "samples"
