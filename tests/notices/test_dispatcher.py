"""The schedule writes by itself once a person has started it, where they did, and not elsewhere."""

import json
import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.journey import links
from pipeline.journey.notifying import message_of
from pipeline.log.entries import commitment
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE, wished
from pipeline.log.kinds.ticket import ticket
from pipeline.log.ndjson import read_line
from pipeline.notices import channels, ladders, started, texts
from pipeline.notices.dispatcher import NoticeDispatcher
from pipeline.notices.rules import NoticeRules, Rung
from pipeline.notices.sending import Order, Sending
from pipeline.notices.started import is_started
from tests.alert.sinks import WebhookServer
from tests.notices.office import BASE, Office
from tests.support.stores import in_use

ANA: Any = {"actor": "Ana", "recorded_by": "user:test"}


def rules_for(office: Office, url: str, *, address: bool = False) -> NoticeRules:
    sms = office.webhook(url, address=address)
    rungs = [
        {"after": "0d", "channel": "sms"},
        {"after": "7d", "channel": "sms"},
        {"late": "3d", "channel": "sms"},
    ]
    always = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "holidays": ""}
    return NoticeRules.model_validate(
        {
            "channels": {"sms": sms.channels["sms"].model_dump()},
            "schedule": {"ACI": {"rungs": rungs}},
            "hours": {**always, "start": "00:00", "end": "23:59", "zone": "UTC"},
        }
    )


def sender(office: Office, rules: NoticeRules, **more: Any) -> NoticeDispatcher:
    return NoticeDispatcher(office.settings(), office.inbox, lambda: rules, lambda: None, **more)


def start(office: Office, *, backlog: bool = False) -> int:
    rungs = ladders.of_rules(rules_for(office, "https://sms.example"))
    return started.start(office.inbox, rungs, backlog=backlog, **ANA)


def test_nothing_goes_out_before_the_start_and_then_only_for_what_comes(office: Office) -> None:
    office.seller("sel_old")
    office.review("prc_old", "sel_old")
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url))
        assert sends.turn() == 0
        start(office)
        assert sends.turn() == 0, "it came before"
        office.seller("sel_new")
        office.review("prc_new", "sel_new")
        assert sends.turn() == 1
        assert sends.turn() == 0
        assert sender(office, rules_for(office, server.url)).turn() == 0, "nor after a restart"
        assert len(server.taken) == 1
        [notice] = office.notices()
        assert (notice["process_id"], notice["rung"]) == ("prc_new", "after_0d")
        assert "actor" not in notice
        steps = [(it["step"], it.get("rung")) for it in office.said(NOTICE_SCHEDULE)]
        assert steps == [("started", None), ("claimed", "after_0d")]

        start(office, backlog=True)
        assert sends.turn() == 1
        assert [it["process_id"] for it in office.notices()] == ["prc_new", "prc_old"]


def test_the_next_rung_comes_in_its_time_and_half_an_answer_changes_the_words(
    office: Office,
) -> None:
    start(office)
    office.seller("sel_1")
    office.review("prc_1", "sel_1")
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url), now=lambda: clock[0])
        assert sends.turn() == 1
        office.answer("prc_1", "sel_1", revenue="1000_to_5000")
        clock[0] += 6 * instants.DAY
        assert sends.turn() == 0
        clock[0] += instants.DAY
        assert sends.turn() == 1
        assert [it["rung"] for it in office.notices()] == ["after_0d", "after_7d"]
        said = server.taken[-1].body.decode()
        assert "Uma parte das suas respostas já chegou. Faltam: 1 de 2." in said


def test_what_is_said_to_be_due_is_what_goes(office: Office) -> None:
    """A start showed the first rung's channel, by which nothing could go, and no calls."""
    rungs = {
        "ACI": (Rung.model_validate({"after": "0d", "channel": "email"}),),
        "ACP": (
            Rung.model_validate({"after": "0d", "channel": "phone"}),
            Rung.model_validate({"before": "30d", "channel": "sms"}),
        ),
        None: (),
    }
    started.start(office.inbox, rungs, backlog=False, **ANA)
    office.seller("sel_1")
    office.review("prc_1", "sel_1", days=2)
    office.review("prc_2", "sel_1", days=30, kind="REGISTRATION_REVIEW_REQUIRED")
    with WebhookServer().running() as server:
        rules = rules_for(office, server.url)
        sends = sender(office, rules)
        sends.scope.read_on()
        due = [(it.channel, {*it.rungs}) for it in sends.planned(office.inbox.now())]
        assert due == [("sms", {"prc_1", "prc_2"}), ("phone", {"prc_2"})]
        assert sender(office, rules).turn() == 1
    assert [it["channel"] for it in office.notices()] == ["sms", "sms"]
    assert len(tasks(office)) == 1
    assert [*sends.planned(office.inbox.now())] == []


def tasks(office: Office) -> list[tuple[str, str | None]]:
    """The rungs by which a person was asked to call, and why."""
    said = office.said(NOTICE_SCHEDULE)
    return [(it["rung"], it.get("reason")) for it in said if it.get("channel") == "phone"]


def test_a_person_is_asked_to_call_where_the_schedule_says_so_and_once(office: Office) -> None:
    rungs = {"ACI": (Rung.model_validate({"after": "0d", "channel": "phone"}),), None: ()}
    started.start(office.inbox, rungs, backlog=False, **ANA)
    office.seller("sel_1")
    office.review("prc_1", "sel_1")
    with WebhookServer().running() as server:
        for _ in range(2):
            assert sender(office, rules_for(office, server.url)).turn() == 0
        assert server.taken == []
    assert tasks(office) == [("after_0d", None)]


def test_a_call_that_was_retracted_was_not_made(office: Office) -> None:
    rungs = {"ACI": (Rung.model_validate({"after": "0d", "channel": "phone"}),), None: ()}
    started.start(office.inbox, rungs, backlog=False, **ANA)
    office.seller("sel_1")
    office.review("prc_1", "sel_1")
    about = {"process_id": "prc_1", "seller_id": "sel_1", "message_id": "msg_call"}
    said = {"channel": "phone", "outcome": "reached", "language": "pt", "template": "call@1"}
    for kind, rest in (("seller_notice", said), ("retraction", {"reason": "another seller"})):
        line = {"kind": kind, "actor": "ana", **about, **rest}
        line["occurred_at"] = instants.canonical(office.inbox.now())
        office.inbox.append([read_line(json.dumps(line).encode(), recorded_by="ana")])
        with WebhookServer().running() as server:
            assert sender(office, rules_for(office, server.url)).turn() == 0
        assert len(tasks(office)) == (kind == "retraction")


def comes_back(office: Office) -> None:
    """The only message that was sent."""
    [notice] = office.notices()
    bounced = {"message_id": notice["message_id"], "result": "bounced", "detail": None}
    line = {"kind": "seller_notice_result", **bounced}
    line["occurred_at"] = instants.canonical(office.inbox.now())
    office.inbox.append([read_line(json.dumps(line).encode(), recorded_by="token:x")])


@pytest.mark.parametrize("why", ["came_back", "no_address"])
def test_where_no_message_can_go_a_person_is_asked_once_until_there_is_an_address(
    office: Office, why: str
) -> None:
    start(office)
    here = {"phone_number": "+5511911111111"} if why == "came_back" else {}
    office.seller("sel_1", **here)
    office.review("prc_1", "sel_1")
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        rules = rules_for(office, server.url, address=True)
        sends = sender(office, rules, now=lambda: clock[0])
        if why == "came_back":
            assert sends.turn() == 1
            comes_back(office)
            clock[0] += 8 * instants.DAY
        went = len(server.taken)
        for _ in range(2):
            assert sends.turn() == 0
            clock[0] += instants.DAY // 12
        assert len(server.taken) == went
        rung = "after_7d" if why == "came_back" else "after_0d"
        assert tasks(office) == [(rung, why)]
        office.seller("sel_1", phone_number="+5511922222222")
        assert sends.turn() == 1
        assert office.notices()[-1]["rung"] == rung


@pytest.mark.parametrize("is_corrected", [True, False])
def test_news_that_cannot_go_is_left_to_a_call_and_keeps_no_later_rung_back(
    office: Office, *, is_corrected: bool
) -> None:
    rungs = [{"after": "0d", "channel": "sms"}, {"after": "7d", "channel": "chat"}]
    ladder = tuple(map(Rung.model_validate, rungs))
    started.start(office.inbox, {"ACI": ladder, None: ()}, backlog=False, **ANA)
    office.seller("sel_1", phone_number="+5511911111111")
    office.review("prc_1", "sel_1", days=20)
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        rules = rules_for(office, server.url, address=True)
        chat = office.webhook(server.url, "chat", address=False).channels["chat"]
        rules = rules.model_copy(update={"channels": {**rules.channels, "chat": chat}})
        sends = sender(office, rules, now=lambda: clock[0])
        assert sends.turn() == 1
        comes_back(office)
        office.review("prc_1", "sel_1", days=25)
        clock[0] = office.inbox.now() + instants.MINUTE
        assert [sends.turn(), sends.turn()] == [0, 0]
        [(name, why)] = tasks(office)
        assert (name.partition("_")[0], why) == ("moved", "came_back")
        if is_corrected:
            office.seller("sel_1", phone_number="+5511922222222")
        else:
            clock[0] += 7 * instants.DAY
        assert sends.turn() == 1
    last = office.notices()[-1]
    expected = (name, "sms") if is_corrected else ("after_7d", "chat")
    assert (last["rung"], last["channel"]) == expected
    assert len(tasks(office)) == 1


@pytest.mark.parametrize("why", ["answered", "finished", "ticket", "held", "deleted", "stopped"])
def test_what_is_over_or_kept_back_gets_nothing(office: Office, why: str) -> None:
    start(office)
    office.seller("sel_1")
    office.review("prc_1", "sel_1", asks=["revenue"])
    match why:
        case "answered":
            office.answer("prc_1", "sel_1", revenue="1000_to_5000")
        case "finished":
            office.review("prc_1", "sel_1", asks=["revenue"], status="FINISHED")
        case "ticket":
            drafted = ticket("opened", number="7", process_id="prc_1", seller_id="sel_1", **ANA)
            office.inbox.append([drafted])
        case "held":
            started.hold(office.inbox, "sel_1", is_held=True, **ANA)
        case "deleted":
            office.seller("sel_1", "seller.deleted")
        case "stopped":
            started.stop(office.inbox, **ANA)
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url))
        assert sends.turn() == 0
        assert server.taken == []
        if why == "held":
            started.hold(office.inbox, "sel_1", is_held=False, **ANA)
            assert sends.turn() == 1


@pytest.mark.parametrize(
    "step", ["between two sellers", "the day ends", "_claim", "_links", "_record"]
)
def test_nothing_goes_out_once_the_schedule_was_stopped_or_the_day_ended(
    office: Office, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A turn through many sellers asked once, and took minutes."""
    start(office)
    for n in (1, 2):
        office.seller(f"sel_{n}")
        office.review(f"prc_{n}", f"sel_{n}")
    clock = [office.inbox.now()]
    monkeypatch.setattr("pipeline.notices.dispatcher.AT_ONCE", 1)

    def end(*_: object) -> None:
        if step == "the day ends":
            clock[0] += instants.DAY - clock[0] % instants.DAY - instants.SECOND
        elif is_started(office.inbox):
            started.stop(office.inbox, **ANA)

    def stopped_before(done: Any) -> Any:
        return lambda *given, **more: (end(), done(*given, **more))[1]

    if step.startswith("_"):
        monkeypatch.setattr(Sending, step, stopped_before(getattr(Sending, step)))
    with WebhookServer().running() as server:
        rules, expected = rules_for(office, server.url), 0 if step.startswith("_") else 1
        sends = sender(office, rules, now=lambda: clock[0], on_done=end)
        assert sends.turn() == expected
        assert len(server.taken) == len(office.notices()) == expected


def test_one_message_speaks_of_two_reviews_and_each_keeps_its_rung(office: Office) -> None:
    start(office)
    office.seller("sel_1")
    office.review("prc_1", "sel_1", days=20)
    office.review("prc_2", "sel_1", days=10)
    with WebhookServer().running() as server:
        assert sender(office, rules_for(office, server.url)).turn() == 1
        assert len(server.taken) == 1
    found = {(it["process_id"], it["rung"]) for it in office.notices()}
    assert found == {("prc_1", "after_0d"), ("prc_2", "after_0d")}


def test_a_service_that_is_away_gets_one_message_to_try_not_all(office: Office) -> None:
    start(office)
    reviews = {f"prc_{n}": f"sel_{n % 6}" for n in range(12)}
    for process_id, seller_id in reviews.items():
        office.seller(seller_id)
        office.review(process_id, seller_id)
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        server.status = 503
        sends = sender(office, rules_for(office, server.url), now=lambda: clock[0])
        sends._sending._wait = lambda _: None
        first = sends.turn()
        assert first <= 4, "those that were on their way at once"
        assert sends.turn() == 0
        server.status = 204
        clock[0] += 6 * instants.MINUTE
        sends.turn()
        clock[0] += 2 * instants.HOUR
        sends.turn()
    accepted = {process for process, result in office.results() if result == "accepted"}
    assert accepted == {*reviews}


def test_a_copy_of_the_log_sends_nothing_until_it_is_started_there(
    office: Office, tmp_path: Path
) -> None:
    start(office)
    office.seller("sel_1")
    office.review("prc_1", "sel_1")
    assert is_started(office.inbox)
    office.inbox.close()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in tmp_path.glob("inbox.db*"):
        shutil.copy(file, elsewhere)
    copy = Office(elsewhere, open_inbox(elsewhere / "inbox.db"))
    with closing(copy.inbox), WebhookServer().running() as server:
        assert not is_started(copy.inbox)
        sends = sender(copy, rules_for(copy, server.url))
        assert sends.turn() == 0
        assert server.taken == []
        in_use(elsewhere / "inbox.db")
        start(copy)
        assert sends.turn() == 1, "a person said so"


def test_whoever_dies_with_a_message_has_it_repeated_once_under_its_own_id(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    ladder = (Rung.model_validate({"after": "0d", "channel": "sms"}),)
    started.start(office.inbox, {"ACI": ladder, None: ()}, backlog=False, **ANA)
    office.seller("sel_1")
    office.review("prc_1", "sel_1")
    clock = [office.inbox.now()]

    def gone(*_: object) -> None:
        raise KeyboardInterrupt

    with WebhookServer().running() as server:
        rules = rules_for(office, server.url)
        with monkeypatch.context() as dying:
            dying.setattr(channels, "hand_over", gone)
            with pytest.raises(KeyboardInterrupt):
                sender(office, rules, now=lambda: clock[0]).turn()
        office.review("prc_2", "sel_1", kind="REGISTRATION_REVIEW_REQUIRED")
        for minutes, sent in ((1, 0), (11, 1), (20, 0), (60, 0)):
            clock[0] += minutes * instants.MINUTE
            assert sender(office, rules, now=lambda: clock[0]).turn() == sent
        [posted] = server.taken
    [notice] = office.notices()
    said = json.loads(posted.body)["data"]
    assert (said["process_ids"], said["text"].count(BASE + "/j/")) == (["prc_1"], 1)
    assert posted.headers[b"webhook-id"].decode() == notice["message_id"]
    assert office.results() == [("prc_1", "uncertain"), ("prc_1", "accepted")]
    # The link and the bytes of the repeat are known by its claim.
    repeat = office.said(NOTICE_SCHEDULE)[-1]
    salt = bytes.fromhex(notice["commitment"]["salt"])
    assert repeat["commitment"] == {"sha256": commitment(salt, posted.body)}
    first, second = links.of_process(office.inbox, "prc_1")
    assert repeat["journey_id"] == second.journey_id
    brought = message_of(office.inbox, second)
    assert brought is not None
    assert brought["channel"] == "sms"
    order = Order("sms", "user:test", "Ana", despite={"just_sent"})
    with WebhookServer().running() as server:
        newer = office.sending(rules_for(office, server.url)).send_one("sel_1", order)
    assert newer.result == "accepted"
    works = [links.by_ref(office.inbox, it.ref) for it in (first, second)]
    assert [it is not None and it.revoked_at is not None for it in works] == [True, True]


def test_a_repeat_that_is_not_taken_does_not_say_that_the_first_never_came(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It became `failed`, which withdraws for good what the seller may well have read."""
    start(office)
    office.seller("sel_1")
    office.review("prc_1", "sel_1")
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        rules = rules_for(office, server.url)
        with monkeypatch.context() as silent:
            silent.setattr(channels, "hand_over", lambda *_: channels.Came("uncertain"))
            assert sender(office, rules, now=lambda: clock[0]).turn() == 1
        server.status = 400
        clock[0] += 20 * instants.MINUTE
        assert sender(office, rules, now=lambda: clock[0]).turn() == 1
        assert len(server.taken) == 1
    assert {result for _, result in office.results()} == {"uncertain"}


def test_a_repeat_of_news_says_the_same_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose first message is uncertain, too, got the news as if it were the first."""
    start(office)
    office.seller("sel_1", type="individual")
    office.review("prc_1", "sel_1")
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url), now=lambda: clock[0])
        with monkeypatch.context() as silent:
            silent.setattr(channels, "hand_over", lambda *_: channels.Came("uncertain"))
            assert sends.turn() == 1
            office.answer("prc_1", "sel_1", revenue="1000_to_5000", **{"address.city": "Recife"})
            office.refuse("prc_1", "sel_1", "address.city")
            clock[0] = office.inbox.now() + 10 * instants.MINUTE
            assert sends.turn() == 1
        clock[0] += 20 * instants.MINUTE
        assert sends.turn() == 1
        [posted] = server.taken
    assert [it["template"] for it in office.notices()] == ["first@1", "correct@1"]
    repeat = office.said(NOTICE_SCHEDULE)[-1]
    assert (repeat["rung"].partition("_")[0], repeat["template"]) == ("correct", "correct@1")
    assert "Só falta corrigir" in json.loads(posted.body)["data"]["text"]


def test_a_rung_whose_template_is_gone_leaves_it_to_the_next_and_holds_up_nobody(
    office: Office,
) -> None:
    """Each such seller kept the whole channel for five minutes, again and again."""
    gone = [
        {"after": "0d", "channel": "sms", "template": "gone"},
        {"after": "7d", "channel": "sms"},
    ]
    rungs = tuple(map(Rung.model_validate, gone))
    started.start(office.inbox, {"ACI": rungs, None: rungs[1:]}, backlog=False, **ANA)
    office.seller("sel_1")
    office.review("prc_1", "sel_1", kind="INCONSISTENT_DATA_UPDATE_REQUIRED")
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url), now=lambda: clock[0])
        assert sends.turn() == 0
        assert sends._held == {}
        assert sends.lacking() == ["gone"]
        assert [it.refused for it in sends.planned(clock[0])] == ["no_template"]
        assert office.said(NOTICE_SCHEDULE)[1:] == [], "nobody is asked to call"
        clock[0] += 7 * instants.DAY
        assert sends.turn() == 1
    assert [(it["rung"], it["template"]) for it in office.notices()] == [("after_7d", "first@1")]


def test_the_schedule_of_another_log_decides_nothing_here(office: Office) -> None:
    office.seller("sel_old")
    office.review("prc_old", "sel_old")
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url))
        start(office)
        line = {"kind": NOTICE_SCHEDULE, "step": "started", "backlog": True}
        line["occurred_at"] = instants.canonical(office.inbox.now())
        office.inbox.append([read_line(json.dumps(line).encode(), recorded_by="sha256:other")])
        assert sends.turn() == 0
        assert server.taken == []


def test_news_of_a_review_goes_at_once_by_the_same_channel_and_each_once(office: Office) -> None:
    """One thing to correct, and another deadline: the next rung may be weeks away."""
    start(office)
    office.seller("sel_1", type="individual")
    office.review("prc_1", "sel_1", days=20)
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url), now=lambda: clock[0])
        assert sends.turn() == 1
        clock[0] += instants.MINUTE
        office.review("prc_1", "sel_1", days=25)
        clock[0] = office.inbox.now() + instants.MINUTE
        assert sends.turn() == 1
        assert sends.turn() == 0
        office.answer("prc_1", "sel_1", revenue="1000_to_5000", **{"address.city": "Recife"})
        assert sends.turn() == 0
        office.refuse("prc_1", "sel_1", "address.city")
        clock[0] = office.inbox.now() + 10 * instants.MINUTE
        assert sends.turn() == 1
        clock[0] += instants.HOUR
        assert sends.turn() == 0
        assert sender(office, rules_for(office, server.url), now=lambda: clock[0]).turn() == 0
        said = [json.loads(it.body)["data"]["text"] for it in server.taken]
    rungs = [str(it["rung"]).partition("_")[0] for it in office.notices()]
    assert rungs == ["after", "moved", "correct"]
    assert {it["channel"] for it in office.notices()} == {"sms"}
    assert "definiu um prazo diferente" in said[1]
    assert "não aceitou uma parte das suas respostas" in said[2]
    assert "Ainda precisamos de: seu endereço (Cidade)." in said[2], "and of nothing else"


def test_news_of_one_review_is_said_of_it_alone_and_before_a_rung_of_another(
    office: Office,
) -> None:
    """The words of the correction were said of all reviews, or of none though it was claimed."""
    start(office)
    office.seller("sel_1", type="individual")
    office.review("prc_1", "sel_1", days=25)
    office.review("prc_2", "sel_1", days=20)
    clock = [office.inbox.now()]
    with WebhookServer().running() as server:
        sends = sender(office, rules_for(office, server.url), now=lambda: clock[0])
        assert sends.turn() == 1
        office.answer("prc_1", "sel_1", revenue="1000_to_5000", **{"address.city": "Recife"})
        office.refuse("prc_1", "sel_1", "address.city")
        office.review("prc_2", "sel_1", days=22)
        office.review("prc_3", "sel_1", days=2)
        clock[0] = office.inbox.now() + instants.MINUTE
        assert sends.turn() == 1
        said = json.loads(server.taken[-1].body)["data"]
    rungs = [str(it["rung"]).partition("_")[0] for it in office.notices()[2:]]
    assert rungs == ["after", "moved", "correct"]
    new, moved, correct = said["text"].partition("Olá,")[2].split("Leva poucos minutos")[:3]
    assert "Só falta corrigir" not in said["text"]
    assert "definiu um prazo diferente" not in said["text"]
    assert "A plataforma" not in new
    assert "definiu outro prazo para esta revisão" in moved
    assert "não aceitou uma parte destas respostas" in correct
    by = instants.of(office.inbox.now() + 22 * instants.DAY)
    day = by.astimezone(office.settings().zone).day
    assert f"novo prazo para os dados do seu cadastro: {day} de" in said["subject"]


@pytest.mark.parametrize(
    "why",
    [
        "accepted",
        "stopped",
        "answered by nobody",
        "the schedule is stopped",
        "started again",
        "long ago",
    ],
)
def test_whose_answers_were_accepted_hears_of_it_once(
    office: Office, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    start(office)
    office.seller("sel_1", type="individual")
    office.review("prc_1", "sel_1", asks=["revenue"])
    with WebhookServer().running() as server:
        clock: list[int] = []
        now = {"now": lambda: clock[0] if clock else office.inbox.now()}
        sends = sender(office, rules_for(office, server.url), **now)
        assert sends.turn() == 1
        if why != "answered by nobody":
            office.answer("prc_1", "sel_1", revenue="1000_to_5000")
            assert sends.turn() == 0
        if why == "stopped":
            by = {"journey_id": "jrn_1", "recorded_by": "journey", "seller_id": "sel_1"}
            office.inbox.append([wished("stop_writing", **by)])
        office.accept("prc_1", "sel_1")
        if why == "the schedule is stopped":  # while the message is written
            words = texts.accepted

            def stopping(*given: Any) -> texts.Message:
                started.stop(office.inbox, **ANA)
                return words(*given)

            monkeypatch.setattr(texts, "accepted", stopping)
        if why == "started again":
            start(office)
        if why == "long ago":  # and the seller's own entries are new
            time.sleep(0.1)
            clock.append(office.inbox.now())
            monkeypatch.setattr("pipeline.notices.dispatcher.STALE", 50_000)
            office.seller("sel_1", "seller.updated", type="individual")
        others = sender(office, rules_for(office, server.url), **now)
        others.scope.read_on()
        foreseen = [(it.rungs, it.channel) for it in others.planned(now["now"]())]
        is_due = why in ("accepted", "the schedule is stopped")
        assert foreseen == ([({"prc_1": "accepted"}, "sms")] if is_due else [])
        assert [sends.turn(), others.turn(), sends.turn()] == [int(why == "accepted"), 0, 0]
        if why == "accepted":
            said = json.loads(server.taken[-1].body)["data"]
            assert "aceitou as suas respostas" in said["text"]
            assert (said["link"], said["process_ids"]) == (None, ["prc_1"])
            last = office.notices()[-1]
            assert (last["rung"], last["template"]) == ("accepted", "accepted@1")
            assert office.results()[-1] == ("prc_1", "accepted")
