"""Keeps what `/metrics` of the receiver shows."""

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import prometheus_client
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.utils import floatToGoString

from pipeline import instants
from pipeline.http.machine import Machine
from pipeline.http.refusals import Refusals
from pipeline.inbox.heartbeats import Part
from pipeline.settings import Settings

WAYS: Final = ("webhooks", "collections", "journeys", "notices", "submissions")
"""How something comes to a receiver: `journeys` asks for links, `submissions` by the gateway."""
COUNTED_FROM_0: Final = ("401", "403")
"""Statuses whose count has to be there before the first, for Prometheus to see it grow."""
Recorded = Literal["new", "again", "quarantined"]
"""How a delivery was recorded."""

SECONDS_TO_RECORD: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30)
"""Upper bounds of the histogram's buckets."""


class Tally:
    """Counts the deliveries that were recorded, on one thread: a counter and a histogram of
    prometheus_client take six times as long for each, with a lock for every number."""

    def __init__(self) -> None:
        self._created = time.time()
        self._of: dict[str, int] = {"new": 0, "again": 0, "quarantined": 0}
        self._within = [0] * (len(SECONDS_TO_RECORD) + 1)
        self._seconds = 0.0

    def count(self, recorded: Recorded, seconds: float) -> None:
        """Adds one. `seconds`: from its receipt to its durable record."""
        self._of[recorded] += 1
        self._within[bisect_left(SECONDS_TO_RECORD, seconds)] += 1
        self._seconds += seconds

    def collect(self) -> Iterator[Metric]:
        """The counts as prometheus_client asks for them."""
        counter = CounterMetricFamily(
            "prazo_deliveries", "Deliveries recorded", labels=["recorded"]
        )
        for recorded, deliveries in self._of.items():
            counter.add_metric([recorded], deliveries, created=self._created)
        yield counter
        histogram = HistogramMetricFamily(
            "prazo_record_seconds", "From a delivery's receipt to its durable record"
        )
        bounds = [*map(floatToGoString, SECONDS_TO_RECORD), "+Inf"]
        until = [sum(self._within[: place + 1]) for place in range(len(bounds))]
        histogram.add_metric([], [*zip(bounds, until, strict=True)], self._seconds)
        histogram.add_sample("prazo_record_seconds_created", {}, self._created)
        yield histogram


class Metrics:
    """What `/metrics` shows. Each app has its own registry, since a process may run several."""

    def __init__(self, settings: Settings) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        self.registry.register(Machine(settings))
        self.deliveries = Tally()
        self.registry.register(self.deliveries)
        self.rejections = prometheus_client.Counter(
            "prazo_rejections",
            "Requests turned away unread: deliveries, calls, what is none of these",
            ["status"],
            registry=self.registry,
        )
        self.attempts = prometheus_client.Counter(
            "prazo_gateway_attempts",
            "Submissions that the gateway sent, by what came of them",
            ["outcome"],
            registry=self.registry,
        )
        for status in COUNTED_FROM_0:
            self.rejections.labels(status)
        for outcome in ("unauthorized", "tls_refused"):
            self.attempts.labels(outcome)
        expected = prometheus_client.Gauge(
            "prazo_part_expected",
            "1 for a part that these settings ask for, whether it runs or not",
            ["part"],
            registry=self.registry,
        )
        for part, setting in (
            (Part.RESUMER, settings.platform_url),
            (Part.FORWARDER, settings.forward_file),
            (Part.ALERTS, settings.alerts_file),
            (Part.NOTICES, settings.notices_file),
            (Part.JOURNEY, settings.journey_url),
        ):
            if setting is not None:
                expected.labels(part.value).set(1)
        self.refusals = Refusals(WAYS)
        self.registry.register(self.refusals)
        self.last_seq = prometheus_client.Gauge(
            "prazo_inbox_last_seq", "Newest entry of the inbox", registry=self.registry
        )
        self.heartbeats = prometheus_client.Gauge(
            "prazo_heartbeat_timestamp_seconds",
            "When a receiver of a shared inbox, another process, a whole backup or a verification"
            " without faults was last there",
            ["part"],
            registry=self.registry,
        )

    def show_heartbeats(self, beats: Mapping[Part, int]) -> None:
        """Shows these, and no other: after a restore no backup was made, of which a rule speaks."""
        self.heartbeats.clear()
        for part, at in beats.items():
            self.heartbeats.labels(part.value).set(at / instants.SECOND)
