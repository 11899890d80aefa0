"""Has Streamlit and its server write to the text log as the setting says."""

import logging

from streamlit import logger as streamlit_logger

from pipeline import text_log


def keep_to_setting() -> None:
    """Goes over to JSON where the setting says so, with loggers that Streamlit has yet to make."""
    text_log.keep_to_setting("dashboard")
    if text_log.is_json():
        streamlit_logger.setup_formatter = _leave_to_us


def _leave_to_us(logger: logging.Logger) -> None:
    logger.propagate = True
