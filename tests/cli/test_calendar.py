"""`prazo calendar`: feeds are made, listed and revoked, each under a name."""

import hashlib
import re

import pytest

from pipeline.inbox import open_inbox
from tests.support.ledgers import said_in


def entries(environment: dict[str, str]) -> list[dict[str, str]]:
    inbox = open_inbox(environment["PRAZO_INBOX"], create=False)
    try:
        return [said_in(it) for it in inbox.find(kind="calendar")]
    finally:
        inbox.close()


def test_a_feed_is_made_listed_and_revoked(prazo, environment) -> None:
    environment["PRAZO_DASHBOARD_PORT"] = "8555"
    elsewhere = prazo("calendar", "new", "--all", "--actor", "ana")
    assert (elsewhere.returncode, elsewhere.stdout) == (1, "")  # an address that no ledger knows
    assert "There is no inbox" in elsewhere.stderr
    open_inbox(environment["PRAZO_INBOX"]).close()
    made = prazo("calendar", "new", "--for", " maria ", "--actor", "ana")
    assert made.returncode == 0, made.stderr
    address, note, hint = made.stdout.splitlines()
    shown = re.fullmatch(r"http://127\.0\.0\.1:8555/calendar/([A-Za-z0-9_-]{43})\.ics", address)
    assert shown is not None
    [entry] = entries(environment)
    feed = entry["feed"]
    assert note == (
        f"{feed}: whoever has this address reads the calendar."
        f" `prazo calendar revoke {feed} --actor NAME` ends it."
    )
    assert "`dashboard_url`" in hint
    assert entry == {
        "actor": "ana",
        "assignee": "maria",
        "feed": feed,
        "step": "made",
        "token_sha256": hashlib.sha256(shown[1].encode()).hexdigest(),
    }
    assert shown[1] not in prazo("calendar", "list").stdout
    revoked = prazo("calendar", "revoke", feed, "--actor", "eva")
    assert (revoked.returncode, revoked.stdout) == (0, "revoked, entry 2\n")
    assert entries(environment)[1] == {"actor": "eva", "feed": feed, "step": "revoked"}
    listed = prazo("calendar", "list").stdout
    assert (feed in listed, "maria" in listed, "eva" in listed) == (True, True, True)
    again = prazo("calendar", "revoke", feed, "--actor", "eva")
    assert again.returncode == 1
    assert "it has been revoked already" in again.stderr
    unknown = prazo("calendar", "revoke", "cal_0", "--actor", "eva")
    assert unknown.returncode == 1
    assert "there is none of that name" in unknown.stderr


@pytest.mark.parametrize("whose", [(), ("--for", "maria", "--all")])
def test_a_feed_is_of_one_assignee_or_of_all(prazo, whose: tuple[str, ...]) -> None:
    refused = prazo("calendar", "new", *whose, "--actor", "ana")
    assert refused.returncode == 2
    assert "--for NAME or --all" in refused.stderr


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("--for", " ", "--actor", "ana"), "the assignee has no name"),
        (("--all", "--actor", " "), "a name is needed"),
    ],
)
def test_nobody_without_a_name_has_or_makes_one(
    prazo, environment, asked: tuple[str, ...], why: str
) -> None:
    open_inbox(environment["PRAZO_INBOX"]).close()
    refused = prazo("calendar", "new", *asked)
    assert refused.returncode == 2
    assert why in refused.stderr
