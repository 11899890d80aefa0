"""Whatever answers on the gateway's port is either the platform's answer or marked as ours.

By the contract a 404 means that the process or the seller is unknown. A client that wrote a slash
too many got one of ours without a mark, and closed the case.
"""

import pytest

from tests.receive import impatient
from tests.receive.conftest import Start
from tests.support.events import event
from tests.support.receiver import Answer, RunningReceiver

REVIEW = "/v1/marketplaces/m1/sellers/s1/registration/review"


def is_marked(answer: Answer) -> bool:
    return answer.headers.get("prazo-answer") == "gateway"


@pytest.mark.parametrize("method", ["PUT", "POST", "GET", "HEAD", "OPTIONS", "DELETE", "PATCH"])
@pytest.mark.parametrize(
    "path",
    [
        REVIEW,
        f"/{REVIEW}",
        f"{REVIEW}/",
        f"{REVIEW}//",
        REVIEW.replace("/v1/", "/V1/"),
        REVIEW.replace("/v1/", "/v1//"),
        REVIEW.replace("/v1", "/%76%31", 1),
        f"/%2Fv1{REVIEW[3:]}",
        f"/.{REVIEW}",
        f"/../v1{REVIEW[3:]}",
        REVIEW.replace("review", "Review"),
        REVIEW.replace("sellers/s1", "sellers/%ff"),
        REVIEW.replace("sellers/s1", "sellers//"),
        REVIEW.replace("registration/review", "registration%2Freview"),
        f"http://elsewhere.example{REVIEW}/",
        f"{REVIEW}?a=1#b",
        REVIEW.removeprefix("/"),
        *("/v1", "/v1/", "/v1/collections", "/v1/collections/", "/v1/journeys", "/v2", "/", "*"),
        "/nowhere",
    ],
)
def test_every_answer_of_ours_is_marked_however_the_path_is_spelled(
    shared: RunningReceiver, path: str, method: str
):
    answer = shared.ask(method, path, b"{}")
    assert answer.status >= 400
    assert is_marked(answer)


@pytest.mark.parametrize("fields", [{"Origin": "https://a.example"}, {"Host": "a.example"}])
def test_a_caller_who_is_not_let_in_gets_a_marked_answer(
    shared: RunningReceiver, fields: dict[str, str]
):
    for path in (REVIEW, f"/{REVIEW}", "/v1/collections", "/v1/journeys"):
        answer = shared.ask("PUT", path, b"{}", fields)
        assert (answer.status, is_marked(answer)) == (403, True)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\r\n".join((b"PUT %b HTTP/1.1", b"Host: a", b"x" * 70_000)) % REVIEW.encode(), 431),
        (b"PUT %b HTTP/9.9\r\n\r\n" % REVIEW.encode(), 400),
        (b"PUT %b HTTP/1.1\r\nContent-Length: x\r\n\r\n" % REVIEW.encode(), 400),
        (b"BREW %b HTTP/1.1\r\n\r\n" % REVIEW.encode(), 501),
        (
            b"PUT %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{" % REVIEW.encode(),
            408,
        ),
        (b"PUT %b HTTP/1.1\r\nHos" % REVIEW.encode(), 408),
    ],
    ids=["head", "version", "length", "method", "half a body", "half a head"],
)
def test_what_the_server_itself_answers_is_marked(start: Start, sent: bytes, status: int):
    receiver = start(program=impatient.PROGRAM)
    with receiver.wire() as wire:
        wire.send(sent)
        answer = wire.answer("PUT")
    assert (answer.status, is_marked(answer)) == (status, True)


def test_a_body_that_is_too_large_gets_a_marked_answer(start: Start):
    receiver = start(MAX_BODY_BYTES="1024")
    for path in (REVIEW, "/v1/collections"):
        method = "PUT" if path == REVIEW else "POST"
        answer = receiver.ask(method, path, b"x" * 2000, {"Content-Type": "application/json"})
        assert (answer.status, is_marked(answer)) == (413, True)


def test_a_fault_of_ours_is_a_marked_500(start: Start):
    """The gateway could not be loaded: every submission failed."""
    receiver = start(program=("-c", BROKEN))
    answer = receiver.ask("PUT", REVIEW, b"{}")
    assert (answer.status, is_marked(answer)) == (500, True)
    assert receiver.deliver(event()).status == 200


BROKEN = """
import logging
from pipeline.receive import receiver
from pipeline.settings import Settings

def broken(self):
    raise RuntimeError("a fault")

logging.basicConfig()
receiver.Receiver._load_gateway = broken
receiver.serve(Settings.load())
"""


def test_answers_to_deliveries_and_operators_are_as_they_were(shared: RunningReceiver):
    assert not is_marked(shared.deliver(event()))
