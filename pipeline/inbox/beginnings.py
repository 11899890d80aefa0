"""Says where a new log begins, and which others lie beside it: a mistyped PRAZO_INBOX begins an
empty log, in which nothing looks wrong."""

import itertools
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pipeline.files.kinds import application_of
from pipeline.inbox.sqlite.file import APPLICATION_ID
from pipeline.places import HEAD_SUFFIX
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

_LOOKED_AT: Final = 1000
_NAMED: Final = 3


def say(log: str, place: str, others: Iterable[Path]) -> None:
    """Says in one line that a log begins. `others`: as `beside` found them before that."""
    listed = list(others)
    named = ", ".join(map(str, listed[:_NAMED]))
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    seen = f"; another log was there before: {named}{more}. Is PRAZO_INBOX right?" if named else ""
    LOG.warning("a new log, %s, begins in %s%s", log, place, seen)


def beside(path: Path | None) -> list[Path]:
    """Inboxes, and heads of logs, that lie in the folder of a path or where an inbox lies unless a
    setting says otherwise. Nothing is opened by SQLite. None for a database."""
    usual = Path(Settings.model_fields["inbox"].default)
    folders = [it.absolute().parent for it in (path, usual) if it is not None]
    return [it for folder in dict.fromkeys(folders) for it in sorted(_of_logs(folder))]


def _of_logs(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            files = [Path(it.path) for it in itertools.islice(entries, _LOOKED_AT) if it.is_file()]
    except OSError:
        return
    for file in files:
        if file.name.endswith(HEAD_SUFFIX) or application_of(file) == APPLICATION_ID:
            yield file
