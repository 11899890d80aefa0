"""Makes a package's tables and reports again from its entries, and compares each row.

This is what `prazo verify FILE` does beyond `verify.py`: that one shows that the entries are the
log's and that nothing was changed since the export; this one, that the tables say what the entries
say. The query that runs is the package's own, in memory, where it reaches no file and no network.
"""

from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import duckdb

from pipeline import contract, instants, packages, report
from pipeline.errors import PrazoError
from pipeline.occurrences import WEBHOOK, Entry
from pipeline.packages import Disclosed, Selection
from pipeline.verify import Fault, Package, Verdict, verify


def verify_package(
    path: Path,
    *,
    key: str | None = None,
    against: bytes | None = None,
    authority: str | None = None,
) -> Verdict:
    """Every check of `verify.py`, then the tables and reports made anew.

    Raises `verify.Unusable` for a key that is none, or without the openssl command.
    """
    verdict = verify(path, key, against, authority)
    try:
        reproduce(Package(path), verdict)
    except (Fault, PrazoError) as error:
        verdict.fault(f"the tables cannot be made again: {error}")
    except duckdb.Error as error:
        verdict.fault(f"the package's query fails: {str(error).splitlines()[0]}")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        verdict.fault(f"the tables cannot be made again: {type(error).__name__}: {error}")
    return verdict


def reproduce(package: Package, verdict: Verdict) -> None:
    """Compares the package's tables and reports with what its entries lead to; says so in the
    verdict. Raises what a package that is none makes it raise; `verify_package` names that."""
    parameters = package.json("data/parameters.json")
    contents = package.json("data/contents.json")
    withheld = frozenset(int(it) for it in contents["withheld"])
    entries = [_entry(package, seq, contents["names"]) for seq in contents["entries"]]
    script = package.read("data/query.sql").decode("utf-8")
    if script != packages.script():
        verdict.notes.append("query.sql is not that of this release; it was run as it is")
    selection = Selection(
        as_of=instants.parse(parameters["as_of"]) or 0,
        entries=contents["entries"],
        processes=parameters["processes"],
        sellers=parameters["sellers"],
        unmask=parameters["profile"] == "full",
    )
    copy = packages.copy_of(
        Disclosed(entries, withheld, contents["stated"]), unmask=selection.unmask
    )
    try:
        derived = packages.run(copy, script, selection)
    finally:
        copy.close()
    told = {name: packages.parse_csv(package.read(f"data/{name}")) for name in packages.TABLES}
    compared = 0
    for name, table in derived.items():
        columns, rows = packages.cells(table)
        compared += _compare(name, columns, rows, told[name], parameters["not_of_log"], verdict)
    verdict.passed(f"{compared} rows of {len(derived)} tables follow from the entries by query.sql")
    _compare_reports(package, told, parameters, contents, verdict)


def _entry(package: Package, seq: int, names: Mapping[str, str]) -> Entry:
    """An entry as far as the package tells it."""
    folder = f"data/entries/{seq}"
    leaf = package.json(f"{folder}/entry.json")
    body = package.read(f"{folder}/body.bin") if f"{folder}/body.bin" in package.sizes else None
    record = package.read(f"{folder}/record.json") if "record_digest" in leaf else None

    def named(key: str) -> str | None:
        name = leaf.get(key)
        return None if name is None else names.get(name, name)

    entry = Entry(
        seq=seq,
        kind=leaf["kind"],
        occurred_at=instants.parse(leaf["occurred_at"]) or 0,
        recorded_at=instants.parse(leaf["recorded_at"]) or 0,
        origin=leaf["origin"],
        recorded_by=leaf["recorded_by"],
        event_id=named("event_id"),
        attempt_id=named("attempt_id"),
        process_id=named("process_stream"),
        seller_id=named("seller_stream"),
        status=leaf.get("status"),
        process_n=leaf.get("process_n"),
        process_prev=leaf.get("process_prev"),
        seller_n=leaf.get("seller_n"),
        seller_prev=leaf.get("seller_prev"),
        is_again=False,
        record=record,
        body=body,
        salt=None,
        leaf=package.read(f"{folder}/entry.json"),
        ingest_key=None,
    )
    if entry.kind == WEBHOOK and body is not None:
        event = contract.read_event(body)
        if (event.process_id, event.seller_id) != (entry.process_id, entry.seller_id):
            raise Fault(f"entry {seq} is filed under another process or seller than its body names")
    return entry


def _compare(
    name: str,
    columns: list[str],
    derived: packages.Rows,
    told: list[dict[str, str]],
    not_of_log: Mapping[str, int],
    verdict: Verdict,
) -> int:
    """How many rows of a table follow from the entries."""
    is_quote = name == packages.QUOTES
    expected_columns = columns if is_quote else [*columns, packages.BASIS]
    if told and list(told[0]) != expected_columns:
        verdict.fault(f"{name} has other columns than its query")
        return 0
    unmatched = Counter(derived)
    matched = of_log = 0
    for number, row in enumerate(told, start=1):
        if not is_quote and row[packages.BASIS] == "log":
            of_log += 1
            continue
        values = tuple(row[column] for column in columns)
        if unmatched[values] > 0:
            unmatched[values] -= 1
            matched += 1
        else:
            verdict.fault(f"{name}: row {number} does not follow from the entries")
    left = sum(unmatched.values())
    if left != (0 if is_quote else not_of_log[name]):
        verdict.fault(f"{name} lacks rows that follow from the entries: {left}")
    if of_log or left:
        verdict.notes.append(
            f"{name}: {of_log} rows rest on what is not in the package, and {left} that its entries"
            " alone would lead to do not hold in the whole log: the exporter's word, fixed by the"
            " export's entry"
        )
    return matched


def _compare_reports(
    package: Package,
    told: Mapping[str, list[dict[str, str]]],
    parameters: Mapping[str, Any],
    contents: Mapping[str, Any],
    verdict: Verdict,
) -> None:
    ours = f"prazo {metadata.version('prazo')}"
    if parameters["software"] != ours:
        verdict.notes.append(
            f"the reports were made by {parameters['software']} and were not compared by {ours}"
        )
        return
    for language, name in report.FILES.items():
        again = report.render(told, parameters, contents, language).encode()
        if package.read(f"data/{name}") != again:
            verdict.fault(f"{name} does not say what the tables say")
    verdict.passed("the reports say what the tables say, in each language")
