"""`python -m pipeline.cli`: the same as `prazo`."""

from pipeline.cli import run

run()
