"""Ids that look like a tax id or an e-mail address are masked where personal values are."""

from urllib.parse import urlencode

import pyarrow as pa
import pytest

from pipeline.serve.identifiers import (
    mask,
    mask_within,
    masked,
    masked_question,
    masked_value,
    may_be_masked,
)

KEY = b"of this log"


@pytest.mark.parametrize(
    ("identifier", "shown"),
    [
        ("12345678901", "***01~"),
        ("123.456.789-01", "***01~"),
        ("123456789-01", "***01~"),
        ("123.456.789/01", "***01~"),
        ("123 456 789 01", "***01~"),
        ("12345678000195", "***95~"),
        ("12345678/0001-95", "***95~"),
        ("12.345.678/0001-95", "***95~"),
        ("12ABC34501DE35", "***35~"),
        ("12abc34501de35", "***35~"),
        ("ana@example.com", "a***~"),
        ("ana%40example.com", "a***~"),
        ("ana\uff20example.com", "a***~"),
        ("529.982.247\u201125", "***25~"),
        ("529\u00a0982\u00a0247\u00a025", "***25~"),
    ],
)
def test_such_an_id_keeps_what_its_mask_keeps_and_who_it_is(identifier: str, shown: str) -> None:
    found = mask(identifier, KEY)
    assert found.startswith(shown)
    assert len(found) == len(shown) + 10
    assert found == mask(identifier, KEY)
    assert found != mask(identifier, b"of another log")


def test_two_such_ids_stay_two() -> None:
    assert mask("12345678901", KEY) != mask("22345678901", KEY)


@pytest.mark.parametrize("identifier", ["prc_1", "17", "123456789012", "sel_f4fc712993f05b48", ""])
def test_any_other_id_stays_as_it_is(identifier: str) -> None:
    assert mask(identifier, KEY) == identifier


@pytest.mark.parametrize(
    ("identifier", "before", "behind"),
    [
        ("cpf-123.456.789-09", "cpf-***09~", ""),
        ("cpf-52998224725", "cpf-***25~", ""),
        ("cpf52998224725", "***25~", ""),
        ("Cpf52998224725", "***25~", ""),
        ("cpf-529.982.247\u201325", "cpf-***25~", ""),
        (
            "cpf-\uff15\uff12\uff19\uff19\uff18\uff12\uff12\uff14\uff17\uff12\uff15",
            "cpf-***\uff12\uff15~",
            "",
        ),
        ("cnpj12abc34501de35", "***35~", ""),
        ("br/12.abc.345/01de-35", "br/***35~", ""),
        ("CNPJ11222333000181", "***81~", ""),
        ("sel_12.345.678/0001-95:2", "sel_***95~", ":2"),
        ("br/12ABC34501DE35/3", "br/***35~", "/3"),
        ("111.444.777-35 2026", "***35~", " 2026"),
    ],
)
def test_a_tax_id_within_an_id_is_masked_there(identifier: str, before: str, behind: str) -> None:
    """A prefix was enough to have a CPF shown whole on pages, in files, calendars and messages.
    So was a dash of a text program in place of a hyphen, and small letters of a CNPJ."""
    found = mask(identifier, KEY)
    assert found.startswith(before)
    assert found.endswith(behind)
    assert len(found) == len(before) + 10 + len(behind)
    assert mask(found, KEY) == found
    assert mask_within(identifier, KEY) == found


@pytest.mark.parametrize(
    "identifier",
    [
        "prc-20261125083217",  # a time
        "prc_52998224726",  # no CPF has these check digits
        "f4fc712993f52998224725aa",
        "cpf-529982247250",
        "SEL-8F2K1L9Q0Z7712",
        "sel_12abc34501de35",  # many ids are of so many small letters and digits
    ],
)
def test_what_only_looks_like_one_within_an_id_stays(identifier: str) -> None:
    assert mask(identifier, KEY) == identifier


def test_columns_of_ids_are_masked_and_so_are_ids_in_texts() -> None:
    """A finding names the journey that served two processes: an e-mail address was shown whole."""
    rows = pa.table(
        {
            "seller_id": ["12345678901", None, "s1"],
            "detail": ["ana@example.com", 'part: ["123456789-01", 17]', "documents.0"],
            "uri": ["/sellers/12345678901", "/sellers/s1", None],
            "subject": ["evidence_reused 3 p1 123.456.789-01", "ana@example.com", "p1"],
            "query": ["seller_id=12345678901", "state=OVERDUE", None],
            "actor": ["12345678901", "", "y"],
        }
    )
    shown = masked(rows, KEY)
    assert shown.schema == rows.schema
    assert shown["seller_id"].to_pylist() == [mask("12345678901", KEY), None, "s1"]
    assert shown["detail"].to_pylist() == [
        mask("ana@example.com", KEY),
        f'part: ["{mask("123456789-01", KEY)}", 17]',
        "documents.0",
    ]
    assert shown["uri"].to_pylist() == [f"/sellers/{mask('12345678901', KEY)}", "/sellers/s1", None]
    assert shown["subject"].to_pylist() == [
        f"evidence_reused 3 p1 {mask('123.456.789-01', KEY)}",
        mask("ana@example.com", KEY),
        "p1",
    ]
    assert shown["query"].to_pylist() == [
        f"seller_id={mask('12345678901', KEY)}",
        "state=OVERDUE",
        None,
    ]
    assert shown["actor"] == rows["actor"]


def test_an_id_is_masked_as_an_address_writes_it_and_in_what_people_name() -> None:
    """A saved view's filters stood in rows as its address has them: `@` and `/` are other signs
    there, so a seller's e-mail address or CNPJ was shown whole. Names of views, reports and tickets
    were masked nowhere but on pages."""
    sellers = ["ana@example.com", "12.345.678/0001-95", "12abc34501de35"]
    filters = [urlencode({"lane": "all", "seller": it}) for it in sellers]
    plain = "lane=savable&seller=sel_1&sort=-deadline_at&seller="
    named = ["ana@example.com's", "of 529.982.247-25", None]
    rows = pa.table(
        {
            "query": filters,
            "filters": [plain, *filters[1:]],
            "uri": ["/s/ana%40example.com", "/s/12.345.678%2F0001-95/3", "/s/a%20b"],
            "view_name": named,
            "report_name": named,
            "answer": named,
            "number": ["CPF 529.982.247-25", "20261104001", "ana@example.com"],
        }
    )
    shown = masked(rows, KEY).to_pydict()
    hidden = [f"lane=all&seller={mask(it, KEY)}" for it in sellers]
    theirs = f"assignee=bia%40market.example&{filters[0]}"  # reports look for her by that name
    [kept] = masked(pa.table({"query": [theirs]}), KEY).to_pydict()["query"]
    assert kept == f"assignee=bia%40market.example&{hidden[0]}"
    assert (shown["query"], shown["filters"]) == (hidden, [plain, *hidden[1:]])
    assert shown["uri"][:2] == [f"/s/{mask(sellers[0], KEY)}", f"/s/{mask(sellers[1], KEY)}/3"]
    assert shown["uri"][2] == "/s/a%20b"
    for column in ("view_name", "report_name", "answer"):
        assert shown[column] == [it and mask_within(it, KEY) for it in named] != named
        assert may_be_masked(column)
    assert shown["number"] == [
        f"CPF {mask('529.982.247-25', KEY)}",
        "20261104001",
        mask(sellers[0], KEY),
    ]
    assert masked_question({"where": {"query": filters[0]}})["where"] == {
        "query": "lane=all&seller=a***"
    }


@pytest.mark.parametrize(
    "text",
    [
        "created_at: 2026-11-22T10:00:00.123456Z",
        "8f14e45fceea167a5a36dedd4bea2543000000000000000000000000000000ff",
        "prc_1234567890123",
        "documents.0, documents.1.number",
        "to the new bank 17",
        "go to the new bank 17",
        "at evtx1234567812",
        "registration12",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert mask_within(text, KEY) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cpf:529.982.247-25.ana@example.com", "cpf:5***"),
        ("12.345.678/0001-95.ana@example.com", "***95.***"),
        ("529.982.247-25@example.com", "5***"),
        ("(ana@example.com) a@b@c", "(a***) a***"),
    ],
)
def test_an_address_is_masked_whole_whatever_stands_before_it(text: str, shown: str) -> None:
    assert mask_within(text, None) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("+5511987654321", "***21"),
        ("no answer at +55 (11) 98765-4321 on 3 May", "no answer at ***21 on 3 May"),
        ("WhatsApp: +55 11 98765\u20114321.", "WhatsApp: ***21."),
        ("tel:+55-11-98765.4321;529.982.247-25", "tel:***21;***25"),
        ("(+1) 202-555-0143", "(***43"),
        ("\uff0b5511987654321", "***21"),
        ("tel%3A%2b5511987654321", "tel%3A***21"),
        # No telephone number has these forms.
        ("2026-03-01T12:00:00+1030 2026-03-02", "2026-03-01T12:00:00+1030 2026-03-02"),
        ("2026-03-01 12:00:00 +0300 17 of 20260301", "2026-03-01 12:00:00 +0300 17 of 20260301"),
        ("1+12345678901234567890", "1+12345678901234567890"),
        ("+12345678901234567890", "+12345678901234567890"),
        ("+1 234 567", "+1 234 567"),
        ("application/vnd.api+json", "application/vnd.api+json"),
    ],
)
def test_a_telephone_number_in_a_text_is_masked(text: str, shown: str) -> None:
    """One with its country's code stood whole in a denial's detail, beside a masked CPF."""
    assert mask_within(text, None) == shown
    assert mask_within(shown, None) == shown
    assert masked_value("reasons", [{"detail": text}], KEY) == [{"detail": mask_within(text, KEY)}]


@pytest.mark.parametrize("part", ["a", "a.", "1-", "a@ ", "+1 (", "+"])
def test_a_long_text_is_looked_through_in_no_time(part: str) -> None:
    """An event type of a megabyte, in one delivery, kept those who read deliveries or findings
    waiting for hours, and with them everybody whom that process served."""
    assert "***" not in mask_within((part * 250_000)[:250_000], KEY)


@pytest.mark.parametrize("times", [1, 1001])
def test_what_looks_personal_in_the_place_of_a_code_is_masked(times: int) -> None:
    """A denial's detail, by which the platform said whose CPF it was, was masked as a column of its
    own and shown in the lists of other views; its reason, an event's type and a seller's status in
    none."""
    pair = {"reason": "NAME_INVALID", "detail": "CPF 390.533.447-05"}
    rows = pa.table(
        {
            "reasons": [[pair, {"reason": "OTHER", "detail": None}], None] * times,
            "paths": [["revenue"], ["ana@example.com"]] * times,
            "source": ["seller", None] * times,
            "reason": ["NAME_INVALID of 390.533.447-05", "he wrote from ana@example.com"] * times,
            "event_type": ["seller.39053344705", "seller.denied"] * times,
            "note": [None, "39053344705 is another"] * times,
            "decided_because": ["it is of 390.533.447-05", None] * times,
            "status": ["390.533.447-05", "enabled"] * times,
            "seller_type": ["390.533.447-05", "individual"] * times,
            "actor": ["ana@market.example", None] * times,
        }
    )
    first, second = masked(rows, KEY).to_pylist()[-2:]
    assert first["reasons"][0]["detail"].startswith("CPF ***05~")
    assert first["reasons"][1] == {"reason": "OTHER", "detail": None}
    assert second["paths"][0].startswith("a***~")
    assert first["reason"].startswith("NAME_INVALID of ***05~")
    assert second["reason"].startswith("he wrote from a***~")
    assert first["event_type"].startswith("seller.***05~")
    assert (second["event_type"], first["note"]) == ("seller.denied", None)
    assert second["note"].startswith("***05~")
    assert first["decided_because"].startswith("it is of ***05~")
    assert first["status"].startswith("***05~")
    assert second["status"] == "enabled"
    assert first["seller_type"].startswith("***05~")
    assert second["seller_type"] == "individual"
    is_searched = [not may_be_masked("status", it) for it in ("seller_state", "timeline")]
    assert is_searched == [False, True]  # what an attempt was answered is a number
    assert (first["paths"], first["source"], first["actor"]) == (
        ["revenue"],
        "seller",
        "ana@market.example",
    )


def test_no_digest_tells_a_payload_to_whoever_tries_all() -> None:
    """It was shown without a key: of eight digits of a postal code there are few enough to try."""
    plain = "c0" * 32
    shown = masked(pa.table({"payload_sha256": [plain, plain, None]}), KEY)
    [digest, again, none] = shown["payload_sha256"].to_pylist()
    assert digest.startswith("***~")
    assert (again, none) == (digest, None)
    assert masked(shown, KEY) == shown


def test_a_file_of_masked_rows_says_no_id_that_it_was_asked_by() -> None:
    """The mask without its digest: anyone who asked had the id, and no key is needed for it."""
    asked = {
        "where": {"seller_id": ["12ABC34501DE35", "s1"], "email": "ana@example.com", "attempts": 2},
        "contains": {"detail": "reused by 529.982.247-25"},
        "between": {"seller_id": (None, "52998224725")},
        "order_by": "seller_id desc",
    }
    assert masked_question(asked) == {
        "where": {"seller_id": ["***35", "s1"], "email": "a***", "attempts": 2},
        "contains": {"detail": "reused by ***25"},
        "between": {"seller_id": (None, "***25")},
        "order_by": "seller_id desc",
    }
