"""What the ledger's holder tells Prometheus, and whether what it serves can be trusted now.

Every figure is read when it is asked for: there is nothing to count in between. What takes long is
looked at aside (`pipeline/serve/figures.py`), so that no scrape waits for it.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Final, NamedTuple

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from pipeline import instants
from pipeline.audit import seals
from pipeline.continuity.follower import Status
from pipeline.continuity.service import LedgerService
from pipeline.contract import review_types
from pipeline.contract.listed import STATUSES
from pipeline.language.codes import UNFINISHED
from pipeline.serve import calendar, figures, standing
from pipeline.serve.figures import Figures
from pipeline.texts import counted

MAX_LAG_SECONDS: Final = 60.0
"""A ledger that is further behind does not show what a person has to know now."""


class Readiness(NamedTuple):
    """Whether the ledger shows what the inbox holds; `fault` says why not."""

    is_ready: bool
    fault: str | None


def readiness(status: Status) -> Readiness:
    """Ready: nothing is wrong, its root was compared, and it is not far behind."""
    if status.problem is not None:
        return Readiness(False, status.problem)
    if status.inbox_seq > 0 and not status.is_verified:
        return Readiness(False, "its root has not been compared with the one in the inbox yet")
    if status.lag_seconds > MAX_LAG_SECONDS:
        behind = status.inbox_seq - status.last_seq
        return Readiness(
            False,
            f"it is {counted(behind, 'entry')} and {status.lag_seconds:.0f} s behind",
        )
    return Readiness(True, None)


def exposition(service: LedgerService) -> bytes:
    """The metrics in Prometheus's text format."""
    registry = prometheus_client.CollectorRegistry()
    registry.register(_Collector(service))
    registry.register(standing.refusals(service))
    registry.register(standing.trials(service))
    registry.register(standing.machine(service))
    return prometheus_client.generate_latest(registry)


class _Collector:
    """Reads the ledger for one exposition."""

    def __init__(self, service: LedgerService) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """The families that `docs/operations.md` describes."""
        status = self._service.status()
        yield _gauge("prazo_ledger_last_seq", "Newest entry of the ledger", status.last_seq)
        yield _gauge("prazo_ledger_inbox_seq", "Newest entry of its inbox", status.inbox_seq)
        yield _gauge(
            "prazo_ledger_lag_seconds",
            "For how long the oldest entry that is missing has waited",
            status.lag_seconds,
        )
        yield _gauge(
            "prazo_ledger_verified",
            "1 if its root equals the one in the inbox",
            int(status.is_verified),
        )
        yield _gauge(
            "prazo_ledger_ready",
            "1 if it shows what the inbox holds",
            int(readiness(status).is_ready),
        )
        yield _gauge(
            "prazo_alert_settings_refused",
            "1 while the alerts' file has a mistake, and what was read before is in force",
            int(self._service.alert_rules.fault() is not None),
        )
        yield from self._figures()
        yield from self._submissions()
        yield from self._artifacts()
        yield from self._forwardings()
        yield from _seals()
        yield CounterMetricFamily(
            "prazo_calendar_refusals",
            "Requests for calendars with an address that no open feed has",
            value=calendar.of(self._service).wrong,
        )

    def _figures(self) -> Iterator[Metric]:
        """None of them until the first look has ended: a figure that nobody knows is left out."""
        looked = figures.last(self._service)
        if looked is None:
            return
        yield _gauge(
            "prazo_figures_timestamp_seconds",
            "When the figures of deadlines and alerts were worked out",
            self._service.now() / instants.SECOND - looked.seconds_ago,
        )
        if looked.seconds_ago > figures.STALE_SECONDS:
            return
        yield from _processes(looked.found)
        yield from _alerts(looked.found)
        yield from _journeys(looked.found)
        yield from _deliveries(looked.found)

    def _submissions(self) -> Iterator[Metric]:
        [queue] = self._service.reader.read("retry_queue").to_pylist()
        yield _gauges(
            "prazo_retries",
            "Our own retries, by whether their time has come",
            "state",
            {state: queue[state] for state in ("waiting", "due", "overdue")},
        )
        rows = self._service.reader.read("attempts_by_outcome").to_pylist()
        attempts = {row["outcome"]: row["attempts"] for row in rows}
        yield _gauges(
            "prazo_attempts",
            "Submission attempts in the log, by outcome",
            "outcome",
            # From 0 on: Prometheus does not see a series grow that appears with its first count.
            {"unauthorized": 0, "tls_refused": 0, **attempts},
        )

    def _artifacts(self) -> Iterator[Metric]:
        """None of them until the first look has ended: a figure that nobody knows is left out."""
        looked = self._service.artifacts.last()
        if looked is None:
            return
        held = looked.found
        yield _gauges(
            "prazo_artifacts",
            "Artifacts that our store should have",
            "state",
            {"named": held.named, "lacking": len(held.lacking), "not_stored": held.not_stored},
        )
        yield _gauge(
            "prazo_artifacts_timestamp_seconds",
            "When somebody last looked whether they are there",
            self._service.now() / instants.SECOND - looked.seconds_ago,
        )

    def _forwardings(self) -> Iterator[Metric]:
        at, reader = self._service.now(), self._service.reader
        rows = reader.read("forwardings", as_of=at).to_pylist()
        for row in rows:  # naive UTC in views
            for since in ("to_do_since", "failing_since"):
                instant = row[since] and instants.from_datetime(row[since].replace(tzinfo=UTC))
                row[since] = 0 if instant is None else (at - instant) / instants.SECOND
        for name, meaning, column in (
            ("to_do", "Live deliveries after an endpoint's last reported position", "to_do"),
            (
                "lag_seconds",
                "For how long the oldest of these has waited; 0 for none",
                "to_do_since",
            ),
            (
                "failing_seconds",
                "For how long an endpoint has taken nothing; 0 while it does",
                "failing_since",
            ),
            ("waiting_sellers", "Sellers that wait behind what failed", "waiting_sellers"),
            ("dead_letters", "Deliveries given up for an endpoint", "dead_letters"),
        ):
            values = {row["endpoint"]: row[column] for row in rows}
            yield _gauges(f"prazo_forwarding_{name}", meaning, "endpoint", values)


def _processes(found: Figures) -> Iterator[Metric]:
    open_ones = GaugeMetricFamily(
        "prazo_open_processes", "Unfinished review processes", labels=["state", "type"]
    )
    due, late = {}, {}
    for review_type in (*review_types.NAMES, None):
        rows = {it["state"]: it for it in found.open_counts if it["review_type"] == review_type}
        label = review_type or "unknown"
        for state in (*(it for it in STATUSES if it in UNFINISHED), "UNKNOWN"):
            open_ones.add_metric([state, label], rows[state]["processes"] if state in rows else 0)
        due[label] = sum(it["due_within_7_days"] for it in rows.values())
        late[label] = sum(it["late"] for it in rows.values())
    yield open_ones
    meaning = "Unfinished processes due in the 7 days to come"
    yield _gauges("prazo_due_soon_processes", meaning, "type", due)
    meaning = "Unfinished processes whose deadline has passed"
    yield _gauges("prazo_late_processes", meaning, "type", late)


def _alerts(found: Figures) -> Iterator[Metric]:
    due = {row["severity"]: row["due"] for row in found.alerts}
    yield _gauges("prazo_alerts", "Alerts that are due", "severity", due)
    yield _gauge(
        "prazo_oldest_unacknowledged_alert_seconds",
        "For how long the oldest breach or risk that nobody took or put off is due; 0 for none",
        found.oldest_seconds,
    )
    yield _gauge(
        "prazo_alerts_not_delivered",
        "Messages of the last day that their channel refused and has not taken since",
        found.not_delivered,
    )


def _seals() -> Iterator[Metric]:
    """What others were asked to add to packages that were made by this process."""
    family = CounterMetricFamily(
        "prazo_seals", "Cosignatures and timestamps asked for packages", labels=["by", "outcome"]
    )
    for (by, outcome), count in seals.COUNTS.items():
        family.add_metric([by, outcome], count)
    yield family


def _journeys(found: Figures) -> Iterator[Metric]:
    steps = ("invited", "opened", "answered", "confirmed")
    taken = {step: found.journeys.get(step, 0) for step in steps}
    yield _gauges("prazo_journeys", "Collection journeys that took a step", "step", taken)
    refusals = CounterMetricFamily(
        "prazo_journey_refusals", "What the seller's page refused", labels=["reason"]
    )
    for reason, count in found.refusals.items():
        refusals.add_metric([reason], count)
    yield refusals


def _deliveries(found: Figures) -> Iterator[Metric]:
    yield _gauge(
        "prazo_silence_seconds",
        "For how long deliveries have been missing; 0 while they come as usual",
        found.silence_seconds,
    )
    if found.last_delivery_at is not None:
        last = instants.from_datetime(found.last_delivery_at.replace(tzinfo=UTC))
        yield _gauge(
            "prazo_last_delivery_timestamp_seconds",
            "When the last delivery came",
            last / instants.SECOND,
        )


def _gauge(name: str, meaning: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, value=value)


def _gauges(name: str, meaning: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for value, figure in values.items():
        family.add_metric([value], figure)
    return family
