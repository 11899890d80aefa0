"""`prazo doctor` on the releases that run."""

from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli.doctor import examine
from pipeline.inbox import open_inbox, parts, schema
from pipeline.inbox.parts import present
from pipeline.release import release
from tests.support.machine import wait_until
from tests.support.stores import settings_in


def test_it_names_a_part_that_an_upgrade_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)

    def found() -> list[tuple[str, str]]:
        return [(it.verdict, it.found) for it in examine(settings) if it.check == "releases"]

    tables = f"tables of version {schema.VERSION}, this release knows {schema.VERSION}"
    with closing(open_inbox(settings.inbox)) as inbox:
        assert found() == [("ok", f"Prazo {release()}; {tables}")]
        with present(inbox, "ledger"), monkeypatch.context() as older:
            wait_until(lambda: parts.running(inbox))
            older.setattr(parts, "release", lambda: "0.8.7")
            with present(inbox, "receiver"):
                wait_until(lambda: len(parts.running(inbox)) == 2)
                [warning, said] = found()
    assert warning[0] == "warning"
    assert warning[1].startswith("receiver of Prazo 0.8.7 (")
    assert warning[1].endswith(f") runs beside Prazo {release()}, which asks")
    assert said == ("ok", f"Prazo {release()} runs ledger; {tables}")
