"""The release: its version stands in the changelog, and its licence goes with it."""

import re
from importlib import metadata

from tests.docs.pages import ROOT, text

VERSION = metadata.version("prazo")


def test_the_changelog_says_what_this_version_changed():
    newest, *_ = re.findall(r"^## (\d+\.\d+\.\d+)$", text(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert newest == VERSION


def test_the_licence_goes_along():
    known = metadata.metadata("prazo")
    assert known["License-Expression"] == "Apache-2.0"
    assert known.get_all("License-File") == ["LICENSE"]
    assert "Apache License" in text(ROOT / "LICENSE")[:100]
