"""Keeps what digests and reports say, from the moment their hour has come until they are sent."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pipeline.alert.alarms import Alarm
from pipeline.alert.decision import Message
from pipeline.alert.entries import Due
from pipeline.alert.messages.alert_texts import Lists
from pipeline.alert.source import Processes
from pipeline.alert.summaries import digest, reports
from pipeline.alert.summaries.reports import Paged, Said
from pipeline.alert_rules import AlertRules
from pipeline.errors import OperatorError

LOG = logging.getLogger(__name__)


class Summaries:
    """What digests and reports say. One that cannot be made is due all the same: it fails as a
    message does, and keeps no other back; one that was made waits for no ledger."""

    def __init__(self, source: Processes) -> None:
        self._source = source
        self._digests: dict[str, list[digest.Part] | Exception] = {}
        self._reports: dict[str, Said | Paged | Exception] = {}

    def is_missing(self, rules: AlertRules, alarms: Mapping[str, Alarm], now: int) -> bool:
        """Whether one is awaited whose processes nobody has looked at yet."""
        awaited = digest.awaited(rules, alarms, now).keys() - self._digests.keys()
        return bool(awaited or reports.awaited(rules, alarms, now).keys() - self._reports.keys())

    def of(self, messages: Iterable[Message]) -> Lists:
        """What those of messages say, to keep: others may be awaited by the time they leave."""
        every: Lists = {**self._digests, **self._reports}
        alerts = {item.due.alert for message in messages for item in message.items}
        return {alert: every[alert] for alert in alerts & every.keys()}

    def digests(
        self, rules: AlertRules, alarms: Mapping[str, Alarm], dues: list[Due], now: int
    ) -> list[Due]:
        """The digests that are to be sent now. `dues`: what else is due."""
        awaited = digest.awaited(rules, alarms, now)
        for alert in self._digests.keys() - awaited.keys():
            del self._digests[alert]
        if awaited.keys() - self._digests.keys():
            with _waiting_for_the_ledger("digests"):
                processes = self._source.open_processes()
                for alert, name in awaited.items():
                    try:
                        parts = digest.parts_for(name, rules, processes, dues, alarms, now)
                        self._digests[alert] = parts
                    except Exception as error:
                        LOG.exception("the digest of %s could not be made", name)
                        self._digests[alert] = error
        return [
            digest.due(alert, name, rules, now)
            for alert, name in awaited.items()
            if self._digests.get(alert)
        ]

    def reports(self, rules: AlertRules, alarms: Mapping[str, Alarm], now: int) -> list[Due]:
        """The reports that are to be sent now."""
        awaited = reports.awaited(rules, alarms, now)
        for alert in self._reports.keys() - awaited.keys():
            del self._reports[alert]
        if awaited.keys() - self._reports.keys():
            with _waiting_for_the_ledger("reports"):
                processes = self._source.open_processes()
                named = {rules.reports[it.report].saved for it in awaited.values()}
                saved = self._source.saved_views(it for it in named if it is not None)
                new = {it: awaited[it].report for it in awaited.keys() - self._reports.keys()}
                paged = {it for it, name in new.items() if rules.reports[name].page == "trends"}
                for alert in new.keys() - paged:
                    try:
                        said = reports.said(awaited[alert], rules, processes, saved, now)
                        self._reports[alert] = said
                    except Exception as error:
                        LOG.exception("the report %s could not be made", new[alert])
                        self._reports[alert] = error
                if paged:
                    page = self._source.one_page()
                    self._reports |= {it: Paged(new[it], page) for it in paged}
        return [
            reports.due(alert, occasion, rules, now)
            for alert, occasion in awaited.items()
            if alert in self._reports
        ]


@contextmanager
def _waiting_for_the_ledger(what: str) -> Iterator[None]:
    """Makes none where the ledger does not answer: what is alarming is sent, and what was made."""
    try:
        yield
    except OperatorError as error:
        LOG.warning("%s wait: %s", what, error)
