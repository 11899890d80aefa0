"""`prazo ingest`, `show`, `quarantine`, `rebuild` and `doctor`, as a person would use them."""

import contextlib
import csv
import io
import json
import os
import shutil
import subprocess
from pathlib import Path

import click
import httpx
import openpyxl
import pyarrow.parquet
import pytest

from pipeline import instants
from pipeline.cli.views import show
from pipeline.inbox import open_inbox
from pipeline.ledger.views.formats import FORMATS
from pipeline.log import deliveries
from tests.cli.conftest import Prazo
from tests.support.commands import here
from tests.support.machine import wait_until
from tests.support.stores import environment_in, in_use

REVIEW = {
    "kind": "webhook",
    "occurred_at": "2026-03-01T00:00:01Z",
    "body": {
        "id": "evt_1",
        "type": "regulatory.registration.review.required",
        "created_at": "2026-03-01T00:00:00Z",
        "payload": {
            "object": {
                "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
                "process_id": "p1",
                "customer_id": "s1",
                "status": "OVERDUE",
                "deadline_at": "2026-03-31T00:00:00Z",
                "requested_fields": ["revenue", "address.city"],
            }
        },
    },
}
DENIAL = {
    "kind": "webhook",
    "occurred_at": "2026-03-02T00:00:00.5Z",
    "body": {
        "id": "evt_2",
        "type": "seller.denied",
        "created_at": "2026-03-02T00:00:00.25Z",
        "payload": {
            "object": {
                "id": "s2",
                "status": "denied",
                "resource": "seller",
                "first_name": "=Benedita",
                "taxpayer_id": "390.533.447-05",
                "retry": True,
                "decision_reasons": [
                    {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
                    {"reason": "INTERNAL_KYC_POLICY"},
                ],
            }
        },
    },
}
STARTED = {
    "kind": "submission_started",
    "occurred_at": "2026-03-03T00:00:00Z",
    "attempt_id": "a1",
    "process_id": "p1",
    "seller_id": "s1",
    "marketplace_id": "m1",
    "idempotency_key": "p1",
    "body": {"process_id": "p1", "type": "individual", "revenue": "1000_to_5000"},
}
FINISHED = {
    "kind": "submission_finished",
    "occurred_at": "2026-03-03T00:00:02Z",
    "attempt_id": "a1",
    "process_id": "p1",
    "status": 500,
    "error": None,
    "body": None,
}
ANSWERED = {
    "kind": "collection",
    "occurred_at": "2026-03-02T12:00:00Z",
    "process_id": "p1",
    "seller_id": "s1",
    "journey_id": "j1",
    "step": "answered",
    "channel": "web_form",
    "source": "seller",
    "actor": "Ana",
    "fields": {"revenue": "1000_to_5000"},
    "artifacts": [],
}
HISTORY = [REVIEW, DENIAL, ANSWERED, STARTED, FINISHED]


def ndjson(*lines: dict) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of stores with the history, which a ledger has followed."""
    folder = tmp_path_factory.mktemp("history")
    known = {"environment": os.environ | environment_in(folder), "folder": folder}
    here("ingest", "-", given=ndjson(*HISTORY), **known)
    here("show", "process_state", **known)
    return folder


@pytest.fixture
def ask(history: Path, tmp_path: Path, prazo: Prazo) -> Prazo:
    """Asks the command, in a copy of them."""
    shutil.copytree(history, tmp_path, dirs_exist_ok=True)
    return prazo


def test_a_history_of_every_kind_is_taken_and_shown(prazo):
    taken = prazo("ingest", "-", given=ndjson(*HISTORY))
    assert taken.returncode == 0, taken.stderr
    assert "5 recorded" in taken.stdout

    shown = prazo("show", "process_state", "--format", "json", "--as-of", "2026-03-30T00:00:00Z")
    [process] = json.loads(shown.stdout)
    assert process["process_id"] == "p1"
    assert process["state"] == "OVERDUE"
    assert process["deadline_at"] == "2026-03-31T00:00:00Z"
    assert process["days_to_deadline"] == 1
    assert process["attempts"] == 1
    assert process["last_outcome"] == "platform_error"
    assert process["requested_fields"] == ["revenue", "address.city"]

    timeline = prazo("show", "timeline", "--where", "process_id=p1", "--format", "ndjson")
    kinds = [json.loads(line)["kind"] for line in timeline.stdout.splitlines()]
    assert kinds == ["webhook", "collection", "submission_started", "submission_finished"]


def test_every_format_of_files_is_one_of_the_command_too() -> None:
    [form] = [it for it in show.params if it.name == "form"]
    assert isinstance(form.type, click.Choice)
    assert tuple(form.type.choices) == ("table", *FORMATS)


def test_taking_a_file_twice_adds_nothing(prazo, tmp_path):
    history = tmp_path / "history.ndjson"
    history.write_text(ndjson(*HISTORY))
    assert "5 recorded, 0 already there" in prazo("ingest", str(history)).stdout
    again = prazo("ingest", str(history))
    assert again.returncode == 0
    assert "0 recorded, 5 already there" in again.stdout
    # The same occurrences in another file, spelled otherwise, are the same occurrences.
    spelled = {**REVIEW, "occurred_at": "2026-02-28T21:00:01.000000999-03:00"}
    assert "0 recorded, 1 already there" in prazo("ingest", "-", given=ndjson(spelled)).stdout


def test_bad_lines_are_named_and_the_others_are_taken(prazo):
    given = (
        ndjson(REVIEW)
        + "not json\n"
        + "\n"
        + ndjson({**FINISHED, "occurred_at": "2026-03-03T00:00:02"})
        + ndjson({"kind": "dance", "occurred_at": "2026-03-03T00:00:02Z"})
        + ndjson({**ANSWERED, "step": "guessed"})
        + ndjson(DENIAL)
        + ndjson(REVIEW["body"])
    )
    taken = prazo("ingest", "-", given=given)
    assert taken.returncode == 1
    assert "2 recorded" in taken.stdout
    assert "5 bad" in taken.stdout
    assert "-:2: not taken: not JSON" in taken.stderr
    assert "-:4: not taken: occurred_at: it is not ISO 8601" in taken.stderr
    assert "-:5: not taken" in taken.stderr
    assert "-:6: not taken: step:" in taken.stderr
    assert "-:8: not taken: it has no kind; where each line is an event" in taken.stderr


def test_an_unreadable_event_goes_to_quarantine_and_makes_exit_1(prazo):
    broken = {"kind": "webhook", "occurred_at": "2026-03-01T00:00:00Z", "body": '{"id":"e1"'}
    taken = prazo("ingest", "-", given=ndjson(REVIEW, broken))
    assert taken.returncode == 1
    assert "-:2: in quarantine: not JSON" in taken.stderr
    [held] = json.loads(prazo("show", "quarantine", "--format", "json").stdout)
    assert held["seq"] == 2
    assert held["replayed_as"] is None
    assert json.loads(prazo("quarantine", "--format", "json").stdout) == [held]
    mixed = prazo("quarantine", "--replay", "--format", "json")
    assert (mixed.returncode, "--format is for the list" in mixed.stderr) == (2, True)
    replayed = prazo("quarantine", "--replay")
    assert replayed.returncode == 1
    assert "0 replayed, 1 still cannot be read" in replayed.stdout


def test_a_person_supplies_what_a_quarantined_delivery_lacks_and_its_review_lives(prazo):
    body = json.loads(json.dumps(REVIEW["body"]))
    process_id = body["payload"]["object"].pop("process_id")
    assert prazo("ingest", "-", given=ndjson({**REVIEW, "body": body})).returncode == 1

    named = ("--reason", "support named it", "--actor", "ana")
    part = f"payload.object.process_id={process_id}"
    supplied = prazo("quarantine", "--supply", "1", part, *named)
    assert (supplied.returncode, supplied.stdout) == (0, "delivery 1 is entry 3 now\n")
    [process] = json.loads(prazo("show", "process_state", "--format", "json").stdout)
    assert (process["process_id"], process["opened_at"]) == (process_id, "2026-03-01T00:00:00Z")
    [held] = json.loads(prazo("show", "quarantine", "--format", "json").stdout)
    assert held["replayed_as"] == 3
    [review, supplying] = [
        row
        for row in json.loads(prazo("show", "timeline", "--format", "json").stdout)
        if row["process_id"] == process_id
    ]
    assert (review["kind"], review["occurred_at"]) == ("webhook", REVIEW["occurred_at"])
    assert (supplying["kind"], supplying["reason"]) == ("supply", "support named it")

    again = prazo("quarantine", "--supply", "1", part, *named)
    assert (again.returncode, "Delivery 1 was read before" in again.stderr) == (1, True)
    assert prazo("quarantine", "--replay").returncode == 0
    wrong = (named, (part, "--actor", "ana"), ("type=a", "type=b", *named))
    assert [prazo("quarantine", "--supply", "1", *it).returncode for it in wrong] == [2, 2, 2]
    assert prazo("quarantine", "--supply", "2", part, *named).returncode == 1


def test_bodies_of_events_are_taken_as_they_are_and_received_at_their_created_at(prazo, tmp_path):
    saved = tmp_path / "saved.ndjson"
    review = json.dumps(REVIEW["body"], separators=(" , ", ": "))  # a spelling of its own
    undated = json.dumps({"id": "evt_3", "type": "seller.updated", "payload": {}})
    untyped = json.dumps({"id": "evt_4", "created_at": "2026-03-02T12:00:00Z"})
    lines = [review, json.dumps(DENIAL["body"]) + "\r", "", undated, '{"id":', untyped]
    saved.write_text("\n".join(lines))

    taken = prazo("ingest", "--events", str(saved))
    assert taken.returncode == 1
    assert "3 recorded, 0 already there, 1 of them in quarantine, 2 bad" in taken.stdout
    assert f"{saved}:4: not taken: nothing says when this event was received" in taken.stderr
    assert f"{saved}:5: not taken: not JSON" in taken.stderr
    assert f"{saved}:6: in quarantine: " in taken.stderr

    with contextlib.closing(open_inbox(str(tmp_path / "inbox.db"))) as inbox:
        entries = inbox.read(after=0, limit=10)
    assert [(it.kind, instants.readable(it.occurred_at)) for it in entries] == [
        ("webhook", "2026-03-01T00:00:00Z"),
        ("webhook", "2026-03-02T00:00:00.25Z"),
        ("quarantine", "2026-03-02T12:00:00Z"),
    ]
    assert entries[0].body == review.encode(), "kept byte for byte"

    again = prazo("ingest", "--events", str(saved))
    assert "0 recorded, 3 already there" in again.stdout
    wrapped = {"kind": "webhook", "occurred_at": "2026-03-01T00:00:00Z", "body": review}
    assert "0 recorded, 1 already there" in prazo("ingest", "-", given=ndjson(wrapped)).stdout


NEEDS_JQ = pytest.mark.skipif(
    shutil.which("jq") is None, reason="jq is not installed (Debian: apt install jq)"
)


@NEEDS_JQ
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("wrapped", "reason"),
    [
        (lambda events: {"resource": "list", "items": events}, "a list of {}s"),
        (lambda events: {"data": events}, "a list of {}s"),
        (lambda events: events, "a list of {}s"),
        # Where what comes before it is more than texts and numbers, the list is named by its line.
        (lambda events: {"page": {"of": 1}, "items": events}, "a list of {}s"),
    ],
)
@pytest.mark.parametrize(("flags", "one"), [(["--events"], "event"), ([], "occurrence")])
def test_a_document_is_named_as_one_and_what_is_printed_takes_it(
    prazo, tmp_path, indent, wrapped, reason, flags, one
):
    """The platform's own list was refused for want of a `created_at`, which its events have, and
    each line of it, where it was written to be read by people, for not being JSON."""
    saved = tmp_path / "it's saved.json"
    listed = [REVIEW, DENIAL] if one == "occurrence" else [REVIEW["body"], DENIAL["body"]]
    saved.write_text("\ufeff" + json.dumps(wrapped(listed), indent=indent), encoding="utf-8")
    said = printed_of(prazo, [*flags, str(saved)])
    if "page" in (found := wrapped([])) and indent and len(found) > 1:
        assert f"it is JSON over several lines, where each line is to be one {one}" in said
        saved.write_text(lines_of(said), encoding="utf-8")
        said = printed_of(prazo, [*flags, str(saved)])
    assert f"it is {reason.format(one)}, where each line is to be one" in said
    assert said.count("each line") == 1
    assert " ".join(["prazo", "ingest", *flags, "-"]) in said
    taken = prazo("ingest", *flags, "-", given=lines_of(said))
    assert (taken.returncode, taken.stderr) == (0, "")
    assert "2 recorded" in taken.stdout


def test_occurrences_over_several_lines_are_named_as_such_from_standard_input_too(prazo):
    document = "".join(json.dumps(it, indent=4) + "\n" for it in (REVIEW, DENIAL))
    refused = prazo("ingest", "-", given=document)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (
        "it is JSON over several lines, where each line is to be one occurrence" in refused.stderr
    )
    assert "`jq -c . | prazo ingest -`" in refused.stderr


def test_a_first_line_that_was_cut_off_makes_no_document_of_the_others(prazo):
    for cut in (b'{"kind": "webhook",', b'{"kind": "webh', b'{"items": 3', b"{", b"]", b"items: ["):
        given = cut + b"\n" + ndjson(REVIEW).encode()
        taken = prazo("ingest", "-", given=given.decode())
        assert "-:1: not taken: not JSON" in taken.stderr, cut
        assert taken.returncode == 1
        assert ", 1 bad" in taken.stdout


def printed_of(prazo, arguments: list[str]) -> str:
    """What `prazo ingest` says of a file of which it takes nothing."""
    refused = prazo("ingest", *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Nothing was taken of " in refused.stderr
    return refused.stderr


def lines_of(said: str) -> str:
    """What the first command that it prints writes, as a shell runs it."""
    first = said[said.index("`jq -c") + 1 :].partition(" | prazo ")[0]
    done = subprocess.run(
        ["sh", "-c", first], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_each_format_has_every_row_and_no_formula(ask, tmp_path):
    reasons = [
        {
            "reason": "DOCUMENT_VALIDATION",
            "detail": "DOCUMENT_QUALITY",
            "denials": 1,
            "retryable": 1,
            "retryable_share": 1.0,
        },
        {
            "reason": "INTERNAL_KYC_POLICY",
            "detail": None,
            "denials": 1,
            "retryable": 1,
            "retryable_share": 1.0,
        },
    ]
    assert json.loads(ask("show", "denial_reasons", "--format", "json").stdout) == reasons
    rows = list(
        csv.DictReader(io.StringIO(ask("show", "denial_reasons", "--format", "csv").stdout))
    )
    assert [row["reason"] for row in rows] == ["DOCUMENT_VALIDATION", "INTERNAL_KYC_POLICY"]

    out = tmp_path / "denials.parquet"
    assert ask("show", "denials", "--format", "parquet", "--out", str(out)).returncode == 0
    table = pyarrow.parquet.read_table(out)
    assert str(table.schema.field("denied_at").type) == "timestamp[us, tz=UTC]"
    assert table.num_rows == 1

    sheet = tmp_path / "sellers.xlsx"
    shown = ask(
        *("show", "seller_state", "--format", "xlsx", "--out", str(sheet)),
        *("--unmask", "checking names", "--actor", "Ana"),
    )
    assert shown.returncode == 0, shown.stderr
    cells = [cell for row in openpyxl.load_workbook(sheet)["rows"].values for cell in row]
    assert "=Benedita" in cells  # a text, which no spreadsheet runs


def test_personal_columns_are_masked_and_unmasking_is_an_entry_that_tells_whose_were_shown(ask):
    where = ("--where", "seller_id=s2")
    [masked] = json.loads(ask("show", "seller_state", *where, "--format", "json").stdout)
    assert masked["taxpayer_id"] == "***05"
    assert masked["first_name"] == "=***"

    refused = ask("show", "seller_state", *where, "--unmask", "audit 12")
    assert refused.returncode == 2
    assert "--actor" in refused.stderr
    for view, mistaken in (("nothing", "seller_id=s2"), ("seller_state", "nothing=s2")):
        asked = ("--where", mistaken, "--unmask", "a call", "--actor", "Ana")
        assert ask("show", view, *asked).returncode == 2

    shown = ask(
        *("show", "seller_state", *where, "--format", "json"),
        *("--unmask", "audit 12", "--actor", "Ana"),
    )
    [seller] = json.loads(shown.stdout)
    assert seller["taxpayer_id"] == "390.533.447-05"
    entries = ask("show", "timeline", "--where", "kind=unmask", "--format", "json")
    [entry] = json.loads(entries.stdout)
    assert (entry["seller_id"], entry["reason"], entry["actor"]) == ("s2", "audit 12", "Ana")


def test_a_table_shows_50_rows_and_says_of_how_many(prazo):
    lines = []
    for number in range(60):
        body = json.loads(json.dumps(REVIEW["body"]))
        body["id"] = f"evt_{number}"
        body["payload"]["object"]["process_id"] = f"p{number:02}"
        lines.append({**REVIEW, "body": body})
    prazo("ingest", "-", given=ndjson(*lines))
    shown = prazo("show", "process_state").stdout
    assert "50 of 60 rows" in shown
    assert len(json.loads(prazo("show", "process_state", "--format", "json").stdout)) == 60


def test_reading_never_starts_a_log_where_there_is_none(prazo, tmp_path):
    shown = prazo("show", "watchlist")
    assert shown.returncode == 1
    assert "There is no inbox" in shown.stderr
    assert "PRAZO_INBOX" in shown.stderr
    assert "no inbox" in prazo("doctor").stdout
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_its_owners_alone(history, ask, tmp_path):
    ask("show", "process_state", "--format", "csv", "--out", "rows.csv")
    assert (tmp_path / "rows.csv").stat().st_mode & 0o077 == 0
    for name in ("inbox.db", "ledger.duckdb", "keys/taxpayer.key"):
        assert (history / name).stat().st_mode & 0o077 == 0, name


def test_a_file_that_cannot_be_written_is_named_without_a_traceback(ask):
    shown = ask("show", "watchlist", "--format", "csv", "--out", "missing/rows.csv")
    assert shown.returncode == 2
    assert "there is no folder missing: make it first" in shown.stderr
    ask("show", "seller_state", "--unmask", "why", "--actor", "Ana", "--out", "missing/rows.txt")
    assert "unmask" not in ask("show", "log_entries", "--format", "ndjson").stdout


def test_no_file_of_the_log_is_replaced_by_rows(ask, tmp_path):
    """`--out data/inbox.db` once put the rows in the place of all that was acknowledged."""
    recorded = (tmp_path / "inbox.db").read_bytes()
    refused = ask("show", "watchlist", "--format", "csv", "--out", "inbox.db")
    assert refused.returncode == 2
    assert "inbox.db is what PRAZO_INBOX names: what is there would be lost" in refused.stderr
    assert (tmp_path / "inbox.db").read_bytes() == recorded


def test_wrong_usage_says_what_to_do(ask):
    unknown = ask("show", "watchlst")
    assert unknown.returncode == 2
    assert "There is no view 'watchlst'" in unknown.stderr
    assert "watchlist" in unknown.stderr
    assert "Traceback" not in unknown.stderr
    assert ask("show", "watchlist", "--where", "colour=red").returncode == 2
    assert ask("show", "watchlist", "--as-of", "yesterday").returncode == 2
    assert ask("show", "watchlist", "--where", "state").returncode == 2
    assert ask("show", "process_state", "--where", "attempts=x").returncode == 2
    assert ask("show", "process_state", "--where", "attempts=x", "--limit", "0").returncode == 2
    assert ask("ingest", "missing.ndjson").returncode == 2
    without_view = ask("show", "--format", "json", "--out", "rows.json")
    assert (without_view.returncode, without_view.stdout) == (2, "")  # it listed views, wrote none
    assert "options are for the rows of a VIEW" in without_view.stderr


def test_the_views_are_described_a_row_per_column(ask):
    described = csv.DictReader(io.StringIO(ask("views").stdout))
    of = {(row["view"], row["column"]): row for row in described}[("watchlist", "deadline_at")]
    assert (of["type"], of["is_key"], of["view_key"]) == (
        "timestamp[us]",
        "False",
        '["process_id"]',
    )


def test_a_view_too_wide_for_the_terminal_is_shown_row_by_row(ask):
    lines = ask("show", "process_state").stdout.splitlines()
    assert "process_id" in lines[0]
    assert "p1" in lines[0]
    assert lines[-1] == "1 row"


def test_a_rebuilt_ledger_has_the_same_root(ask):
    [health] = json.loads(ask("show", "ledger_health", "--format", "json").stdout)
    rebuilt = ask("rebuild")
    assert rebuilt.returncode == 0
    assert f"5 entries, root {health['root']}" in rebuilt.stdout


def test_settings_that_contradict_each_other_are_all_named(prazo, environment):
    environment["PRAZO_WEBHOOK_AUTH"] = "hmac"
    environment["PRAZO_RECEIVER_HOST"] = "0.0.0.0"
    environment["PRAZO_RECEIVER_PORT"] = "8400"
    ended = prazo("receive")
    assert ended.returncode == 2
    assert "PRAZO_WEBHOOK_SECRET_FILE is missing" in ended.stderr
    assert "PRAZO_ALLOW_REMOTE" in ended.stderr


def test_doctor_finds_keys_that_others_can_read(ask, environment):
    in_use(environment["PRAZO_INBOX"])
    well = ask("doctor")
    assert well.returncode == 0, well.stdout
    assert "deliveries are not authenticated" in well.stdout
    key = Path(environment["PRAZO_TAXPAYER_KEY_FILE"])
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o644)
    ill = ask("doctor")
    assert ill.returncode == 1
    assert f"chmod 600 {key}" in ill.stdout


def test_who_holds_the_ledger_serves_rows_to_commands_and_to_this_machine_alone(prazo, follower):
    prazo("ingest", "-", given=ndjson(*HISTORY))
    shown = prazo("show", "process_state", "--format", "json")
    assert shown.returncode == 0, shown.stderr
    assert [row["process_id"] for row in json.loads(shown.stdout)] == ["p1"]
    assert "1 row" in prazo("show", "denials").stdout
    examined = prazo("doctor").stdout
    assert "held by" in examined
    assert "there has been none yet" in examined  # no attempt
    unknown = prazo("show", "watchlst")
    assert unknown.returncode == 2
    assert "There is no view 'watchlst'" in unknown.stderr
    rebuild = prazo("rebuild")
    assert rebuild.returncode == 1
    assert "in use" in rebuild.stderr
    with httpx.Client(base_url=follower, trust_env=False) as client:
        wait_until(lambda: client.get("/api/status").json()["last_seq"] == 5)
        rows = client.get("/api/views/process_state", params={"as_of": "2026-03-02T00:00:00Z"})
        assert rows.json()[0]["state"] == "OVERDUE"
        assert client.get("/api/views/nothing").status_code == 404
        assert client.get("/api/views/denials?limit=many").status_code == 400
        assert client.get("/api/views/denials?where=denied_at=red").status_code == 400
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            assert client.get("/api/views/denials", headers=headers).status_code == 403
        assert rows.headers["cache-control"] == "no-store"
        assert rows.headers["x-content-type-options"] == "nosniff"
        masked = client.get("/api/views/seller_state", params={"where": "seller_id=s2"}).json()
        assert masked[0]["taxpayer_id"] == "***05"
        of_one = "as_of=2026-03-02T00:00:00Z&where=state=OVERDUE&where=seller_id=52998224725"
        file = client.get(f"/api/views/process_state?{of_one}&format=parquet").content
        metadata = pyarrow.parquet.read_table(io.BytesIO(file)).schema.metadata
        asked = (b"as_of", b"where state", b"where seller_id", b"last_seq")
        said = [metadata[b"prazo." + it] for it in asked]
        assert said == [b"2026-03-02T00:00:00Z", b"OVERDUE", b"***25", b"5"]


def test_quarantined_bytes_can_be_read_again_after_a_fix(prazo, environment, monkeypatch):
    """A reader that refused too much once: the replay keeps the original instant."""
    from pipeline.errors import Unreadable

    body = json.dumps(REVIEW["body"]).encode()
    inbox = open_inbox(environment["PRAZO_INBOX"])
    with monkeypatch.context() as earlier_release:

        def refuse(_: bytes):
            raise Unreadable("this release could not read it")

        earlier_release.setattr(deliveries, "identify", refuse)
        inbox.append(
            [deliveries.delivery(body, occurred_at=1_772_323_201_000_000, recorded_by="w")]
        )
    inbox.close()
    assert json.loads(prazo("show", "process_state", "--format", "json").stdout) == []
    replayed = prazo("quarantine", "--replay")
    assert (replayed.returncode, replayed.stdout) == (0, "1 replayed, 0 still cannot be read\n")
    assert "0 replayed" in prazo("quarantine", "--replay").stdout
    [process] = json.loads(prazo("show", "process_state", "--format", "json").stdout)
    assert process["process_id"] == "p1"
    [delivery] = json.loads(
        prazo("show", "deliveries", "--where", "kind=webhook", "--format", "json").stdout
    )
    assert delivery["occurred_at"] == "2026-03-01T00:00:01Z"
    assert delivery["replay_of"] == 1
    [held] = json.loads(prazo("show", "quarantine", "--format", "json").stdout)
    assert held["replayed_as"] == 2
