"""`prazo doctor` on the way to the platform, on the ledger, and on what somebody does regularly."""

from contextlib import closing, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import trustme

from pipeline import instants
from pipeline.cli.doctor import Diagnosis, examine, stores
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError
from pipeline.inbox.clock import Clock
from pipeline.inbox.heartbeats import Part, beat
from pipeline.log.checkpoints import Signer
from pipeline.settings import Settings
from tests.ledger.conftest import deliver
from tests.support.machine import free_port
from tests.support.marketplace import Marketplace
from tests.support.sqlite import opened
from tests.support.stores import settings_in


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


@pytest.mark.parametrize("setting", ["client_cert_file", "platform_ca_file"])
def test_a_certificate_that_has_not_begun_is_a_fault(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    """A renewal that was put in its place a day early was called well, and refused by the platform.
    Of an authority's file one that has begun is enough."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    early = trustme.CA().issue_cert("x", not_before=tomorrow.replace(tzinfo=None))
    path = marketplace.folder / "early.pem"
    path.write_bytes(begun_later := early.cert_chain_pems[0].bytes())
    found = diagnoses(marketplace, **{setting: path})
    [fault] = [it for it in found if it.verdict == "fault" and it.check == "certificates"]
    assert "early.pem begins 20" in fault.found
    path.write_bytes(begun_later + marketplace.platform.certificates.authority.read_bytes())
    found = diagnoses(marketplace, **{setting: path})
    assert any("begins" in it.found for it in found) is (setting == "client_cert_file")


def test_a_key_of_another_certificate_is_a_fault(marketplace: Marketplace) -> None:
    key = marketplace.platform.certificates.stranger_client.key
    certificate = marketplace.platform.certificates.client.certificate
    [fault] = [it for it in diagnoses(marketplace, client_key_file=key) if it.verdict == "fault"]
    assert fault.found == (
        "The TLS client certificate cannot be used: the private key in"
        f" {key} is not that of the certificate in {certificate}"
    )


def test_credentials_without_a_password_are_a_fault_that_does_not_show_them(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    path = tmp_path / "credentials"
    path.write_text("s3cret")
    path.chmod(0o600)
    [fault] = [
        diagnosis
        for diagnosis in diagnoses(marketplace, platform_credentials_file=path)
        if diagnosis.verdict == "fault"
    ]
    assert "user:password" in fault.remedy
    assert "s3cret" not in fault.found + fault.remedy


def test_what_is_not_set_is_named(marketplace: Marketplace) -> None:
    settings = marketplace.settings().model_copy(update={"marketplace_id": None})
    faults = [it for it in examine(settings) if it.check == "platform" and it.verdict == "fault"]
    assert [it.found for it in faults] == [
        "Nothing can be sent to the platform: PRAZO_MARKETPLACE_ID is not set"
    ]


def test_a_file_that_may_not_be_looked_for_keeps_no_later_check_from_being_made(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that another user's keys are in, Python cannot even say whether a file exists:
    doctor ended there, before it had looked at inbox, heartbeats and ledger."""
    settings = marketplace.settings()
    exists = Path.exists

    def may_not_look(path: Path) -> bool:
        if path == settings.client_cert_file:
            raise PermissionError(13, "Permission denied", str(path))
        return exists(path)

    monkeypatch.setattr(Path, "exists", may_not_look)
    found = [*examine(settings)]
    faults = [it.found for it in found if it.check == "platform" and it.verdict == "fault"]
    assert f"{settings.client_cert_file}: Permission denied" in faults
    assert found[-1].check in ("ledger", "attempts")


def test_a_misspelt_setting_is_named_with_the_one_that_is_meant(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRAZO_LOGN", "oidc")
    found = [it for it in examine(marketplace.settings()) if it.check == "settings"]
    assert [(it.verdict, it.remedy) for it in found] == [("warning", "is it PRAZO_LOGIN?")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_of_settings_is_looked_at_as_the_environment_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    """A misspelt name there left deliveries unauthenticated, and nobody was told; nor that a
    password stood in it, where it was in UTF-16."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(
        "PRAZO_WEBHOK_AUTH=hmac\nPRAZO_INBOX=postgresql://ana:s3cret@db.example/inbox\n", encoding
    )
    (tmp_path / ".env").chmod(0o644)
    assert of("settings", settings_in(tmp_path)).remedy == "is it PRAZO_WEBHOOK_AUTH?"
    assert "chmod 600 .env" in [it.remedy for it in examine(settings_in(tmp_path))]


def test_a_misspelt_setting_is_named_whatever_its_case_and_before_it_has_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("PRAZO_LOGN\n")
    (tmp_path / ".env").chmod(0o600)
    monkeypatch.setenv("prazo_inbx", "inbox.db")
    found = [it.remedy for it in examine(settings_in(tmp_path)) if it.check == "settings"]
    assert found == ["is it PRAZO_INBOX?", "is it PRAZO_LOGIN?"]


def of(check: str, settings: Settings) -> Diagnosis:
    [found] = [it for it in examine(settings) if it.check == check]
    return found


def test_what_is_open_to_whom_is_said(tmp_path: Path) -> None:
    alone = settings_in(tmp_path)
    assert "to this machine alone: receiver: /healthz" in of("open", alone).found
    assert "receiver: /webhooks" in of("open", alone).found
    assert "dashboard: every page" in of("open", alone).found
    assert (of("API", alone).verdict, "no tokens" in of("API", alone).found) == ("warning", True)
    (tmp_path / "secret").write_text("s3cret")
    behind = settings_in(tmp_path, webhook_auth="header", webhook_secret_file=tmp_path / "secret")
    assert "to whoever reaches the ports" in of("open", behind).found
    assert "/webhooks" not in of("open", behind).found
    assert "tokens are required and there are none" in of("API", behind).found
    (tmp_path / "tokens").write_text("# none yet\n")
    empty = settings_in(tmp_path, api_tokens_file=tmp_path / "tokens")
    assert "tokens are required and there are none" in of("API", empty).found


def test_files_that_a_start_or_a_package_needs_are_looked_at(tmp_path: Path) -> None:
    """It called deliveries authenticated by secrets that were not there, and a login by a proxy
    well that let nobody in; a policy that nobody can read was found by the next package."""
    (tmp_path / "empty").touch()
    (tmp_path / "roles").write_text("officer:groups:compliance\n")
    by_proxy = {"login": "proxy", "roles_file": tmp_path / "roles", "api_tokens_file": tmp_path}
    for check, settings, why in (
        (
            "deliveries",
            {"webhook_auth": "hmac", "webhook_secret_file": "lacking"},
            "cannot be read",
        ),
        ("login", {**by_proxy, "proxy_secret_file": tmp_path / "empty"}, "the file is empty"),
        ("packages", {"witnesses_file": tmp_path / "empty"}, "it has no quorum line"),
        ("packages", {"timestamp_chain_file": "lacking"}, "No such file or directory"),
    ):
        found = of(check, settings_in(tmp_path, **settings))
        assert found.verdict == "fault"
        assert why in found.found


def test_a_receiver_that_does_not_answer_is_said(tmp_path: Path) -> None:
    found = of("receiver", settings_in(tmp_path, receiver_port=free_port()))
    assert found.verdict == "warning"
    assert "nothing that the platform sends is taken" in found.found
    assert "`prazo serve`" in found.remedy


def asked(marketplace: Marketplace, **changes: Any) -> list[Diagnosis]:
    settings = marketplace.settings(**changes)
    found = examine(settings, asks_platform=True)
    return [it for it in found if it.check in ("handshake", "credentials")]


def test_the_platform_is_asked_without_a_submission(marketplace: Marketplace) -> None:
    before = len(marketplace.platform.requests)
    assert [(it.check, it.verdict) for it in asked(marketplace)] == [
        ("handshake", "ok"),
        ("credentials", "ok"),
    ]
    assert [it.method for it in marketplace.platform.requests[before:]] == ["GET"]


def test_the_platform_is_left_alone_unless_asked_for(marketplace: Marketplace) -> None:
    before = len(marketplace.platform.requests)
    diagnoses(marketplace)
    assert len(marketplace.platform.requests) == before


def test_a_certificate_that_the_platform_refuses_is_said_of_the_handshake(
    marketplace: Marketplace,
) -> None:
    pair = marketplace.platform.certificates.stranger_client
    [fault] = asked(marketplace, client_cert_file=pair.certificate, client_key_file=pair.key)
    assert (fault.check, fault.verdict) == ("handshake", "fault")
    assert "hung up before any request" in fault.found
    assert "PRAZO_CLIENT_CERT_FILE" in fault.remedy


def test_a_platform_that_we_do_not_trust_is_said_of_the_handshake(
    marketplace: Marketplace,
) -> None:
    stranger = marketplace.platform.certificates.stranger_authority
    [fault] = asked(marketplace, platform_ca_file=stranger)
    assert "the platform's certificate is not trusted" in fault.found


def test_credentials_that_the_platform_refuses_are_a_fault(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    wrong = tmp_path / "credentials"
    wrong.write_text("somebody:else\n")
    found = asked(marketplace, platform_credentials_file=wrong)
    assert [(it.check, it.verdict) for it in found] == [
        ("handshake", "ok"),
        ("credentials", "fault"),
    ]


def ledgers(marketplace: Marketplace, **settings: Any) -> list[Diagnosis]:
    return [it for it in examine(marketplace.settings(**settings)) if it.check == "ledger"]


def test_a_look_at_the_ledger_makes_none_and_no_key(marketplace: Marketplace) -> None:
    """Doctor built a ledger, made a signing key and left a head, where it was asked to look."""
    settings = marketplace.settings()
    [found] = ledgers(marketplace)
    assert (found.verdict, "there is none" in found.found) == ("warning", True)
    assert not settings.ledger.exists()
    assert not settings.signing_key_file.exists()


def test_a_damaged_ledger_is_named_and_stays_as_it_is(marketplace: Marketplace) -> None:
    """Doctor rebuilt it: what a person should have looked at was gone."""
    settings = marketplace.settings()
    settings.ledger.parent.mkdir(parents=True, exist_ok=True)
    settings.ledger.write_bytes(bytes(11_000))
    [found] = ledgers(marketplace)
    assert (found.verdict, found.remedy) == (
        "fault",
        "`prazo rebuild` makes it again from the inbox",
    )
    assert settings.ledger.read_bytes() == bytes(11_000)


@pytest.mark.parametrize("problem", ["it is damaged", None])
def test_a_holder_that_cannot_read_its_ledger_is_one_fault(
    marketplace: Marketplace, monkeypatch: pytest.MonkeyPatch, problem: str | None
) -> None:
    """Its problem was named, and the same again for the rows that it could not give."""
    holding = Mock(url="here", shown=Mock(side_effect=CallerError("it cannot be read")))
    status = {"problem": problem, "lag_seconds": 0.0, "inbox_seq": 1, "last_seq": 1}
    holding.status.return_value = status
    monkeypatch.setattr(stores.remote, "holder", lambda _: nullcontext(holding))
    found = [it for it in ledgers(marketplace) if it.verdict == "fault"]
    assert [it.found for it in found] == [problem or "it cannot be read"]


def test_a_sound_ledger_is_counted_and_not_written(marketplace: Marketplace) -> None:
    marketplace.review()
    with closing(LedgerService(marketplace.settings())) as service:
        service.catch_up()
        size = service.ledger.size
    before = marketplace.settings().ledger.read_bytes()
    [found] = ledgers(marketplace)
    assert (found.verdict, found.found.split(" of ")[0]) == ("ok", f"{size} entries")
    assert marketplace.settings().ledger.read_bytes() == before


def test_what_nobody_does_any_more_is_a_warning(marketplace: Marketplace, tmp_path: Path) -> None:
    file = tmp_path / "alerts.toml"
    ops = '[recipients.ops]\napprise_file = "channels"\n'
    to_officers = '[[routes]]\nto = ["ops"]\nroles = ["officer"]\n'
    file.write_text(ops + to_officers, encoding="utf-8")

    def said() -> dict[str, str]:
        checks = ("resumer", "alerts", "routes", "backup", "rehearsal", "verification")
        found = examine(marketplace.settings(alerts_file=file))
        return {it.check: it.verdict for it in found if it.check in checks}

    assert set(said().items()) == {
        *(("resumer", "warning"), ("alerts", "warning"), ("routes", "warning")),
        *(("backup", "warning"), ("rehearsal", "warning"), ("verification", "warning")),
    }
    file.write_text(ops, encoding="utf-8")
    beat(marketplace.inbox, Part.RESUMER)
    beat(marketplace.inbox, Part.ALERTS)
    marketplace.inbox.execute(
        "insert into heartbeats (name, at) values ($1, $2)",
        "backup",
        marketplace.inbox.now() - 3 * instants.DAY,
    )
    beat(marketplace.inbox, Part.VERIFICATION)
    beat(marketplace.inbox, Part.REHEARSAL)
    assert set(said().items()) == {
        *(("resumer", "ok"), ("alerts", "ok")),
        *(("backup", "warning"), ("rehearsal", "ok"), ("verification", "ok")),
    }
    beat(marketplace.inbox, Part.BACKUP)
    assert said()["backup"] == "ok"
    # A clock was an hour ahead: nobody would notice before then that a part has ended.
    ahead = "update heartbeats set at = at + $1 where name = 'alerts'"
    marketplace.inbox.execute(ahead, instants.HOUR)
    assert said()["alerts"] == "warning"


def test_what_an_alert_needs_to_leave_is_looked_at(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    file, channels = tmp_path / "alerts.toml", tmp_path / "channels"
    file.write_text(f'[recipients.ops]\napprise_file = "{channels}"\n', encoding="utf-8")

    def said() -> list[str]:
        found = examine(marketplace.settings(alerts_file=file))
        return [f"{it.check} {it.verdict}" for it in found if str(channels) in it.found]

    assert said() == ["alerts fault"]
    channels.write_text("json://localhost")
    channels.chmod(0o644)
    assert said() == ["secrets fault"]
    channels.chmod(0o600)
    assert said() == ["secrets ok"]
    channels.write_text("nothing that leads anywhere")
    assert said() == ["secrets ok", "alerts fault"]


def test_where_nobody_hears_of_anything_it_says_so(marketplace: Marketplace) -> None:
    [found] = [it for it in examine(marketplace.settings()) if it.check == "alerts"]
    assert found.verdict == "warning"
    assert "the settings name no recipient" in found.found


def test_an_inbox_that_lacks_what_was_signed_is_a_fault_with_its_remedy(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)

    def kept_head() -> Diagnosis:
        [found] = [it for it in examine(settings) if it.check == "kept head"]
        return found

    with closing(LedgerService(settings)) as service:
        assert kept_head().verdict == "ok"  # there is nothing to keep one of
        deliver(service.inbox, range(3))
        assert kept_head().verdict == "warning"  # nothing was kept yet
        service.catch_up()
    assert (kept_head().verdict, "the 3 entries" in kept_head().found) == ("ok", True)
    with closing(opened(settings.inbox)) as raw, raw:
        raw.execute("drop trigger entries_no_delete")
        raw.execute("delete from entries where seq > 1")
    assert kept_head().verdict == "fault"
    assert "prazo reconcile" in kept_head().remedy


# --- the signing key ---


def test_a_signing_key_that_is_not_here_is_named_with_the_one_that_is_needed(
    tmp_path: Path,
) -> None:
    settings = settings_in(tmp_path)

    def signing_key(**changes: Any) -> Diagnosis:
        found = examine(settings.model_copy(update=changes))
        [diagnosis] = [it for it in found if it.check == "signing key"]
        return diagnosis

    with closing(LedgerService(settings)) as service:
        deliver(service.inbox, range(3))
        assert signing_key().verdict == "ok"
        service.catch_up()
        key = str(service.signing.known().current)  # type: ignore[union-attr]
    assert signing_key().found == f"{key} is here"
    settings.signing_key_file.unlink()
    lost = signing_key()
    assert (lost.verdict, key in lost.found) == ("fault", True)
    assert "bring its file" in lost.remedy
    elsewhere = signing_key(ledger=tmp_path / "a machine that never signed" / "ledger.duckdb")
    assert (elsewhere.verdict, elsewhere.found) == ("warning", lost.found)
    url = "https://keeper.market.example"
    assert signing_key(keeper_url=url).found == f"{url} signs; this machine compares"
    Signer.made("prazo/another-log", settings.signing_key_file)
    strange = signing_key(keeper_url=url)
    assert (strange.verdict, "compare both with" in strange.remedy) == ("warning", True)
    settings.signing_key_file.unlink()
    assert not settings.signing_key_file.exists()


def test_a_log_that_nobody_has_signed_yet_has_no_key(marketplace: Marketplace) -> None:
    marketplace.review()
    [found] = [it for it in examine(marketplace.settings()) if it.check == "signing key"]
    assert (found.verdict, found.remedy) == (
        "warning",
        "`prazo serve` registers one when it starts",
    )
    assert not marketplace.settings().signing_key_file.exists()


# --- the clock ---

A_LONG_TIME = 10**6 * instants.SECOND  # since the machine was started


def a_clock(jump: int = 0, *, database: int | None = None) -> Clock:
    """A clock that was right until it jumped, and what the database's then says of it."""
    offsets = [-A_LONG_TIME]
    clock = Clock(
        wall=lambda: instants.now() + offsets[0] + A_LONG_TIME,
        steady=instants.now,
        is_synchronised=lambda: False,
    )
    offsets[0] += jump
    if database is not None:
        clock.hear_database(instants.now(), instants.now() + database)
    clock.now()
    return clock


def test_a_clock_that_nothing_vouches_for_is_a_warning_where_it_is_far_ahead() -> None:
    found = stores.clock(a_clock(), instants.now() - instants.DAY)
    assert found.verdict == "warning"
    assert "no time service keeps it, and it is 24.0 h ahead of the newest entry" in found.found
    assert "a clock that is ahead at a start is believed" in found.remedy


def test_entries_that_are_dated_ahead_of_the_clock_are_named() -> None:
    found = stores.clock(a_clock(), instants.now() + instants.DAY, (7, 12))
    assert found.verdict == "fault"
    assert found.found.endswith("s behind the newest entry: entries 7 to 12 are dated ahead of it")


def test_clocks_that_agree_are_well() -> None:
    assert stores.clock(a_clock(), instants.now()).verdict == "ok"
    with_database = stores.clock(a_clock(database=instants.SECOND), instants.now())
    assert (with_database.verdict, ", the database's +1.0" in with_database.found) == ("ok", True)


def test_a_clock_that_jumped_is_a_fault_that_says_how_far() -> None:
    found = stores.clock(a_clock(instants.DAY), instants.now())
    assert found.verdict == "fault"
    assert found.found == "the clock is +86,400 s off: it jumped since this machine started"
    assert "PRAZO_BELIEVE_CLOCK=true" in found.remedy


def test_a_database_whose_clock_has_jumped_is_a_fault_and_this_machine_s_is_not() -> None:
    """It said that this machine's was 0 s off."""
    clock = a_clock(database=0)
    clock.hear_database(instants.now(), instants.now() - instants.HOUR)
    found = stores.clock(clock, instants.now())
    assert found.verdict == "fault"
    assert found.found == "the database's clock is -3,600 s off: it has jumped"


def test_a_clock_that_contradicts_the_databases_is_a_fault() -> None:
    found = stores.clock(a_clock(-instants.HOUR, database=0), instants.now())
    assert (found.verdict, found.found) == ("fault", "the clock is -3,600 s off the database's")
    assert "set both clocks" in found.remedy


def test_a_clock_behind_the_newest_entry_is_a_fault_that_says_whether_it_is_believed() -> None:
    """It asked for the operator's word again where that had been given."""
    found = stores.clock(a_clock(), instants.now() + instants.MINUTE)
    assert found.verdict == "fault"
    assert found.found in (
        "the clock is 60 s behind the newest entry",
        "the clock is 59 s behind the newest entry",  # on a machine that is busy just then
    )
    assert found.remedy.endswith("It is believed: what happens is dated by it")
    doubted = stores.clock(a_clock(-instants.DAY), instants.now() + instants.MINUTE)
    assert doubted.remedy.endswith("start the receiver once with PRAZO_BELIEVE_CLOCK=true")


def test_the_clock_of_this_machine_is_among_what_is_examined(marketplace: Marketplace) -> None:
    marketplace.review()
    [found] = [it for it in examine(marketplace.settings()) if it.check == "clock"]
    assert found.verdict == "ok"


def test_a_folder_on_a_disk_that_is_not_mounted_is_a_fault(tmp_path: Path) -> None:
    """It was well, and the first command that wrote said that the file exists."""
    disk, data = tmp_path / "disk", tmp_path / "data"
    data.symlink_to(disk)
    [fault] = [it for it in stores.disk(settings_in(data)) if it.verdict == "fault"]
    assert fault.found == f"{data} leads to {disk}, which is not there"
    disk.mkdir()
    assert [it for it in stores.disk(settings_in(data)) if "leads to" in it.found] == []
