"""One line of the table that the benchmarks print."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A ratio of two measured figures. `at_least` is what it has to reach, where that is set."""

    name: str
    ratio: float
    figures: str
    at_least: float | None = None

    @property
    def verdict(self) -> str:
        if self.at_least is None:
            return ""
        return "reached" if self.ratio >= self.at_least else "MISSED"


def table(rows: Iterable[Row]) -> str:
    """The rows as aligned text."""
    lines = [("benchmark", "ratio", "at least", "", "figures")]
    for row in rows:
        target = "" if row.at_least is None else f"{row.at_least:g}"
        lines.append((row.name, f"{row.ratio:.2f}", target, row.verdict, row.figures))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    return "\n".join(
        f"{name:<{widths[0]}}  {ratio:>{widths[1]}}  {target:>{widths[2]}}"
        f"  {verdict:<{widths[3]}}  {figures}".rstrip()
        for name, ratio, target, verdict, figures in lines
    )
