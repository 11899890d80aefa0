"""Runs the benchmarks, all or those named, and prints one table."""

import importlib
import pkgutil
import sys

from pipeline import memory
from tests import benchmarks
from tests.benchmarks.rows import Row, table


def main(wanted: list[str]) -> None:
    if not memory.keeps_freed():  # as in what holds a ledger
        memory.become(["-m", "tests.benchmarks", *wanted])
    memory.look_for_cycles_less_often()  # as every command does
    rows: list[Row] = []
    for found in pkgutil.iter_modules(benchmarks.__path__):
        if found.name.startswith("_") or (wanted and found.name not in wanted):
            continue
        module = importlib.import_module(f"{benchmarks.__name__}.{found.name}")
        if hasattr(module, "run"):
            print(f"{found.name} ...", file=sys.stderr, flush=True)
            rows += module.run()
    print(table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
