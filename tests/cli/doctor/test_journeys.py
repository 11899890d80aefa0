"""`prazo doctor` on the seller's page."""

from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli.doctor import Diagnosis, journeys
from pipeline.cli.doctor.at_hand import AtHand
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests.journey.served import Page, served
from tests.support.machine import free_port
from tests.support.stores import settings_in


def looked_at(settings: Settings) -> list[Diagnosis]:
    with AtHand(settings) as at_hand:
        return [*journeys.journey(settings, at_hand)]


def found(settings: Settings) -> dict[str, Diagnosis]:
    return {it.found: it for it in looked_at(settings)}


def test_a_page_that_answers_and_whose_settings_fit_is_well(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """Where it is of another log, it was well, too."""
    with served(tmp_path_factory.mktemp("journey")) as page:
        verdicts = [it.verdict for it in looked_at(page.settings())]
        codes = [it for it in looked_at(page.settings()) if "code" in it.found]
        elsewhere = page.settings().model_copy(update={"inbox": str(tmp_path / "inbox.db")})
        with closing(open_inbox(elsewhere.inbox)) as other:
            strange, *_ = looked_at(elsewhere)
            log = other.log
        url = f"http://127.0.0.1:{elsewhere.journey_port}"
        ours = f"records into the log {page.inbox.log}, and the inbox here is {log}"
        counted_by_reason(page)
    assert verdicts == ["ok", "ok", "warning"]
    assert (strange.verdict, strange.found) == ("fault", f"what answers at {url} {ours}")
    assert "opens nothing on another device" in codes[0].found


def counted_by_reason(page: Page) -> None:
    """What it refuses is counted by reason, for Prometheus."""
    from pipeline.journey.entrance import door

    page.seller().get("/j/" + "A" * 43)
    page.stop()
    totals = door.totals(page.inbox)
    assert (totals["wrong_link"], totals["wrong_code"]) == (1, 0)


def test_what_does_not_fit_together_is_named(tmp_path: Path) -> None:
    secret = tmp_path / "code.secret"
    secret.write_text("whsec_c2VjcmV0")
    secret.chmod(0o644)
    alerts = tmp_path / "alerts.toml"
    alerts.write_text(
        '[mail]\nhost = "m.example"\nsender = "a@m.example"\n'
        '[recipients.ana]\nemail = "ana@m.example"\nseller_links = true\n'
    )
    settings = settings_in(
        tmp_path,
        journey_url="https://cadastro.loja.example",
        journey_port=free_port(),
        journey_submit="auto",
        journey_code_url="https://loja.example/codes",
        journey_code_secret_file=secret,
        journey_browser=tmp_path / "chromium",
    )
    faults = {it.remedy for it in found(settings).values() if it.verdict != "ok"}
    assert faults == {
        "run `prazo serve`, or `prazo journey run`",
        "set PRAZO_PLATFORM_URL, or PRAZO_JOURNEY_SUBMIT to ready",
        f"chmod 600 {secret}",
        "correct PRAZO_JOURNEY_BROWSER",
    }
    [promised] = found(settings_in(tmp_path, alerts_file=alerts)).values()
    assert (promised.verdict, promised.remedy) == ("fault", "set PRAZO_JOURNEY_URL")
    assert found(settings_in(tmp_path)) == {}
