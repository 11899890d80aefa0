"""The privacy page says what is held of a person, who saw it, and how they are forgotten."""

import shlex
from typing import Any

import pytest

from app_pages.door import access
from app_pages.parts import acting
from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.log.actions import action
from pipeline.serve.roles import Person, Role
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, collected, review, seller_event
from tests.app_pages.support.reading import links, page_text, press, table, unfold

HOSTILE = "-x $(id) `id` **b** <i>"
HISTORY = [
    seller_event("sel_ana", "created", before(days=100), last_name="Oliva"),
    review("prc_1", before(days=80), kind="ACP"),
    collected("prc_1", "answered", before(days=71)),
    *attempt("prc_1", before(days=70), status=200),
    seller_event("sel_bia", "created", before(days=50), taxpayer="11144477735", last_name="Olívar"),
    review("prc_open", before(days=2), seller="sel_caio"),
    seller_event(HOSTILE, "created", before(days=40), taxpayer="39053344705", first_name="*Eva*"),
]
LOOK: dict[str, Any] = {"actor": "Caio", "recorded_by": "dashboard"}


def looks(app: Any) -> list[list[Any]]:
    """Who, what and why of the list of those who looked, newest first."""
    [grid] = [it.value for it in app.dataframe if "how" in it.value.columns]
    return [[row["actor"], row["how"], row["reason"]] for _, row in grid.iterrows()]


def test_a_person_is_found_by_a_part_of_the_name_and_all_of_them_stands_on_one_page(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        app = visit("privacy", as_of=None)
        assert "Which person?" in page_text(app)
        app.text_input(key="person").set_value("oliv")
        press(app, "Find the person")
        assert app.text_input(key="person").value == "oliv", "whoever is to type more has it still"
        assert page_text(app).count("fits: name") == 2
        press(app, "sel_ana")
        assert app.query_params["seller_id"] == "sel_ana"
        rows = [row[:2] + row[3:] for row in table(app, "Kind")]
        assert ("View the collections of prc_1", "of=prc_1") in links(app)
        assert ("Export evidence", "scope=seller&subject=sel_ana") in links(app)
        [search] = service.inbox.find(kind="search")
        shown = page_text(app)
        assert ("Open the seller", "seller_id=sel_ana") in links(app)
        seen = looks(app)
        in_portuguese = looks(visit("privacy", as_of=None, seller_id="sel_ana", lang="pt"))
    assert in_portuguese[0][2] == "uma busca por parte de um nome ou endereço"
    assert b'"a search by part of a name or an address"' in (search.body or b"")
    assert rows == [
        ["Delivery", "2", "0"],
        ["Collection", "1", "0"],
        ["Submission sent", "1", "0"],
        ["Submission answered", "1", "0"],
        ["Search by part of a name or an address", "1", "0"],
    ]
    assert b"oliv" not in (search.body or b"").lower()
    assert [it[1] for it in seen] == ["Found by a search"]
    assert "orgotten on" not in shown
    assert "prazo forget --reason ... --actor ... --dry-run sel_ana" in shown
    assert "1 submission" in shown


def test_a_search_is_about_nobody_yet_and_the_way_back_leads_to_whom_it_found(
    open_log: OpenLog, visit: Visit
) -> None:
    """What was found stood over all of the person before, and was gone on the way back."""
    with open_log(HISTORY):
        app = visit("privacy", as_of=None)
        app.text_input(key="person").set_value("oliv")
        press(app, "Find the person")
        assert "Which person?" not in page_text(app)
        press(app, "sel_ana")
        assert "What is held" in page_text(app)
        assert "fits: name" not in page_text(app)
        del app.query_params["seller_id"]  # the way back
        back = page_text(app.run())
        assert back.count("fits: name") == 2
        assert "What is held" not in back
        press(app, "sel_ana")
        app.text_input(key="person").set_value("nobody at all")
        press(app, "Find the person")
        nobody = page_text(app)
        assert "Nothing in the log fits nobody at all" in nobody
        assert "What is held" not in nobody
        app.text_input(key="person").set_value("sel_caio")
        press(app, "Find the person")
        assert app.query_params["seller_id"] == "sel_caio"
        del app.query_params["seller_id"]
        assert "Which person?" in page_text(app.run())  # it leads nobody forth again


def test_all_whom_a_search_finds_can_be_chosen_and_shown_by_name(
    open_log: OpenLog, visit: Visit
) -> None:
    """Six stood there, masked, and nothing led to the others or to their names."""
    sellers = [
        seller_event(f"sel_{n}", "created", before(days=40), first_name="Silva") for n in range(9)
    ]
    with open_log(sellers):
        app = visit("privacy", as_of=None)
        app.text_input(key="person").set_value("silva")
        press(app, "Find the person")
        assert page_text(app).count("fits: name") == 9
        assert "There are more" not in page_text(app)
        app.text_input(key="found_names_reason").set_value("request 17")
        app.text_input(key="found_names_actor").set_value("Bia")
        press(app, "Record the reason and show names")
        assert page_text(app).count("Silva") == 9


def test_values_are_masked_until_a_reason_is_in_the_log_and_then_the_page_says_who_saw_them(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY) as service:
        app = visit("privacy", seller_id="sel_ana", as_of=None)
        assert "ana@example.com" not in page_text(app)
        assert "The log says of nobody that they saw this person's data." in page_text(app)
        # It said that personal data is masked, above amounts in clear.
        assert "is masked; amounts are not." in page_text(app)
        app.text_input(key="unmask_seller_state_reason").set_value("her request")
        app.text_input(key="unmask_seller_state_actor").set_value("Bia")
        press(app, "Record the reason and show it")
        assert "ana@example.com" in page_text(app)
        service.inbox.append([action("unmask", view="seller_names", sellers=["sel_ana"],
                                     reason="a list", **LOOK)])  # fmt: skip
        acting.catch_up()
        assert looks(visit("privacy", seller_id="sel_ana", as_of=None)) == [
            ["Caio", "Name shown on a list or in a file", "a list"],
            ["Bia", "Personal data shown", "her request"],
        ]
        other = page_text(visit("privacy", seller_id="sel_bia", as_of=None))
    assert "The log says of nobody that they saw this person's data." in other


def test_who_may_not_see_people_opens_nothing_and_an_auditor_all(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be(role: Role) -> None:
        monkeypatch.setattr(access, "person", lambda: Person("dora", frozenset({role})))

    with open_log(HISTORY):
        be(Role.ANALYST)
        closed = page_text(visit("privacy", seller_id="sel_ana"))
        be(Role.AUDITOR)
        opened = page_text(visit("privacy", seller_id="sel_ana"))
    assert "What is held" not in closed
    assert "What is held" in opened


def test_processes_that_have_no_room_are_counted_and_the_full_profile_named_to_whom_may_choose_it(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six of seven stood there as if they were all."""
    processes = [f"prc_{n}" for n in range(7)]
    history = [
        line
        for process in processes
        for line in (
            review(process, before(days=80)),
            collected(process, "answered", before(days=71)),
        )
    ]

    def shown_to(name: str | None) -> tuple[int, str]:
        monkeypatch.setattr(access, "person", lambda: Person(name, frozenset({Role.AUDITOR})))
        app = visit("privacy", seller_id="sel_ana")
        leads = [it for it in links(app) if it[0].startswith("View the collections of ")]
        return len(leads), page_text(app)

    with open_log(history) as service:
        monkeypatch.setattr(service.tokens, "are_required", True)
        n, shown = shown_to("dora")
        assert n == 6
        assert "Showing 6 of 7." in shown
        assert "Choose the full profile there" in shown
        unnamed = shown_to(None)[1]
        assert "Choose the full profile there" not in unnamed
        assert "Without a login you can make a masked one, which leaves out" in unnamed
        assert "prazo export --seller=sel_ana --profile full --out full.zip" in unnamed


def test_a_person_who_was_forgotten_is_there_with_what_stays(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "SETTLE_SECONDS", 0.0)
    with open_log(HISTORY) as service:
        app = visit("privacy", seller_id="sel_caio", as_of=None)
        unfold(app, "privacy_dry_run")
        assert "not finished: prc_open" in page_text(app)
        app = visit("privacy", seller_id="sel_bia", as_of=None)
        unfold(app, "privacy_dry_run")
        [goes] = [it.value for it in app.table if "Former files on this machine" in it.value.index]
        assert (goes.index[0], goes.to_numpy()[0][0]) == ("Delivery", "1")
        erase = {"reason": "a request", "actor": "bia", "recorded_by": "user:bia"}
        forget(service.settings, service.inbox, "sel_bia", **erase)
        service.rebuild()
        service.catch_up()
        app = visit("privacy", seller_id="sel_bia", as_of=None)
        rows = [row[:2] + row[3:] for row in table(app, "Kind")]
        shown = page_text(app)
    assert rows == [["Delivery", "1, of these erased: 1", "0"], ["Erasure", "1", "0"]]
    assert "Forgotten on" in shown
    assert "Personal data was erased, as the audit trail says." in shown
    assert "Olívar" not in shown


def test_a_hostile_id_is_text_everywhere_and_one_word_of_the_command(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("privacy", seller_id=HOSTILE, as_of=None)
        typed = [shlex.split(it.value) for it in app.code]
        unknown = page_text(visit("privacy", seller_id="sel_nobody"))
    assert [it[-2:] for it in typed] == [["--", HOSTILE]] * 2
    assert not app.get("html") or all("<i>" not in str(it) for it in app.get("html"))
    assert next(it.value for it in app.header) != HOSTILE, "Markdown in it is escaped"
    assert "No entry of the log names sel_nobody" in unknown
