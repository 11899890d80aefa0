"""Makes OpenTelemetry's spans and sends them to a collector, by OTLP over HTTP."""

import logging
import threading
import time
from importlib.metadata import version
from typing import Final

from opentelemetry import trace as api
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from pipeline.traces import Attributes, Trace

LOG = logging.getLogger(__name__)

EXPORT_SECONDS: Final = 3.0
"""For one export, with its retries: at its end a part waits for those that are left."""


class _Ids(threading.local, RandomIdGenerator):
    """Gives a root the ids of its trace, which is set right before, on the same thread."""

    trace: Trace | None = None

    def generate_trace_id(self) -> int:
        return super().generate_trace_id() if self.trace is None else self.trace.number

    def generate_span_id(self) -> int:
        return super().generate_span_id() if self.trace is None else self.trace.root


class Spans:
    """Makes each span once what it is about is over. Safe from several threads. What a collector
    does not take in time is dropped, and nothing waits for it but the end of the program."""

    def __init__(self, exporter: SpanExporter, part: str) -> None:
        self._ids = _Ids()
        named = {SERVICE_NAME: f"prazo {part}", SERVICE_VERSION: version("prazo")}
        provider = TracerProvider(resource=Resource.create(named), id_generator=self._ids)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        self.flush = provider.force_flush
        self._tracer = provider.get_tracer("prazo")

    def span(
        self,
        trace: Trace,
        name: str,
        began: float,
        attributes: Attributes,
        *,
        is_root: bool = False,
    ) -> None:
        """A span until now, from `began` on the monotonic clock. Never fails: what it is about is
        done, and its caller has to be answered."""
        try:
            self._make(trace, name, began, attributes, is_root=is_root)
        except Exception:
            LOG.exception("a span could not be made")

    def _make(
        self, trace: Trace, name: str, began: float, attributes: Attributes, *, is_root: bool
    ) -> None:
        ended, seconds = time.time_ns(), time.monotonic() - began
        context = Context()
        if not is_root:
            sampled = api.TraceFlags(api.TraceFlags.SAMPLED)
            root = api.SpanContext(trace.number, trace.root, is_remote=True, trace_flags=sampled)
            context = api.set_span_in_context(api.NonRecordingSpan(root), context)
        self._ids.trace = trace if is_root else None
        span = self._tracer.start_span(
            name, context, attributes=attributes, start_time=ended - round(seconds * 1e9)
        )
        span.end(ended)


def exporter(url: str) -> SpanExporter:
    """Sends spans to a collector, such as http://127.0.0.1:4318/v1/traces."""
    return OTLPSpanExporter(url, timeout=EXPORT_SECONDS)
