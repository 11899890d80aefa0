"""Says which release each part runs, and whether one was left behind in an upgrade."""

from collections.abc import Iterator

from pipeline.cli.doctor.at_hand import AtHand
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.inbox import parts, schema
from pipeline.release import release
from pipeline.settings import Settings


def releases(settings: Settings, at_hand: AtHand) -> Iterator[Diagnosis]:
    """What runs, on any machine that shares the inbox, beside this release."""
    inbox = at_hand()
    running, ours = parts.running(inbox), release()
    for other in (it for it in running if it.release != ours):
        yield Diagnosis(
            "releases",
            "warning",
            f"{other} runs beside Prazo {ours}, which asks",
            "restart it by the newer of the two; a minor version apart, both may go on until then",
        )
    same = ", ".join(dict.fromkeys(it.part for it in running if it.release == ours))
    tables = f"tables of version {inbox.tables().version}, this release knows {schema.VERSION}"
    yield Diagnosis("releases", "ok", f"Prazo {ours}{f' runs {same}' if same else ''}; {tables}")
