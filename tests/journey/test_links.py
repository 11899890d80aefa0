"""What a link opens, for whom, and until when."""

import json
import re
from contextlib import closing

import pytest

from pipeline import instants
from pipeline.errors import CallerError, SettingsError
from pipeline.inbox import open_inbox
from pipeline.journey import links
from pipeline.journey.entrance import door
from pipeline.log.entries import content_of
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE
from pipeline.settings import Settings
from tests.journey.served import ACP, Page
from tests.support.sqlite import opened

INVALID = "Este link não funciona"


def test_only_the_hash_of_a_links_secret_is_kept(page: Page) -> None:
    minted = page.mint(page.review())
    token = minted.url.rsplit("/", 1)[1]
    assert len(token) == 43  # 256 bits in base64
    with closing(opened(page.folder / "inbox.db")) as database:
        stored = database.serialize("main")
    assert token.encode() not in stored
    assert links.digest(token).encode() in stored


def test_making_a_link_is_the_invitation(page: Page) -> None:
    process = page.review()
    minted = page.mint(process, channel="sms")
    [(entry, said)] = page.collections(process)
    assert (entry.seq, entry.recorded_by) == (minted.seq, "user:test")
    assert (said["step"], said["channel"], said["source"]) == ("invited", "sms", "marketplace")
    assert said["journey_id"] == minted.journey.journey_id


def test_looking_at_a_link_changes_nothing(page: Page) -> None:
    """Programs that show previews of links look at them before the seller does."""
    process = page.review()
    minted = page.mint(process)
    for _ in range(3):
        assert page.seller().get(minted.url).status == 200
    assert page.steps(process) == ["invited"]
    assert page.seller().open(minted.url).slug == "revenue"


def test_who_has_confirmed_and_presses_the_link_again_sees_that_all_is_done(page: Page) -> None:
    """It did not work, the page said, and "if you have confirmed": they had, a minute before."""
    minted = page.mint(page.review())
    seller = page.seller()
    receipt = seller.finish(minted.url)
    assert seller.get(minted.url).path == receipt.path
    assert seller.post(minted.url, do="start").path == receipt.path
    page.inbox.execute("update journey_sessions set seen_at = seen_at - $1", instants.DAY)
    assert seller.get(minted.url).heading == INVALID  # anyone who has this device on another day


def test_who_signs_out_leaves_no_answers_to_the_next_who_sits_there(page: Page) -> None:
    """For half an hour the receipt, with a file of all answers, stayed open on a shared device."""
    process = page.review(["revenue", "address.city"])
    minted = page.mint(process)
    seller = page.seller()
    receipt = seller.finish(minted.url)
    page.refuse(process, "address.city")
    corrected = seller.confirm(seller.answer_all(seller.answer(seller.get(receipt.path))))
    assert corrected.path != receipt.path
    elsewhere = page.seller()
    other = elsewhere.finish(page.mint(page.review()).url)
    elsewhere.cookies |= seller.cookies  # a browser that is in the journey of another process, too
    kept = dict(elsewhere.cookies)
    before = page.steps(process)

    left = elsewhere.post(corrected.path.replace("receipt", "leave"))
    assert (left.status, left.heading) == (200, "Você saiu")
    assert "ninguém mais as vê" in left.html
    gone = {name for name, it in elsewhere.cookies.items() if it != kept[name]}
    assert gone == {f"j_{screen.path.split('/')[2]}" for screen in (receipt, corrected)}
    # It said that the session ends "after some time" for the seller's safety.
    assert elsewhere.get(corrected.path).heading == "Você saiu"
    assert elsewhere.get(minted.url).heading == INVALID
    elsewhere.cookies = kept  # anyone who copied them has nothing of it
    for screen in (receipt, corrected):
        for path in (screen.path, f"{screen.path}.txt"):
            assert elsewhere.get(path).heading == "A sessão terminou"
    assert elsewhere.get(minted.url).heading == INVALID
    assert elsewhere.get(other.path).heading == "Recebemos as suas respostas"
    assert page.steps(process) == before


def test_nobody_is_signed_out_before_they_have_confirmed_nor_by_a_page_of_others(
    page: Page,
) -> None:
    """Where no code can be sent, they could not go on."""
    minted = page.mint(page.review())
    seller = page.seller()
    screen = seller.open(minted.url)
    leave = f"/r/{minted.journey.ref}/leave"
    assert seller.post(leave).path == screen.path
    receipt = seller.confirm(seller.answer_all(screen))
    assert f'action="{leave}"' in receipt.html
    assert seller.ask("POST", leave, {}, Origin="https://other.example").status == 403
    assert seller.get(leave).path == receipt.path  # by itself, an address ends nothing
    assert page.seller().post(leave).heading == "A sessão terminou"
    assert seller.get(receipt.path).status == 200


def test_the_first_screen_says_until_when_the_link_works(page: Page) -> None:
    minted = page.mint(page.review())
    at = 3_823_599_900_000_000  # 2091-03-01, 15:05 UTC
    page.inbox.execute("update journeys set expires_at = $1 where ref = $2", at, minted.journey.ref)
    assert (
        "Este link funciona até 01/03/2091 12h05 (horário de Brasília)."
        in page.seller().get(minted.url).html
    )
    in_english = page.seller(language="en").get(minted.url).html
    # It stood small at the foot, far from the deadline, which may be weeks later.
    both = r"Please answer [^<]+ This link works until 1 Mar 2091, 12:05 \(Brasilia Time\)\.</p>"
    assert re.search(both, in_english)
    tomorrow = page.inbox.now() + instants.DAY
    page.inbox.execute(
        "update journeys set expires_at = $1 where ref = $2", tomorrow, minted.journey.ref
    )
    html = page.seller(language="en").get(minted.url).html
    # Of two dates in one paragraph, nobody knew which counts.
    first = (
        r"Please answer by [^<:]+:\d\d \(Brasilia Time\): then this link ends, [^<]+ waits until"
    )
    assert re.search(first, html)
    assert "This link works until" not in html
    # It was a link to the foot, below the first screen of a phone.
    assert html.index("nobody asks you for a password") < html.index("What happens without")


def test_a_link_that_we_send_ends_with_the_review_and_its_receipt_says_that_the_deadline_moved(
    page: Page,
) -> None:
    process = page.review()
    minted = page.mint(process, is_sent=True)
    assert minted.journey.is_live(instants.now() + 9 * 365 * instants.DAY)
    seller = page.seller(language="en")
    assert "works until you confirm, or get a newer one." in seller.get(minted.url).html
    receipt = seller.finish(minted.url)
    assert "another deadline" not in receipt.html
    page.hear(
        "regulatory.registration.review.required",
        instants.now(),
        type="INCONSISTENT_DATA_UPDATE_REQUIRED",
        process_id=process,
        customer_id=f"seller of {process}",
        status="OVERDUE",
        deadline_at="2091-03-01T15:05:00Z",
        requested_fields=["revenue"],
    )
    moved = "Since then, the platform has set another deadline: 1 Mar 2091, 12:05 (Brasilia Time)."
    assert moved in seller.get(receipt.path).html


@pytest.mark.parametrize("end", ["expired", "revoked", "confirmed", "finished"])
def test_a_link_that_is_over_looks_like_one_that_never_was(page: Page, end: str) -> None:
    process = page.review()
    minted = page.mint(process)
    match end:
        case "expired":
            page.inbox.execute(
                "update journeys set expires_at = $1 where ref = $2",
                instants.now(),
                minted.journey.ref,
            )
        case "revoked":
            assert links.revoke(page.inbox, ref=minted.journey.ref) == 1
        case "confirmed":
            page.seller().finish(minted.url)
        case _:
            page.review(process_id=process, status="FINISHED")
    stranger = page.seller(address=f"198.51.{len(end)}.1")
    if end != "finished":  # its row does not say so
        assert links.revoke(page.inbox, process_id=process) == 0, "nothing is left to be ended"
    over = stranger.get(minted.url)
    never = stranger.get("/j/" + "A" * 43)
    assert over.status == never.status == 404
    assert over.html == never.html
    assert over.heading == INVALID
    assert "Se você já confirmou, recebemos as suas respostas." in over.html
    assert stranger.post(minted.url, do="start").html == never.html


def test_who_has_confirmed_is_sent_for_no_new_link_when_they_come_back(page: Page) -> None:
    """A phone that loaded the receipt again an hour later told them to ask for one."""
    seller = page.seller()
    receipt = seller.finish(page.mint(page.review()).url)
    page.inbox.execute("update journey_sessions set seen_at = seen_at - $1", instants.HOUR)
    later = seller.get(receipt.path)
    assert later.heading == "A sessão terminou"
    assert "Se você ainda não confirmou, abra de novo o link" in later.html


def test_an_expired_or_old_link_forgets_the_address_and_one_that_works_keeps_it(page: Page) -> None:
    over, live, old = (page.mint(page.review(), email="ze@loja.example").journey for _ in range(3))
    page.inbox.execute(
        "update journeys set expires_at = $1 where ref = $2", instants.now(), over.ref
    )
    page.inbox.execute(
        "update journeys set minted_at = minted_at - $1 where ref = $2", links.ADDRESS_LIFE, old.ref
    )
    page.stop()  # at its end it forgets what it forgets every ten seconds
    page.start()
    kept = "select email from journeys where ref = $1"
    assert page.inbox.query(kept, over.ref) == [(None,)]
    assert page.inbox.query(kept, old.ref) == [(None,)]
    assert page.inbox.query(kept, live.ref) == [("ze@loja.example",)]


def test_a_confirmation_ends_every_older_link_of_the_process_and_no_later_one(page: Page) -> None:
    """Anyone who finds an older link in a mailbox cannot answer after the seller."""
    process = page.review(["revenue"])
    unopened, begun, used = page.mint(process), page.mint(process, email="a@b"), page.mint(process)
    other = page.mint(page.review(["revenue"]))
    half_way = page.seller()
    screen = half_way.open(begun.url)
    page.seller().finish(used.url)
    stranger = page.seller(address="198.51.77.1")
    assert stranger.get(unopened.url).heading == INVALID
    # The page of a dead link said "if you have confirmed, we have received your answers".
    over = half_way.answer(screen, f0_from="7", f0_to="9")
    assert (over.status, over.heading) == (404, "Nada foi enviado por este link")
    assert half_way.get(begun.url).heading == INVALID
    assert page.steps(process)[-1] == "confirmed"
    kept = page.inbox.query("select email from journeys where ref = $1", begun.journey.ref)
    assert kept == [(None,)]
    assert page.seller().open(other.url).slug == "revenue"
    assert page.seller().open(page.mint(process).url).slug == "revenue"


def test_a_finish_in_the_middle_ends_the_screens_as_well(page: Page) -> None:
    process = page.review(["revenue", "address.city"])
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    page.review(process_id=process, status="FINISHED")
    over = seller.answer(screen, f0_from="1", f0_to="2")
    assert over.heading == "Nada foi enviado por este link"
    assert "answered" not in page.steps(process)


def test_a_link_that_a_person_ended_says_nothing_of_another_answer(page: Page) -> None:
    minted = page.mint(page.review())
    seller = page.seller()
    screen = seller.open(minted.url)
    assert links.revoke(page.inbox, ref=minted.journey.ref) == 1
    assert seller.answer(screen, f0_from="1", f0_to="2").heading == INVALID


def test_what_no_database_can_hold_is_a_number_or_id_that_never_was(database: str) -> None:
    """PostgreSQL refuses a NUL, which would look like a server that is down."""
    with closing(open_inbox(database)) as inbox:
        for ref in ("\x00", "A" * 11 + "\x00", "A" * 13):
            assert links.by_ref(inbox, ref) is None
        settings = Settings.load(inbox=database, journey_url="https://cadastro.loja.example")
        with pytest.raises(CallerError, match="no process can have this id"):
            links.mint(settings, inbox, "prc_1\x00", recorded_by="user:test")


def test_what_the_platform_asks_more_meanwhile_is_asked(page: Page) -> None:
    process = page.review(["revenue"])
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    page.review(["revenue", "address.city"], process_id=process)
    changed = seller.answer(screen, f0_from="1000", f0_to="5000")
    assert changed.status == 409
    assert changed.inputs["f0_from"] == "1000"
    assert seller.answer(changed).slug == "city"


def test_a_link_that_was_opened_on_one_device_opens_nothing_on_another_without_a_code(
    page: Page,
) -> None:
    minted = page.mint(page.review())
    first, other = page.seller(), page.seller()
    first.open(minted.url)
    assert other.get(minted.url).heading == INVALID
    assert other.post(minted.url, do="start").heading == INVALID
    assert first.get(minted.url).slug == "revenue"


def test_a_press_that_came_twice_or_whose_answer_was_lost_has_opened_the_link(page: Page) -> None:
    """Whoever tapped twice, or lost the line right then, was told that the link does not work: it
    was open, for a browser that had never got its secret. Now it has that with the first screen."""
    process = page.review()
    minted = page.mint(process)
    seller, other = page.seller(), page.seller()
    seller.get(minted.url)
    other.get(minted.url)
    before = dict(seller.cookies)
    assert before != other.cookies
    assert seller.ask("POST", minted.url, {"do": "start"}).status == 303
    seller.cookies = before
    assert seller.post(minted.url, do="start").slug == "revenue"
    assert page.steps(process) == ["invited", "opened"]
    assert other.post(minted.url, do="start").heading == INVALID
    # A secret that another session has begins none.
    third = page.mint(process)
    again = page.seller(cookies={f"j_{third.journey.ref}": before[f"j_{minted.journey.ref}"]})
    assert again.post(third.url, do="start").slug == "revenue"
    assert again.cookies[f"j_{third.journey.ref}"] not in before.values()


def test_one_link_tells_nothing_of_another_journey(page: Page) -> None:
    mine, others = page.mint(page.review()), page.mint(page.review())
    victim, attacker = page.seller(), page.seller()
    victim.answer(victim.open(others.url), f0_from="1000", f0_to="5000")
    attacker.open(mine.url)
    attacker.cookies[f"j_{others.journey.ref}"] = attacker.cookies[f"j_{mine.journey.ref}"]
    nobody = attacker.get("/r/ABCDEFGHJKMN/revenue").html
    for path in ("", "revenue", "review", "receipt", "receipt.txt"):
        found = attacker.get(f"/r/{others.journey.ref}/{path}")
        assert (found.status, found.html) == (404, nobody)


def test_wrong_links_are_limited_by_address_and_counted_and_right_ones_still_work(
    page: Page,
) -> None:
    minted = page.mint(page.review())
    guesser = page.seller(address="203.0.113.7")
    statuses = [guesser.get(f"/j/{number:043d}").status for number in range(door.MAX_WRONG + 5)]
    assert statuses == [404] * door.MAX_WRONG + [429] * 5
    neighbour = page.seller(address="203.0.113.99")
    assert neighbour.get("/j/" + "A" * 43).status == 429
    assert neighbour.get(minted.url).status == 200
    assert page.seller(address="192.0.2.1").get("/j/" + "A" * 43).status == 404
    page.stop()
    page.start()
    counted = {reason: count for _, reason, count in door.counted(page.inbox, 0)}
    assert counted["limited"] >= 6
    assert counted["wrong_link"] >= door.MAX_WRONG


def test_no_link_is_made_for_what_nobody_can_answer(page: Page) -> None:
    with pytest.raises(CallerError, match="no review event"):
        page.mint("prc_unheard_of")
    with pytest.raises(CallerError, match="FINISHED"):
        page.mint(page.review(status="FINISHED"))
    with pytest.raises(CallerError, match="asks for nothing"):
        page.mint(page.review([]))
    with pytest.raises(CallerError, match="more than 120 fields"):
        page.mint(page.review([f"extra.field_{number}" for number in range(121)]))
    with pytest.raises(SettingsError, match="nothing says where sellers reach"):
        links.mint(
            page.settings().model_copy(update={"journey_url": None}),
            page.inbox,
            page.review(),
            recorded_by="user:test",
        )


def test_of_one_process_only_so_many_links_work_at_a_time(page: Page) -> None:
    process = page.review()
    for _ in range(links.MAX_LIVE):
        page.mint(process)
    with pytest.raises(CallerError, match="10 links"):
        page.mint(process)
    assert links.revoke(page.inbox, process_id=process) == links.MAX_LIVE
    page.mint(process)


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://loja.example/fim", True),
        ("https://loja.example/fim/obrigado?de=prazo", True),
        ("https://loja.example/fim?x", True),
        ("https://loja.example/fim/?para=../outra", True),
        ("https://loja.example/fim/a..b", True),
        ("https://loja.example/fim/../outra", False),
        ("https://loja.example/fim/.%2E/outra", False),
        ("https://loja.example/fimose", False),
        ("https://loja.example.evil.example/fim", False),
        ("https://loja.example@evil.example/fim", False),
        ("javascript:alert(1)", False),
        ("https://outra.example", True),
        ("https://outra.example:444/", False),
        ("https://outra.example/\r\nx", False),
    ],
)
def test_a_seller_is_led_back_only_where_the_settings_allow(
    page: Page, url: str, is_allowed: bool
) -> None:
    allowed = "https://loja.example/fim, https://outra.example/"
    settings = page.settings(journey_return_urls=allowed)
    assert links.allows(settings, url) is is_allowed


def test_a_masked_trace_stands_in_the_entries_only_where_the_setting_says_so() -> None:
    agent = "Mozilla/5.0 (Linux; Android 14; SM-S911B) AppleWebKit/537.36 Chrome/126.0 Mobile"
    traced = door.traced("203.0.113.77", {b"user-agent": agent.encode()})
    assert traced == {"network": "203.0.113.0/24", "browser": "Chrome", "system": "Android"}
    assert door.network_of("2001:db8:1:2::3") == "2001:db8:1::/48"


def test_text_logs_hold_neither_secrets_nor_answers(page: Page) -> None:
    minted = page.mint(page.review(["address.line1"]))
    seller = page.seller()
    seller.answer(seller.open(minted.url), f0="Rua Secreta 9")
    written = page.log.read_text()
    assert "Rua Secreta" not in written
    assert minted.url.rsplit("/", 1)[1] not in written
    assert json.dumps(next(iter(seller.cookies.values())))[1:-1] not in written


def test_a_business_corrects_its_owners_data_though_only_its_seller_said_what_it_is(
    page: Page,
) -> None:
    process = page.review(ACP, kind="ACP", seller_type=None)
    seller = page.seller()
    kind = seller.open(page.mint(process).url)
    receipt = seller.confirm(seller.answer_all(seller.answer(kind, f0="business")))
    page.refuse(process, "owner.revenue", "revenue")
    receipt = seller.get(receipt.path)
    question = seller.answer(receipt)
    assert question.slug == "revenue"
    *_, (_, opened) = page.collections(process)
    seen = opened["artifacts"][0]["sha256"]
    assert (opened["step"], opened["screen"]) == ("opened", "receipt")
    assert page.artifact(seen).decode() == receipt.html  # no other screen was before them
    question = seller.answer(question, f0_from="1", f0_to="2")
    assert question.slug == "owner-revenue"
    assert seller.answer(question, f0_from="1", f0_to="2").slug == "review"


def test_a_link_for_corrections_is_over_once_the_platform_asks_for_other_fields(
    page: Page,
) -> None:
    process = page.review(["revenue"])
    page.refuse(process, "revenue")
    minted = page.mint(process)
    seller = page.seller()
    question = seller.open(minted.url)
    page.review(["address.city"], process_id=process, seller_type=None)
    assert INVALID in seller.get(question.path).html
    assert INVALID in page.seller().get(minted.url).html
    assert page.seller().open(page.mint(process).url).slug == "city"


def test_no_link_is_made_where_its_seller_would_be_asked_nothing(page: Page) -> None:
    with pytest.raises(CallerError, match="nothing but what its own records say"):
        page.mint(page.review(["type"]))
    asked = page.mint(page.review(["type"], seller_type=None))
    assert page.seller().open(asked.url).slug == "type"


@pytest.mark.parametrize("wish", ["stop_writing", "not_me"])
def test_whoever_holds_a_link_ends_the_messages_and_a_stranger_does_not(
    page: Page, wish: str
) -> None:
    process = page.review()
    minted, seller = page.mint(process), page.seller(language="en")
    landing = seller.get(minted.url)
    assert minted.url.rpartition("/")[2] not in landing.html, "it is kept as evidence"
    assert 'href="?stop=1"' in landing.html
    asked = seller.get(f"{minted.url}?stop=1")
    assert asked.heading == "No more messages?"
    assert {f'value="{it}"' in asked.html for it in ("stop_writing", "not_me")} == {True}
    steps = {"seller_id": f"seller of {process}", "kind": NOTICE_SCHEDULE}
    assert page.inbox.find(**steps) == [], "looking records nothing"
    for false in (f"{page.base}/j/{'x' * 43}", f"{page.base}/j/"):
        assert seller.get(f"{false}?stop=1").status == 404
        assert seller.post(false, do=wish).status == 404
    assert seller.ask("POST", minted.url, {"do": wish}, Origin="https://a.example").status == 403
    for _ in range(2):
        assert seller.post(minted.url, do=wish).heading == "We have noted it"
    [entry] = page.inbox.find(**steps)
    assert (entry.process_id, entry.recorded_by) == (None, "journey")
    said = {"step": "stopped", "reason": wish, "journey_id": minted.journey.journey_id}
    assert content_of(entry) == said
    assert seller.get(minted.url).status == (200 if wish == "stop_writing" else 404)
    if wish == "not_me":  # the page still offers the other button: it says nothing less
        assert seller.post(minted.url, do="stop_writing").heading == "We have noted it"
        assert page.inbox.find(**steps) == [entry]
