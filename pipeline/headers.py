"""Reads the header of a file of SQL: the lines of comment that it begins with. No I/O but reading.

    -- One row per late process.         prose, up to an empty line
    -- key: process_id, seq              a label, and what it says
    -- remedy: Find out what delayed it,
    --   and collect again.              a line that is indented continues the label above it

Which labels there are, each reader of headers says. A line that begins with no label is prose.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

from pipeline.errors import OperatorError
from pipeline.shipped import QUERIES

_CONTINUED: Final = "  "


class Header(NamedTuple):
    """What a file says of itself, and its SQL."""

    summary: str  # the prose at its top
    lines: tuple[tuple[str, str], ...]  # label, and what it says, in their order
    sql: str

    def all(self, label: str) -> list[str]:
        """What each line of a label says."""
        return [said for name, said in self.lines if name == label]

    def first(self, label: str) -> str:
        """What the first line of a label says; "" where there is none."""
        return next((said for name, said in self.lines if name == label), "")

    def names(self, label: str) -> tuple[str, ...]:
        """The names that the first line of a label lists."""
        said = self.first(label)
        return tuple(name.strip() for name in said.split(",")) if said else ()

    def parts(self, label: str) -> Iterator[Mapping[str, str]]:
        """The parts of a header that each begin with this label: label -> what it says."""
        part: dict[str, str] | None = None
        for name, said in self.lines:
            if name == label:
                if part is not None:
                    yield part
                part = {}
            if part is not None:
                part[name] = said
        if part is not None:
            yield part


class _Placed(Protocol):
    @property
    def place(self) -> int: ...


Placed = TypeVar("Placed", bound=_Placed)


def listed(
    folder: str,
    label: str,
    labels: Collection[str],
    made: Callable[[Mapping[str, str]], Placed],
    explained_in: str,
) -> dict[str, Placed]:
    """What the headers below a folder of `queries/` list under `label`: code -> what `made` makes
    of that part, in the order of their places. Raises `OperatorError` where a part says too little,
    a `KeyError` of `made`, or what it cannot, a `ValueError`."""
    found: dict[str, Placed] = {}
    for path in sorted((QUERIES / folder).rglob("*.sql")):
        for said in read(path, labels).parts(label):
            try:
                found[said[label]] = made(said)
            except (KeyError, ValueError) as error:
                raise OperatorError(
                    f"The {label} {said[label]} in {path} cannot be read",
                    f"a line is missing, or says what it cannot: {error}",
                    f"say of it what {explained_in} lists",
                ) from None
    return dict(sorted(found.items(), key=lambda named: named[1].place))


def read(path: Path, labels: Collection[str]) -> Header:
    """The header of a file, in which these labels may stand."""
    text = path.read_text(encoding="utf-8")
    end = 0
    while text.startswith("--", end):
        end = text.find("\n", end) + 1 or len(text)
    comments = [line[2:].removeprefix(" ") for line in text[:end].splitlines()]
    said: list[tuple[str, str]] = []
    prose: list[str] = []
    is_said = False
    for comment in comments:
        label, colon, rest = comment.partition(":")
        if colon and label in labels:
            said.append((label, rest.strip()))
            is_said = True
        elif is_said and comment.startswith(_CONTINUED):
            label, begun = said.pop()
            said.append((label, f"{begun} {comment.strip()}"))
        else:
            prose.append(comment.strip())
            is_said = False
    summary = " ".join(takewhile(bool, prose))
    return Header(summary, tuple(said), text[end:].strip())
