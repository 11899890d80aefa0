"""What is sent to sellers by hand, what is said of it, and to whom nothing goes."""

import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.errors import CopyHeld, SettingsError, WrongUsage
from pipeline.http import standard_webhooks
from pipeline.http.outgoing import asking, mails
from pipeline.inbox import copies
from pipeline.inbox.artifacts import artifact_store, look
from pipeline.journey import links
from pipeline.log.entries import commitment
from pipeline.log.kinds.notice_schedule import wished
from pipeline.log.ndjson import read_line
from pipeline.notices import sending
from pipeline.notices.channels import Came
from pipeline.notices.sending import Done, Order
from pipeline.notices.started import hold
from pipeline.notices.unanswered import UNANSWERED, mark_all, mark_of
from tests import depth
from tests.alert.sinks import MailServer, WebhookServer
from tests.alert.test_channels import silent_after
from tests.notices.office import BASE, BY_MAIL, SECRET, Office, results_of

LINK = re.compile(re.escape(BASE) + r"/j/([\w-]{43})")
BY_SMS = Order("sms", "user:test", "Ana Lima", "en")
KNOWING = BY_MAIL._replace(despite={"just_sent"})


def with_two_reviews(office: Office) -> None:
    office.seller("sel_1", email="maria@seller.example", phone_number="+5511912345678")
    office.review("prc_1", "sel_1", days=20)
    office.review("prc_2", "sel_1", days=5, asks=["revenue"])


def test_one_mail_speaks_of_all_open_reviews_and_an_entry_of_each(
    office: Office, tmp_path: Path
) -> None:
    with_two_reviews(office)
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        [done] = send.send(["sel_1"], BY_MAIL)
    assert (done.result, done.process_ids) == ("accepted", ("prc_2", "prc_1"))
    [mail] = server.taken
    assert mail["To"] == "maria@seller.example"
    text = mail.get_content()
    assert mail["Subject"].startswith("Loja do Zé: confirm your registration data by ")
    assert len(LINK.findall(text)) == 2
    for said in ("your revenue and your address", "block money", "https://answer.market.example"):
        assert said in text
    assert "maria" not in text
    assert "it comes to this same address" in text, "the only way for a code is this one"

    notices = office.notices()
    assert [it["process_id"] for it in notices] == ["prc_2", "prc_1"]
    assert {it["message_id"] for it in notices} == {done.message_id}
    assert {(it["channel"], it["template"], it["language"]) for it in notices} == {
        ("email", "first@1", "en")
    }
    assert office.results() == [("prc_2", "accepted"), ("prc_1", "accepted")]
    [named] = {it["actor"] for it in notices}
    assert named.startswith("act_")


def test_what_is_kept_of_a_message_opens_nothing_and_proves_its_words(
    office: Office, tmp_path: Path
) -> None:
    with_two_reviews(office)
    with MailServer(tmp_path).running() as server:
        office.sending(mail=office.mail(server)).send(["sel_1"], BY_MAIL)
    [mail] = server.taken
    text = mail.get_content().replace("\r\n", "\n").removesuffix("\n")
    secrets = LINK.findall(text)
    notice = office.notices()[0]
    store = artifact_store(office.settings(), office.inbox)
    kept = (store.read(notice["artifacts"][0]["sha256"]) or b"").decode()
    assert "your revenue" in kept
    everything = json.dumps(office.notices()) + kept
    assert not any(it in everything for it in (*secrets, "maria@seller.example"))
    true = {"subject": mail["Subject"], "text": text, "to": mail["To"]}
    content = json.dumps(true, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    said = notice["commitment"]
    assert said["sha256"] == commitment(bytes.fromhex(said["salt"]), content)
    assert look(office.inbox, store).named == 1, "its bytes are among those that are watched"


def test_a_webhook_gets_a_signed_message_and_an_address_only_where_it_may(office: Office) -> None:
    with_two_reviews(office)
    with WebhookServer().running() as server:
        for may in (True, False):
            rules = office.webhook(server.url, address=may)
            [done] = office.sending(rules).send(["sel_1"], BY_SMS._replace(despite={"just_sent"}))
            assert done.result == "accepted"
    secret = standard_webhooks.secrets_in(SECRET, None)
    bodies = []
    for posted in server.taken:
        now = int(posted.headers[b"webhook-timestamp"]) * 1_000_000
        assert standard_webhooks.check(secret, posted.headers, posted.body, now=now, tolerance=1)
        bodies.append(json.loads(posted.body))
    first, second = (it["data"] for it in bodies)
    assert (bodies[0]["type"], bodies[0]["version"]) == ("prazo.seller_notice", 1)
    assert first["to"] == "+5511912345678"
    assert "to" not in second
    assert first.keys() - {"to"} == {
        *("message_id", "seller_id", "process_ids", "channel", "language", "subject", "text"),
        *("link", "deadline_at"),
    }
    assert first["process_ids"] == ["prc_2", "prc_1"]
    assert first["link"] in first["text"]
    assert "we have asked you" in second["text"], "whoever was asked before is reminded"


@pytest.mark.parametrize(
    ("status", "tries", "result"),
    [
        (404, 1, ("failed", "the service answered 404")),
        (429, 3, ("failed", "the service answered 429")),
        (503, 3, ("failed", "the service answered 503")),
        (500, 3, ("uncertain", "the service answered 500")),
        (302, 1, ("failed", "the service answered 302")),
    ],
)
def test_what_a_service_does_not_take_is_not_said_to_be_sent(
    office: Office, status: int, tries: int, result: tuple[str, str]
) -> None:
    with_two_reviews(office)
    with WebhookServer().running() as server:
        server.status = status
        done = office.sending(office.webhook(server.url)).send(["sel_1"], BY_SMS)
    assert results_of(done) == {"sel_1": result}
    assert len(server.taken) == tries
    assert len({it.headers[b"webhook-id"] for it in server.taken}) == 1
    assert {it for _, it in office.results()} == {result[0]}
    live = [it for it in links.of_process(office.inbox, "prc_1") if it.is_live(office.inbox.now())]
    assert len(live) == (0 if result[0] == "failed" else 1), "what nobody has works no more"


def test_a_service_that_answers_late_may_have_the_message(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "ANSWER_SECONDS", 0.3)
    with_two_reviews(office)
    with WebhookServer().running() as server:
        server.gate.clear()
        [done] = office.sending(office.webhook(server.url)).send(["sel_1"], BY_SMS)
        server.gate.set()
    assert done.result == "uncertain"
    assert done.why is not None
    assert done.why.startswith("the service did not answer")


def test_a_mail_server_that_refuses_falls_silent_or_is_away(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mails, "SMTP_SECONDS", 1)
    with_two_reviews(office)
    server = MailServer(tmp_path)
    mail = office.mail(server)
    [away] = office.sending(mail=mail).send(["sel_1"], BY_MAIL)
    assert away.result == "failed"
    with server.running():
        server.refuses = "550 no such box <maria@seller.example>"
        [refused] = office.sending(mail=mail).send(["sel_1"], BY_MAIL)
        server.refuses = f"451 spam for maria: {BASE}/{'t' * 43}"
        [later] = office.sending(mail=mail).send(["sel_1"], BY_MAIL)
    assert (refused.result, refused.why, refused.is_refused) == (
        "failed",
        "550 no such box ***",
        True,
    )
    assert (later.why, later.is_refused) == ("451 spam for ***: ***", False)
    with silent_after(b".") as port:
        bare: Any = {"host": "127.0.0.1", "port": port, "security": "none", "sender": "a@x.example"}
        [silent] = office.sending(mail=type(mail)(**bare)).send(["sel_1"], BY_MAIL)
    assert silent.result == "uncertain"
    assert [it for _, it in office.results()] == [*["failed"] * 6, *["uncertain"] * 2]


def test_nothing_goes_to_whom_nothing_may_go_and_each_says_why(
    office: Office, tmp_path: Path
) -> None:
    office.seller("sel_no_mail")
    office.review("prc_no_mail", "sel_no_mail")
    office.seller("sel_odd", email="maria@seller.example, joao@seller.example")
    office.review("prc_odd", "sel_odd")
    office.seller("sel_deleted", email="gone@seller.example")
    office.review("prc_deleted", "sel_deleted")
    office.seller("sel_deleted", "seller.deleted")
    office.seller("529.982.247-25", email="cpf@seller.example")
    office.review("prc_cpf", "529.982.247-25")
    office.seller("sel_finished", email="done@seller.example")
    office.review("prc_finished", "sel_finished", status="FINISHED")
    office.seller("sel_answered", email="answered@seller.example")
    office.review("prc_answered", "sel_answered", asks=["revenue"])
    office.answer("prc_answered", "sel_answered", revenue="1000_to_5000")
    office.seller("sel_vague", email="vague@seller.example")
    office.review("prc_vague", "sel_vague", asks=[])
    expected = {
        "sel_no_mail": "no_address",
        "sel_odd": "unusable_address",
        "sel_deleted": "deleted",
        "529.982.247-25": "personal_id",
        "sel_finished": "finished",
        "sel_answered": "answered",
        "sel_vague": "unanswerable",
        "sel_unknown": "unknown",
    }
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        heard: list[Done] = []
        done = send.send([*expected, "sel_unknown"], BY_MAIL, heard.append)
        previews = {it: send.preview(send.sellers.look(it), BY_MAIL).refused for it in expected}
    assert results_of(done) == {it: ("refused", why) for it, why in expected.items()}
    assert previews == expected
    assert len(heard) == len(expected)
    assert server.taken == []
    assert office.notices() == []
    assert office.said("collection", process_id="prc_odd") == [], "not even a link was made"


def test_what_the_platform_refused_is_all_that_a_message_asks_for(
    office: Office, tmp_path: Path
) -> None:
    """By hand it asked for all of the address, as if nobody had answered."""
    office.seller("sel_1", email="maria@seller.example", type="individual")
    office.review("prc_1", "sel_1", days=20)
    office.answer("prc_1", "sel_1", revenue="1000_to_5000", **{"address.city": "Recife"})
    office.refuse("prc_1", "sel_1", "address.city")
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        corrected = send.preview(send.sellers.look("sel_1"), BY_MAIL).message
        office.review("prc_2", "sel_1", days=25, asks=["revenue"])
        both = send.preview(send.sellers.look("sel_1"), BY_MAIL).message
    assert corrected is not None
    assert corrected.subject == "Loja do Zé: one thing to correct in your registration data"
    assert "We still need: your address (City)." in corrected.text
    assert both is not None
    of_first, of_second = both.text.split("We still need: ")[1:]
    assert of_first.startswith("your address (City).\nThe platform has not accepted part of these")
    assert of_second.startswith("your revenue.\n")
    assert "not accepted" not in of_second


def test_the_channel_that_is_offered_first_is_one_by_which_most_are_reached(
    office: Office, tmp_path: Path
) -> None:
    for n, known in enumerate([{}, {}, {"email": "maria@seller.example"}]):
        office.seller(f"sel_{n}", **known)
        office.review(f"prc_{n}", f"sel_{n}")
    with WebhookServer().running() as service, MailServer(tmp_path).running() as server:
        rules = office.webhook(service.url, address=False)
        send = office.sending(rules, mail=office.mail(server))
        assert send.ways() == ("email", "sms")
        every = [send.sellers.look(f"sel_{n}") for n in range(3)]
        ways = [send.way_to(it) for it in (every[2:], every[:1], every)]
    assert ways == ["email", "sms", "sms"]


def test_a_preview_shows_the_message_and_records_nothing(office: Office, tmp_path: Path) -> None:
    with_two_reviews(office)
    office.answer("prc_1", "sel_1", revenue="1000_to_5000")
    before = office.inbox.last()
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        preview = send.preview(send.sellers.look("sel_1"), BY_MAIL._replace(language="pt-BR"))
    assert preview.refused is None
    assert preview.to == "maria@seller.example"
    assert preview.message is not None
    text = preview.message.text
    assert text.count("[link]") == 2
    assert (
        "Ainda precisamos de: seu endereço (Cidade).\nUma parte das suas respostas já chegou."
        in text
    )
    assert office.inbox.last() == before


def test_only_the_newest_link_that_was_sent_works_however_long_after_the_deadline(
    office: Office, tmp_path: Path
) -> None:
    with_two_reviews(office)
    at_a_click = links.mint(office.settings(), office.inbox, "prc_1", recorded_by="user:test")
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        sent = []
        for _ in range(3):
            assert send.send(["sel_1"], KNOWING)[0].result == "accepted"
            sent.append(LINK.findall(server.taken[-1].get_content()))
    now = office.inbox.now()
    live = [
        [links.still_works(office.inbox, f"{BASE}/j/{token}") for token in of_mail]
        for of_mail in sent
    ]
    assert live == [[False, False], [False, False], [True, True]]
    assert links.still_works(office.inbox, at_a_click.url), "it ended nothing, and nothing ends it"
    newest = links.of_process(office.inbox, "prc_1")[-1]
    assert newest.is_live(now + 9 * 365 * instants.DAY)
    assert newest.email == "maria@seller.example", "where a code goes"


@pytest.mark.parametrize("is_lost", depth.few([True, False], 2))
def test_links_that_nobody_has_for_sure_keep_no_message_back_and_end_with_the_next(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_lost: bool
) -> None:
    """A crash before the entry leaves one, and so does a mail server that falls silent."""
    with_two_reviews(office)
    by_hand = links.mint(office.settings(), office.inbox, "prc_1", recorded_by="user:test")
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        assert send.send(["sel_1"], BY_MAIL)[0].result == "accepted"
        with monkeypatch.context() as silent:
            silent.setattr(sending.channels, "hand_over", lambda *_: Came("uncertain"))
            for _ in range(links.MAX_LIVE - 2):
                if is_lost:
                    mint = links.mint(
                        *(office.settings(), office.inbox, "prc_1"),
                        recorded_by="user:test",
                        is_sent=True,
                    )
                    assert mint.journey.is_sent
                else:
                    assert send.send(["sel_1"], KNOWING)[0].result == "uncertain"
            assert links.is_full(office.inbox, "prc_1")
            assert send.send(["sel_1"], KNOWING)[0].result == "uncertain"
        _, had = LINK.findall(server.taken[0].get_content())
        assert links.still_works(office.inbox, f"{BASE}/j/{had}"), "the seller has this one"
        assert send.send(["sel_1"], KNOWING)[0].result == "accepted"
    now = office.inbox.now()
    live = [it for it in links.of_process(office.inbox, "prc_1") if it.is_live(now)]
    assert [it.is_sent for it in live] == [False, True]
    assert live[0].ref == by_hand.journey.ref


@pytest.mark.parametrize(
    ("answer", "result", "why"),
    [
        (None, "accepted", "again"),
        ("451 later", "failed", "again_failed"),
        ("silence", "uncertain", "again_unknown"),
    ],
)
def test_pressed_twice_for_the_same_list_nobody_gets_a_second_message(
    office: Office,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str | None,
    result: str,
    why: str,
) -> None:
    """Whoever pressed read "sent before" of a message that had failed, too."""
    with_two_reviews(office)
    order = BY_MAIL._replace(once="list 17")
    if answer == "silence":
        monkeypatch.setattr(sending.channels, "hand_over", lambda *_: Came("uncertain"))
    with MailServer(tmp_path).running() as server:
        server.refuses = answer
        send = office.sending(mail=office.mail(server))
        first, second = (send.send(["sel_1"], order) for _ in range(2))
    assert results_of(first)["sel_1"][0] == result
    assert results_of(second) == {"sel_1": ("refused", why)}
    assert len(server.taken) == (result == "accepted")


@pytest.mark.parametrize("why", ["not_me", "stop_writing", "held", "just_sent"])
def test_a_message_to_several_obeys_what_keeps_them_back_and_one_says_so_first(
    office: Office, tmp_path: Path, why: str
) -> None:
    """Sellers who had said that it was not them got the next message all the same, and a press
    after one that broke off wrote to all again."""
    with_two_reviews(office)
    office.seller("sel_2", email="joao@seller.example")
    office.review("prc_3", "sel_2")
    with MailServer(tmp_path).running() as server:
        send = office.sending(mail=office.mail(server))
        if why == "just_sent":
            send.send(["sel_1"], BY_MAIL)
        elif why == "held":
            hold(office.inbox, "sel_1", is_held=True, actor="Ana", recorded_by="test")
        else:
            wish: Any = why
            said = wished(wish, journey_id="j1", recorded_by="journey", seller_id="sel_1")
            office.inbox.append([said])
        before = len(server.taken)
        assert send.preview(send.sellers.look("sel_1"), BY_MAIL).refused == why
        knowing = BY_MAIL._replace(despite={why})
        with pytest.raises(WrongUsage):
            send.send(["sel_1", "sel_2"], knowing)
        assert len(server.taken) == before
        done = send.send(["sel_1", "sel_2"], BY_MAIL)
        assert results_of(done) == {"sel_1": ("refused", why), "sel_2": ("accepted", None)}
        assert send.send(["sel_1"], knowing)[0].result == "accepted"
    assert len(server.taken) == before + 2


def test_after_a_message_that_failed_the_next_goes_at_once(office: Office) -> None:
    with_two_reviews(office)
    with WebhookServer().running() as server:
        send = office.sending(office.webhook(server.url))
        server.status = 404
        assert send.send(["sel_1"], BY_SMS)[0].result == "failed"
        server.status = 200
        assert send.send(["sel_1"], BY_SMS)[0].result == "accepted"


def test_two_who_write_to_one_seller_at_once_send_one_message(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_two_reviews(office)
    with WebhookServer().running() as server:
        server.gate.clear()
        sends = [office.sending(office.webhook(server.url)) for _ in range(2)]
        done: list[Done] = []
        first = threading.Thread(target=lambda: done.extend(sends[0].send(["sel_1"], BY_SMS)))
        first.start()
        until = time.monotonic() + 30
        while not server.taken and time.monotonic() < until:
            time.sleep(0.02)
        second = sends[1].send(["sel_1"], BY_SMS)
        server.gate.set()
        first.join()
    assert results_of(second) == {"sel_1": ("refused", "busy")}
    assert results_of(done) == {"sel_1": ("accepted", None)}
    assert len(server.taken) == 1


def test_a_review_that_ends_while_the_message_is_made_is_left_out(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between reading and sending, the platform reports that it is finished."""
    with_two_reviews(office)
    ended = []
    real = sending.Sending._record

    def record(self: Any, *how: Any) -> None:
        if not ended:
            ended.append(True)
            office.review("prc_2", "sel_1", status="FINISHED")
        real(self, *how)

    monkeypatch.setattr(sending.Sending, "_record", record)
    with MailServer(tmp_path).running() as server:
        [done] = office.sending(mail=office.mail(server)).send(["sel_1"], BY_MAIL)
    assert (done.result, done.process_ids) == ("accepted", ("prc_1",))
    assert [it["process_id"] for it in office.notices()] == ["prc_1"]
    [mail] = server.taken
    assert len(LINK.findall(mail.get_content())) == 1
    assert not any(it.is_live(office.inbox.now()) for it in links.of_process(office.inbox, "prc_2"))


def gone(*_: Any) -> Came:
    raise KeyboardInterrupt


def send_and_end(office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends where a message is about to be handed over."""
    monkeypatch.setattr(sending.channels, "hand_over", gone)
    with MailServer(tmp_path).running() as server, pytest.raises(KeyboardInterrupt):
        office.sending(mail=office.mail(server)).send_one("sel_1", BY_MAIL)


def test_a_message_without_a_result_is_uncertain_after_a_while_and_never_before(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_two_reviews(office)

    send_and_end(office, tmp_path, monkeypatch)
    assert len(office.notices()) == 2
    assert mark_all(office.inbox) == 0
    later = office.inbox.now() + UNANSWERED
    assert mark_all(office.inbox, now=later) == 2
    monkeypatch.setattr(type(office.inbox), "find", gone)  # each is looked at once
    assert mark_all(office.inbox, now=later) == 0
    assert mark_all(office.inbox, now=later + UNANSWERED) == 0
    monkeypatch.undo()
    assert office.results() == [("prc_2", "uncertain"), ("prc_1", "uncertain")]


def test_a_receipt_that_names_no_process_says_what_came_of_a_message(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_two_reviews(office)

    send_and_end(office, tmp_path, monkeypatch)
    monkeypatch.undo()
    send = office.sending(mail=office.mail(MailServer(tmp_path)))

    def reported(result: str) -> tuple[str, str | None]:
        said = {"message_id": office.notices()[0]["message_id"], "result": result, "detail": None}
        at = instants.canonical(office.inbox.now())
        line = json.dumps({"kind": "seller_notice_result", "occurred_at": at, **said})
        office.inbox.append([read_line(line.encode(), recorded_by="token:x")])
        shown = send.preview(send.sellers.look("sel_1"), BY_MAIL)
        assert shown.message is not None
        return shown.message.subject.partition(":")[2][:14], shown.warned

    assert reported("delivered") == (" we still need", "just_sent")
    assert reported("failed") == (" we still need", None)
    later = office.inbox.now() + UNANSWERED
    assert (mark_of(office.inbox, ["sel_1"], now=later), mark_all(office.inbox, now=later)) == (
        0,
        0,
    )


def test_what_cannot_be_sent_at_all_is_said_before_anything_is_recorded(
    office: Office, tmp_path: Path
) -> None:
    with_two_reviews(office)
    before = office.inbox.last()
    with pytest.raises(SettingsError, match="no mail server is named"):
        office.sending().send(["sel_1"], BY_MAIL)
    with pytest.raises(WrongUsage, match="name no such channel"):
        office.sending().send(["sel_1"], BY_SMS)
    rules = office.webhook("https://x.example/sms")
    (tmp_path / "webhook-secret").unlink()
    with pytest.raises(SettingsError, match="webhook-secret cannot be read"):
        office.sending(rules).send(["sel_1"], BY_SMS)
    send = office.sending(mail=office.mail(MailServer(tmp_path)))
    with pytest.raises(WrongUsage, match="no template third"):
        send.send(["sel_1"], BY_MAIL._replace(template="third"))
    assert office.inbox.last() == before


def test_a_copy_that_nobody_confirmed_sends_nothing_and_records_nothing(
    office: Office, tmp_path: Path
) -> None:
    with_two_reviews(office)
    copies.hold(office.inbox)
    with MailServer(tmp_path).running() as server:
        with pytest.raises(CopyHeld, match="put back from a copy"):
            office.sending(mail=office.mail(server)).send(["sel_1"], BY_MAIL)
        assert server.taken == []
    assert office.notices() == []
