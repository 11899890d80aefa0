"""The marketplace's systems take what is signed with their secret, and mail, and show it once."""

import smtplib
import ssl
import time
from collections.abc import Iterator
from email.message import EmailMessage

import httpx
import pytest

from sandbox.market.endpoint import Known, listening
from sandbox.platform.webhooks import Signature

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"id": "evt_1", "type": "seller.<b>created</b>"}'


def post(
    url: str,
    *,
    secret: str = SECRET,
    at: float | None = None,
    name: str = "msg_1",
    body: bytes = BODY,
) -> int:
    now = int(time.time() if at is None else at)
    headers = Signature(secret).headers(name, body, now)
    return httpx.post(url, content=body, headers=headers, trust_env=False).status_code


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    with listening(SECRET, tmp_path_factory.mktemp("systems")) as known:
        yield known


def page(systems: Known) -> str:
    return httpx.get(systems.url, trust_env=False).text


@pytest.mark.parametrize(
    ("given", "status"),
    [({"secret": "whsec_AAAA"}, 401), ({"at": time.time() - 3600}, 400), ({"at": 1.0}, 400)],
)
def test_what_is_not_signed_by_us_or_old_is_refused(systems: Known, given, status):
    assert post(systems.url, name="msg_refused", **given) == status
    assert "msg_refused" not in page(systems)


def test_what_comes_is_shown_once_as_text_and_how_often_it_came(systems: Known):
    for name in ("msg_1", "msg_1", "msg_2"):
        assert post(systems.url, name=name) == 204
    shown = page(systems)
    assert "Deliveries that were passed on: 2" in shown
    assert "seller.&lt;b&gt;created" in shown
    assert "<td>msg_1</td><td>2</td>" in shown
    assert shown.index("msg_2") < shown.index("msg_1")


def test_an_alert_by_webhook_is_shown_with_what_it_is_about(systems: Known):
    body = (
        b'{"type": "prazo.alerts", "version": 1, "to": "desk", "alerts":'
        b' [{"kind": "before_3d", "process_id": "p1"}, {"kind": "silence", "process_id": null}]}'
    )
    assert post(systems.url + "alerts", name="msg_3", body=body) == 204
    assert "<td>desk</td><td>2</td><td>before_3d p1, silence</td>" in page(systems)
    assert post(systems.url + "elsewhere", name="msg_4") == 404


def test_a_letter_is_taken_over_tls_alone_and_its_links_can_be_followed(systems: Known):
    letter = EmailMessage()
    letter["From"], letter["To"] = "prazo@market.example", "ana@market.example"
    letter["Subject"] = "[Prazo] Faltam menos de 3 dias – <p1>"
    letter.set_content("Abrir: http://127.0.0.1:8501/process?process=p1&x=2\nSituação <b>\n")
    with smtplib.SMTP("127.0.0.1", systems.mail_port) as server:
        with pytest.raises(smtplib.SMTPException):
            server.send_message(letter)
        server.starttls(context=ssl.create_default_context(cafile=systems.mail_authority))
        server.send_message(letter)
    shown = page(systems)
    assert shown.count("[Prazo] Faltam menos de 3 dias – &lt;p1&gt;") == 1
    link = "http://127.0.0.1:8501/process?process=p1&amp;x=2"
    assert f'<a href="{link}">{link}</a>' in shown
    assert "Situação &lt;b&gt;" in shown
