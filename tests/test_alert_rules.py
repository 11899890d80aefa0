"""`alerts.toml`: what it says, and every fault in it at once."""

from pathlib import Path

import pytest

from pipeline import alert_rules, files
from pipeline.alert_rules import AlertRules, AlertsFile
from pipeline.errors import SettingsError

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
        """
    )
    with pytest.raises(SettingsError) as raised:
        alert_rules.load(file)
    for said in (
        "look_back_days: Input should be greater than or equal to 1",
        "lookback: Extra inputs are not permitted",
        "ladder.before.1: '15 days' is not a span such as 15d or 4h",
    ):
        assert said in raised.value.why


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[ladder]\nbefore = ['3d', '72h']", "ladder.before: names one span twice"),
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
    monkeypatch.setattr(files, "RECHECK_SECONDS", 0.0)


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
