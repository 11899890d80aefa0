"""The notebook answers its five questions: its cells run in their order, as a reader runs them."""

import json
from datetime import date
from pathlib import Path

import pytest

from pipeline.ledger.views import formats
from pipeline.ledger.views.catalogue import public
from tests.docs.pages import ROOT
from tests.support.ledgers import ledger_of
from tests.support.rich import RICH

NOTEBOOK = json.loads((ROOT / "docs/five-questions.ipynb").read_text(encoding="utf-8"))
CODE = ["".join(it["source"]) for it in NOTEBOOK["cells"] if it["cell_type"] == "code"]
AS_OF = 1_780_272_000_000_000  # 1 June 2026


@pytest.fixture
def answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """All names of the notebook after its last cell."""
    with ledger_of(RICH) as reader:
        for view in public():
            if any(f'rows("{view}")' in it for it in CODE):
                content = formats.encode(reader.read(view, as_of=AS_OF), "parquet")
                (tmp_path / f"{view}.parquet").write_bytes(content)
    monkeypatch.setenv("PRAZO_ROWS", str(tmp_path / "{}.parquet"))
    names: dict = {}
    for cell in CODE:
        exec(cell, names)
    return names


def test_each_cell_runs_and_says_what_the_views_say(answered: dict) -> None:
    """Of six ACIs due in March four were finished in time."""
    assert answered["in_time"].loc[date(2026, 3, 1), "ACI"] == pytest.approx(4 / 6)
    assert answered["days"].loc[("ACI", "finished"), "half"] == pytest.approx(14)
    assert len(answered["weeks"]) == 8
    assert answered["changes"]["denials_now"].tolist() == [1, 1]
    assert answered["by_place"].sum(axis=1).tolist() == pytest.approx(
        [1] * len(answered["by_place"])
    )


def test_nothing_that_was_seen_in_it_is_kept() -> None:
    kept = [it["id"] for it in NOTEBOOK["cells"] if it.get("outputs") or it.get("execution_count")]
    assert kept == []
