"""The file of endpoints: what it says, and every fault in it at once."""

from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.forward import endpoints
from tests.forward.conftest import endpoints_file
from tests.forward.sink import SECRET


def test_an_endpoint_takes_what_its_patterns_say(tmp_path: Path) -> None:
    file = endpoints_file(
        tmp_path,
        {"url": "https://shop.example/hooks"},
        {"url": "http://10.0.0.7:8080/", "events": ["seller.de*", "bank_account.deleted"]},
    )
    everything, some = endpoints.load(file)
    assert everything.takes("whatever.comes")
    taken = ["seller.denied", "seller.deleted", "bank_account.deleted", "seller.created", "seller"]
    assert [it for it in taken if some.takes(it)] == taken[:3]
    assert (everything.give_up_hours, everything.concurrency, everything.redeliveries) == (
        72,
        8,
        True,
    )


def test_without_a_file_there_is_no_endpoint() -> None:
    assert endpoints.load(None) == ()


def test_every_fault_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad.secret").write_text("not base64!")
    (tmp_path / "good.secret").write_text(SECRET)
    file = tmp_path / "forward.toml"
    file.write_text(
        f"""
        endpoints = 1
        [[endpoint]]
        name = "ERP"
        url = "https://ana:s3cret@erp.example/"
        secret_file = "{tmp_path}/bad.secret"
        events = []
        [[endpoint]]
        name = "crm"
        url = "ftp://crm.example/"
        secret_file = "{tmp_path}/none.secret"
        timeout_seconds = 600
        concurrency = 0
        [[endpoint]]
        name = "crm"
        url = "https://crm.example/#part"
        secret_file = "{tmp_path}/good.secret"
        ca_file = "{tmp_path}/none.pem"
        """
    )
    with pytest.raises(SettingsError) as refused:
        endpoints.load(file)
    said = refused.value.why
    for fault in [
        "endpoint.1.name: ",
        "endpoint.1.url: holds credentials",
        "endpoint.1.secret_file: ",
        "an hmac secret is not base64",
        "endpoint.1.events: names no event type",
        "endpoint.2.url: is not an http:// or https:// URL",
        "endpoint.2.secret_file: ",
        "endpoint.2.timeout_seconds: ",
        "endpoint.2.concurrency: ",
        "endpoint.3.url: has a part after #",
        "endpoint.3.ca_file: ",
        "endpoints: there is no such setting: is it endpoint?",
    ]:
        assert fault in said
    assert "s3cret" not in str(refused.value)


def test_a_name_stands_once(tmp_path: Path) -> None:
    same = {"name": "erp", "url": "https://erp.example/"}
    with pytest.raises(SettingsError, match="more than one is named erp"):
        endpoints.load(endpoints_file(tmp_path, same, same))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml"):
        endpoints.load(tmp_path / "none.toml")
