"""The bytes that the Merkle tree hashes, written out by hand: a change of one would break every
proof that was ever handed out. The digests were made with sha256sum and openssl."""

from collections.abc import Callable

import pytest

from pipeline.inbox import Inbox
from pipeline.log.commitments import uncommitted
from pipeline.log.entries import Draft, Entry, Identity, Place, public_name, record_entry

LOG = "prazo/0123456789abcdef"
LOG_KEY = b"k" * 32
FIRST_OF_MARCH = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z

NOWHERE = Place(1, FIRST_OF_MARCH, None, None, None, None, False)


def counting_bytes() -> Callable[[int], bytes]:
    """00 01 02 ... 1f, then 20 21 ... 3f: a salt that a test can write down."""
    start = 0

    def random(count: int) -> bytes:
        nonlocal start
        start += count
        return bytes(range(start - count, start))

    return random


def recorded(draft: Draft, place: Place = NOWHERE) -> Entry:
    return record_entry(draft, place, log=LOG, log_key=LOG_KEY, random=counting_bytes())


def test_leaf_of_a_delivery_in_the_middle_of_both_its_streams():
    draft = Draft(
        kind="webhook",
        occurred_at=FIRST_OF_MARCH,
        recorded_by="webhook:1",
        body=b'{"id":"evt_1"}',
        event_id="evt_1",
        process_id="proc_9",
        seller_id="sel_7",
    )
    entry = recorded(draft, Place(42, FIRST_OF_MARCH + 1_500_000, 3, 40, 8, 41, True))
    assert entry.leaf == (
        b'{"body_commitment":'
        b'"24170d1dc7ce1e00f99eb7769880728772e592232db28413fdea776e48eee797",'
        b'"body_size":14,'
        b'"event_id":"evt_1",'
        b'"kind":"webhook",'
        b'"log":"prazo/0123456789abcdef",'
        b'"occurred_at":"2026-03-01T00:00:00.000000Z",'
        b'"origin":"live",'
        b'"process_n":3,'
        b'"process_prev":40,'
        b'"process_stream":"proc_9",'
        b'"recorded_at":"2026-03-01T00:00:01.500000Z",'
        b'"recorded_by":"webhook:1",'
        b'"seller_n":8,'
        b'"seller_prev":41,'
        b'"seller_stream":"sel_7",'
        b'"seq":42,'
        b'"v":1}'
    )
    assert entry.salt == bytes(range(32))
    assert entry.record is None


def test_leaf_of_an_entry_without_body_ids_or_particulars():
    entry = recorded(Draft(kind="note", occurred_at=1, recorded_by="ana"))
    assert entry.leaf == (
        b'{"kind":"note",'
        b'"log":"prazo/0123456789abcdef",'
        b'"occurred_at":"1970-01-01T00:00:00.000001Z",'
        b'"origin":"live",'
        b'"recorded_at":"2026-03-01T00:00:00.000000Z",'
        b'"recorded_by":"ana",'
        b'"seq":1,'
        b'"v":1}'
    )
    assert (entry.salt, entry.record, entry.body) == (None, None, None)


def test_leaf_binds_the_particulars_by_a_digest_that_their_salt_protects():
    draft = Draft(
        kind="submission_finished",
        occurred_at=FIRST_OF_MARCH,
        recorded_by="cli:ana",
        body=b'{"id":"evt_1"}',
        particulars={"error": "timeout"},
        origin="ingested",
        attempt_id="a1",
        process_id="proc_9",
        status=200,
    )
    entry = recorded(draft, Place(1, FIRST_OF_MARCH, 1, None, None, None, False))
    assert entry.record == (
        b'{"error":"timeout",'
        b'"salt":"202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"}'
    )
    assert entry.leaf == (
        b'{"attempt_id":"a1",'
        b'"body_commitment":'
        b'"24170d1dc7ce1e00f99eb7769880728772e592232db28413fdea776e48eee797",'
        b'"body_size":14,'
        b'"kind":"submission_finished",'
        b'"log":"prazo/0123456789abcdef",'
        b'"occurred_at":"2026-03-01T00:00:00.000000Z",'
        b'"origin":"ingested",'
        b'"process_n":1,'
        b'"process_stream":"proc_9",'
        b'"record_digest":'
        b'"e20d64298b4c5d4a84293f25993fe8aa02d9f7ae40e6ffeb0b62b0f01008a8f1",'
        b'"recorded_at":"2026-03-01T00:00:00.000000Z",'
        b'"recorded_by":"cli:ana",'
        b'"seq":1,'
        b'"status":200,'
        b'"v":1}'
    )
    assert entry.particulars == {"error": "timeout"}


def test_record_commits_to_the_key_by_which_an_entry_counts_once():
    """The key follows from a line that a package may withhold, and packages show records with their
    salts: so it stands there under the log's key. A lone one makes a record."""
    draft = Draft(
        kind="submission_finished",
        occurred_at=FIRST_OF_MARCH,
        recorded_by="cli:ana",
        body=b'{"id":"evt_1"}',
        particulars={"error": "timeout"},
        ingest_key=b"k" * 32,
    )
    place = Place(1, FIRST_OF_MARCH, None, None, None, None, False)
    entry = recorded(draft, place)
    assert entry.record == (
        b'{"error":"timeout",'
        b'"ingest_key":"273333258e4f91020a7c0a5b376dd3a3550e47cac96201a552c40dead6685e36",'
        b'"salt":"202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"}'
    )
    assert (
        b'"record_digest":"f18f516bde706c29088ba6851a94e8d7842fd554eb5f1fc134020f8d4d7ae181"'
        in entry.leaf
    )
    assert entry.particulars == {"error": "timeout"}
    lone = recorded(draft._replace(particulars={}), place)
    assert (lone.particulars, b'"ingest_key":' in (lone.record or b"")) == ({}, True)
    identity = Identity(LOG, LOG_KEY)
    assert uncommitted(entry, identity) == []
    for key in (None, b"K" * 32):
        assert "record" in uncommitted(entry._replace(ingest_key=key), identity)
    bare = recorded(draft._replace(ingest_key=None), place)
    assert "record" in uncommitted(bare._replace(ingest_key=b"k" * 32), identity)


def test_leaf_shows_an_hmac_where_an_identifier_could_name_a_person():
    draft = Draft(
        kind="webhook",
        occurred_at=FIRST_OF_MARCH,
        recorded_by="webhook",
        event_id="sha256:ab",
        process_id="ana@example.com",
        seller_id="12345678909",
    )
    entry = recorded(draft, Place(1, FIRST_OF_MARCH, 1, None, 1, None, False))
    assert entry.leaf == (
        b'{"event_id":'
        b'"hmac:be37ae91064f57ea088454bcef625ee4b36fe30839fc1d2db0133164ad9fdf13",'
        b'"kind":"webhook",'
        b'"log":"prazo/0123456789abcdef",'
        b'"occurred_at":"2026-03-01T00:00:00.000000Z",'
        b'"origin":"live",'
        b'"process_n":1,'
        b'"process_stream":'
        b'"hmac:ee715d102aea93a80cf5b2e572a1c65774ea931a0111fe909c21fabc42908c08",'
        b'"recorded_at":"2026-03-01T00:00:00.000000Z",'
        b'"recorded_by":"webhook",'
        b'"seller_n":1,'
        b'"seller_stream":'
        b'"hmac:eff34fe2ca65d9028c9daf6b8d683393c3685046ef871ae3783cc6c17924877e",'
        b'"seq":1,'
        b'"v":1}'
    )
    assert entry.seller_id == "12345678909"  # the column keeps what the platform sent


@pytest.mark.parametrize(
    "identifier",
    ["evt_1", "2f1c-ab7:x", "prc_12345678909", "a1b2c3d4e5f6g7", "a" * 128, "~!?"],
)
def test_an_opaque_identifier_stands_as_it_is(identifier: str):
    assert public_name(identifier, LOG_KEY) == identifier


@pytest.mark.parametrize(
    ("identifier", "hmac"),
    [
        ("12345678909", "eff34fe2ca65d9028c9daf6b8d683393c3685046ef871ae3783cc6c17924877e"),
        ("12345678000195", "fc65e893257bac1d2703c6d264ee44b224dd313a57f9057ebdf2844e9199747f"),
        ("ana@example.com", "ee715d102aea93a80cf5b2e572a1c65774ea931a0111fe909c21fabc42908c08"),
        ("São-1", "798da39b336eb6df6b786e4bc5574d576f2c54ff2ab944c41533866d750ea04f"),
        ("a b", "dda5679eae08576cc500f0839875e0b3dcfd2189ebce317277d939b92e1d9e10"),
        ("sha256:ab", "be37ae91064f57ea088454bcef625ee4b36fe30839fc1d2db0133164ad9fdf13"),
        # Else an identifier could be chosen to look like the HMAC of another one.
        ("hmac:ab", "1a7adc68a719702a442929b447e27b0e1f26594d527e5b4b36bf321ebae54d9a"),
        ("x" * 129, "412a383893a0e9dbb364c10108ef5fcdd09f7280dcd97dea0b8921222cce451d"),
    ],
    ids=["cpf", "cnpj", "email", "not-ascii", "space", "body-digest", "hmac-like", "long"],
)
def test_an_identifier_that_could_be_personal_becomes_an_hmac(identifier: str, hmac: str):
    assert public_name(identifier, LOG_KEY) == f"hmac:{hmac}"


@pytest.mark.parametrize(
    "identifier",
    ["123.456.789-09", "+5511999990000", "(11)99999-0000", "12ABC34501DE35", "12.ABC.345/01DE-35"],
)
def test_tax_ids_and_telephone_numbers_are_recognised_however_punctuated(identifier: str):
    assert public_name(identifier, LOG_KEY).startswith("hmac:")


def test_the_same_identifier_has_another_hmac_in_another_log():
    assert public_name("12345678909", b"l" * 32) != public_name("12345678909", LOG_KEY)


def test_an_inbox_gives_its_entries_exactly_this_leaf(inbox: Inbox):
    inbox.probe()  # who connects afterwards would find another log there
    inbox.log, inbox.log_key = LOG, LOG_KEY
    inbox.clock, inbox.random = (lambda: FIRST_OF_MARCH + 1), counting_bytes()
    inbox.append(
        [
            Draft(
                kind="webhook",
                occurred_at=FIRST_OF_MARCH,
                recorded_by="webhook",
                body=b'{"id":"evt_1"}',
                event_id="evt_1",
                seller_id="sel_7",
            )
        ]
    )
    [entry] = inbox.read(0, 1)
    assert entry.leaf == (
        b'{"body_commitment":'
        b'"24170d1dc7ce1e00f99eb7769880728772e592232db28413fdea776e48eee797",'
        b'"body_size":14,'
        b'"event_id":"evt_1",'
        b'"kind":"webhook",'
        b'"log":"prazo/0123456789abcdef",'
        b'"occurred_at":"2026-03-01T00:00:00.000000Z",'
        b'"origin":"live",'
        b'"recorded_at":"2026-03-01T00:00:00.000001Z",'
        b'"recorded_by":"webhook",'
        b'"seller_n":1,'
        b'"seller_stream":"sel_7",'
        b'"seq":1,'
        b'"v":1}'
    )
