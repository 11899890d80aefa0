"""One seller's way, walked whole with real parts: a message over SMTP, a phone, a code, answers,
what the platform says, and the officer's page that shows each step while it is open."""

import re
from pathlib import Path

from playwright.sync_api import Locator
from playwright.sync_api import Page as Tab

from tests.alert.sinks import MailServer
from tests.journey.test_browser import PHONE, fill_in
from tests.notices.test_renewing import LINK, page_with_mail
from tests.support.dashboard import Reader, chromium, dashboard
from tests.support.machine import wait_until

SOON = 60_000
"""In milliseconds: the page looks every five seconds, on a machine that is busy."""


def button(tab: Tab, name: str) -> Locator:
    return tab.get_by_role("button", name=name)


def fared(desk: Tab, step: str) -> None:
    """Waits until the officer's page, which nobody touches, says when a step of the notice came."""
    desk.locator("tr", has_text=re.compile(f"{step}.*[0-9]")).wait_for(timeout=SOON)


def test_a_seller_is_asked_answers_and_is_seen_to_from_message_to_finish(tmp_path: Path) -> None:
    with MailServer(tmp_path).running() as server, page_with_mail(tmp_path, server) as opened:
        page, office = opened
        office.seller("sel_1", email="maria@seller.example", type="individual")
        office.review("prc_1", "sel_1", asks=["revenue", "address.city"])
        with dashboard(tmp_path, **page.environment) as url, chromium() as browser:
            desk = browser.new_page(locale="en-GB", viewport={"width": 1280, "height": 720})
            Reader(desk, url).open("/sellers?row=sel_1")
            button(desk, "Ask again").last.click()
            desk.get_by_role("textbox", name="Your name").last.fill("Ana Lima")
            button(desk, "Send to sel_1").click()
            wait_until(lambda: server.taken)
            [link] = LINK.findall(server.taken[0].get_content())

            phone = browser.new_context(viewport=PHONE, locale="pt-BR", has_touch=True).new_page()
            screens = [phone.goto(page.base + link)]
            phone.get_by_role("button", name="Começar").click()
            fared(desk, "Opened")
            while not phone.url.endswith("/review"):
                fill_in(phone)
                phone.get_by_role("button", name="Continuar").click()
                screens.append(None)
            fared(desk, "Answered")

            # She goes on at another device: the code comes apart from the link, by its channel.
            other = browser.new_context(viewport=PHONE, locale="pt-BR").new_page()
            other.goto(page.base + link)
            other.get_by_role("button", name="Enviar o código").click()
            wait_until(lambda: len(server.taken) == 2)
            [code] = re.findall(r"\b\d{6}\b", server.taken[1]["Subject"])
            other.get_by_label("Código de 6 dígitos").fill(code)
            other.get_by_role("button", name="Continuar").click()
            other.get_by_role("checkbox").check()
            other.get_by_role("button", name="Confirmar").click()
            assert other.locator("h1").inner_text() == "Recebemos as suas respostas"
            fared(desk, "Confirmed")
            assert len(screens) + 1 == 4, "the first, two questions, the review"

            office.review("prc_1", "sel_1", asks=["revenue", "address.city"], status="FINISHED")
            fared(desk, "Finished")
            other.reload()
            said = other.locator(".good")
            assert "concluiu" in said.inner_text()
            green = said.evaluate("it => getComputedStyle(it).backgroundColor")
            assert green == "rgb(233, 247, 239)", "what is done warns of nothing"
