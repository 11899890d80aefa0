"""The `prazo` command: one thin function a command; the work is done elsewhere."""

from pipeline.cli import reading, running, sending, writing
from pipeline.cli.group import main

__all__ = ["main", "reading", "running", "sending", "writing"]
