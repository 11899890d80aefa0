"""A dead link's page sends a new one to where the link came from, and says nothing to others."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.errors import WrongUsage
from pipeline.inbox import copies
from pipeline.journey import links
from pipeline.log.actions import By
from pipeline.log.entries import INGESTED
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE, decided, wish_in, wished
from pipeline.log.kinds.seller_notice import by_hand
from pipeline.notices import renewing, started
from pipeline.notices.renewing import Renewing
from pipeline.notices.rules import load
from pipeline.notices.sending import Sending
from tests.alert.sinks import MailServer, WebhookServer
from tests.journey.served import Page, served
from tests.notices.office import BY_MAIL, Office
from tests.support.machine import wait_until

FALSE = "/j/" + "x" * 43
CALLED = '{} Call <a href="tel:0800123456">0800 123 456</a> or <a'
SAID = {
    "en": (
        *("The payment platform that processes your sales", "Asked for: your revenue", "answer by"),
        *("can block money", "https://market.example/review", CALLED.format("Questions?")),
    ),
    "pt-BR": (
        *("O que é pedido: seu faturamento", "Responda até", "pode bloquear"),
        *("https://market.example/review", CALLED.format("Dúvidas?")),
    ),
}
LINK = re.compile(r"http://127\.0\.0\.1:\d+(/j/[\w-]{43})")


@contextmanager
def page_with_mail(folder: Path, server: MailServer) -> Iterator[tuple[Page, Office]]:
    (folder / "password").write_text("secret")
    (folder / "alerts.toml").write_text(
        f'[mail]\nhost = "localhost"\nport = {server.port}\nsender = "avisos@market.example"\n'
        f'user = "prazo"\npassword_file = "{folder / "password"}"\nca_file = "{server.ca_file}"\n'
    )
    (folder / "notices.toml").write_text(
        'contact = "Call 0800 123 456 or help@market.example"\ngenuine = "https://market.example/review"\n'
    )
    files = {f"PRAZO_{it.upper()}_FILE": str(folder / f"{it}.toml") for it in ("alerts", "notices")}
    with served(folder, **files) as page:
        yield page, Office(folder, page.inbox)


def links_of(server: MailServer) -> list[str]:
    return [it for mail in server.taken for it in LINK.findall(mail.get_content())]


def ended_links(page: Page, office: Office, server: MailServer) -> tuple[str, str]:
    """The paths of two links that work no more: of a message, and of one that a person brought."""
    office.seller("sel_1", email="maria@seller.example", type="individual")
    office.review("prc_1", "sel_1", asks=["revenue"])
    mail = office.mail(server)
    send = Sending(page.settings(), page.inbox, rules=load(None), mail=mail)
    send.send(["sel_1"], BY_MAIL)
    by_hand = page.mint("prc_1").url.removeprefix(page.base)
    page.inbox.execute("update journeys set expires_at = $1", page.inbox.now())
    return links_of(server)[0], by_hand


def test_a_dead_link_brings_a_new_one_to_the_same_address_at_one_click(tmp_path: Path) -> None:
    with MailServer(tmp_path).running() as server, page_with_mail(tmp_path, server) as opened:
        page, office = opened
        with pytest.MonkeyPatch.context() as patch:
            earlier = page.inbox.now() - renewing.PAUSE - instants.MINUTE
            patch.setattr(page.inbox, "clock", lambda: earlier)
            dead, by_hand = ended_links(page, office, server)

        seller = page.seller(language="en")
        offered = seller.get(dead)
        assert (offered.status, offered.heading) == (404, "This link does not work")
        assert "Send me a new link" in offered.html
        # On a phone a tap writes to it, and whoever reads the mail finds the journey.
        subject = "Registration%20review%2C%20number%20"
        assert f'href="mailto:help@market.example?subject={subject}' in offered.html
        for other in (FALSE, by_hand):
            said = seller.get(other)
            assert (said.status, said.heading) == (404, "This link does not work")
            assert "Send me" not in said.html
            assert seller.post(other, do="renew").html == seller.get(FALSE).html
        assert (
            page.seller().ask("POST", dead, {"do": "renew"}, Origin="https://a.example").status
            == 403
        )

        asked = seller.post(dead, do="renew")
        assert (asked.status, asked.heading) == (200, "We have noted your request")
        wait_until(lambda: len(server.taken) == 2)
        assert server.taken[1]["To"] == "maria@seller.example"
        assert server.taken[1].get_content().startswith("Hello,"), "in the language of the first"
        wait_until(lambda: len(office.results()) == 2)
        fresh = links_of(server)[1]
        for language, said in SAID.items():
            landing = page.seller(language=language).get(fresh).html
            shown = [it for it in (*said, page.base, "Loja do Zé") if it not in unescape(landing)]
            assert shown == [], "who, what, by when, else what, is it genuine, whom to ask"
            assert "maria" not in landing.lower()
        assert seller.open(page.base + fresh).slug == "revenue"
        elsewhere = page.seller(language="en").get(fresh)
        assert "comes to the address to which the link came" in elsewhere.html
        assert "it comes to this same address" in server.taken[1].get_content()
        first, second = office.notices()
        assert second["channel"] == "email"
        assert second["address"] == first["address"]
        assert "actor" not in second
        assert "rung" not in second
        # A moment later none goes, and the page says the same.
        assert seller.post(dead, do="renew").html == asked.html
        assert len(server.taken) == 2


def test_it_goes_to_no_other_address_not_too_often_and_not_from_a_copy(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.seller("sel_1", email="maria@seller.example")
    office.review("prc_1", "sel_1")
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        send.send(["sel_1"], BY_MAIL)
        renew = Renewing(office.settings(), office.inbox)
        monkeypatch.setattr(type(renew._alerts), "get", lambda _: send)  # has the mail server
        [journey] = links.of_process(office.inbox, "prc_1")
        clock = [office.inbox.now()]
        monkeypatch.setattr(office.inbox, "clock", lambda: clock[0])

        def after(minutes: int) -> int:
            clock[0] += minutes * instants.MINUTE
            renew.renew(journey)
            return len(server.taken)

        assert after(9) == 1
        assert after(2) == 2
        assert after(9) == 2
        office.seller("sel_1", email="other@seller.example")
        assert after(20) == 2, "the address of the dead link is not the seller's any more"
        office.seller("sel_1", email="maria@seller.example")
        copies.hold(office.inbox)
        assert after(20) == 2
        copies.confirm(office.inbox, By("a test", "Ana", "user:ana"))
        assert [after(11) for _ in range(6)] == [3, 4, 5, 6, 6, 6], "five a day"
        assert after(24 * 60) == 7
        by = {"journey_id": journey.journey_id, "recorded_by": "journey"}
        office.inbox.append([wished("not_me", seller_id="sel_1", **by)])
        assert after(24 * 60) == 7, "whoever has the mailbox is not the seller"


def test_a_call_or_a_message_that_was_not_sent_keeps_no_new_link_back(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page said that one comes within a few minutes, and none came."""
    office.seller("sel_1", email="maria@seller.example")
    office.review("prc_1", "sel_1")
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        send.send(["sel_1"], BY_MAIL)
        renew = Renewing(office.settings(), office.inbox)
        monkeypatch.setattr(type(renew._alerts), "get", lambda _: send)  # has the mail server
        [journey] = links.of_process(office.inbox, "prc_1")
        # At the beginning of ten minutes, so that all of this is within them.
        later = (office.inbox.now() // renewing.PAUSE + 2) * renewing.PAUSE
        monkeypatch.setattr(office.inbox, "clock", lambda: later)
        by = {"actor": "Ana", "recorded_by": "test", "seller_id": "sel_1"}
        office.inbox.append([by_hand("call_1", "phone", process_id="prc_1", **by)])
        server.refuses = "451 not now"
        renew.renew(journey)
        assert office.results()[-1] == ("prc_1", "failed")
        server.refuses = None
        renew.renew(journey)
        assert len(server.taken) == 2
        renew.renew(journey)
        assert len(server.taken) == 2


def test_none_goes_to_an_address_where_nobody_knows_where_the_first_went(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.seller("sel_1", phone_number="+5511912345678")
    office.review("prc_1", "sel_1")
    with WebhookServer().running() as service:
        rules = office.webhook(service.url, address=False)
        office.sending(rules).send(["sel_1"], BY_MAIL._replace(channel="sms"))
        renew = Renewing(office.settings(), office.inbox)
        monkeypatch.setattr(type(renew._notices), "get", lambda _: rules)
        [journey] = links.of_process(office.inbox, "prc_1")
        later = office.inbox.now() + 2 * renewing.PAUSE
        monkeypatch.setattr(office.inbox, "clock", lambda: later)
        has_address = office.webhook(service.url, address=True)
        monkeypatch.setattr(type(renew._notices), "get", lambda _: has_address)
        renew.renew(journey)
        assert len(service.taken) == 1
        monkeypatch.setattr(type(renew._notices), "get", lambda _: rules)
        renew.renew(journey)
        assert len(service.taken) == 2


@pytest.mark.parametrize("days", [-300, 1])
def test_who_is_not_the_seller_stays_so_until_somebody_here_says_otherwise(
    office: Office, days: int
) -> None:
    """Another press ended it, or a file, and links went to the same stranger again."""
    by = {"seller_id": "sel_1", "recorded_by": "journey"}
    released = decided("released", actor="Ana", **by)
    at = office.inbox.now() + days * instants.DAY
    by_page = [wished(it, journey_id="jrn_1", **by) for it in ("not_me", "stop_writing")]
    office.inbox.append([*by_page, released._replace(origin=INGESTED, occurred_at=at)])
    assert wish_in(office.inbox.find(seller_id="sel_1", kind=NOTICE_SCHEDULE)) == "not_me"
    ana = {"actor": "Ana", "recorded_by": "test", "is_held": False}
    with pytest.raises(WrongUsage, match="ended it themselves"):
        started.hold(office.inbox, "sel_1", **ana)
    started.hold(office.inbox, "sel_1", reason="they called", **ana)
    assert wish_in(office.inbox.find(seller_id="sel_1", kind=NOTICE_SCHEDULE)) is None


def test_what_is_taken_back_leaves_the_wish_that_stood_before(office: Office) -> None:
    """A hold after it had hidden it, and the page then let messages go on."""
    by = {"seller_id": "sel_1", "recorded_by": "test"}
    office.inbox.append([wished("not_me", journey_id="jrn_1", **by)])
    ana = {"actor": "Ana", "recorded_by": "test"}
    started.hold(office.inbox, "sel_1", is_held=True, **ana)
    released = started.hold(office.inbox, "sel_1", is_held=False, reason="they called", **ana)
    assert started.undo_hold(office.inbox, "sel_1", released, **ana)
    assert wish_in(office.inbox.find(seller_id="sel_1", kind=NOTICE_SCHEDULE)) == "not_me"
