"""Tells Prometheus what of a machine ends by itself: room on disks, and certificates."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from cryptography.x509 import Certificate
from prometheus_client.core import GaugeMetricFamily, Metric

from pipeline import instants
from pipeline.files.disk import existing
from pipeline.http.certificates import end_of, first_to_end, last_to_end
from pipeline.http.outgoing.looks import Looks
from pipeline.http.trials import temporary_folder
from pipeline.settings import Settings

FREE_BYTES: Final = 2**30
"""With less room than this a disk is nearly full."""
LOOK_SECONDS: Final = 15.0
FIRST_SECONDS: Final = 2.0
"""For the first look: a disk that hangs holds up no scrape."""


class Room(NamedTuple):
    """A disk, in bytes."""

    free: int
    size: int


class _Found(NamedTuple):
    room: dict[str, Room]  # by store
    ends: dict[str, int | None]  # by certificate, in microseconds; None for an unreadable file


class Machine:
    """What is left of these, as prometheus_client asks for it."""

    def __init__(self, settings: Settings) -> None:
        self._stores = {"ledger": settings.ledger.parent, "artifacts": settings.artifacts}
        if settings.has_inbox_file:
            self._stores["inbox"] = Path(settings.inbox).parent
        named: dict[str, tuple[Path | None, Callable[[Path], Certificate]]] = {
            "client": (settings.client_cert_file, first_to_end),
            "authority": (settings.platform_ca_file, last_to_end),
        }
        self._certificates = {
            name: (path, of) for name, (path, of) in named.items() if path is not None
        }
        self._looks = Looks(
            self._look, name="machine", every_seconds=LOOK_SECONDS, first_seconds=FIRST_SECONDS
        )

    def _look(self) -> _Found:
        places = {**self._stores, "temporary_files": temporary_folder()}
        found = _Found({}, {})
        for store, place in places.items():
            usage = shutil.disk_usage(existing(place))
            found.room[store] = Room(usage.free, usage.total)
        for name, (path, of) in self._certificates.items():
            try:
                found.ends[name] = end_of(of(path))
            except (OSError, ValueError):
                found.ends[name] = None
        return found

    def least_room(self) -> Room | None:
        """That of these disks on which the fewest bytes are free; None where nobody could look
        yet."""
        looked = self._looks.last()
        return None if looked is None else min(looked.found.room.values())

    def collect(self) -> Iterator[Metric]:
        """The families that `docs/operations.md` describes."""
        free = GaugeMetricFamily(
            "prazo_disk_free_bytes", "Room on the disk of a store", labels=["store"]
        )
        size = GaugeMetricFamily(
            "prazo_disk_size_bytes", "Size of the disk of a store", labels=["store"]
        )
        ends = GaugeMetricFamily(
            "prazo_certificate_end_timestamp_seconds",
            "When our certificate for the platform, or the authority of its own, ends",
            labels=["file"],
        )
        usable = GaugeMetricFamily(
            "prazo_certificate_readable", "1 if that file holds certificates", labels=["file"]
        )
        looked = self._looks.last()
        if looked is not None:
            for store, (left, total) in looked.found.room.items():
                free.add_metric([store], left)
                size.add_metric([store], total)
            for name, end in looked.found.ends.items():
                usable.add_metric([name], int(end is not None))
                if end is not None:
                    ends.add_metric([name], end / instants.SECOND)
        yield from (free, size, ends, usable)
