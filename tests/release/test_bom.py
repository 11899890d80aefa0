"""What a release says that it stands on: CycloneDX, with just what the lock has for the product."""

import json
import re
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.release.containers import done
from tests.release.installed import ROOT


def test_it_is_valid_and_has_every_package_of_the_product_with_its_licence() -> None:
    written = done(sys.executable, ROOT / ".ci" / "sbom.py")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written) is None
    lock = (ROOT / "requirements.lock").read_text(encoding="ascii").split("# otel\n")[0]
    pinned = dict(re.findall(r"^([\w.-]+)(?:\[.*?\])?==([^\s;]+)", lock, re.MULTILINE))
    packages = {it["name"]: it for it in json.loads(written)["components"]}
    assert {name: it["version"] for name, it in packages.items()} == pinned
    assert [name for name, it in packages.items() if not it.get("licenses")] == []
    assert [name for name, it in packages.items() if not it.get("hashes")] == []
