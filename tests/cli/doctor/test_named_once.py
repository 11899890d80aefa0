"""`prazo doctor` names what is wrong once, however many checks come upon it."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from pipeline.cli.doctor import at_hand, examine, stores
from pipeline.continuity.kept_heads import open_shared
from pipeline.errors import InboxUnavailable
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests.support.machine import free_port
from tests.support.stores import settings_in

OF_THE_INBOX = {"inbox", "signing key", "artifacts", "heartbeats", "forwarding", "kept head"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """With an endpoint, whose check needs the inbox as well."""
    (tmp_path / "secret").write_text("whsec_" + "c2VjcmV0" * 4)
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "forward.toml").write_text(
        f'[[endpoint]]\nname = "erp"\nurl = "https://erp.example"\n'
        f'secret_file = "{tmp_path / "secret"}"\n'
    )
    return settings_in(tmp_path, forward_file=tmp_path / "forward.toml", receiver_port=free_port())


def test_an_inbox_that_cannot_be_reached_is_one_fault_in_one_line(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of six checks waited for the server, and named it with the same remedy; what the driver
    says has a second line, which was shown as a backslash and an n."""
    opened = Mock(wraps=open_shared)
    monkeypatch.setattr(at_hand, "open_shared", opened)
    away = f"postgresql://prazo@127.0.0.1:{free_port()}/inbox"
    found = [*examine(settings.model_copy(update={"inbox": away}))]
    [fault] = [it for it in found if it.verdict == "fault"]
    assert (fault.check, "Connection refused" in fault.found) == ("inbox", True)
    assert "\n" not in fault.found
    assert fault.remedy.startswith("check that the server runs")
    assert opened.call_count == 1
    # What needs no inbox is looked at all the same.
    assert [it.verdict for it in found if "secret is its owner's" in it.found] == ["ok"]
    assert found[-1].check == "ledger"


def test_an_inbox_that_goes_away_between_two_checks_is_named_by_the_first(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_inbox(settings.inbox).close()
    monkeypatch.setattr(stores, "look", Mock(side_effect=InboxUnavailable("it is gone")))
    checks = [(it.check, it.verdict) for it in examine(settings) if it.check in OF_THE_INBOX]
    assert checks[0] == ("inbox", "ok")
    assert checks[-1] == ("artifacts", "fault")


def test_a_file_of_alerts_that_cannot_be_used_is_one_fault_of_alerts(settings: Settings) -> None:
    """It was a fault of the heartbeats, whose other routines were not looked at then, and once more
    one of the seller's page."""
    open_inbox(settings.inbox).close()
    file = Path(settings.inbox).with_name("alerts.toml")
    file.write_text("[recipients.ana]\nmail = 1\n")
    page = {"journey_url": "https://cadastro.loja.example", "journey_port": free_port()}
    found = [*examine(settings.model_copy(update={"alerts_file": file, **page}))]
    [named] = [it for it in found if str(file) in it.found]
    assert (named.check, named.verdict) == ("alerts", "fault")
    looked_at = {it.check for it in found}
    assert {"backup", "verification", "seller's page"} <= looked_at
    assert not [it for it in found if "no code can be sent" in it.found]
