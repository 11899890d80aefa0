"""Says how a part comes to run. On one machine `prazo serve` runs all; of several, each runs its
own: on one that only receives it would begin a second ledger and the rest."""

from pipeline.settings import Settings
from pipeline.texts import typed


def run(settings: Settings, *command: str, here: bool = False) -> str:
    """A remedy where nothing runs the part of a command. `here`: it should be on this machine."""
    own = typed("prazo", *command)
    if settings.keeper_url is None:
        return f"run `prazo serve`, or {own}"
    return f"run {own}" if here else f"run {own} on one of the machines"
