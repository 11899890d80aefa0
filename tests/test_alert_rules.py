"""`alerts.toml`: what it says, and every fault in it at once."""

import re
import tomllib
from contextlib import closing
from pathlib import Path
from typing import get_args

import duckdb
import pytest

from pipeline import alert_rules, findings
from pipeline.alert.alarms import LASTING
from pipeline.alert.messages.transport import Files
from pipeline.alert_rules import SECRETS, AlertRules, AlertsFile
from pipeline.alert_rules.recipients import Recipient
from pipeline.alert_rules.references import CONDITIONS
from pipeline.conditions import BESIDE_THE_LOG
from pipeline.errors import SettingsError
from pipeline.files import reread
from pipeline.http.outgoing.mail_server import Mail
from pipeline.ledger.views.catalogue import macros

WHOLE = """
look_back_days = 3

[ladder]
opened = ["ACI"]
before = ["36h", "10d"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "alerts.toml"


def test_the_rungs_stand_in_their_order(file: Path) -> None:
    file.write_text(WHOLE)
    assert list(alert_rules.load(file).rungs()) == [
        *("opened", "overdue", "before_10d", "before_36h", "expired")
    ]


@pytest.fixture(autouse=True)
def _channels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the settings of these tests name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "channels").write_text("json://localhost")


@pytest.mark.usefixtures("_looked_at_each_time")
def test_who_tells_people_waits_for_the_first_whom_a_file_names(file: Path) -> None:
    file.write_text("look_back_days = 2")
    rules = AlertsFile(file, tells_people=True)
    assert rules.get().recipients == {}
    file.write_text(TOLD)
    assert list(rules.get().recipients) == ["ops"]
    file.write_text("look_back_days = 2")
    assert (list(rules.get().recipients), rules.fault() is None) == (["ops"], False)


def test_without_a_file_the_defaults_hold() -> None:
    assert alert_rules.load(None) == AlertRules()


def test_every_fault_is_named_at_once(file: Path) -> None:
    file.write_text(
        """
        look_back_days = 0
        lookback = 1
        [ladder]
        before = ["15 days", "3d", "72h"]
        dashboard_url = "https://prazo.market.example"
        """
    )
    with pytest.raises(SettingsError) as raised:
        alert_rules.load(file)
    for said in (
        "look_back_days: Input should be greater than or equal to 1",
        "lookback: there is no such setting: is it look_back_days?",
        "ladder.dashboard_url: there is no such setting here: move it above the first [part]",
        "ladder.before.1: '15 days' is not a span such as 15d or 4h",
    ):
        assert said in raised.value.why


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[ladder]\nbefore = ['3d', '72h']", "ladder.before: names one span twice"),
        ("[hours]\nstart = '08:00'\nend = '08:00'", "hours: leaves no working time"),
        ("not toml", "it is not TOML"),
    ],
)
def test_what_does_not_fit_together_is_refused(file: Path, content: str, said: str) -> None:
    file.write_text(content)
    with pytest.raises(SettingsError, match="cannot be used") as raised:
        alert_rules.load(file)
    assert said in raised.value.why


def test_a_missing_file_is_refused(file: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        alert_rules.load(file)


TOLD = """
[recipients.ops]
apprise_file = "channels"
"""


@pytest.fixture
def _looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reread, "RECHECK_SECONDS", 0.0)


@pytest.mark.usefixtures("_looked_at_each_time")
def test_a_file_that_changes_is_in_force_and_one_with_a_fault_is_not(file: Path) -> None:
    file.write_text("look_back_days = 3")
    rules = AlertsFile(file)
    assert (rules.get().look_back_days, rules.fault()) == (3, None)
    file.write_text("look_back_days = 33")
    assert '"look_back":792' in rules.for_views()
    file.write_text("look_back_days = 0")
    assert rules.get().look_back_days == 33
    fault = rules.fault()
    assert fault is not None
    assert "greater than or equal to 1" in fault.why
    file.unlink()
    assert rules.get().look_back_days == 33
    file.write_text("")
    assert (rules.get(), rules.fault()) == (AlertRules(), None)


def test_who_tells_people_does_not_begin_by_a_file_with_a_fault(file: Path) -> None:
    file.write_text("look_back_days = 0")
    assert AlertsFile(file).get() == AlertRules()  # a slip in it takes no page away
    with pytest.raises(SettingsError, match="greater than or equal to 1"):
        AlertsFile(file, tells_people=True)


@pytest.mark.usefixtures("_looked_at_each_time")
def test_who_tells_people_goes_on_where_a_file_names_nobody_any_more(file: Path) -> None:
    file.write_text(TOLD)
    rules = AlertsFile(file, tells_people=True)
    file.write_text("look_back_days = 2")
    assert list(rules.get().recipients) == ["ops"]
    assert "nobody to tell" in str(rules.fault())


def test_without_a_file_there_is_nobody_to_tell() -> None:
    with pytest.raises(SettingsError, match="nobody to tell"):
        AlertsFile(None, tells_people=True)
    assert (AlertsFile(None).get(), AlertsFile(None).fault()) == (AlertRules(), None)


MANY_FAULTS = """
[hours]
holidays = "BR-"

[watch]
certificate_days = [-5, 0]

[mail]
host = ""
sender = "prazo@market.example"

[recipients.ana]
email = "a,b@c"
stand_in = "brnuo"

[recipients.desk]
webhook = "https://desk.market.example"
webhook_secret_file = "keys/none"

[[routes]]
to = ["ana", "nobody"]
kinds = ["expird", "before_3d", "evidence_reused", "receiver_down"]
escalate = [{ after = "4h", to = ["eve"] }]
"""


def test_no_fault_hides_another(file: Path) -> None:
    """Names that stand for nothing were looked for in files without any other fault alone, and of
    these faults most were none at all: a message of the misspelt kind went nowhere."""
    file.write_text(MANY_FAULTS)
    with pytest.raises(SettingsError) as raised:
        alert_rules.load(file)
    assert raised.value.why.split("; ") == [
        "watch.certificate_days.1: Input should be greater than or equal to 1",
        "watch.certificate_days.2: Input should be greater than or equal to 1",
        "hours.holidays: the holidays of 'BR-' are not known: write BR, or BR-SP",
        "mail.host: '' is not the name of a host such as mail.market.example",
        "recipients.ana.email: 'a,b@c' is not one e-mail address such as ana@market.example:"
        " several people are several recipients",
        "recipients.ana.stand_in: there is no recipient 'brnuo'",
        "routes.1: there is no recipient 'nobody'",
        "routes.1: there is no recipient 'eve'",
        "routes.1.kinds: no alert is of the kind 'expird': use 'expired'",
    ]


def test_every_file_that_a_part_may_name_is_looked_at() -> None:
    """Anybody could read a secret that is not listed, and nobody was named who could not be told
    for want of a file."""
    named = {
        f"{of}.{name}"
        for of, part in (("mail", Mail), ("recipients.ana", Recipient))
        for name, field in part.model_fields.items()
        if Path in get_args(field.annotation)
    }
    known = {it.rpartition(".")[2] for it in named} - {"ca_file"}
    assert known == set(SECRETS), "name each in `secrets` of its channel"
    mail = {
        "host": "mail",
        "sender": "p@x",
        "user": "p",
        "password_file": "none",
        "ca_file": "none",
    }
    ana = {"apprise_file": "none", "webhook": "http://x", "webhook_secret_file": "none"}
    rules = AlertRules.model_validate({"mail": mail, "recipients": {"ana": ana}})
    assert set(Files().unusable(rules)) == named, (
        "read each in `readers` of its channel in pipeline/alert_rules/channels/"
    )


def test_a_secret_that_several_name_is_looked_at_once(file: Path) -> None:
    file.write_text(
        """
        mail = { host = "mail", sender = "p@x", user = "p", password_file = "one", ca_file = "ca" }
        recipients.ana = { email = "ana@x", apprise_file = "two" }
        recipients.bia = { webhook = "http://x", webhook_secret_file = "one" }
        """
    )
    assert alert_rules.load(file).secret_files() == [Path("one"), Path("two")]


@pytest.mark.parametrize("place", ["constants", "WEEKEND", "list_supported_countries"])
def test_a_word_of_the_holidays_library_is_a_mistake_like_others(file: Path, place: str) -> None:
    """A process that read the file again while it sent alerts ended by it."""
    file.write_text(f"hours.holidays = '{place}'")
    with pytest.raises(SettingsError, match=f"the holidays of '{place}' are not known"):
        alert_rules.load(file)


def test_a_file_of_secrets_that_is_missing_keeps_nobody_from_reading_the_rules(file: Path) -> None:
    """The dashboard may run as another user, on a machine without these files; and whoever sends
    did not start for one of them, so that nobody heard of anything."""
    file.write_text(TOLD.replace("channels", "keys/none"))
    assert list(alert_rules.load(file).recipients) == ["ops"]
    rules = AlertsFile(file, tells_people=True)
    assert (list(rules.get().recipients), rules.fault()) == (["ops"], None)


@pytest.mark.parametrize(
    "address", ["a b@c", "a@b@c", "@c", "a@", "<a@b>", "Ana <a@b>", "a@b,c@d", "a@b;", "a@b.."]
)
def test_what_is_not_one_address_is_none(file: Path, address: str) -> None:
    file.write_text(f"[mail]\nhost='m'\nsender='p@m'\n[recipients.ana]\nemail='{address}'")
    with pytest.raises(SettingsError, match="is not one e-mail address"):
        alert_rules.load(file)
    file.write_text("[mail]\nhost='m'\nsender='p@m'\n[recipients.ana]\nemail='o.b+x@m-1.example'")
    assert alert_rules.load(file).recipients["ana"].email == "o.b+x@m-1.example"


def test_what_would_lead_to_nobody_is_known_before_it_does() -> None:
    def untold(**more: object) -> list[str]:
        ana = {"apprise_file": "channels"}
        return AlertRules.model_validate({"recipients": {"ana": ana}, **more}).untold()

    assert untold() == []
    assert untold(routes=[{"to": ["ana"]}]) == []
    by_admins = untold(routes=[{"to": ["role"], "roles": ["officer"]}])
    assert "receiver_down (breach, admin)" in by_admins
    assert [it for it in by_admins if "officer" in it] == []
    aci = {"to": ["role"], "review_types": ["ACI"]}
    of_aci = untold(ladder={"opened": ["ACI"], "before": ["4h"]}, routes=[aci])
    assert of_aci[:4] == [
        *("overdue (notice, officer)", "overdue (risk, officer)"),
        *("before_4h ACP (risk, officer)", "expired ACP (breach, officer)"),
    ]
    assert "acp_incomplete (breach, officer)" in of_aci
    assert [it for it in of_aci if "aci_extra_field" in it] == []
    # Of more than a week before a deadline nothing is a risk: the next rung comes before.
    assert untold(routes=[{"to": ["role"], "severities": ["risk", "breach"]}]) == [
        f"{rung} (notice, officer)" for rung in ("opened", "overdue", "before_15d", "before_7d")
    ]
    notices = untold(routes=[{"to": ["role"], "severities": ["notice", "breach"]}])
    assert notices[:3] == [f"{it} (risk, officer)" for it in ("opened", "overdue", "before_3d")]

    by_two = [{"to": ["role"], "roles": ["officer"]}, {"to": ["role"], "roles": ["admin"]}]
    assert untold(routes=by_two) == []


def steps(*hours: int) -> dict[str, object]:
    escalate = [{"after": f"{it}h", "to": ["role"]} for it in hours]
    return {"to": ["role"], "escalate": escalate}


@pytest.mark.parametrize(
    ("said", "held", "remembered", "reach"),
    [
        ({}, 14, 74, 81),
        ({"routes": [steps(24, 48), steps(36)]}, 17, 77, 84),
        ({"look_back_days": 16}, 16, 76, 92),
    ],
)
def test_for_how_many_days_an_alert_stays_due_and_is_looked_for(
    said: dict[str, object], held: int, remembered: int, reach: int
) -> None:
    """By hand from docs/alerts.md#how-long-it-stays-due. Two weeks and the longest escalation, or
    the look-back; the longest snooze before that; and as long before as an alert is raised."""
    rules = AlertRules.model_validate({"recipients": {"a": {"apprise_file": "channels"}}} | said)
    assert (rules.held_hours, rules.remembered_hours) == (held * 24, remembered * 24)
    assert f'"held":{held * 24},' in rules.for_views()
    assert f'"reach":{reach * 24},' in rules.for_views()


def test_the_page_shows_the_defaults_and_each_condition() -> None:
    """docs/alerts.md is where people look them up; a new condition stood in the code alone."""
    page = (Path(__file__).parents[1] / "docs/alerts.md").read_text(encoding="utf-8")
    defaults = page.partition("are the defaults of what is due:\n")[2].partition("\nAnd ")[0]
    assert "[ladder]" in defaults
    shown, in_force = AlertRules.model_validate(tomllib.loads(defaults)), AlertRules()
    other = [name for name, value in in_force if getattr(shown, name) != value]
    assert other == [], "write these defaults of the code into docs/alerts.md#settings"
    table = page.partition("## Conditions\n")[2].partition("###")[0]
    kinds = " ".join(re.findall(r"^\|(.*?)\|", table, re.MULTILINE))
    rows = "give each condition, and nothing else, a row in docs/alerts.md#conditions"
    assert set(re.findall("`([a-z_]+)`", kinds)) == set(CONDITIONS), rows


SAID_OTHERWISE = {"expired_unfinished", "never_notified", "alert_undelivered"}
"""Breaches of which another alert says it, or none can."""


def test_every_breach_that_alarms_is_a_kind_and_nothing_else_is() -> None:
    """docs/rules.md#findings is where they come from."""
    page = (Path(__file__).parents[1] / "docs/rules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_`, ]+) \| breach", page, re.MULTILINE)
    breaches = {name for row in rows for name in re.findall("[a-z_]+", row)}
    assert set(findings.breaches()) == breaches - SAID_OTHERWISE, (
        "say in the headers of queries/findings/rules/ what the page says"
    )
    assert set(BESIDE_THE_LOG) == LASTING | {"certificate_ends"}
    with closing(duckdb.connect()) as connection:
        connection.execute(macros())
        lasting = "select kind from (select unnest(?) as kind) where lasts(kind)"
        found = connection.execute(lasting, [[*BESIDE_THE_LOG, *CONDITIONS]]).fetchall()
    assert {kind for (kind,) in found} == LASTING


def test_who_is_assigned_is_found_without_going_through_everybody() -> None:
    """Of twenty thousand recipients and as many processes that took minutes."""
    ana = Recipient(email="ana@market.example", assigned_as=("Ana Lima", "ANA LIMA"))
    rules = AlertRules().model_copy(update={"recipients": {"ana": ana}})
    assert rules.assigned(" ana lima ") == rules.assigned("Ana") == ["ana"]
    assert rules.assigned("bruno") == []
    many = rules.model_copy(update={"recipients": {f"r{it}": ana for it in range(20_000)}})
    assert [many.assigned(f"R{it}") for it in range(20_000)] == [[it] for it in many.recipients]
    assert many.assigned("ana lima") == [*many.recipients]
    assert rules.assigned("r1") == []
    assert many == many.model_copy()


BUCHER = """
dashboard_url = "https://bücher.example/"
watch = { receivers = ["http://bücher.example:8400"] }
[mail]
host = "Bücher.example"
sender = "Prazo São Paulo <prazo@bücher.example>"
[recipients.ana]
email = "ana@bücher.example"
[recipients.ops]
webhook = "https://bücher.example/a?b=%C3%A9"
webhook_secret_file = "secret"
"""


def test_hosts_with_letters_outside_ascii_are_taken_as_the_name_service_knows_them(
    file: Path,
) -> None:
    """They were called no URL, or were taken and failed at each message."""
    file.write_text(BUCHER)
    (file.parent / "secret").write_text("x")
    rules = alert_rules.load(file)
    assert rules.dashboard_url == "https://xn--bcher-kva.example/"
    assert rules.watch.receivers == ("http://xn--bcher-kva.example:8400",)
    assert rules.recipients["ops"].webhook == "https://xn--bcher-kva.example/a?b=%C3%A9"
    assert rules.recipients["ana"].email == "ana@bücher.example", "as a login names her"
    assert rules.mail is not None
    assert rules.mail.host == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("ana@bücher", "josé@market", "recipients.ana.email: 'josé@market.example' has letters"),
        ("ana@bücher", "ana@b\N{SNOWMAN}cher", "write its form in ASCII"),
        ("<prazo@bücher.example>", "prazo@market.example", "as in Prazo <prazo@market.example>"),
        ("Prazo São Paulo <", "Prazo <ana@x.example><", "as in Prazo <prazo@market.example>"),
        (
            "/a?b=%C3%A9",
            "/é",
            "recipients.ops.webhook: holds letters outside ASCII behind its host",
        ),
        (
            'host = "B',
            'user = "joão"\npassword_file = "x"\nhost = "B',
            "mail.user: 'joão' has letters",
        ),
    ],
)
def test_what_no_server_takes_is_refused_at_the_start_with_what_to_write(
    file: Path, before: str, after: str, said: str
) -> None:
    assert before in BUCHER
    file.write_text(BUCHER.replace(before, after))
    with pytest.raises(SettingsError) as raised:
        alert_rules.load(file)
    assert said in raised.value.why


def test_a_password_that_no_login_takes_is_named_before_a_message_fails(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("sênha")
    mail = Mail(
        host="localhost",
        sender="prazo@market.example",
        user="prazo",
        password_file=tmp_path / "password",
    )
    [(place, said)] = Files().unusable(AlertRules(mail=mail)).items()
    assert place == "mail.password_file"
    assert "letters outside ASCII" in said
