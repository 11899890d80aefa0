"""The ledger page tells how sound the log is and hands out what proves it."""

import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.language import formats
from app_pages.parts import views
from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Due, Item, Subject, Try
from pipeline.continuity import stores
from pipeline.http import machine
from pipeline.inbox.heartbeats import Part, beat, heartbeats
from pipeline.log import deliveries
from pipeline.log.entries import Draft
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.receive.rejections import Rejected, entry_of
from pipeline.verify import Verdict
from tests.app_pages.conftest import OpenLog, Visit, follow
from tests.app_pages.support.occurrences import NOW, before, review
from tests.app_pages.support.reading import all_links, metrics, page_text, plain, press
from tests.forward.conftest import endpoints_file
from tests.support.sqlite import opened

BROKEN = {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"}
HISTORY = [review("prc_1", before(days=10)), review("prc_1", before(days=10)), BROKEN]


def test_deliveries_and_quarantine_are_counted_and_shown(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("ledger")
    shown = metrics(app)
    assert shown["Entries"] == ("2", "none missing")
    assert shown["Deliveries"] == ("1", "0 delivered again")
    assert shown["In quarantine"] == ("1", "one may hide a review")
    assert list(app.dataframe[0].value["seq"]) == [2]
    assert "Files of occurrences in the guide Operations" in page_text(app)


def test_what_was_turned_away_is_counted_where_one_asks_whether_anything_is_lost(
    open_log: OpenLog, visit: Visit
) -> None:
    """Deliveries went to an address with a letter missing, and no page said a word of it."""
    with open_log(HISTORY) as service:
        assert "turned away" not in page_text(visit("ledger"))
        wrong = Rejected(404, "none of the receiver's calls")
        service.inbox.append([entry_of(wrong, 7, service.now(), "POST /webhook")])
        follow(service)
        said = page_text(visit("ledger", as_of=None))
        assert "7 requests to the receiver were turned away unread" in said
        [entry] = service.inbox.find(kind="rejection")
        assert entry.particulars["reason"] == "none of the receiver's calls: POST /webhook"


def test_a_disk_that_is_nearly_full_stands_where_one_asks_whether_anything_is_full(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log(HISTORY):
        app = visit("ledger")
        assert "A disk is nearly full" not in page_text(app)
        assert ("Ledger", "") in all_links(app)  # at the foot of each page
    usage = shutil.disk_usage("/")._replace(total=5_120_000_000, free=512_000_000)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: usage)
    with open_log(HISTORY):
        assert "nearly full · " not in page_text(visit("ledger"))  # nobody knows how full one was
        app = visit("ledger", as_of=None)
        shown = page_text(app)
        assert metrics(app)["Fullest disk"] == ("0.5 GB free", "10.0% of it free: nearly full")
    assert "A disk is nearly full" in shown
    assert "a disk nearly full · in quarantine: 1 · no recent backup · no entry missing" in shown
    assert "512 MB are free on the fullest disk of inbox, ledger" in shown


def test_a_delivery_in_quarantine_stands_with_the_commands_that_read_it_again(
    open_log: OpenLog, visit: Visit
) -> None:
    """The page named a chapter of a guide, and anyone who runs Prazo had to look for the rest."""
    nameless = review("prc_2", before(days=2))
    del nameless["body"]["payload"]["object"]["process_id"]
    with open_log([nameless]) as service:
        commands = [it.value for it in visit("ledger").code]
        assert "prazo quarantine --replay" in commands
        supply = 'prazo quarantine --supply 1 PATH=VALUE --reason "..." --actor "..."'
        assert supply in commands
        assert 'prazo quarantine --encoding latin-1 1 --reason "..." --actor "..."' in commands
        held = service.inbox.entry(1)
        assert held is not None
        named = {"payload.object.process_id": "prc_2"}
        why = {"reason": "support named it", "actor": "Ana", "recorded_by": "test"}
        service.inbox.append(deliveries.supply(held, named, **why))
        follow(service)
        app = visit("ledger", as_of=None)
        assert "All of them could be read since" in page_text(app)
        assert not [it.value for it in app.code if it.value.startswith("prazo quarantine")]


def test_what_waits_to_go_out_and_an_old_backup_are_where_one_asks_whether_all_is_well(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    """The page said nothing of what goes out, and nothing of backups, whose alerts were open. Then
    it called a seller whose deliveries kept failing nothing, and an endpoint that was gone late."""
    given = endpoints_file(tmp_path, {"name": "desk", "url": "http://127.0.0.1:9/"})
    with open_log(HISTORY, forward_file=given) as service:
        now = service.inbox.now()
        shown = metrics(visit("ledger"))  # as of another instant nobody knows
        assert not {"Oldest to go out", "Last backup"} & {*shown}

        def oldest() -> tuple[str, str, str]:
            figures = visit("ledger", as_of=None).metric
            [figure] = [it for it in figures if it.label == "Oldest to go out"]
            assert figure.help == (
                "Looked at: submissions to repeat, messages of open alerts, deliveries to"
                " endpoints. Messages of the schedule to sellers are not: *Sellers* says how each"
                " fares."
            )
            return figure.value, figure.delta, figure.proto.MetricColor.Name(figure.proto.color)

        def waits(lane: str, first_tried_at: int, dead_at: int | None) -> None:
            service.inbox.execute(
                "insert into forward_waiting"
                " (endpoint, lane, seq, tries, first_tried_at, due_at, error, dead_at)"
                " values ('desk', $1, 1, 3, $2, 0, 'answered 500', $3)",
                lane,
                first_tried_at,
                dead_at,
            )

        assert metrics(visit("ledger", as_of=None))["Last backup"] == (
            "none yet",
            "no restore rehearsed",
        )
        assert (
            "in quarantine: 1 · no recent backup · no entry missing · nothing late to go out, of"
            " what is looked at · no disk nearly full"
        ) in page_text(visit("ledger", as_of=None))
        came = deliveries.delivery(b"{}", occurred_at=now, recorded_by="webhook")
        service.inbox.append([came])
        for name, position in (("gone", 0), ("desk", service.inbox.last()[0])):
            service.inbox.execute(
                "insert into forward_endpoints"
                " (name, generation, position, reported_at, reported_position)"
                " values ($1, 1, $2, 0, 0)",
                name,
                position,
            )
        assert oldest() == ("–", "nothing waits", "GREEN")
        waits("sel_1", now - 3 * instants.HOUR, None)
        assert oldest() == ("3 h", "1 delivery to desk", "ORANGE")
        waits("sel_2", now - 9 * instants.HOUR, now)  # no longer tried: it waits for a person
        service.inbox.execute("delete from forward_waiting where lane = 'sel_1'")
        value, said, colour = oldest()
        assert (said, colour) == ("1 delivery given up for desk", "ORANGE")
        assert "something late to go out · " in page_text(visit("ledger", as_of=None))
        assert value.endswith(" s")
        beat(service.inbox, Part.BACKUP)
        beat(service.inbox, Part.REHEARSAL)
        shown = metrics(visit("ledger", as_of=None))
        assert shown["Last backup"][0].endswith(" s")
        assert shown["Last backup"][1].startswith("restore rehearsed ")
        given.write_text("[[endpoint]]\n", encoding="utf-8")  # somebody edits it
        figures = visit("ledger", as_of=None).metric
        [figure] = [it for it in figures if it.label == "Oldest to go out"]
        assert "endpoints" not in figure.help


def test_no_backup_is_gray_where_none_is_asked_for(
    open_log: OpenLog, visit: Visit, tmp_path: Path
) -> None:
    """It was green: as if there were one."""
    rules = tmp_path / "alerts.toml"
    rules.write_text("[watch]\nbackup_days = 0\nrehearsal_days = 0\n", encoding="utf-8")
    with open_log(HISTORY, alerts_file=rules):
        app = visit("ledger", as_of=None)
    [figure] = [it for it in app.metric if it.label == "Last backup"]
    assert (figure.value, figure.proto.MetricColor.Name(figure.proto.color)) == ("none yet", "GRAY")


def test_the_figure_of_the_last_backup_leads_to_its_own_alert(
    open_log: OpenLog, visit: Visit
) -> None:
    """It led to all 57, with the one about the backup out of sight."""
    with open_log([review("prc_1", datetime.now(UTC) - timedelta(days=31))]) as service:
        due = Due("old", "backup_old", "risk", "officer", 0)
        service.inbox.append([entries.raised(due, Subject(), service.inbox.now())])
        follow(service)
        leads = dict(all_links(visit("ledger", as_of=None)))
    assert "row=old" in leads["View the alerts"].split("&")


def test_a_message_of_an_alert_that_somebody_sees_to_does_not_wait_to_go_out(
    open_log: OpenLog, visit: Visit
) -> None:
    """Between a failed try and the next somebody took it: its message was the oldest for ever."""
    with open_log([review("prc_1", datetime.now(UTC) - timedelta(days=31))]) as service:
        at = service.inbox.now()
        [late] = service.reader.read("alerts", as_of=at).to_pylist()
        level = Due(late["alert_id"], late["kind"], late["severity"], "officer", 0)
        subject = Subject(process_id="prc_1", seller_id="sel_ana")
        made = Try(Item(level, level=0, number=1), "eva", "email", "m")
        service.inbox.append([entries.raised(level, subject, at), entries.tried(made, subject, at)])
        follow(service)
        assert metrics(visit("ledger", as_of=None))["Oldest to go out"][1] == "1 message of alerts"
        taken = entries.acknowledged(level.alert, subject, actor="Eva", recorded_by="test")
        service.inbox.append([taken])
        follow(service)
        views.forget_answers()
        assert metrics(visit("ledger", as_of=None))["Oldest to go out"][1] == "nothing waits"


def test_what_the_marketplaces_own_system_has_to_send_again_waits_to_go_out(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log([review("prc_1", datetime.now(UTC) - timedelta(days=3))]) as service:
        start = Draft(
            kind=SUBMISSION_STARTED,
            occurred_at=service.inbox.now() - 2 * instants.HOUR,
            recorded_by="gateway",
            body=b'{"process_id":"prc_1","type":"individual"}',
            particulars={"via": "gateway"},
            attempt_id="a1",
            process_id="prc_1",
            seller_id="sel_ana",
        )
        end = start._replace(
            kind=SUBMISSION_FINISHED,
            occurred_at=start.dated + instants.SECOND,
            body=b"",
            particulars={"status": 503},
        )
        service.inbox.append([start, end])
        follow(service)
        app = visit("ledger", as_of=None)
        assert metrics(app)["Oldest to go out"][1] == "1 submission that your system repeats"
        assert ("View what waits", "standing=pending") in all_links(app)


def test_a_figure_leads_to_its_rows(open_log: OpenLog, visit: Visit) -> None:
    """It led to the description of the view."""
    again = review("prc_1", before(days=10), at=before(days=9))
    history = [*HISTORY, again, {**again, "occurred_at": "2026-05-31T12:00:00Z"}]
    with open_log(history):
        app = visit("ledger")
        _, show_deliveries = (it for it in app.button if it.label.startswith("View "))
        show_deliveries.click().run()
        grid = app.dataframe[0].value
        assert list(grid["seq"]) == [4, 3, 1]
        assert list(grid["came"]) == ["delivered again", "for the first time", "for the first time"]
        assert "Is the log intact?" not in page_text(app)
        press(app, "Back to the ledger")
        assert "Is the log intact?" in page_text(app)
        grid = visit("ledger", list="entries").dataframe[0].value
        assert list(grid["seq"]) == [4, 3, 2, 1]
        assert list(grid["kind"]) == ["Delivery", "Delivery", "Delivery quarantined", "Delivery"]


def test_the_checkpoint_and_its_key_are_there_to_take_away(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY) as service:
        app = visit("ledger")
        note, key = service.checkpoint().note, str(service.signer.key)
        shown = [block.value for block in app.code]
    assert note.splitlines()[:2] in [block.splitlines()[:2] for block in shown]
    assert key in shown


def test_verifying_reads_every_entry_and_says_what_it_found(
    open_log: OpenLog, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that was changed in the inbox breaks no view: only reading it shows it. A row that a
    check finds was named by its id to analysts, too, whatever that looks like."""
    with open_log(HISTORY) as service:
        app = visit("ledger")
        assert last_verified(app) == "not yet; new ones are verified as they come"
        press(app, "Verify now")
        at = heartbeats(service.inbox)[Part.VERIFICATION]
        assert last_verified(app) == formats.second(instants.of(at))
        assert "2 entries stand in inbox and ledger, the same" in plain(app.success[0].value)
        assert any("no earlier checkpoint was given" in plain(it.value) for it in app.warning)
        with closing(opened(tmp_path / "inbox.db")) as inbox:
            inbox.execute("drop trigger entries_no_update")
            inbox.execute("update entries set body = x'7b7d' where seq = 1")
        assert "Log integrity: verified" in page_text(visit("ledger"))  # nobody read it again
        app = visit("ledger", lang="pt")
        press(app, "Verificar agora")  # the body, and the trigger that is gone
        elsewhere = page_text(visit("denials"))
        assert "Log integrity: faults were found" in elsewhere
        assert "Log integrity: verified" not in elsewhere
        assert "A verification found 2 faults at" in visit("ledger").error[0].value
        found = Verdict()
        found.fault("materialized_sellers_disagree: 1 row: seller_id 529.982.247-25, side log.")
        monkeypatch.setattr(stores, "audit", lambda *_, **__: found)
        masked = visit("ledger")
        press(masked, "Verify now")
    assert "seller_id ***25~" in plain(masked.error[0].value)
    assert not app.success
    assert app.error[0].proto.title == "Algo não está como foi gravado"
    assert "entry 1" in plain(app.error[0].value)


def last_verified(app: AppTest) -> str:
    return str(app.table[0].value.loc["All entries last read again, without a fault"].iloc[0])


def test_what_could_not_be_checked_is_said(open_log: OpenLog, visit: Visit) -> None:
    """On a machine that follows and compares: the log's key is on another."""
    with open_log(HISTORY) as service:
        key_file = service.settings.signing_key_file
    key_file.unlink()
    with open_log([]):
        app = visit("ledger")
        press(app, "Verify now")
    notes = [plain(it.value) for it in app.warning]
    assert any("the signing key is not here" in it for it in notes)


def test_it_travels_in_time_and_says_what_does_not(open_log: OpenLog, visit: Visit) -> None:
    """At the instant that is looked at, the last of the entries has not occurred."""
    with open_log([*HISTORY, review("prc_2", NOW + timedelta(days=20))]):
        app = visit("ledger")
        assert metrics(app)["Entries"][0] == "2"
        assert "are those of the whole log as it is now" in page_text(app)
        assert "are those of the whole log" not in page_text(visit("ledger", as_of=None))


def test_of_a_long_log_the_checks_are_run_and_the_rest_is_named(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "ENTRIES_PER_MINUTE", 1)
    with open_log(HISTORY) as service:
        app = visit("ledger")
        service.ledger.cursor().execute("insert into fact_reviews select * from fact_reviews")
        press(app, "Verify now")
    assert app.error, "a fact that is there twice must not pass"
    assert "Verifying the stores in the guide Evidence" in page_text(app)
