"""Links to a person's page end, and nothing stays of what was sent there or typed."""

import os
import signal
from contextlib import closing
from typing import Any

import pytest

from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.errors import WrongUsage
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.artifacts import artifact_store
from pipeline.settings import Settings
from tests.erasure import person
from tests.erasure.conftest import ON_SQLITE
from tests.erasure.test_forgetting import SAID, done
from tests.support.machine import killed

TYPED = b"\x89PNG Mariana typed a wrong digit"


def links(inbox: Inbox) -> list[tuple[Any, ...]]:
    sql = "select ref, email, return_url, code_sha256, revoked_at from journeys order by ref"
    return [tuple(it) for it in inbox.query(sql)]


def visited(inbox: Inbox, ref: str, digest: str) -> None:
    """A session is open, and a screen with a fault was shown."""
    inbox.execute("insert into journey_sessions values ($1, $2, 1, 1)", f"s {ref}", ref)
    screen = "insert into journey_flow (ref, at, event, detail) values ($1, 1, 'shown', $2)"
    inbox.execute(screen, ref, f"fault {digest}")


def beside(inbox: Inbox) -> list[str]:
    """Whose sessions and visits there are."""
    both = "select ref from journey_sessions union all select ref from journey_flow order by 1"
    return [ref for (ref,) in inbox.query(both)]


def test_links_end_with_all_that_was_kept_of_the_person(settings: Settings, inbox: Inbox) -> None:
    """And those of others do not; when one had ended stays."""
    of_person = {
        "email": "mariana@example.com",
        "return_url": "https://example.com/?of=mariana",
        "code_sha256": "c",
    }
    store = artifact_store(settings, inbox)
    digest = store.keep(TYPED).sha256
    person.link(inbox, "r1", **of_person)
    person.link(inbox, "r2", **of_person, revoked_at=7)
    person.link(inbox, "r3", **of_person, seller_id=person.OTHER)
    for ref in ("r1", "r3"):
        visited(inbox, ref, digest if ref == "r1" else "none")
    other = links(inbox)[2]
    before = inbox.now()
    forget(settings, inbox, person.SELLER, **SAID)
    open_one, ended, of_other = links(inbox)
    assert open_one[:4] == ("r1", None, None, None)
    assert before <= open_one[4] <= inbox.now()
    assert ended == ("r2", None, None, None, 7)
    assert of_other == other == ("r3", *of_person.values(), None)
    assert beside(inbox) == ["r3", "r3"]
    assert digest not in set(store.names())


@ON_SQLITE
def test_without_a_reason_or_a_name_no_link_ends(settings: Settings, inbox: Inbox) -> None:
    person.link(inbox, "r1")
    for more in ({"reason": " "}, {"actor": ""}):
        with pytest.raises(WrongUsage):
            forget(settings, inbox, person.SELLER, **{**SAID, **more})
    assert links(inbox) == [("r1", None, None, None, None)]


@ON_SQLITE
def test_what_was_typed_goes_though_the_run_is_killed_before_artifacts_are_removed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the visit names that screen, so the visit goes last."""
    with closing(open_inbox(settings.inbox)) as inbox:
        digest = artifact_store(settings, inbox).keep(TYPED).sha256
        person.link(inbox, "r1")
        visited(inbox, "r1", digest)

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patched:
        patched.setattr(forgetting, "_remove_artifacts", die)
        killed(lambda: done(settings) and None)
    assert done(settings).artifacts == 2
    with closing(open_inbox(settings.inbox)) as inbox:
        assert artifact_store(settings, inbox).read(digest) is None
        assert beside(inbox) == []
