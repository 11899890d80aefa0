"""Traces: what parts of ours add to one, what a collector hears, and that nothing waits for it."""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TypeVar

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from pipeline import alert_rules, traces
from pipeline.alert.dispatcher import Dispatcher
from pipeline.alert.entries import Due
from pipeline.log.deliveries import delivery
from pipeline.text_log import JsonLines
from pipeline.traces.spans import Spans
from tests import fork_server
from tests.alert.asked import Asked
from tests.submit.attempts import submit
from tests.support.answering import Answering, body_of, give
from tests.support.events import review
from tests.support.machine import wait_until
from tests.support.marketplace import Marketplace
from tests.support.receiver import receiver
from tests.support.stores import environment_in

PERSON = "Maria da Silva"
CPF = "529.982.247-25"


class Kept(SpanExporter):
    """Keeps what it is to send."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    exporter = Kept()
    spans = Spans(exporter, "test")
    monkeypatch.setattr(traces, "_spans", spans)
    yield exporter
    spans.flush()


T = TypeVar("T", bound=Answering)


@contextmanager
def ended(server: T) -> Iterator[T]:
    try:
        yield server
    finally:
        server.server_close()


def shown(kept: Kept) -> list[tuple[str, dict[str, object]]]:
    """Names and attributes in the order of their ends."""
    assert traces._spans is not None
    traces._spans.flush()
    return [(it.name, dict(it.attributes or {})) for it in kept.spans]


class Collector(Answering):
    """Takes OTLP over HTTP."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        super().__init__(self._take)

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        assert request.path == "/v1/traces"
        self.taken.append(body_of(request))
        give(request, 200)

    def spans(self) -> list[tuple[str, str, bytes, bytes, bytes]]:
        """Of each: part, name, trace, itself, parent."""
        return [
            (service_of(resource), span.name, span.trace_id, span.span_id, span.parent_span_id)
            for body in [*self.taken]
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


def service_of(spans: ResourceSpans) -> str:
    return next(
        named.value.string_value
        for named in spans.resource.attributes
        if named.key == "service.name"
    )


def test_parts_add_to_one_trace_of_a_delivery_and_name_nobody(tmp_path: Path) -> None:
    with ended(Collector()) as collector:
        where = {"PRAZO_TRACES_URL": f"{collector.url}/v1/traces", "OTEL_BSP_SCHEDULE_DELAY": "100"}
        environment = {**environment_in(tmp_path), **where}
        following = fork_server.start(
            [sys.executable, "-m", "pipeline.cli", "follow"],
            env={**os.environ, **environment},
            cwd=tmp_path,
        )
        try:
            with receiver(tmp_path, environment=environment) as running:
                event = review(process_id=CPF, customer_id=PERSON, notes=f"{PERSON}, {CPF}")
                assert running.deliver(event).status == 200
                wait_until(lambda: {"delivery", "commit", "follow"} <= names(collector))
                assert running.terminate() == 0
        finally:
            following.terminate()
            following.wait()
        said = b"".join(collector.taken)
        assert b"***" in said
        assert not [it for it in (PERSON, "Maria", CPF) if it.encode() in said]
        spans = {name: (part, *ids) for part, name, *ids in collector.spans()}
    root = spans["delivery"]
    assert root[0] == "prazo receive"
    assert root[3] == b""
    assert spans["commit"][:2] == ("prazo receive", root[1])
    assert spans["follow"][:2] == ("prazo follow", root[1])
    assert spans["commit"][3] == spans["follow"][3] == root[2]


def test_an_attempt_is_one_trace_with_its_entries_and_the_call(
    marketplace: Marketplace, kept: Kept
) -> None:
    done = submit(marketplace, answered := marketplace.review())
    assert done.standing is not None
    spans = [it for it in shown(kept) if "request_id" in it[1]]
    assert [name for name, _ in spans] == ["commit", "call", "commit", "submission"]
    start, call, finish, whole = (said for _, said in spans)
    attempt_id = str(start["request_id"])
    assert {it["request_id"] for _, it in spans} == {attempt_id}
    assert {it["process_id"] for _, it in spans} == {answered.process_id}
    assert (start["kind"], finish["kind"]) == ("submission_started", "submission_finished")
    assert call["status"] == whole["status"] == 200
    assert (whole["via"], whole["outcome"]) == ("api", "accepted")
    made = {it.name: it for it in kept.spans if it.attributes and "request_id" in it.attributes}
    root = made["submission"].context
    assert root is not None
    assert f"{root.trace_id:032x}" == traces.id_of(attempt_id)
    for name in ("commit", "call"):
        under = made[name].parent
        assert under is not None
        assert (under.trace_id, under.span_id) == (root.trace_id, root.span_id)


def test_an_alert_belongs_to_the_trace_of_the_entry_that_it_is_about(
    marketplace: Marketplace, kept: Kept, tmp_path: Path
) -> None:
    inbox, now = marketplace.inbox, marketplace.inbox.now()
    [receipt] = inbox.append([delivery(review(), occurred_at=now, recorded_by="webhook")])
    assert receipt.entry is not None
    seq = receipt.entry.seq
    with ended(Answering(lambda request: (body_of(request), give(request, 200)))) as hook:
        (tmp_path / "secret").write_text("whsec_" + "c2VjcmV0" * 6 + "\n")
        (tmp_path / "alerts.toml").write_text(
            f"""
            [recipients.ops]
            webhook = "{hook.url}/a-secret-path"
            webhook_secret_file = "{tmp_path}/secret"
            role = "admin"
            [[routes]]
            to = ["ops"]
            at_any_hour = ["breach", "risk", "notice"]
            """
        )
        rules = alert_rules.load(tmp_path / "alerts.toml")
        due = Due("an-alert", "before_3d", "risk", "officer", now, process_id="prc_1", seq=seq)
        Dispatcher(inbox, Asked([due]), lambda: rules).run_once()
    about = [said for name, said in shown(kept) if name == "alert"]
    assert about == [
        {
            **{"seq": seq, "kind": "webhook", "process_id": "prc_1"},
            **{"channel": "webhook", "is_sent": True},
        }
    ]
    of = {span.name: span.context for span in reversed(kept.spans)}  # the first of each name
    assert of["alert"] is not None
    assert of["commit"] is not None
    assert of["alert"].trace_id == of["commit"].trace_id


def test_nothing_waits_for_a_collector_that_hangs(tmp_path: Path) -> None:
    over = threading.Event()
    with ended(Answering(lambda _: bool(over.wait(60)))) as hanging:
        where = {"PRAZO_TRACES_URL": f"{hanging.url}/v1/traces", "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with receiver(tmp_path, environment=where) as running:
            began = time.monotonic()
            for number in range(20):
                assert running.deliver(review(process_id=f"p{number}")).status == 200
            assert time.monotonic() - began < 5
            assert running.terminate() == 0
            assert time.monotonic() - began < 20
        over.set()


def test_a_line_of_json_names_the_trace_of_its_attempt(kept: Kept) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "ended", None, None)
    record.request_id = "att_1"
    assert json.loads(JsonLines("receive").format(record))["trace_id"] == traces.id_of("att_1")


def test_without_a_collector_nothing_of_the_extra_is_imported() -> None:
    program = """
import sys
from pipeline import traces
from pipeline.receive import receiver
from pipeline.submit import gateway
traces.keep_to_setting("receive")
assert not [it for it in sys.modules if it.startswith("opentelemetry")]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_collector_without_the_extra_is_refused(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
from pipeline.cli import run
sys.argv = ["prazo", "receive"]
run()
"""
    refused = subprocess.run(
        [sys.executable, "-c", program],
        env={"PRAZO_TRACES_URL": "http://127.0.0.1:4318/v1/traces", "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "prazo[otel]" in refused.stderr


def names(collector: Collector) -> set[str]:
    return {name for _, name, *_ in collector.spans()}
