"""What the log and the settings add to a payload's rules: a seller's type, the bands."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from pipeline import instants
from pipeline.errors import SettingsError
from pipeline.log.entries import OWN_JOURNEY
from pipeline.submit.casefile import CaseFiles
from pipeline.submit.decision import Approval
from pipeline.submit.ready import payload_of, unconfirmed
from pipeline.submit.rules import Answer
from tests.submit.test_decisions import rules_of, submit
from tests.support.marketplace import Marketplace, Review


def says_its_seller_is(marketplace: Marketplace, review: Review, seller_type: str) -> None:
    marketplace.append(
        kind="webhook",
        occurred_at=instants.canonical(instants.now()),
        body={
            "id": f"seller of {review.process_id} {seller_type}",
            "type": "seller.updated",
            "created_at": instants.canonical(instants.now()),
            "payload": {"object": {"id": review.seller_id, "type": seller_type}},
        },
    )


def test_a_type_other_than_the_sellers_latest_record_needs_an_override(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    says_its_seller_is(marketplace, review, "individual")
    says_its_seller_is(marketplace, review, "business")
    assert rules_of(submit(marketplace, review)) == {("type", "type_mismatch")}
    assert submit(marketplace, review, override=Approval("sole trader now", "ana")).is_finished
    [entry] = marketplace.inbox.find(process_id=review.process_id, kind="override")
    assert json.loads(entry.body or b"")["gates"] == ["type_mismatch"]


def test_a_payload_is_not_made_of_a_type_that_its_seller_has_not_confirmed_or_not_said(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    page = {"recorded_by": "journey", "producer": OWN_JOURNEY}
    files = CaseFiles(marketplace.inbox)

    marketplace.collect(review.process_id, review.seller_id, {"type": "business"}, **page)
    [held] = unconfirmed(files.open(review.process_id))
    assert (held.path, held.rule) == ("type", "not_confirmed")
    whole = {**page, "is_whole": True}
    marketplace.collect(review.process_id, review.seller_id, {"type": "individual"}, **whole)
    case = files.open(review.process_id)
    assert unconfirmed(case) == ()
    assert json.loads(payload_of(case))["type"] == "individual"
    bureau = {"type": "business"}
    marketplace.collect(review.process_id, review.seller_id, bureau, source="bureau")
    assert "type" not in json.loads(payload_of(files.open(review.process_id)))


@pytest.mark.parametrize(
    ("kind", "path", "sent"),
    [
        ("ACI", "address.line2", {"address": {"line2": ""}}),
        ("ACI", "address", {}),
        ("ACP", "address.line2", {}),
    ],
)
def test_an_empty_complement_that_a_partial_review_lists_is_sent_so_that_none_stays(
    marketplace: Marketplace, kind: Literal["ACP", "ACI"], path: str, sent: dict[str, object]
) -> None:
    seller_id = marketplace.platform.adopt_seller()
    process_id = marketplace.platform.require_review(
        seller_id, kind, requested_fields=(path,), days_ago=0.01
    )
    marketplace.hear()
    given = {"type": "individual", "address.line2": ""}
    marketplace.collect(process_id, seller_id, given)
    said = payload_of(CaseFiles(marketplace.inbox).open(process_id))
    assert json.loads(said) == {"process_id": process_id, "type": "individual", **sent}
    if sent:
        ended = submit(marketplace, Review(process_id, seller_id, said))
        assert ended.is_finished


def test_a_payload_of_many_answers_below_many_requested_paths_is_made_in_no_time(
    marketplace: Marketplace,
) -> None:
    """An event and a collection, each of a megabyte, kept those who looked at the process, or sent
    its answers, waiting for hours: each path went through all answers."""
    review = marketplace.review(is_answered=False)
    case = CaseFiles(marketplace.inbox).open(review.process_id)
    assert case.process is not None
    paths = [f"f{number}" for number in range(15_000)]
    asked = ("g.a", *paths, "g", "g.a.b")  # what stands below several paths is put in once
    answers = {f"{it}.a": Answer("v", "seller", 2, 1) for it in reversed(paths)}
    answers |= {path: Answer(path, "seller", 2, 1) for path in ("g.a.b.c", "g.b", "g-a", "g/", "g")}
    payload = {
        "process_id": review.process_id,
        **{it: {"a": "v"} for it in paths},
        "g": {"a": {"b": {"c": "g.a.b.c"}}},  # a text cannot take the place of the object
    }
    process = replace(case.process, review_type="ACI", requested_fields=asked)
    case = replace(case, process=process, answers=answers, seller_type=None)
    assert json.loads(payload_of(case)) == payload
    del answers["g"]
    payload["g"] = {"a": {"b": {"c": "g.a.b.c"}}, "b": "g.b"}
    assert json.loads(payload_of(case)) == payload


def test_only_the_platforms_own_bands_are_sent_where_a_file_lists_them(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    bands = tmp_path / "bands"
    bands.write_text("0_to_1000\n\n5000_to_9000\n")
    review = marketplace.review()
    ended = submit(marketplace, review, settings={"revenue_bands_file": bands})
    assert rules_of(ended) == {("revenue", "wrong_format")}
    bands.write_text("1000_to_5000\n")
    assert submit(marketplace, review, settings={"revenue_bands_file": bands}).is_finished


def test_a_file_of_bands_that_lists_none_is_a_wrong_setting(
    marketplace: Marketplace, tmp_path: Path
) -> None:
    bands = tmp_path / "bands"
    bands.write_text("\n")
    with pytest.raises(SettingsError, match="lists none"):
        submit(marketplace, marketplace.review(), settings={"revenue_bands_file": bands})
