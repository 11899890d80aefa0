"""A message that is longer than its service takes arrives all the same."""

import re
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import apprise
import pytest

from pipeline.alert.decision import MAX_ITEMS
from pipeline.alert.entries import Item
from pipeline.alert.messages import transport
from pipeline.alert.messages.alert_texts import Text
from pipeline.alert.messages.links import Links
from pipeline.alert_rules import AlertRules, limits
from pipeline.http.outgoing import mails
from pipeline.http.outgoing.mail_server import Mail
from pipeline.journey import page_texts as journey_words
from tests import depth
from tests.alert.sinks import MailServer
from tests.alert.test_channels import MESSAGE, NOON
from tests.alert.test_decision import due

ALERT = (
    "Prazo de p{n} já passou & ninguém cuida\nProcesso: p{n}\nVendedor: s{n} \N{GRINNING FACE}\n"
)
PLAIN = "\n".join(ALERT.format(n=n) for n in range(90))
SERVICES = {  # of each service's documentation, by hand: (bytes or units of a body)
    "tgram://123456789:abcdefg_hijklmnop/12315544/": 4096,
    "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js": 2000,
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general": 35000,
}


@pytest.mark.parametrize("url", SERVICES)
def test_ninety_alerts_arrive_in_parts_that_the_service_takes(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 alerts at once, or a digest of 90, are longer than Telegram takes: they never arrived."""
    sent: list[tuple[str, str]] = []

    def taken(self: object, *, title: str, body: str, **_: object) -> bool:
        sent.append((title, body))
        return True

    monkeypatch.setattr(apprise.Apprise, "notify", taken)
    (tmp_path / "channels").write_text(url)
    rules: Any = AlertRules.model_validate(
        {"recipients": {"ana": {"apprise_file": tmp_path / "channels"}}}
    )
    text = Text("[Prazo] 90 prazos", PLAIN, "", "https://p.example/a")
    assert transport.send(MESSAGE._replace(via="apprise"), text, rules, NOON) is None
    most = SERVICES[url]
    for title, body in sent:
        assert len(f"{title}\r\n{body}".encode("utf-16-le")) // 2 <= most
        assert len(f"{title}\r\n{body}".encode()) <= most
    told = re.findall(r"Processo: (p[0-9]+)", "".join(body for _, body in sent))
    assert told == [f"p{n}" for n in range(len(told))]
    left = re.findall(r"e mais ([0-9]+) alertas: veja no Prazo https://p\.example/a\n", sent[-1][1])
    assert len(told) + sum(map(int, left)) == 90
    assert sum(body.count("ninguém cuida") for _, body in sent) == len(told), "none is cut"
    assert len(sent) <= 5


def test_what_a_telephone_gets_is_one_short_message() -> None:
    [part] = limits.parts("[Prazo] 90 prazos", PLAIN, "en", 160, 0)
    assert len(f"{part.title}\r\n{part.body}".encode()) <= 160
    assert part.body.startswith("Prazo de p0 já passou")
    assert part.body.endswith("\n\n… and 89 more alerts: see Prazo\n")
    url = "https://p.example/alerts"
    [part] = limits.parts("[Prazo] 90 prazos", PLAIN, "pt", 160, 0, url)
    assert len(f"{part.title}\r\n{part.body}".encode()) <= 160
    assert f"alertas: veja no Prazo {url}" in part.body
    [part] = limits.parts("[Prazo] 90 prazos", PLAIN, "pt", 160, 0, f"{url}?{'a' * 200}")
    assert part.body.endswith("alertas: veja no Prazo\n"), "half an address leads nowhere"


def test_of_a_digest_it_is_said_how_many_of_its_lines_are_left_out() -> None:
    """It is one alert: `and 1 more` stood for eighty processes."""
    plain = "".join(f"p{n}: 01/03/2026 12:00 (-03)\n" for n in range(30))
    [part] = limits.parts("Resumo do dia", plain, "pt", 400, 250, "https://p.example/")
    shown = part.body.count("01/03/2026")
    assert 5 < shown < 30
    assert part.body.endswith(
        f"\n\n… e mais {30 - shown} linhas: veja no Prazo https://p.example/\n"
    )


def test_what_is_left_of_a_message_is_sent_as_it_was_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut again once less was to be said of the time left, the alert at the cut was in none."""
    sent: list[str] = []
    failing = [False]

    def taken(self: object, *, body: str, **_: object) -> bool:
        if failing[0] and sent:
            return False
        sent.append(body)
        return True

    monkeypatch.setattr(apprise.Apprise, "notify", taken)
    (tmp_path / "channels").write_text(next(iter(SERVICES)))
    rules: Any = AlertRules.model_validate(
        {"recipients": {"ana": {"apprise_file": tmp_path / "channels"}}}
    )
    message = MESSAGE._replace(to="ana", via="apprise", items=(Item(due("a9"), 0, 1),))
    failing[0] = True
    assert transport.send(message, Text("s", PLAIN, ""), rules, NOON) is not None
    assert len(sent) == 1
    failing[0] = False
    shorter = Text("s", PLAIN.replace("já passou", "passou"), "")
    assert transport.send(message, shorter, rules, NOON) is None
    told = re.findall(r"Processo: (p[0-9]+)", "".join(sent))
    assert told == [f"p{n}" for n in range(len(told))]
    assert len(told) > 50


def test_a_mail_has_no_line_that_is_longer_than_mail_servers_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """998 bytes and a line's end (RFC 5322, section 2.1.1): others cut it, or refuse the mail."""
    taken: list[bytes] = []

    async def data(_: object, __: object, ___: object, envelope: Any) -> str:
        taken.append(envelope.original_content)
        return "250 OK"

    monkeypatch.setattr(MailServer, "handle_DATA", data)
    (tmp_path / "password").write_text("secret")
    with MailServer(tmp_path).running() as server:
        mail = Mail(
            host="localhost",
            port=server.port,
            sender="prazo@market.example",
            user="prazo",
            password_file=tmp_path / "password",
            ca_file=server.ca_file,
        )
        for subject in (
            "a" * 3000,
            "é" * 3000,
            "\N{GRINNING FACE} " * 900,
            "p" * 900 + " " + "&" * 900,
        ):
            mails.send(mail, "ana@x.example", subject, "b" * 5000, html="ã" * 9000, name="n", now=0)
            sent = taken[-1]
            assert max(map(len, sent.split(b"\r\n"))) <= 998
            read = message_from_bytes(sent, policy=default)
            assert isinstance(read, EmailMessage)
            assert read["Subject"] == subject.strip() or read["Subject"] == subject
            plain, html = (read.get_body((kind,)) for kind in ("plain", "html"))
            assert plain is not None
            assert html is not None
            assert plain.get_content().strip() == "b" * 5000
            assert html.get_content().strip() == "ã" * 9000


def test_the_longest_message_of_a_webhook_is_within_what_queues_take() -> None:
    """256 KiB is what the narrowest of the common ones takes (SQS, Event Grid, Service Bus)."""
    longest = due("a" * 64)._replace(process_id="\N{GRINNING FACE}" * 512, seller_id="&" * 512)
    items = tuple(Item(longest, 0, 1) for _ in range(MAX_ITEMS))
    body = transport.payload(MESSAGE._replace(items=items), NOON, Links(None, b""))
    assert len(body) <= 256 * 1024


@pytest.mark.parametrize("language", ["pt-BR", "en"])
def test_a_sellers_code_stands_first_and_its_message_fits_whatever_the_marketplaces_name(
    language: journey_words.Language,
) -> None:
    name = "ç" * 80  # the longest that settings take
    said = journey_words.text("mail", language, code="123456", name=name)
    assert said.startswith("123456 ")
    assert len(said) <= 2 * 160
    assert len(journey_words.text("mail_subject", language, code="123456")) <= 78


@pytest.mark.parametrize("most", depth.few([160, 1024, 2000, 4096], 2))
@pytest.mark.parametrize(
    "plain", ["é" * 30_000, "&" * 30_000, "\N{GRINNING FACE}" * 9000, "a\n" * 9000]
)
def test_no_part_is_longer_than_the_service_takes_whatever_is_in_it(most: int, plain: str) -> None:
    for most_title in (0, 250):
        for part in limits.parts("s" * 400, plain, "pt", most, most_title):
            together = f"{part.title}\r\n{part.body}" if most_title == 0 else part.body
            assert limits.size(together) <= most
            assert part.body.strip()


def test_what_fits_is_sent_as_it_is() -> None:
    assert limits.parts("subject", "one\ntwo\n", "en", 4096, 250) == [("subject", "one\ntwo\n")]
