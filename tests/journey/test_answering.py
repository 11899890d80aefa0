"""A seller answers, and the log has every step before the next screen is shown."""

import json
import re
from html import unescape
from typing import Any

import pytest

from pipeline import instants
from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.inbox.artifacts import artifact_store
from pipeline.journey import evidence, page_texts
from pipeline.journey.answering import Answering
from pipeline.journey.evidence import Shown
from pipeline.journey.ground import Visit
from pipeline.journey.screens import MAX_LOGO_BYTES
from pipeline.journey.visits import Visits
from pipeline.keys import secret_key
from pipeline.submit.casefile import CaseFiles
from tests.journey.seller import ANSWERS
from tests.journey.served import ACP, OF_BUSINESS, Page


def test_an_inconsistency_in_one_field_takes_one_question_and_a_declaration(page: Page) -> None:
    process = page.review(["revenue"])
    receipt = page.seller().finish(page.mint(process).url)
    assert receipt.heading == "Recebemos as suas respostas"
    assert page.steps(process) == ["invited", "opened", "answered", "answered", "confirmed"]
    per_screen, whole = [it for _, it in page.collections(process) if it["step"] == "answered"]
    assert per_screen["fields"] == whole["fields"] == {"revenue": "1000_to_5000"}
    assert "is_whole" not in per_screen
    assert whole["is_whole"] is True


def test_a_business_is_asked_for_its_owner_too_and_an_address_takes_five_screens(
    page: Page,
) -> None:
    process = page.review(OF_BUSINESS, kind="ACP", seller_type="business")
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    asked = []
    titles = set()
    while screen.slug != "review":
        asked.append(screen.slug)
        titles |= {*re.findall("<title>(.*?)</title>", screen.html)}
        if screen.slug.endswith("line1"):  # the contract wants the number in it
            assert "Se não houver número, escreva s/n." in screen.html
        screen = seller.answer(screen, **ANSWERS[screen.slug.removeprefix("owner-")])
    assert len(titles) == len(asked)  # a screen reader reads it first
    assert "Em qual bairro fica? (Representante legal) – Loja do Zé" in titles
    address = ["postal-code", "line1", "line3", "city", "country-code"]
    assert asked == [
        *("revenue", *address),
        *("owner-revenue", *(f"owner-{it}" for it in address)),
    ]
    seller.confirm(screen)
    *_, (_, whole), _ = page.collections(process)
    one = {
        "line1": "Rua das Flores, 123",
        "line2": "",
        "line3": "Centro",
        "city": "São Paulo",
        "state": "SP",
        "postal_code": "01310100",
        "country_code": "BR",
    }
    assert whole["fields"] == {
        "revenue": "1000_to_5000",
        "owner.revenue": "1000_to_5000",
        **{f"address.{name}": value for name, value in one.items()},
        **{f"owner.address.{name}": value for name, value in one.items()},
    }


def test_where_the_log_does_not_know_the_kind_of_seller_they_say_it_first(page: Page) -> None:
    process = page.review(ACP, kind="ACP", seller_type=None)
    seller = page.seller()
    url = page.mint(process).url
    # It promised as many as an individual is asked; a business was asked six more.
    assert "São 7 perguntas curtas, ou 13 para uma empresa." in seller.get(url).html
    first = seller.open(url)
    assert first.heading == "Como você vende?"
    seller.answer(first, f0="business")
    assert seller.get(f"{first.path.rsplit('/', 1)[0]}/owner-revenue").status == 200


def test_what_the_platform_says_meanwhile_of_the_kind_of_seller_counts(page: Page) -> None:
    process = page.review(ACP, kind="ACP", seller_type=None)
    seller = page.seller()
    asked = seller.open(page.mint(process).url)
    about = {"id": f"seller of {process}", "status": "enabled", "type": "business"}
    page.hear("seller.updated", instants.now(), **about)
    assert seller.answer(asked, f0="individual").slug == "revenue"
    assert "Sua empresa" in seller.get(asked.path.replace("type", "")).html
    assert seller.get(asked.path.replace("type", "owner-revenue")).slug == "owner-revenue"


def test_a_path_that_the_contract_does_not_show_is_asked_by_its_name(page: Page) -> None:
    process = page.review(["tax.regime", "address.city"])
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    assert screen.slug == "city"
    assert screen.heading == "Em qual cidade?"
    said = {it for texts in page_texts.all_texts() for it in texts.values()}
    assert ("Em qual cidade?", "In which city?") in said, "the wording's version must cover it"
    of_owner = ("{field} (representante legal)", "{field} (legal representative)")
    assert of_owner in said, "it stands on the receipt"
    screen = seller.answer(screen, f0="Recife")
    assert screen.slug == "other-1"
    assert "tax.regime" in screen.html
    screen = seller.answer(screen, f0=" simples  nacional ")
    seller.confirm(screen)
    *_, (_, whole), _ = page.collections(process)
    assert whole["fields"] == {"address.city": "Recife", "tax.regime": "simples nacional"}


def test_every_field_is_empty_though_the_log_knows_an_answer_to_it(page: Page) -> None:
    """The contract forbids to fill it in, from what a seller answered to the same request too."""
    process = page.review(["revenue", "address.city"])
    page.seller().finish(page.mint(process).url)
    page.seller().open(page.mint(process).url)
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    assert {name: value for name, value in screen.inputs.items() if name != "page"} == {
        "f0_from": "",
        "f0_to": "",
    }


def test_back_and_forth_loses_nothing_and_a_changed_answer_counts(page: Page) -> None:
    process = page.review(["revenue", "address.postal_code", "address.city"])
    seller = page.seller()
    first = seller.open(page.mint(process).url)
    second = seller.answer(first, f0_from="1000", f0_to="5000")
    assert f'href="{first.path}"' in second.html
    # Pressed twice, or sent again once the line was back: the seller was told that the page had
    # changed. Another answer from that screen is shown first, as before.
    assert seller.answer(first, f0_from="1000", f0_to="5000").path == second.path
    assert seller.answer(first, f0_from="1000", f0_to="6000").status == 409
    assert page.steps(process).count("answered") == 1
    again = seller.get(first.path)
    assert (again.inputs["f0_from"], again.inputs["f0_to"]) == ("1000", "5000")
    third = seller.answer(again, f0_from="2.000", f0_to="9000")
    assert third.path == second.path
    city = seller.answer(third, f0="50030-230")
    review = seller.answer(city, f0="Recife")
    shown = unescape(review.html)
    assert "De R$ 2.000 até R$ 9.000" in shown
    assert "50030-230" in shown
    seller.confirm(review)
    *_, (_, whole), _ = page.collections(process)
    assert whole["fields"]["revenue"] == "2000_to_9000"


def test_money_is_shown_as_it_was_understood_and_recorded_as_the_contract_has_it(
    page: Page,
) -> None:
    process = page.review(["revenue"])
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    wrong = seller.answer(screen, f0_from="4.999,99", f0_to="10.000,00")
    assert wrong.faults == ["Faturamento: escreva só o valor, sem centavos. Por exemplo, 5.000."]
    assert wrong.inputs["f0_from"] == "4.999,99"
    review = seller.answer(wrong, f0_from="R$ 5.000,00", f0_to="10.000,00")
    assert "De R$ 5.000 até R$ 10.000" in unescape(review.html)
    assert seller.confirm(review).slug == "receipt"
    *_, (_, whole), _ = page.collections(process)
    assert whole["fields"] == {"revenue": "5000_to_10000"}


def test_the_words_take_no_seller_for_a_man() -> None:
    """A woman declared that "eu mesmo" had given the data."""
    said = [portuguese for portuguese, _english in page_texts.all_texts()[0].values()]
    assert [it for it in said if re.search(r"\b(eu|você) mesm[oa]\b", it)] == []


def test_what_is_wrong_is_said_in_words_and_what_was_typed_stays(page: Page) -> None:
    process = page.review(["address.postal_code"])
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    wrong = seller.answer(screen, f0="1310-10")
    assert wrong.status == 422
    assert wrong.faults == ["O CEP tem 8 números, por exemplo 01310-100."]
    assert wrong.inputs["f0"] == "1310-10"
    assert page.steps(process) == ["invited", "opened"]
    empty = seller.answer(wrong, f0="")
    assert empty.faults == ["Preencha: CEP."]
    assert seller.answer(empty, f0="01310-100").slug == "review"


def test_without_the_declaration_nothing_is_confirmed(page: Page) -> None:
    process = page.review()
    seller = page.seller()
    review = seller.answer_all(seller.open(page.mint(process).url))
    refused = seller.answer(review)
    assert refused.status == 422
    assert "Marque a declaração para confirmar." in refused.html
    assert "confirmed" not in page.steps(process)
    assert seller.confirm(refused).slug == "receipt"


def test_the_screens_that_were_seen_are_kept_byte_for_byte(page: Page) -> None:
    process = page.review()
    seller = page.seller()
    landing = seller.get(page.mint(process).url)
    question = seller.post(landing.path, do="start")
    review = seller.answer(question, f0_from="1000", f0_to="5000")
    seller.confirm(review)
    kept = {
        (said["step"], artifact["name"]): page.artifact(artifact["sha256"])
        for _, said in page.collections(process)
        for artifact in said.get("artifacts", ())
    }
    assert kept["opened", "landing.html"].decode() == landing.html
    assert kept["answered", "revenue.html"].decode() == question.html
    assert kept["confirmed", "review.html"].decode() == review.html
    text = kept["confirmed", "review.txt"].decode()
    assert "Faturamento\nDe R$ 1.000 até R$ 5.000\n" in text
    assert "<" not in text
    flow = json.loads(kept["confirmed", "flow.json"])
    assert [it["event"] for it in flow["steps"]] == [
        *("opened", "shown", "answered", "shown", "confirmed")
    ]


def test_a_screen_with_faults_was_seen_too_and_is_the_evidence_of_what_follows_it(
    page: Page,
) -> None:
    process = page.review(["address.city"])
    seller = page.seller()
    wrong = seller.answer(seller.open(page.mint(process).url), f0="")
    seller.answer(wrong, f0="Recife")
    (_, answered) = page.collections(process)[-1]
    html = page.artifact(answered["artifacts"][0]["sha256"]).decode()
    assert html == wrong.html


def test_what_was_typed_beside_a_fault_answers_no_other_question_that_takes_its_place(
    page: Page,
) -> None:
    process = page.review(["mother_name"])
    seller = page.seller()
    wrong = seller.answer(seller.open(page.mint(process).url), f0="Maria\u202e")
    assert (wrong.status, wrong.slug) == (422, "other-1")
    page.review(["profession"], process_id=process)
    changed = seller.answer(wrong, f0="Maria")
    assert changed.status == 409
    assert "profession" in changed.html
    assert changed.inputs["f0"] == "", "it stood in the field of the other question"
    assert page.steps(process) == ["invited", "opened"]
    assert seller.answer(changed, f0="florista").slug == "review"


def test_the_entries_say_in_which_language_and_wording_and_what_was_declared(page: Page) -> None:
    process = page.review()
    page.seller(language="en-GB,en;q=0.8").finish(page.mint(process).url)
    found = page.collections(process)
    _, (_, opened), *_, (_, confirmed) = found
    assert opened["language"] == confirmed["language"] == "en"
    assert len(opened["wording"]) == 16
    assert confirmed["declaration"] == (
        "I declare that I have given these data myself, now, and that they are true. I authorise"
        " Loja do Zé to send them to the payment platform."
    )
    assert {said["source"] for _, said in found} == {"marketplace", "seller"}
    assert "trace" not in confirmed


def test_each_screen_is_light_enough_for_a_bad_line(page: Page) -> None:
    """With the script, before any compression; a logo may take the rest of 50 kB."""
    process = page.review(OF_BUSINESS, kind="ACP", seller_type="business")
    seller = page.seller()
    script = len(seller.get("/journey.js").html.encode())
    screen = seller.open(page.mint(process).url)
    sizes = {}
    while screen.slug != "review":
        sizes[screen.slug] = script + len(screen.html.encode())
        screen = seller.answer(screen, **ANSWERS[screen.slug.removeprefix("owner-")])
    sizes["review"] = script + len(screen.html.encode())
    assert len(sizes) == 13
    assert {slug: it for slug, it in sizes.items() if it + MAX_LOGO_BYTES > 50_000} == {}


def test_the_receipt_has_a_number_and_can_be_kept(page: Page) -> None:
    process = page.review()
    minted = page.mint(process)
    seller = page.seller()
    receipt = seller.finish(minted.url)
    number = "-".join(minted.journey.ref[at : at + 4] for at in (0, 4, 8))
    assert number in receipt.html
    assert "Esta página diz o que foi feito das suas respostas: recarregue-a" in receipt.html
    kept = seller.get(f"/r/{minted.journey.ref}/receipt.txt")
    assert kept.headers["content-disposition"] == f'attachment; filename="{number}.txt"'
    assert f"Número do comprovante: {number}\n" in kept.html
    assert "Faturamento: De R$ 1.000 até R$ 5.000\n" in kept.html
    # A saved receipt said neither what became of the answers nor whom to ask.
    said = "Loja do Zé vai enviá-las à plataforma de pagamentos. Você não precisa fazer mais nada."
    assert re.search(rf"Situação em [^\n]*: {said}\n\n", kept.html)
    assert "\n\nDúvidas? Fale com Loja do Zé pelo meio que você já conhece.\n" in kept.html
    assert f"\nPágina: {page.base}\n\n" in kept.html
    assert re.search(
        r"Confirmado em: \d\d/\d\d/\d{4} \d\dh\d\d \(horário de Brasília\)\n", kept.html
    )
    seller.language = "en"  # where 03/02 may be in February
    in_english = seller.get(f"/r/{minted.journey.ref}/receipt.txt").html
    assert re.search(
        r"Confirmed on: \d\d? [A-Z][a-z]+ \d{4}, \d\d:\d\d \(Brasilia Time\)\n", in_english
    )


def test_a_receipt_of_a_business_says_whose_each_answer_is(page: Page) -> None:
    process = page.review(["address.postal_code", "owner.address.postal_code"], seller_type=None)
    minted = page.mint(process)
    seller = page.seller()
    receipt = seller.finish(minted.url)
    kept = seller.get(f"/r/{minted.journey.ref}/receipt.txt").html
    assert kept.endswith("\n\nSua empresa\nCEP: 01310-100\n\nRepresentante legal\nCEP: 01310-100\n")
    page.refuse(process, "address.postal_code", "owner.address.postal_code")
    refused = seller.get(receipt.path).html  # it said: CEP, CEP
    assert "A plataforma de pagamentos recusou: CEP, CEP (representante legal)." in refused


def test_countries_stand_in_the_order_of_their_names_and_brazil_first() -> None:
    """África do Sul, Áustria and Índia stood behind Zimbábue, where nobody seeks them."""
    names = list(page_texts.countries("pt-BR").values())
    assert names[:4] == ["Brasil", "Afeganistão", "África do Sul", "Albânia"]
    assert names[-1] == "Zimbábue"


def test_a_receipt_says_what_was_confirmed_whatever_the_platform_asks_for_later(page: Page) -> None:
    process = page.review(["revenue", "address.city"])
    minted = page.mint(process)
    seller = page.seller()
    seller.finish(minted.url)
    path = f"/r/{minted.journey.ref}/receipt.txt"
    given = "\n\nFaturamento: De R$ 1.000 até R$ 5.000\nCidade: São Paulo\n"
    assert seller.get(path).html.endswith(given)
    page.review(["address.line3"], process_id=process)
    assert seller.get(path).html.endswith(given)
    page.review([], process_id=process, status="FINISHED")
    finished = seller.get(path).html
    assert finished.endswith(given)
    assert ": A plataforma de pagamentos concluiu a revisão." in finished


def test_corrections_go_on_where_they_were_and_the_first_receipt_says_when_they_are_done(
    page: Page,
) -> None:
    """It told the seller to correct what they had corrected, and each press began again: with empty
    fields, and after ten of them with a link that does not work."""
    process = page.review(["revenue", "address.city"])
    seller = page.seller()
    receipt = seller.finish(page.mint(process).url)
    page.refuse(process, "revenue", "address.city")
    first = seller.answer(seller.get(receipt.path))
    assert seller.answer(first, f0_from="1", f0_to="2").slug == "city"
    again = seller.answer(seller.get(receipt.path))
    assert again.path == first.path.replace("revenue", "city")
    assert seller.confirm(seller.answer_all(again)).slug == "receipt"
    told = seller.get(receipt.path)
    assert "Loja do Zé vai enviá-las" in told.html
    assert "Corrigir agora" not in told.html
    assert page.steps(process).count("invited") == 2
    page.refuse(process, "address.city")
    assert "recusou: Cidade." in seller.get(receipt.path).html
    assert seller.answer(seller.get(receipt.path)).slug == "city"


def test_each_receipt_that_a_seller_saw_is_kept_once(page: Page) -> None:
    process = page.review()
    minted = page.mint(process)
    seller = page.seller()
    first = seller.finish(minted.url)
    seller.get(f"/r/{minted.journey.ref}/receipt")  # says the same
    seller.cookies["lang"] = "en"
    english = seller.get(f"/r/{minted.journey.ref}/receipt")
    kept = page.receipts(process)
    assert [(it["source"], it["language"]) for it in kept] == [
        ("marketplace", "pt-BR"),
        ("marketplace", "en"),
    ]
    screens = [page.artifact(it["artifacts"][0]["sha256"]).decode() for it in kept]
    assert screens == [first.html, english.html]
    assert "Número do comprovante" in page.artifact(kept[0]["artifacts"][1]["sha256"]).decode()
    # Nobody sent the answers: that the platform accepted them was said, and kept as evidence.
    page.review(process_id=process, status="FINISHED")
    finished = seller.get(f"/r/{minted.journey.ref}/receipt")
    assert "The payment platform has finished the review." in finished.html
    assert "reload it later" not in finished.html


def test_another_language_is_one_link_away_and_stays(page: Page) -> None:
    process = page.review()
    seller = page.seller()
    minted = page.mint(process)
    assert seller.get(minted.url).heading == "Confirme seus dados de cadastro"
    english = seller.get(f"{minted.url}?lang=en")
    assert english.heading == "Confirm your registration data"
    assert seller.post(english.path, do="start").heading == "What is your revenue band?"
    # So it is on a screen that says what does not work: there the link led back to the same words.
    for path in (f"/r/{minted.journey.ref}/", "/nowhere"):
        other = page.seller()
        assert other.get(path).status == 404
        assert other.get(f"{path}?lang=en").html.startswith('<!DOCTYPE html>\n<html lang="en">')
    away = page.seller().ask("GET", "//elsewhere.example/?lang=en")
    assert away.headers["location"] == "/elsewhere.example/"


def test_no_screen_is_larger_than_50_kb(page: Page) -> None:
    process = page.review(OF_BUSINESS, kind="ACP", seller_type="business")
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    sizes = []
    while screen.slug != "review":
        sizes.append(len(screen.html.encode()))
        screen = seller.answer(screen, **ANSWERS[screen.slug.removeprefix("owner-")])
    sizes.append(len(screen.html.encode()))
    assert max(sizes) < 20_000  # and the script, which is kept by the browser, has 2 kB


def test_a_review_with_a_fault_is_no_longer_the_one_once_an_answer_has_changed(page: Page) -> None:
    process = page.review(["revenue", "address.city"])
    seller = page.seller()
    review = seller.answer_all(seller.open(page.mint(process).url))
    undeclared = seller.answer(review)
    assert undeclared.status == 422
    city = seller.get(review.path.replace("review", "city"))
    seller.answer(city, f0="Recife")
    changed = seller.confirm(undeclared)
    assert changed.status == 409
    assert "Recife" in changed.html
    assert "confirmed" not in page.steps(process)
    assert seller.confirm(changed).slug == "receipt"
    *_, (_, whole), _ = page.collections(process)
    assert whole["fields"]["address.city"] == "Recife"


def test_an_answer_in_another_tab_while_one_confirms_is_shown_before_it_counts(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = page.review(["revenue", "address.city"])
    seller = page.seller()
    review = seller.answer_all(seller.open(page.mint(process).url))
    city = seller.get(review.path.replace("review", "city"))
    confirm = Answering.confirm

    def after_another(*steps: Any) -> bool:
        """Between what a confirmation has read and what it writes."""
        monkeypatch.undo()
        assert seller.answer(city, f0="Recife").slug == "review"
        return confirm(*steps)

    monkeypatch.setattr(Answering, "confirm", after_another)
    ref = review.path.split("/")[2]
    sent = {**review.inputs, "declared": "yes"}
    answer = Visits(page.settings(), page.inbox).confirm(
        Visit("POST", review.path, {"ref": ref}, {}, seller.cookies, {}, sent, None)
    )
    assert answer.status_code == 409
    assert "Recife" in bytes(answer.body).decode()
    assert page.steps(process) == ["invited", "opened", *["answered"] * 3]


def test_a_confirmation_is_later_than_the_answers_though_the_clock_was_set_back(page: Page) -> None:
    process = page.review(["revenue"])
    minted = page.mint(process)
    seller = page.seller()
    review = seller.answer_all(seller.open(minted.url))
    ahead = page.inbox.now() + instants.MINUTE
    page.inbox.append(
        [
            evidence.seen(
                *(minted.journey, "answered", ahead, Shown("pt-BR", "")),
                screen="revenue",
                artifacts=[],
                fields={"revenue": "1000_to_5000"},
            )
        ]
    )
    seller.confirm(review)
    answer = CaseFiles(page.inbox).open(process).answers["revenue"]
    assert (answer.answered_at, answer.is_final) == (ahead + 1, True)


def test_what_was_typed_wrongly_goes_with_the_person(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen that showed it again is named by no entry: `prazo forget` left it, and took away
    what alone had led to it."""
    monkeypatch.setattr(forgetting, "SETTLE_SECONDS", 0.0)
    process = page.review(["address.postal_code"])
    seller = page.seller()
    screen = seller.open(page.mint(process).url)
    assert seller.answer(screen, f0="Mariana 52998224725").faults
    store = artifact_store(page.settings(), page.inbox)

    def kept() -> bytes:
        return b"".join(store.read(it) or b"" for it in store.names())

    assert b"52998224725" in kept()
    whose = f"seller of {process}"
    record = {"id": whose, "status": "deleted", "resource": "seller"}
    page.hear("seller.deleted", instants.now(), **record)
    secret_key(page.settings().taxpayer_key_file)
    forget(page.settings(), page.inbox, whose, reason="r", actor="ana", recorded_by="t")
    assert b"52998224725" not in kept()
    of_theirs = "select count(*) from journey_flow where ref in"
    theirs = "(select ref from journeys where seller_id = $1)"
    assert page.inbox.query(f"{of_theirs} {theirs}", whose) == [(0,)]
