"""Takes a seller's steps: each is evidence on disk before the next screen is shown.

    artifacts   the screen as it was sent, and its text, go into the store, after a row that says
                whose they are
    one commit  the entry, the line of the flow, and the claim that the link still works
    redirect    to the next screen, only after the commit

A crash before the commit leaves bytes that no entry names, and the seller sends the screen again.
After the commit the answer is in the log, and the next request shows the next screen.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.contract.body import JsonValue, parse_json
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts.owners import Owned
from pipeline.inbox.store import Statement
from pipeline.journey import evidence, form, page_texts
from pipeline.journey.entrance.sessions import Flow, Page, Session, Sessions
from pipeline.journey.evidence import RECORDED_BY, Artifact, Shown
from pipeline.journey.form import FaultCode, Question
from pipeline.journey.links import Journey, live_at
from pipeline.journey.page_texts import Language
from pipeline.journey.reviews import Review, Reviews
from pipeline.journey.screens import Asking, Drawn, Screens, text_of
from pipeline.log.artifacts import ArtifactStore, stored_as
from pipeline.log.entries import OWN_JOURNEY
from pipeline.submit.demand import Wanted

REVIEW: Final = "review"
LANDING: Final = "landing"
CODE: Final = "code"
RECEIPT: Final = "receipt"
MAX_RECEIPTS: Final = 10
"""Receipts that are kept of a journey. A receipt has only a few versions, in two languages."""
MAX_TYPED: Final = 2 * form.MAX_CHARACTERS
"""Characters of an input that are shown again where something was wrong with it."""

_LIVE: Final = live_at("$2")
_OPEN: Final = f"""
    update journeys set opened_at = $2
    where ref = $1 and opened_at is null and {_LIVE}"""
_REOPEN: Final = f"""
    update journeys set opened_at = coalesce(opened_at, $2) where ref = $1 and {_LIVE}"""
_SHOW: Final = """
    update journeys set ref = ref
    where ref = $1 and confirmed_at <= $2 and revoked_at is null"""
_STILL: Final = f"update journeys set ref = ref where ref = $1 and {_LIVE}"
_CONFIRM: Final = f"""
    update journeys set confirmed_at = $2, email = null
    where ref = $1 and {_LIVE} and not exists (
        select 1 from entries
        where process_id = $3 and kind = 'collection' and recorded_by = $4 and seq > $5)"""
"""A seller confirms what they were shown: the claim fails where another answer came meanwhile."""
_END_OTHERS: Final = """
    update journeys set revoked_at = $2, email = null
    where process_id = $3 and ref <> $1 and revoked_at is null and confirmed_at is null"""
"""Ends all other links of the process, so that nobody answers by one after the seller has."""
_SHOWN: Final = f"""
    insert into journey_flow (ref, at, event, screen, detail)
    select $1, $2, 'shown', '{RECEIPT}', $3
    where not exists (
            select 1 from journey_flow where ref = $1 and screen = '{RECEIPT}' and detail = $3)
        and exists (select 1 from journeys where ref = $1 and revoked_at is null)
        and (select count(*) from journey_flow where ref = $1 and screen = '{RECEIPT}')
            < {MAX_RECEIPTS}"""
_STEPS: Final = """
    select seq, occurred_at, body from entries
    where process_id = $1 and kind = 'collection' and recorded_by = $2 order by seq"""

Fields = Mapping[str, JsonValue]


class Given(NamedTuple):
    """What a journey's seller has answered in it, and where the seller's page is in the log with
    the process, as `Form` says it."""

    answers: Fields
    last_step: int
    last_at: int


@dataclass(frozen=True, slots=True)
class Form:
    """What one journey asks, and what was answered in it so far.

    `last_step`: the seq of the newest entry that the seller's page has made for the process.
    `last_at`: when the latest of these entries occurred.
    """

    review: Review
    questions: Sequence[Question]
    answers: Fields
    last_step: int
    last_at: int

    @property
    def is_business(self) -> bool:
        """Whether the seller is a business, by the log or by what they have answered."""
        return (self.review.seller_type or self.answers.get(form.TYPE_PATH)) == "business"

    @property
    def next(self) -> Question | None:
        """The first question that has no answer; None where all have one."""
        return next((it for it in self.questions if not form.is_answered(it, self.answers)), None)

    def at(self, slug: str) -> Question | None:
        """The question with a name; None where this journey does not ask it."""
        return next((it for it in self.questions if it.slug == slug), None)


class Taken(NamedTuple):
    """A screen that a seller has sent: its bytes as they saw them, when it was drawn, and when it
    was sent."""

    screen: str
    html: bytes
    drawn_at: int
    at: int


@dataclass(frozen=True, slots=True)
class Answering:
    """Records what sellers do. Its methods block. They raise `InboxUnavailable` or `OperatorError`
    where the log or the store cannot be written; then nothing was recorded."""

    inbox: Inbox
    store: ArtifactStore
    screens: Screens
    sessions: Sessions
    reviews: Reviews

    def form(self, journey: Journey) -> Form:
        """What a journey asks now, with the answers that were given in this journey."""
        review = self.reviews.look(journey.process_id, journey.review)
        given = self._given(journey)
        said = given.answers.get(form.TYPE_PATH)
        if journey.only_paths is not None:
            said = "business"  # a correction asks only for its paths: so the type leaves none out
        questions = self._questions(journey, review, said if isinstance(said, str) else None)
        return Form(review, questions, given.answers, given.last_step, given.last_at)

    def _questions(
        self, journey: Journey, review: Review, answered_type: str | None
    ) -> list[Question]:
        return form.questions(
            review.wanted(answered_type),
            asks_type=review.seller_type is None,
            only=journey.only_paths,
            has_bands=self.screens.bands is not None,
        )

    def confirmed(self, journey: Journey) -> Form:
        """The answers that the seller has confirmed, and the questions to which these belong,
        whatever the process asks for by now."""
        review = self.reviews.look(journey.process_id, journey.review)
        given = self._given(journey, is_whole=True)
        paths = tuple(it for it in given.answers if it != form.TYPE_PATH)
        questions = form.questions(
            Wanted(paths, ()),
            asks_type=form.TYPE_PATH in given.answers,
            has_bands=self.screens.bands is not None,
        )
        return Form(review, questions, given.answers, given.last_step, given.last_at)

    def _given(self, journey: Journey, *, is_whole: bool = False) -> Given:
        """`is_whole`: only the answers as the seller confirmed them, all at once."""
        steps = self.inbox.query(_STEPS, journey.process_id, RECORDED_BY)
        answers: dict[str, JsonValue] = {}
        for *_, body in steps:
            said = parse_json(body)
            if said.get("producer") != OWN_JOURNEY or said["journey_id"] != journey.journey_id:
                continue
            if said["step"] == "answered" and (said.get("is_whole") is True or not is_whole):
                answers.update(said["fields"])
        last_step = steps[-1][0] if steps else 0
        return Given(answers, last_step, max((at for _, at, _ in steps), default=0))

    # --- screens ---

    def landing(
        self,
        journey: Journey,
        language: Language,
        until: str | None,
        when: str | None,
        *,
        is_late: bool,
        is_until_first: bool,
    ) -> Drawn:
        """The first screen of a link. In words: `until`, when the link ends, None where that is
        with the review; `when`, by when an answer is due, None where nobody knows.
        `is_until_first`: whether the link ends before that."""
        asked = self.form(journey)
        asked_now = [
            each.path
            for question in asked.questions
            for each in question.fields
            if each.path != form.TYPE_PATH
        ]
        return self.screens.draw(
            LANDING,
            language,
            ref=journey.ref,
            total=len(asked.questions),
            most=len(self._questions(journey, asked.review, "business")),
            is_correction=journey.only_paths is not None,
            until=until,
            asked=page_texts.in_words(asked_now, language),
            when=when,
            is_late=is_late,
            is_until_first=is_until_first,
        )

    def question(
        self,
        journey: Journey,
        asked: Form,
        question: Question,
        language: Language,
        *,
        typed: Mapping[str, str] | None = None,
        faults: Mapping[str, FaultCode] | None = None,
        is_changed: bool = False,
    ) -> Drawn:
        """The screen of one question, with its answer in this journey filled in, or `typed`."""
        position = asked.questions.index(question)
        before = asked.questions[position - 1].slug if position else None
        answered = form.typed_of(question, asked.answers)
        known = answered if typed is None else typed
        state = json.dumps([question.asked, answered]).encode()
        asking = Asking(
            question,
            asked=hashlib.sha256(state).hexdigest()[:16],
            typed={name: known.get(name, "")[:MAX_TYPED] for name in form.names_of(question)},
            position=position + 1,
            total=len(asked.questions),
            back=None if before is None else f"/r/{journey.ref}/{before}",
            faults=faults or {},
            is_changed=is_changed,
        )
        return self.screens.question(language, journey.ref, asking, is_business=asked.is_business)

    def review(
        self,
        journey: Journey,
        asked: Form,
        language: Language,
        *,
        faults: bool = False,
        is_changed: bool = False,
    ) -> Drawn:
        """The screen with all answers of a journey."""
        return self.screens.review(
            language,
            journey.ref,
            asked.questions,
            asked.answers,
            is_business=asked.is_business,
            faults=faults,
            is_changed=is_changed,
        )

    def seen(
        self,
        journey: Journey,
        session: Session,
        question: Question,
        token: str,
        drawn: Drawn,
        now: int,
    ) -> Taken | None:
        """The screen of a question that a token was sent with, byte for byte: drawn again, or as it
        was kept when it was shown. None where the seller saw another screen, or nobody knows
        which."""
        screen, page = question.slug, self.sessions.page(session, question.asked, token)
        if page is None:
            return None
        if page.digest == drawn.digest:
            return Taken(screen, drawn.signed(token), page.drawn_at, now)
        for line in self.sessions.flow_of(journey):
            digest, _, sha256 = (line.detail or "").partition(" ")
            if line.screen == screen and digest == page.digest:
                html = self.store.read(sha256)
                return None if html is None else Taken(screen, html, page.drawn_at, now)
        return None

    def reviewed(
        self,
        journey: Journey,
        session: Session,
        asked: Form,
        token: str,
        language: Language,
        now: int,
    ) -> Taken | None:
        """The screen of all answers that a token was sent with, byte for byte. None where nobody
        knows what the seller saw, or the answers on it are no longer those that are recorded."""
        page = self.sessions.page(session, REVIEW, token)
        if page is None:
            return None
        for faults, is_changed in ((False, False), (True, False), (False, True)):
            drawn = self.review(journey, asked, language, faults=faults, is_changed=is_changed)
            if page.digest == drawn.digest:
                return Taken(REVIEW, drawn.signed(token), page.drawn_at, now)
        return None

    def show_again(
        self,
        journey: Journey,
        session: Session,
        screen: str,
        drawn: Drawn,
        event: str,
        now: int,
        *,
        asked: str,
    ) -> bytes:
        """The bytes of a screen that is shown because something was wrong. They are stored first,
        since the screen cannot be drawn again later. `asked`: what its token names."""
        html = drawn.signed(self.token(session, asked, drawn, now))
        if self.sessions.has_room(journey):
            kept = self._store_of(journey).keep(html)
            detail = f"{drawn.digest} {kept.sha256}"
            note = self.sessions.note(journey, Flow(now, event, screen, detail))
            self.inbox.execute(note.sql, *note.values)
        return html

    def token(self, session: Session, screen: str, drawn: Drawn, now: int) -> str:
        """The token of a screen that is sent now."""
        return self.sessions.token(session, screen, Page(now, drawn.digest))

    # --- steps ---

    def open(
        self,
        journey: Journey,
        screen: str,
        html: bytes,
        shown: Shown,
        now: int,
        trace: Fields,
        brought: str | None = None,
    ) -> str | None:
        """Begins a session, from the link's first screen, a code, or the receipt of the journey
        before. After the confirmation, a code opens the receipt alone, and the seller's steps stay
        as they were. Returns the session's secret; None where the link no longer works, or
        somebody else has opened it. `brought`: the secret that the browser got with the first
        screen."""
        secret, _, begun = self.sessions.begin(journey.ref, now, brought)
        has_code = screen == CODE
        more: Fields = {**trace, "by_code": has_code}
        claims = _REOPEN if has_code else _OPEN
        if journey.confirmed_at is None:
            artifacts = self._kept(journey, screen, html)
            draft = evidence.seen(
                journey, "opened", now, shown, screen=screen, artifacts=artifacts, more=more
            )
        else:
            claims = _SHOW
            # The screen for a code is the same for all, and one that two processes name is a
            # finding (evidence_reused). It holds no answer, so this entry has none.
            draft = evidence.added(journey, now, screen, (), {**evidence.in_words(shown), **more})
        note = self.sessions.note(journey, Flow(now, "opened", screen, None))
        claim = Statement(claims, (journey.ref, now))
        return secret if self.inbox.change(claim, [begun, note], [draft]) else None

    def answer(
        self,
        journey: Journey,
        session: Session,
        taken: Taken,
        values: Fields,
        shown: Shown,
        trace: Fields,
    ) -> bool:
        """Records the answers on one screen; false where the link has ceased to work, or has had
        more answers than any seller gives."""
        if not self.sessions.has_room(journey):
            return False
        draft = evidence.seen(
            journey,
            "answered",
            taken.at,
            shown,
            screen=taken.screen,
            artifacts=self._kept(journey, taken.screen, taken.html),
            fields=values,
            more={**trace, "shown_at": instants.canonical(taken.drawn_at)},
        )
        claim = Statement(_STILL, (journey.ref, taken.at))
        notes = [
            self.sessions.note(journey, Flow(taken.drawn_at, "shown", taken.screen, None)),
            self.sessions.note(journey, Flow(taken.at, "answered", taken.screen, None)),
        ]
        return self.inbox.change(claim, [self.sessions.seen(session, taken.at), *notes], [draft])

    def confirm(
        self,
        journey: Journey,
        session: Session,
        asked: Form,
        taken: Taken,
        declaration: str,
        shown: Shown,
        trace: Fields,
    ) -> bool:
        """Records all answers and their confirmation in one commit, which ends every other link of
        the process. False where this link no longer works, or another answer came meanwhile."""
        at = _not_before(asked.last_at, taken.at)
        screen = self._kept(journey, taken.screen, taken.html)
        asked_paths = {it.path for question in asked.questions for it in question.fields}
        values = {path: it for path, it in asked.answers.items() if path in asked_paths}
        flow = [
            *self.sessions.flow_of(journey),
            Flow(taken.drawn_at, "shown", taken.screen, None),
            Flow(at, "confirmed", taken.screen, None),
        ]
        store = self._store_of(journey)
        log = evidence.kept(store, "flow.json", "application/json", _flow_file(journey, flow))
        whole = evidence.seen(
            journey,
            "answered",
            at,
            shown,
            screen=taken.screen,
            artifacts=screen,
            fields=values,
            more={**trace, "shown_at": instants.canonical(taken.drawn_at), "is_whole": True},
        )
        confirmed = evidence.seen(
            journey,
            "confirmed",
            at,
            shown,
            screen=taken.screen,
            artifacts=[*screen, log],
            more={**trace, "declaration": declaration},
        )
        said = (journey.ref, at, journey.process_id, RECORDED_BY, asked.last_step)
        claim = Statement(_CONFIRM, said)
        notes = [self.sessions.note(journey, it) for it in flow[-2:]]
        others = Statement(_END_OTHERS, (journey.ref, at, journey.process_id))
        besides = [others, self.sessions.seen(session, at), *notes]
        return self.inbox.change(claim, besides, [whole, confirmed])

    def keep_receipt(
        self, journey: Journey, drawn: Drawn, html: bytes, shown: Shown, now: int
    ) -> None:
        """Records a receipt when it is first shown, and again when its text has changed."""
        receipts = [it.detail for it in self.sessions.flow_of(journey) if it.screen == RECEIPT]
        if drawn.digest in receipts or len(receipts) >= MAX_RECEIPTS:
            return
        draft = evidence.added(
            journey, now, RECEIPT, self._kept(journey, RECEIPT, html), evidence.in_words(shown)
        )
        # Of two requests that show it at once, one records it.
        self.inbox.change(Statement(_SHOWN, (journey.ref, now, drawn.digest)), [], [draft])

    def _store_of(self, journey: Journey) -> Owned:
        return Owned(self.inbox, self.store, journey.seller_id, journey.process_id)

    def _kept(self, journey: Journey, screen: str, html: bytes) -> list[Artifact]:
        """Stores a screen and its text durably; the artifacts that an entry names."""
        store, text = self._store_of(journey), text_of(html)
        store.announce([stored_as(html).sha256, stored_as(text).sha256])
        return [
            evidence.kept(store, f"{screen}.html", "text/html", html),
            evidence.kept(store, f"{screen}.txt", "text/plain", text),
        ]


def _not_before(answered_at: int, now: int) -> int:
    """The instant of a confirmation, which is after the answers that it is about, even where the
    clock was set back, or a request that began later was faster. Otherwise these answers would be
    newer than their confirmation, and count as unconfirmed. Answers that are dated too far ahead to
    count yet are left aside."""
    return answered_at + 1 if now <= answered_at < now + instants.ALLOWED_AHEAD else now


def _flow_file(journey: Journey, flow: Sequence[Flow]) -> bytes:
    """The file of evidence that lists a seller's steps through the screens."""
    steps = [
        {
            "at": instants.canonical(step.at),
            "event": step.event,
            **({} if step.screen is None else {"screen": step.screen}),
        }
        for step in sorted(flow, key=attrgetter("at"))
    ]
    said = {"journey_id": journey.journey_id, "process_id": journey.process_id, "steps": steps}
    return json.dumps(said, indent=1).encode()
