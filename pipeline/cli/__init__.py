"""The `prazo` command: one thin function per command; the work is done elsewhere."""

from pipeline.cli.loading import ended_at_once

with ended_at_once():
    from pipeline.cli import (
        alerts,
        backups,
        forwarding,
        occurrences,
        packages,
        services,
        views,
    )
    from pipeline.cli.clearances import commands as clearances
    from pipeline.cli.erasures import commands as erasures
    from pipeline.cli.group import main, run
    from pipeline.cli.journeys import commands as journeys
    from pipeline.cli.submissions import commands as submissions

__all__ = [
    "alerts",
    "backups",
    "clearances",
    "erasures",
    "forwarding",
    "journeys",
    "main",
    "occurrences",
    "packages",
    "run",
    "services",
    "submissions",
    "views",
]
