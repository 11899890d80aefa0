"""Takes pictures of the screens that a seller saw, once they have confirmed, where a browser is at
hand.

They are made of the kept bytes, as wide as a phone, and recorded in one more entry. No caller waits
for them; after a crash they are lacking, and the screens themselves are not.
"""

import logging
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pipeline import browser as drawing
from pipeline.contract.body import parse_json
from pipeline.errors import OperatorError
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts import digests_named
from pipeline.inbox.artifacts.owners import Owned
from pipeline.inbox.store import Statement
from pipeline.journey import evidence, links
from pipeline.journey.links import Journey
from pipeline.log.artifacts import ArtifactStore, stored_as
from pipeline.log.entries import OWN_JOURNEY
from pipeline.log.kinds.collection import COLLECTION

LOG = logging.getLogger(__name__)

SIZE: Final = "390,1200"
MAX_PICTURES: Final = 40
"""Of one journey; an entry names fifty artifacts at most."""

_IS_THEIRS: Final = "select 1 from journeys where ref = $1 and revoked_at is null"
_STILL_THEIRS: Final = "update journeys set ref = ref where ref = $1 and revoked_at is null"
"""A journey that was confirmed is revoked where its seller is forgotten, and by nobody else."""


def take(browser: Path, inbox: Inbox, store: ArtifactStore, ref: str) -> int:
    """Records the pictures of a journey's screens; how many. What fails is logged, and not tried
    again."""
    journey = links.by_ref(inbox, ref)
    if journey is None:
        return 0
    try:
        pictures: dict[str, bytes] = {}
        for name, sha256 in _screens(inbox, journey)[:MAX_PICTURES]:
            html = store.read(sha256)
            if html is not None:
                picture = f"{len(pictures) + 1:02d}-{name.removesuffix('.html')}.png"
                pictures[picture] = drawing.picture(browser, html, SIZE)
        return _record(inbox, store, journey, pictures) if pictures else 0
    except (OperatorError, OSError, subprocess.SubprocessError) as error:
        LOG.error("there are no pictures of journey %s: %s", ref, type(error).__name__)
        return 0


def _record(
    inbox: Inbox, store: ArtifactStore, journey: Journey, pictures: Mapping[str, bytes]
) -> int:
    """Keeps and records pictures, unless the seller was forgotten while they were taken."""
    if not inbox.query(_IS_THEIRS, journey.ref):
        return 0
    owned = Owned(inbox, store, journey.seller_id, journey.process_id)
    owned.announce(stored_as(it).sha256 for it in pictures.values())
    artifacts = [evidence.kept(owned, name, "image/png", it) for name, it in pictures.items()]
    added = evidence.added(journey, inbox.now(), "pictures", artifacts)
    if inbox.change(Statement(_STILL_THEIRS, (journey.ref,)), (), [added]):
        return len(artifacts)
    named = digests_named(inbox)
    for digest in (str(it["sha256"]) for it in artifacts):
        if bytes.fromhex(digest) not in named:
            store.remove(digest)
    return 0


def _screens(inbox: Inbox, journey: Journey) -> list[tuple[str, str]]:
    """(name, digest) of each screen that our page's entries of a journey name, once, in order.

    Any other may say that it is of this journey. A browser that opens a file shows what that file
    leads it to, any that we can read among it.
    """
    found: dict[str, str] = {}
    for entry in inbox.find(process_id=journey.process_id, kind=COLLECTION):
        said = parse_json(entry.received or b"{}")
        is_ours = entry.recorded_by == evidence.RECORDED_BY and said.get("producer") == OWN_JOURNEY
        is_seen = said.get("journey_id") == journey.journey_id and said["source"] == evidence.SELLER
        if is_ours and is_seen:
            for artifact in said.get("artifacts") or ():
                if artifact.get("media_type") == "text/html":
                    found.setdefault(artifact["sha256"], artifact["name"])
    return [(name, sha256) for sha256, name in found.items()]
