"""`prazo alerts`: what is due, and by which settings."""

import errno
import json
import os
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner

from pipeline import instants
from pipeline.cli import main
from pipeline.inbox.sqlite.inbox import SqliteInbox
from pipeline.log.kinds.saved_view import view_step
from tests.support.lines import aci

ALERTS = """
conditions = ["breach", "ticket_due", "silence"]
silence_hours = 12
[ladder]
opened = []
before = ["36h"]
[mail]
host = "mail.market.example"
sender = "prazo@market.example"
[recipients.ana]
email = "ana@market.example"
[recipients.bruno]
role = "admin"
webhook = "https://market.example/alerts"
webhook_secret_file = "secret"
zone = "Europe/Lisbon"
assigned_as = ["Bruno Sá"]
[[routes]]
to = ["ana"]
severities = ["breach"]
escalate = [{ after = "4h", to = ["bruno"] }]
"""


def test_what_is_due_is_listed(prazo) -> None:
    assert prazo("ingest", "-", given=json.dumps(aci())).returncode == 0
    listed = prazo("alerts", "due", "--as-of", "2026-03-30T12:00:00Z", "--format", "json")
    [alert] = json.loads(listed.stdout)
    assert (alert["kind"], alert["process_id"], alert["next_action"], alert["raised_at"]) == (
        *("before_1d", "p1", "start_collection", None),
    )


def test_the_settings_are_shown(prazo, environment, tmp_path) -> None:
    (tmp_path / "secret").write_text("whsec_" + "QUFB" * 8)
    (tmp_path / "alerts.toml").write_text(ALERTS)
    environment["PRAZO_ALERTS_FILE"] = "alerts.toml"
    shown = prazo("alerts", "routes")
    assert shown.stdout.splitlines() == [
        "settings                    alerts.toml",
        "look_back_days              7",
        "conditions                  breach, ticket_due, silence",
        "silence_hours               12h",
        "ladder                      overdue, before_36h, expired",
        "ladder.even_while_awaiting  72h",
        "watch.receivers             -",
        "watch.lag_minutes           10",
        "watch.backup_days           2",
        "watch.rehearsal_days        35",
        "watch.certificate_days      30, 7, 1",
        "hours                       08:00-18:00, America/Sao_Paulo, BR, mon, tue, wed, thu, fri",
        "routes.1                    severities: breach, to: ana, at_any_hour: breach,"
        " after 4h: bruno",
        "recipients.ana              officer, email, pt",
        "recipients.bruno            admin, webhook, pt, zone: Europe/Lisbon,"
        " assigned_as: Bruno Sá",
        "to nobody                   overdue (notice, officer), overdue (risk, officer),"
        " before_36h (risk, officer), ticket_due (risk, officer), silence (risk, admin),"
        " ledger_behind (risk, admin), platform_files (risk, admin),"
        " channel_files (risk, admin), backup_old (risk, admin),"
        " rehearsal_old (risk, admin), certificate_ends (risk, admin)",
    ]
    assert shown.returncode == 0
    (tmp_path / "secret").write_text("")
    shown = prazo("alerts", "routes")
    assert (shown.returncode, shown.stderr) == (
        1,
        "nobody is told by recipients.bruno.webhook_secret_file: The webhook secrets in secret"
        " cannot be used: the file is empty\n",
    )
    (tmp_path / "secret").unlink()
    assert "No such file" in prazo("alerts", "routes").stderr
    nobody_there = 'host = "127.0.0.1"\nport = 1\nsecurity = "none"'
    unreached = ALERTS.replace('host = "mail.market.example"', nobody_there)
    (tmp_path / "alerts.toml").write_text(unreached)
    tried = prazo("alerts", "test", "ana")
    assert (tried.returncode, tried.stdout[:17]) == (1, "email: not sent: ")
    assert "check [mail] (127.0.0.1, port 1, security none)" in tried.stderr


def test_a_secret_that_is_for_the_sender_alone_is_named_and_is_not_a_fault(
    environment, tmp_path, monkeypatch
) -> None:
    """It ended with 1 and said that nobody is told, for everybody but the user who sends. Root may
    read whatever it likes, so the system's no is stood in for."""
    (tmp_path / "secret").write_text("whsec_" + "QUFB" * 8)
    (tmp_path / "alerts.toml").write_text(ALERTS)
    monkeypatch.chdir(tmp_path)
    opened = os.open

    def barred(path, *arguments, **options):
        if Path(os.fsdecode(path)).name == "secret":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", barred)
    done = CliRunner().invoke(
        main, ["alerts", "routes"], env={**environment, "PRAZO_ALERTS_FILE": "alerts.toml"}
    )
    assert done.exit_code == 0
    assert "routes.1 " in done.stdout
    assert done.stderr == (
        "not looked at, recipients.bruno.webhook_secret_file: The file secret cannot be read:"
        " [Errno 13] Permission denied: 'secret'. Whoever sends alerts needs it: run this command"
        " as that user\n"
    )


def test_a_report_without_a_list_is_named(prazo, environment, tmp_path) -> None:
    """Before: its mail said so, and nobody had to read that."""
    (tmp_path / "secret").write_text("whsec_" + "QUFB" * 8)
    report = '[reports.soon]\nto = ["ana"]\nat = "07:30"\nsaved = "Soonest first"\n'
    (tmp_path / "alerts.toml").write_text(ALERTS + report)
    environment["PRAZO_ALERTS_FILE"] = "alerts.toml"
    unknown = prazo("alerts", "routes")
    assert (unknown.returncode, unknown.stderr[:55]) == (
        *(0, "not looked at, saved views of reports: There is no inbo"),
    )
    gone = (
        "reports.soon has no list: the saved view 'Soonest first' is gone, or names a seller by a"
        " tax id or an e-mail address\n"
    )
    by = {"for_all": True, "actor": "Bia", "recorded_by": "test"}
    with closing(SqliteInbox(tmp_path / "inbox.db")) as inbox:
        assert "a new key was made" in prazo("show", "ledger_health").stderr  # once
        for query, expected in ((None, (1, gone)), ("lane=savable", (0, ""))):
            if query is not None:
                saved = view_step("saved", "watchlist", "Soonest first", query=query, **by)
                inbox.append([saved])
            done = prazo("alerts", "routes")
            assert (done.returncode, done.stderr) == expected


def test_settings_with_a_fault_are_refused(prazo, environment, tmp_path) -> None:
    (tmp_path / "alerts.toml").write_text("look_back_days = 0")
    environment["PRAZO_ALERTS_FILE"] = "alerts.toml"
    refused = prazo("alerts", "routes")
    assert refused.returncode == 2
    assert "look_back_days" in refused.stderr


def test_an_alert_that_leads_to_nobody_ends_with_1(prazo, environment, tmp_path) -> None:
    (tmp_path / "secret").write_text("whsec_" + "QUFB" * 8)
    (tmp_path / "alerts.toml").write_text(ALERTS)
    environment["PRAZO_ALERTS_FILE"] = "alerts.toml"
    elsewhere = prazo("alerts", "send")  # it began an inbox of its own, and told nobody of ours
    assert (elsewhere.returncode, "There is no inbox" in elsewhere.stderr) == (1, True)
    assert prazo("ingest", "-").returncode == 0
    assert prazo("alerts", "send").returncode == 0  # there is nothing to tell anybody yet
    soon = instants.canonical(instants.now() + instants.DAY)
    event = aci(created_at=instants.canonical(instants.now()), deadline_at=soon)
    assert prazo("ingest", "-", given=json.dumps(event)).returncode == 0
    done = prazo("alerts", "send")
    assert "nobody is told of alert " in done.stderr
    assert "no route takes it" in done.stderr
    assert done.returncode == 1


def test_alerts_are_due_by_the_inbox_s_clock(prazo, environment, tmp_path, monkeypatch) -> None:
    """They were by that of the ledger's holder: where it was behind, with a PostgreSQL inbox whose
    clock was right, a deadline passed and nobody was told."""
    (tmp_path / "secret").write_text("whsec_" + "QUFB" * 8)
    (tmp_path / "alerts.toml").write_text(ALERTS)
    environment["PRAZO_ALERTS_FILE"] = "alerts.toml"
    now = instants.now()
    in_time = instants.canonical(now + 20 * instants.DAY)
    event = aci(created_at=instants.canonical(now), deadline_at=in_time)
    assert prazo("ingest", "-", given=json.dumps(event)).returncode == 0
    assert prazo("alerts", "send").returncode == 0
    monkeypatch.setattr(SqliteInbox, "now", lambda _: now + 21 * instants.DAY)
    assert prazo("alerts", "send").returncode == 1


def test_a_slip_in_the_alerts_file_takes_no_ledger_away(prazo, environment, tmp_path) -> None:
    """Whoever held the ledger ended with 2 for it, again and again: no page, no head, no proof."""
    SqliteInbox(tmp_path / "inbox.db").close()
    for text in (None, "look_back_days = ", "look_back_days = 0"):
        if text is not None:
            (tmp_path / "alerts.toml").write_text(text)
        environment["PRAZO_ALERTS_FILE"] = "alerts.toml"
        shown = prazo("show", "alerts", "--format", "csv")
        assert shown.returncode == 0, shown.stderr
        assert "defaults are in force: " in shown.stderr
