"""The `prazo` command: one thin function a command; the work is done elsewhere."""

from pipeline.cli import evidence, reading, running, sending, writing
from pipeline.cli.group import main

__all__ = ["evidence", "main", "reading", "running", "sending", "writing"]
