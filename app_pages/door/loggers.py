"""Has Streamlit and its server write to the text log as the setting says."""

import logging
from typing import Final

from streamlit import logger as streamlit_logger

from pipeline import text_log

_SILENT: Final = ("uvicorn.access",)
"""What its server is not to write: addresses may hold what is secret. Where Streamlit reads its
settings again, it sets all its loggers up once more."""


def keep_to_setting() -> None:
    """Goes over to JSON where the setting says so, with loggers that Streamlit has yet to make."""
    text_log.keep_to_setting("dashboard")
    if text_log.is_json():
        streamlit_logger.setup_formatter = _leave_to_us


def _leave_to_us(logger: logging.Logger) -> None:
    logger.propagate = logger.name not in _SILENT
