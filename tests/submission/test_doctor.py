"""`prazo doctor` on the way to the platform: certificates and their expiry, credentials."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.doctor import Diagnosis, examine
from tests.marketplace import Marketplace


def diagnoses(marketplace: Marketplace, **changes: Any) -> list[Diagnosis]:
    settings = marketplace.settings(**changes)
    return [it for it in examine(settings) if it.check in ("platform", "certificates")]


def test_a_platform_that_is_set_up_is_well(marketplace: Marketplace) -> None:
    found = diagnoses(marketplace)
    assert {it.verdict for it in found} == {"ok"}
    assert any("the client certificate" in it.found for it in found)


def test_an_expired_certificate_is_a_fault(marketplace: Marketplace) -> None:
    pair = marketplace.platform.certificates.expired_client
    found = diagnoses(marketplace, client_cert_file=pair.certificate, client_key_file=pair.key)
    [fault] = [it for it in found if it.verdict == "fault"]
    assert (fault.check, "put a new one" in fault.remedy) == ("certificates", True)


def test_a_key_of_another_certificate_is_a_fault(marketplace: Marketplace) -> None:
    key = marketplace.platform.certificates.stranger_client.key
    [fault] = [it for it in diagnoses(marketplace, client_key_file=key) if it.verdict == "fault"]
    assert "client certificate cannot be used" in fault.found


def test_credentials_without_a_password_are_a_fault_that_does_not_show_them(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    path = tmp_path / "credentials"
    path.write_text("s3cret")
    path.chmod(0o600)
    [fault] = [
        it for it in diagnoses(marketplace, platform_credentials_file=path) if it.verdict == "fault"
    ]
    assert "user:password" in fault.remedy
    assert "s3cret" not in fault.found + fault.remedy


def test_what_is_not_set_is_named(marketplace: Marketplace) -> None:
    settings = marketplace.settings().model_copy(update={"marketplace_id": None})
    faults = [it for it in examine(settings) if it.check == "platform" and it.verdict == "fault"]
    assert [it.found for it in faults] == [
        "Nothing can be sent to the platform: PRAZO_MARKETPLACE_ID is not set"
    ]


def test_a_misspelt_setting_is_named_with_the_one_that_is_meant(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRAZO_LOGN", "oidc")
    found = [it for it in examine(marketplace.settings()) if it.check == "settings"]
    assert [(it.verdict, it.remedy) for it in found] == [("warning", "is it PRAZO_LOGIN?")]
