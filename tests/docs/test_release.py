"""A release: its version stands in the changelog, its licence goes along, and so does every file
that the product has.
"""

import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

from tests.docs.pages import ROOT, text

VERSION = metadata.version("prazo")
PACKAGES = ("app_pages", "pipeline", "sandbox")
MAPPED = (".streamlit", "app.py", "data/samples", "queries")
"""What a wheel has below `prazo` (pipeline/shipped.py)."""
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
CLIMBS = re.compile(r"__file__\)[\w.()]*?((?:\.parent\b(?!s))+|\.parents\[\d\])")


def files_in(folder: Path, *names: str) -> set[str]:
    """The files below these names, but for what Python compiled."""
    found = (it for name in names for it in [folder / name, *(folder / name).rglob("*")])
    files = {it.relative_to(folder).as_posix() for it in found if it.is_file()}
    return {it for it in files if "__pycache__" not in it}


def test_the_changelog_says_what_this_version_changed():
    newest, *_ = re.findall(r"^## (\d+\.\d+\.\d+)$", text(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert newest == VERSION


def test_deploy_names_the_image_of_this_version():
    files = [it for it in (ROOT / "deploy").glob("*.yaml") if "prazo:" in text(it)]
    named = {it for file in files for it in re.findall(r"\bprazo:(\d[\w.]*)", text(file))}
    assert named == {VERSION}


def test_the_licence_goes_along():
    known = metadata.metadata("prazo")
    assert known["License-Expression"] == "Apache-2.0"
    assert known.get_all("License-File") == ["LICENSE"]
    assert "Apache License" in text(ROOT / "LICENSE")[:100]


def test_a_wheel_has_every_file_of_the_product(tmp_path):
    """An installed wheel had no queries, no pages' pictures and no `app.py`."""
    copied = tmp_path / "checkout"
    for name in files_in(ROOT, *PACKAGES, *MAPPED, "LICENSE", "README.md", "pyproject.toml"):
        (copied / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copied / name)
    subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)], cwd=copied, check=True, capture_output=True
    )
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        has = {name for name in wheel.namelist() if ".dist-info/" not in name}
    ours = files_in(ROOT, *PACKAGES) | {f"prazo/{name}" for name in files_in(ROOT, *MAPPED)}
    assert ours - has == set(), "let [tool.setuptools.package-data] of pyproject.toml name them"
    assert has - ours == set()


def test_no_code_looks_for_files_beyond_its_own_package():
    """Beside a package lies another thing in a checkout than in a wheel."""
    beyond = []
    for name in sorted(files_in(ROOT, *PACKAGES)):
        for climbed in CLIMBS.findall(text(ROOT / name) if name.endswith(".py") else ""):
            levels = int(climbed[9:-1]) if "[" in climbed else climbed.count(".parent") - 1
            if len(Path(name).parts) < levels + 2:
                beyond.append(name)
    assert beyond == [], "ask pipeline/shipped.py for what is shipped beside the packages"
