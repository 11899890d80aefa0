"""`prazo doctor` says where a machine among several could end and nobody would hear of it."""

from pathlib import Path

from pipeline.cli.doctor import examine
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
