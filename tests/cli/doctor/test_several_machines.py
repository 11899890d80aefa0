"""`prazo doctor` on one machine of several: where it could end and nobody would hear of it, and no
advice to run there what is for another."""

from pathlib import Path

from pipeline.cli.doctor import Diagnosis, examine
from tests.support.machine import free_port
from tests.support.marketplace import Marketplace


def test_of_several_machines_none_may_end_unheard(marketplace: Marketplace, tmp_path: Path) -> None:
    """Each machine that sends alerts asked its own receiver: as the one that signs was gone, nobody
    was told, for as long as another one sent alerts."""
    file, channels = tmp_path / "alerts.toml", tmp_path / "channels"
    channels.write_text("json://localhost")
    recipients = f'[recipients.ops]\napprise_file = "{channels}"\n'
    one, both = '["http://10.0.0.5:8400"]', '["http://10.0.0.5:8400", "http://10.0.0.6:8400"]'

    def said(keeper: str | None, receivers: str | None) -> list[str]:
        watch = "" if receivers is None else f"[watch]\nreceivers = {receivers}\n"
        file.write_text(watch + recipients, encoding="utf-8")
        found = examine(marketplace.settings(alerts_file=file, keeper_url=keeper))
        return [it.verdict for it in found if it.check == "watch"]

    keeper = "http://10.0.0.5:8501"
    assert said(keeper, None) == ["warning"]
    assert said(keeper, one) == ["warning"]
    assert said(keeper, both) == []
    assert said(None, None) == []


def test_a_machine_that_only_receives_is_not_advised_to_run_all_parts(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    """Two of each part would follow, and a second ledger."""
    for name, said in (("alerts", '[recipients.ops]\napprise_file = "c"\n'), ("forward", "")):
        (tmp_path / name).write_text(said, encoding="utf-8")
    files = {f"{it}_file": tmp_path / it for it in ("alerts", "forward")}
    keeper = "http://10.0.0.5:8501"

    def found(**more: str) -> dict[str, Diagnosis]:
        marketplace.settings().ledger.unlink(missing_ok=True)
        at = {"receiver_port": free_port(), "journey_url": "https://answer.market.example"}
        settings = marketplace.settings(**files, **at, **more)
        return {it.check: it for it in examine(settings) if it.verdict != "ok"}

    receives = found(keeper_url=keeper)
    assert [it for it in receives.values() if "prazo serve" in it.remedy] == []
    assert "ledger" not in receives, "the keeper has one"
    assert receives["receiver"].remedy == "run `prazo receive`"
    assert receives["resumer"].remedy == "run `prazo resume --follow` on one of the machines"
    of_one = found()
    assert of_one["resumer"].remedy == "run `prazo serve`, or `prazo resume --follow`"
    assert of_one["ledger"].remedy == "`prazo serve` makes it"
