"""Another device, or the same one after a time: a code that was sent apart opens the link."""

import base64
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pipeline import instants
from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.errors import CallerError
from pipeline.http import standard_webhooks
from pipeline.inbox.artifacts import artifact_store
from pipeline.journey import links
from pipeline.journey.answering import CODE, Answering
from pipeline.journey.entrance import one_time_codes
from pipeline.journey.entrance.sessions import Sessions
from pipeline.journey.evidence import Shown
from pipeline.journey.notifying import Help
from pipeline.journey.reviews import Reviews
from pipeline.journey.screens import Drawn, Screens
from pipeline.keys import secret_key
from pipeline.log.kinds.seller_notice import handed_over
from tests.alert.sinks import MailServer, WebhookServer
from tests.journey.seller import Seller
from tests.journey.served import Page, served
from tests.support.machine import wait_until

SECRET = base64.b64encode(b"a secret of the marketplace's own").decode()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[WebhookServer]:
    with WebhookServer().running() as server:
        yield server


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, endpoint: WebhookServer) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("journey")
    (folder / "secret").write_text(f"whsec_{SECRET}\n")
    settings = {
        "PRAZO_JOURNEY_CODE_URL": endpoint.url,
        "PRAZO_JOURNEY_CODE_SECRET_FILE": str(folder / "secret"),
        "PRAZO_JOURNEY_TRACE": "masked",
    }
    with served(folder, **settings) as running:
        yield running


def asked_for(other: Seller, url: str, endpoint: WebhookServer) -> str:
    """The code that the marketplace was given to send."""
    assert other.get(url).heading == "Confirme que é você"
    assert "Enviamos um código" not in other.get(url).html
    sent = other.post(url, do="send").html
    assert 'name="code"' in sent
    assert "Enviamos um código. Ele vale por 10 minutos." in sent
    code: str = json.loads(endpoint.taken[-1].body)["data"]["code"]
    return code


def opened(page: Page, process: str | None = None) -> str:
    """The address of a link that a seller has opened: any other browser needs a code for it."""
    url: str = page.mint(process or page.review()).url
    page.seller().open(url)
    return url


def test_a_code_opens_the_link_elsewhere_with_what_was_answered(
    page: Page, endpoint: WebhookServer
) -> None:
    process = page.review(["revenue", "address.city"])
    url = page.mint(process).url
    first, other = page.seller(), page.seller()
    other.get(url)
    known = dict(other.cookies)
    at = first.answer(first.open(url), f0_from="1000", f0_to="5000")
    code = asked_for(other, url, endpoint)
    screen = other.post(url, do="check", code=f"{code[:3]} {code[3:]}")
    assert screen.path == at.path
    # Anyone who looked at the link with this browser before knows a secret, and had no code.
    assert known
    assert not {*known.values()} & {*other.cookies.values()}
    review = other.answer(screen, f0="Recife")
    assert "De R$ 1.000 até R$ 5.000" in review.html
    assert page.steps(process).count("opened") == 2
    _, said = [it for it in page.collections(process) if it[1]["step"] == "opened"][-1]
    assert said["by_code"] is True
    assert said["trace"] == {"network": "127.0.0.0/24", "browser": "other", "system": "other"}


def test_the_marketplaces_endpoint_gets_a_signed_message(
    page: Page, endpoint: WebhookServer
) -> None:
    process = page.review()
    code = asked_for(page.seller(), opened(page, process), endpoint)
    posted = endpoint.taken[-1]
    said = json.loads(posted.body)
    assert (said["type"], said["version"]) == ("prazo.journey.code", 1)
    assert said["data"]["process_id"] == process
    assert re.fullmatch(r"[0-9]{6}", code)
    secrets = standard_webhooks.secrets_in(f"whsec_{SECRET}", None)
    now = int(posted.headers[b"webhook-timestamp"]) * 10**6
    assert standard_webhooks.check(secrets, posted.headers, posted.body, now=now, tolerance=1) == 1


def test_a_code_works_once_and_five_wrong_ones_end_it(page: Page, endpoint: WebhookServer) -> None:
    url, other = opened(page), page.seller()
    code = asked_for(other, url, endpoint)
    wrong = f"{(int(code) + 1) % 10**6:06d}"
    for _ in range(one_time_codes.MAX_TRIES):
        refused = other.post(url, do="check", code=wrong)
        assert refused.status == 422
        assert refused.html.count("O código não confere") == 2  # above, and beside the input
        assert 'aria-invalid="true"' in refused.html
    assert other.post(url, do="check", code=code).status == 422


def test_of_one_link_only_so_many_codes_are_sent_and_not_at_once(
    page: Page, endpoint: WebhookServer
) -> None:
    url, other = opened(page), page.seller()
    asked_for(other, url, endpoint)
    sent = len(endpoint.taken)
    other.post(url, do="send")
    assert len(endpoint.taken) == sent  # 20 seconds lie between two
    for _ in range(one_time_codes.MAX_CODES + 2):
        page.inbox.execute("update journeys set code_sent_at = 1 where code_sent_at is not null")
        last = other.post(url, do="send")
    assert len(endpoint.taken) == sent + one_time_codes.MAX_CODES - 1
    # The button did nothing, and nobody said why.
    assert (last.status, last.html.count("não enviamos mais códigos")) == (422, 1)
    assert "Peça um novo link a Loja do Zé" in last.html


def test_a_code_that_was_sent_while_the_clock_was_ahead_is_over_and_another_is_sent(
    page: Page, endpoint: WebhookServer
) -> None:
    """Before: it was good for as long as the clock had been ahead, and no other was sent."""
    url, other = opened(page), page.seller()
    former = asked_for(other, url, endpoint)
    page.inbox.execute(
        "update journeys set code_sent_at = $1 where code_sent_at is not null",
        page.inbox.now() + 30 * instants.DAY,
    )
    assert other.post(url, do="check", code=former).status == 422
    assert other.post(url, do="check", code=asked_for(other, url, endpoint)).status == 200


def test_the_way_back_and_a_second_loading_send_no_form_without_scripts_either(
    page: Page, endpoint: WebhookServer
) -> None:
    """The screen for the code answered a POST: on the way back to it stood a browser's error."""
    url, other = opened(page), page.seller()
    sent = other.ask("POST", url, {"do": "send"})
    assert (sent.status, sent.headers["location"]) == (303, url.removeprefix(page.base))
    assert 'name="code"' in other.get(url).html


def test_where_the_endpoint_fails_the_seller_hears_it(page: Page, endpoint: WebhookServer) -> None:
    url = opened(page)
    endpoint.status = 500
    try:
        failed = page.seller().post(url, do="send")
    finally:
        endpoint.status = 204
    assert failed.status == 422
    assert "Não conseguimos enviar o código agora" in failed.html


def test_whoever_needs_no_code_is_answered_while_the_endpoint_hangs(
    page: Page, endpoint: WebhookServer
) -> None:
    """Sixteen who asked for a code held all threads of the page, and nobody could answer."""
    urls = [opened(page) for _ in range(17)]
    before = len(endpoint.taken)
    endpoint.gate.clear()
    try:
        with ThreadPoolExecutor(17) as pool:
            asked = [pool.submit(page.seller().post, url, do="send") for url in urls]
            wait_until(lambda: len(endpoint.taken) == before + one_time_codes.AT_ONCE)
            process = page.review(["address.city"])
            seller = page.seller()
            screen = seller.answer(seller.open(page.mint(process).url), f0="Recife")
            assert screen.slug == "review"
            assert len(endpoint.taken) == before + one_time_codes.AT_ONCE
            endpoint.gate.set()
            answers = [it.result() for it in asked]
    finally:
        endpoint.gate.set()
    assert [it.status for it in answers].count(422) == 17 - one_time_codes.AT_ONCE
    waits = [url for url, it in zip(urls, answers, strict=True) if it.status == 422]
    assert 'name="code"' in page.seller().post(waits[0], do="send").html  # it cost no code


@pytest.mark.parametrize(
    "email",
    [
        "nobody",
        "ze@loja.example, postmaster",
        "ze@loja.example;ana",
        "ze loja@x",
        "ze@",
        "ze@a\0",
        "zé@x.example",
    ],
)
def test_a_code_goes_to_one_address_alone(page: Page, email: str) -> None:
    """One @ was enough: the mail went to the second mailbox as well, or failed at each code."""
    process = page.review()
    with pytest.raises(CallerError, match="the e-mail address cannot be one"):
        page.mint(process, email=email)


def test_a_mail_from_the_screen_of_the_code_is_about_the_code(page: Page) -> None:
    """Its subject said that the link does not work, which had just opened that screen."""
    screens = Screens(page.settings(), help_now=lambda: Help(contact="help@market.example"))
    about = {"is_sent": True, "fault": None, "comes_along": False, "address": None}
    for language, subject in (
        ("en", "Registration review: I need help with the code"),
        ("pt-BR", "Revisão do cadastro: preciso de ajuda com o código"),
    ):
        asked = f'href="mailto:help@market.example?subject={quote(subject)}"'
        assert asked in screens.draw(CODE, language, **about).html


def test_after_a_time_the_same_browser_is_asked_for_a_code(page: Page) -> None:
    process = page.review()
    url = page.mint(process).url
    seller = page.seller()
    screen = seller.open(url)
    page.inbox.execute("update journey_sessions set seen_at = seen_at - $1", 31 * 60 * 10**6)
    assert seller.answer(screen, f0_from="1", f0_to="2").heading == "A sessão terminou"
    asking = seller.get(url)
    assert asking.heading == "Confirme que é você"
    assert 'src="/journey.js"' in asking.html  # a way back leads to no form that was sent
    assert "answered" not in page.steps(process)


def test_a_code_opens_the_receipt_days_later_on_any_device(
    page: Page, endpoint: WebhookServer
) -> None:
    """What became of the answers could be seen for half an hour, on one device alone."""
    process = page.review()
    minted = page.mint(process)
    receipt = page.seller().finish(minted.url)
    page.review(process_id=process, status="FINISHED")
    before = page.steps(process)
    other = page.seller()
    assert other.get(receipt.path).heading == "A sessão terminou"
    assert minted.journey.ref[:4] not in other.get(minted.url).html
    code = asked_for(other, minted.url, endpoint)
    shown = other.post(minted.url, do="check", code=code)
    assert (shown.path, shown.heading) == (receipt.path, "Recebemos as suas respostas")
    assert "A plataforma de pagamentos concluiu a revisão." in shown.html
    assert minted.journey.ref[:4] in shown.html
    # It is evidence, and no step of the seller: nothing was opened or confirmed once more.
    [(_, said)] = [it for it in page.collections(process) if it[1].get("screen") == "code"]
    assert (said["step"], said["source"], said["by_code"]) == ("confirmed", "marketplace", True)
    assert page.steps(process) == [*before, "confirmed"]


def test_a_receipt_promises_the_link_until_a_day_where_a_message_brought_it(page: Page) -> None:
    """It promised this of a banner's link, which nobody keeps, and of a correction's, which nobody
    got, and did not say until when."""
    process, banner = page.review(), page.mint(page.review(), is_clicked=True)
    minted = page.mint(process)
    said = {"commitment": "0" * 64, "journey_id": minted.journey.journey_id}
    by = {"actor": None, "recorded_by": "t", "process_id": process}
    page.inbox.append([handed_over("msg_1", "email", said, **by, seller_id=f"seller of {process}")])
    receipt = page.seller().finish(minted.url)
    [(at,)] = page.inbox.query(
        "select confirmed_at from journeys where ref = $1", minted.journey.ref
    )
    day = instants.of(at).astimezone(page.settings().zone) + timedelta(days=120)
    assert f"mostra isso de novo até {day:%d/%m/%Y %Hh%M}" in receipt.html
    assert "ele pede um código" not in page.seller().finish(banner.url).html


def test_receipts_that_codes_opened_share_no_evidence(page: Page, endpoint: WebhookServer) -> None:
    """The screen for a code is the same for both, to the byte: as an artifact of both confirmations
    this would be a finding."""
    processes = [page.review(), page.review()]
    screens = []
    for process in processes:
        url, other = page.mint(process).url, page.seller()
        page.seller().finish(url)
        code = asked_for(other, url, endpoint)
        screens.append(other.get(url).html)
        assert other.post(url, do="check", code=code).slug == "receipt"
    assert screens[0] == screens[1]
    named = [
        {kept["sha256"] for _, said in page.collections(process) for kept in of_answers(said)}
        for process in processes
    ]
    assert all(named)
    assert not named[0] & named[1]


def of_answers(said: dict[str, Any]) -> list[dict[str, str]]:
    """The artifacts of an entry that the rule compares: those of an answer or a confirmation."""
    is_compared = said["step"] in ("answered", "confirmed")
    return said.get("artifacts", []) if is_compared else []


def test_no_code_opens_a_receipt_that_is_old_or_whose_link_reached_somebody_else(
    page: Page,
) -> None:
    old, strange = page.mint(page.review()), page.mint(page.review())
    for each in (old, strange):
        page.seller().finish(each.url)
    page.inbox.execute(
        "update journeys set confirmed_at = confirmed_at - $1 where ref = $2",
        links.SHOWN_LIFE,
        old.journey.ref,
    )
    assert page.seller().get(strange.url).heading == "Confirme que é você"
    page.seller().post(strange.url, do="not_me")
    for each in (old, strange):
        dead = page.seller().get(each.url)
        assert dead.heading == "Este link não funciona"
        assert "Para pedir um novo link, fale com Loja do Zé" in dead.html


def test_no_code_opens_the_receipt_of_a_seller_who_was_forgotten(
    page: Page, endpoint: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old link asked for a code, opened the receipt and recorded that."""
    monkeypatch.setattr(forgetting, "SETTLE_SECONDS", 0.0)
    process = page.review()
    url = page.mint(process).url
    page.seller().finish(url)
    page.review(process_id=process, status="FINISHED")
    other, whose = page.seller(), f"seller of {process}"
    code = asked_for(other, url, endpoint)
    page.hear("seller.deleted", instants.now(), id=whose, status="deleted", resource="seller")
    secret_key(page.settings().taxpayer_key_file)
    forget(page.settings(), page.inbox, whose, reason="r", actor="ana", recorded_by="t")
    before, sent = len(page.inbox.find(process_id=process)), len(endpoint.taken)
    answers = [
        other.get(url),
        other.post(url, do="send"),
        other.post(url, do="check", code=code),
    ]
    assert {it.heading for it in answers} == {"Este link não funciona"}
    assert len(page.inbox.find(process_id=process)) == before
    assert len(endpoint.taken) == sent


def test_a_receipt_on_its_way_records_nothing_once_its_seller_was_forgotten(page: Page) -> None:
    minted = page.mint(page.review())
    page.seller().finish(minted.url)
    found = links.by_ref(page.inbox, minted.journey.ref)  # as a request found the journey before
    assert found is not None
    forgetting._forget_links(page.inbox, found.seller_id)
    inbox, now, shown = page.inbox, page.inbox.now(), Shown("pt-BR", "1")
    store, screens = artifact_store(page.settings(), inbox), Screens(page.settings())
    sessions = Sessions(inbox, instants.MINUTE)
    answering = Answering(inbox, store, screens, sessions, Reviews(inbox))
    before = len(inbox.find(process_id=found.process_id))
    assert answering.open(found, CODE, b"", shown, now, {}) is None
    answering.keep_receipt(found, Drawn("another"), b"another", shown, now)
    assert len(inbox.find(process_id=found.process_id)) == before


def test_without_an_endpoint_we_send_the_code_by_e_mail(tmp_path: Path) -> None:
    with MailServer(tmp_path).running() as server:
        (tmp_path / "password").write_text("secret")
        (tmp_path / "alerts.toml").write_text(
            f'[mail]\nhost = "localhost"\nport = {server.port}\nsender = "prazo@loja.example"\n'
            f'user = "prazo"\npassword_file = "{tmp_path}/password"\nca_file = "{server.ca_file}"\n'
        )
        with served(tmp_path, PRAZO_ALERTS_FILE=str(tmp_path / "alerts.toml")) as page:
            process = page.review()
            url = page.mint(process, email="ze@loja.example").url
            page.seller().open(url)
            other = page.seller()
            other.post(url, do="send")
            [mail] = server.taken
            assert mail["To"] == "ze@loja.example"
            text = mail.get_content()
            assert "continuar em Loja do Zé" in text
            code = re.match(r"[0-9]{6}", text)
            assert code is not None
            assert other.post(url, do="check", code=code[0]).slug == "revenue"
            without_mail = opened(page)
            assert page.seller().get(without_mail).heading == "Este link não funciona"
