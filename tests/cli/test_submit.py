"""`prazo submit` and `prazo resume` as a person runs them: what they print, and how they exit."""

import re
from pathlib import Path

import pytest

from tests.support.commands import payload_file, run, submit
from tests.support.marketplace import REVENUE, Marketplace, Review, payload


def test_an_accepted_review_exits_0_and_prints_the_attempt(marketplace: Marketplace) -> None:
    review = marketplace.review()
    done = run(marketplace, *submit(marketplace, review))
    [start] = marketplace.starts(review.process_id)
    assert done.code == 0
    assert done.out == (
        f"{review.process_id}: {start.attempt_id}: 200 accepted\n{review.process_id}: FINISHED\n"
    )
    assert start.particulars["via"] == "cli"
    assert start.recorded_by.startswith("user:")


def test_a_refused_payload_exits_1_and_prints_every_violation_but_no_value(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    path = marketplace.folder / "bad.json"
    path.write_bytes(payload(review.process_id, "secret 1"))
    done = run(marketplace, "submit", review.process_id, "--payload", str(path))
    assert done.code == 1
    assert "refused: revenue: found a string of 8 characters" in done.err
    assert f"{review.process_id}: refused; nothing was sent" in done.err
    assert "secret" not in done.out + done.err


@pytest.mark.parametrize("saved", [b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_payload_that_an_editor_saved_is_sent_without_its_byte_order_mark(
    marketplace: Marketplace, saved: bytes
) -> None:
    """Windows editors write such marks; JSON that is sent has none (RFC 8259, section 8.1)."""
    review = marketplace.review()
    text = review.payload.decode()
    path = marketplace.folder / f"{review.process_id}.json"
    path.write_bytes(saved + text.encode("utf-8" if len(saved) == 3 else "utf-16-le"))
    done = run(marketplace, "submit", review.process_id, "--payload", str(path))
    assert done.code == 0, done.err
    [start] = marketplace.starts(review.process_id)
    assert start.body == review.payload


def test_a_payload_in_latin_1_is_refused_with_its_line(marketplace: Marketplace) -> None:
    review = marketplace.review()
    path = marketplace.folder / "latin.json"
    path.write_bytes('{\n"city": "São Paulo"}'.encode("latin-1"))
    done = run(marketplace, "submit", review.process_id, "--payload", str(path))
    assert done.code == 1
    assert f"The payload in {path} cannot be read: line 2 is not UTF-8" in done.err
    assert marketplace.starts(review.process_id) == []


def test_what_waits_exits_3(marketplace: Marketplace) -> None:
    review = marketplace.review()
    marketplace.platform.add_fault(
        kind="status", status=503, retry_after="600", process_id=review.process_id
    )
    done = run(marketplace, *submit(marketplace, review), "--wait", "0")
    assert done.code == 3
    assert ": 503 " in done.out
    assert "the next retry is due" in done.err


@pytest.mark.parametrize(
    ("status", "why", "action"),
    [
        (400, "found the payload invalid", "fix the payload and submit it again"),
        (401, "did not authenticate us", "prazo doctor"),
        (404, "does not know this process", "compare the ids with the webhook"),
        (409, "concluded already", "check its status before sending again"),
        (302, "a status that the contract does not show", "read its answer"),
    ],
)
def test_the_platforms_no_exits_1_and_the_contracts_expected_action_is_printed(
    marketplace: Marketplace, status: int, why: str, action: str
) -> None:
    """What failed, why, and what to do: the outcome's name alone helped nobody."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="status", status=status, process_id=review.process_id)
    done = run(marketplace, *submit(marketplace, review), "--wait", "0")
    assert done.code == 1
    assert f": {status} " in done.out
    assert "the next retry is due" not in done.err
    assert why in done.err
    assert action in done.err.partition("To fix it: ")[2]


def test_asked_again_of_a_finished_process_the_platforms_409_is_a_no(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    assert run(marketplace, *submit(marketplace, review)).code == 0
    marketplace.platform.add_fault(kind="status", status=409, process_id=review.process_id)
    done = run(marketplace, *submit(marketplace, review))
    assert done.code == 1
    assert ": 409 conflict" in done.out
    assert "concluded already" in done.err


def test_a_failed_handshake_is_printed_with_its_reason_and_what_helps(
    marketplace: Marketplace,
) -> None:
    review = marketplace.review()
    pair = marketplace.platform.certificates.expired_client
    done = run(
        marketplace,
        *submit(marketplace, review),
        "--wait",
        "0",
        PRAZO_CLIENT_CERT_FILE=str(pair.certificate),
        PRAZO_CLIENT_KEY_FILE=str(pair.key),
    )
    assert done.code == 3
    assert ": tls_refused\n" in done.out
    assert "the platform hung up before any request" in done.err
    ended = re.search("nothing: our certificate (.+) ended 20[0-9]{2}-.+\n", done.err)
    assert ended is not None
    assert ended[1] == str(pair.certificate)
    assert "the TLS handshake failed" in done.err
    assert "prazo doctor --platform" in done.err


def test_a_dry_run_exits_by_what_would_be_decided(marketplace: Marketplace) -> None:
    review = marketplace.review(is_answered=False)
    arguments = (*submit(marketplace, review), "--dry-run")
    assert run(marketplace, *arguments).code == 1
    done = run(marketplace, *arguments, "--override", "asked by phone", "--actor", "maria")
    assert (done.code, done.out) == (0, f"{review.process_id}: would be sent\n")
    assert marketplace.starts(review.process_id) == []


@pytest.mark.parametrize(
    "words",
    [
        ("submit", "--ready", "nosuch"),
        ("submit", "--ready", "nosuch", "--dry-run"),
        ("resume", "--process", "nosuch"),
    ],
)
def test_a_process_that_nothing_names_is_said_to_be_none(
    marketplace: Marketplace, words: tuple[str, ...]
) -> None:
    """One was told what its payload lacks, the other that nothing waits: a slip in an id read like
    news of a review."""
    marketplace.review()
    done = run(marketplace, *words)
    assert done.code == 1
    assert done.out == ""
    assert done.err == (
        "Error: There is no review process nosuch: no webhook, collection or attempt names it\n"
        "  To fix it: check the id\n"
    )


def test_wrong_usage_and_settings_exit_2(marketplace: Marketplace, tmp_path: Path) -> None:
    review = marketplace.review()
    path = str(payload_file(marketplace, review))
    arguments = ("submit", review.process_id, "--payload", path)
    assert run(marketplace, *arguments, "--override", "no name").code == 2
    assert run(marketplace, *arguments, "--wait", "nan").code == 2  # it was a traceback
    done = run(marketplace, *arguments, PRAZO_PLATFORM_CREDENTIALS_FILE=str(tmp_path / "none"))
    assert done.code == 2
    assert "cannot be read" in done.err
    assert marketplace.starts(review.process_id) == []


def test_a_process_whose_id_is_shown_masked_is_sent_with_the_others(
    marketplace: Marketplace,
) -> None:
    """The list of what is ready showed the mask, and no process has that name."""
    review = Review("prc-529.982.247-25", "s1", b"")
    marketplace.append_review(review, "OVERDUE", "owner.revenue")
    marketplace.collect(review.process_id, review.seller_id, {"owner.revenue": REVENUE})
    tried = run(marketplace, "submit", "--ready", "--dry-run")
    assert (tried.code, re.sub("(?m)^.*a new key was made.*\n", "", tried.err)) == (0, "")
    assert re.fullmatch(r"prc-\*\*\*25~[0-9a-f]{10}: would be sent\n", tried.out)
