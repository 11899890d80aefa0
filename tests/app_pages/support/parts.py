"""Runs a part of a page alone, as a browser does, and Streamlit's test runner does not."""

from functools import partial

import pytest
from streamlit.runtime.scriptrunner import RerunData
from streamlit.testing.v1 import AppTest, local_script_runner


def run_part(app: AppTest, part: str) -> None:
    """Runs a page as a click in a part of it does, or the part's own pause once that is over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "RerunData", partial(RerunData, fragment_id=part))
        app.run()
