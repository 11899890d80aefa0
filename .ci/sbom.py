"""Prints what the product stands on as CycloneDX 1.6 in JSON: the first group of our lock, with the
licences that the packages installed here state, or the first line of one's text.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

LOCK = Path(__file__).parents[1] / "requirements.lock"
PINNED = re.compile(
    r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+?)(?: ;.*)? \\\n((?: +--hash=\S+.*\n?)+)", re.M
)


def main() -> None:
    """Prints the whole document."""
    bom = Bom()
    bom.metadata.component = _component("prazo", metadata.version("prazo"), [])
    bom.metadata.component.type = ComponentType.APPLICATION
    text = LOCK.read_text(encoding="ascii").split("# otel\n")[0]
    for name, version, hashes in PINNED.findall(text):
        bom.components.add(_component(name, version, re.findall(r"sha256:(\w+)", hashes)))
    bom.register_dependency(bom.metadata.component, bom.components)
    sys.stdout.write(JsonV1Dot6(bom).output_as_string(indent=2) + "\n")


def _component(name: str, version: str, hashes: list[str]) -> Component:
    """`hashes`: SHA-256 of each file that the lock allows, in hex; a wheel for each machine."""
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{name}@{version}",
        purl=PackageURL("pypi", name=name, version=version),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=it) for it in hashes],
        licenses=_licences(name),
    )


def _licences(name: str) -> list:
    """None where the package is not installed here, as one for another system, or says none."""
    try:
        stated = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return []
    licence = stated.get("License-Expression") or stated.get("License") or ""
    classified = [it for it in stated.get_all("Classifier", []) if it.startswith("License :: OSI")]
    if classified and ("\n" in licence or not licence):
        licence = classified[0].rsplit(" :: ", 1)[1]
    if not licence and (texts := stated.get_all("License-File")):
        at = next(it for it in metadata.files(name) or () if it.match(f"*.dist-info/**/{texts[0]}"))
        licence = at.read_text(encoding="utf-8").strip().splitlines()[0]
    return [LicenseFactory().make_from_string(licence)] if licence else []


if __name__ == "__main__":
    main()
