"""The `prazo` command: one thin function per command; the work is done elsewhere."""

from pipeline.cli.loading import ended_at_once

with ended_at_once():
    from pipeline.cli import (
        alerts,
        backups,
        clearances,
        erasures,
        forwarding,
        journeys,
        notices,
        occurrences,
        packages,
        services,
        submissions,
        trends,
        views,
    )
    from pipeline.cli.group import main, run

__all__ = [
    "alerts",
    "backups",
    "clearances",
    "erasures",
    "forwarding",
    "journeys",
    "main",
    "notices",
    "occurrences",
    "packages",
    "run",
    "services",
    "submissions",
    "trends",
    "views",
]
