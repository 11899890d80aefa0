"""Answers a seller's requests, one function each: what is shown, what is recorded, where to go on.

Everything here blocks, and runs on a thread of its own.
"""

import logging
from collections.abc import Mapping
from typing import Final, get_args

from starlette.responses import JSONResponse, Response

from pipeline.errors import CallerError, OperatorError
from pipeline.inbox import copies
from pipeline.journey import form, links, page_texts
from pipeline.journey.answering import CODE, LANDING, RECEIPT, REVIEW
from pipeline.journey.entrance.sessions import is_secret, new_secret
from pipeline.journey.evidence import RECORDED_BY
from pipeline.journey.form import Question
from pipeline.journey.ground import LEFT, NO_STORE, Confirmation, Ground, Place, Visit, page_of, see
from pipeline.journey.links import Journey
from pipeline.journey.notifying import message_of
from pipeline.journey.screens import PLACE, Drawn
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE, Wish, wish_in, wished

LOG = logging.getLogger(__name__)

STOP: Final = "stop"
"""The screen. Behind a `?`, it asks for it: the screens that lead there are kept, and must not hold
the address of the link."""
_UNSENT: Final[Mapping[str, str]] = {"failed": "code_unsent", "used_up": "code_used_up"}
"""What the seller is told of a code that was not sent, beyond that one was sent just before."""


class Visits(Ground):
    """The handlers of the seller's page."""

    # --- by the link -------------------------------------------------------------------------

    def landing(self, visit: Visit) -> Response:
        """The link itself. Looking at it changes nothing: programs look at links, too."""
        now = self._inbox.now()
        if STOP in visit.query:
            return self._stop(visit, now)
        journey = self._by_link(visit, now)
        if journey is None:
            return self._wrong_link(visit, now)
        if self._session(visit, journey, now) is not None:
            return see(f"/r/{journey.ref}/")
        return self._first_screen(visit, journey, now)

    def knock(self, visit: Visit) -> Response:
        """The button of the link's first screen: begins a session, or sends or checks a code."""
        now = self._inbox.now()
        if (refused := self._refused_origin(visit)) is not None:
            return refused
        journey = self._by_link(visit, now)
        what = visit.form.get("do")
        if what == "renew":
            return self._renew(visit, now)
        for wish in get_args(Wish):
            if what == wish:
                return self._stopped(visit, wish, now)
        if journey is None:
            return self._wrong_link(visit, now)
        if self._session(visit, journey, now) is not None:  # a second press, or the first repeated
            return see(f"/r/{journey.ref}/")
        if what == "start" and journey.opened_at is None:
            html = self._landing(visit, journey, now).signed("")
            return self._opened(visit, journey, LANDING, html, now)
        if journey.opened_at is None or not self._codes.has_way(journey):
            return self._first_screen(visit, journey, now)
        if what == "send":
            sent = self._codes.send(journey, visit.language, now)
            if sent in _UNSENT:
                return self._first_screen(visit, journey, now, _UNSENT[sent])
            return see(visit.path)
        if what == "check":
            fault = visit.form.get("fault")  # as the screen showed it that was sent
            shown = fault if fault in ("code_wrong", *_UNSENT.values()) else None
            drawn = self._code_screen(visit, journey, now, shown)
            if self._codes.check(journey, visit.form.get("code", ""), now):
                return self._opened(visit, journey, CODE, drawn.signed(""), now)
            self._door.note("wrong_code")
            return self._first_screen(visit, journey, now, "code_wrong")
        return self._first_screen(visit, journey, now)

    def _by_link(self, visit: Visit, now: int) -> Journey | None:
        journey = self._known(visit)
        if journey is None:
            return None
        # Whoever confirmed here and presses the link once more is to see that all is done.
        is_done_here = (
            journey.confirmed_at is not None and self._session(visit, journey, now) is not None
        )
        opens = is_done_here or self._is_shown(journey, now) or self._is_answerable(journey, now)
        return journey if opens else None

    def _is_shown(self, journey: Journey, now: int) -> bool:
        """Whether a code opens the receipt: its way is the marketplace's own, since the address was
        erased at the confirmation. It shows the answers, so it opens to nobody once somebody with
        a link has said that they are not the seller."""
        if journey.confirmed_at is None or now >= journey.confirmed_at + links.SHOWN_LIFE:
            return False
        if journey.revoked_at is not None:  # after the confirmation: the seller was forgotten
            return False
        if not self._codes.has_way(journey):
            return False
        said = self._inbox.find(seller_id=journey.seller_id, kind=NOTICE_SCHEDULE)
        return wish_in(said) != "not_me"

    def _wrong_link(self, visit: Visit, now: int) -> Response:
        """Says nothing of what is wrong with it; whoever holds one that was sent can have a new
        one sent to where it went."""
        if (limited := self._limited(visit)) is not None:
            return limited
        return self._dead_end(visit, now)

    def _dead_end(self, visit: Visit, now: int) -> Response:
        """Of a link that opens nothing. Its number goes into what the seller writes to us where a
        message brought it: such a one is known from others all the same."""
        dead = self._dead(visit, now)
        ref = None if dead is None else dead.ref
        return self._message(visit, "invalid", 404, can_renew=dead is not None, about=ref)

    def _limited(self, visit: Visit) -> Response | None:
        """Counts a link that does not work; the answer where there were too many."""
        if not self._door.is_shut(self._door.address(visit.peer, visit.headers)):
            return None
        return self._message(visit, "limited", 429, {"Retry-After": "60"})

    def _renew(self, visit: Visit, now: int) -> Response:
        """Has a new link sent in place of one that was sent and is dead. What is said is the same
        whether one goes out or not: nobody learns of an address."""
        if (limited := self._limited(visit)) is not None:
            return limited
        visit.to_renew = self._dead(visit, now)
        if visit.to_renew is None:
            return self._message(visit, "invalid", 404)
        return self._message(visit, "renewed", 200)

    def _dead(self, visit: Visit, now: int) -> Journey | None:
        """The journey of a link that a message brought and that opens nothing here; None of any
        other link, and of a false one."""
        if not self._can_renew or copies.why_held(self._inbox):
            return None
        journey = self._known(visit)
        if journey is None or message_of(self._inbox, journey) is None:
            return None
        opens = journey.opened_at is None or self._codes.has_way(journey)
        return None if opens and self._is_answerable(journey, now) else journey

    def _first_screen(
        self, visit: Visit, journey: Journey, now: int, fault: str | None = None
    ) -> Response:
        """Of a link that works: the beginning, or the code. Where nobody can be sent a code, a link
        that was opened elsewhere opens nothing here; a fresh one does.

        With the beginning the browser gets the secret that the session will have: where the answer
        to its button is lost on the way, it has opened the link all the same.
        """
        if journey.opened_at is None:
            response = page_of(self._landing(visit, journey, now).signed(""))
            if not is_secret(self._secret(visit, journey)):
                self._set_cookie(response, journey.ref, new_secret())
            return response
        if not self._codes.has_way(journey):
            self._door.note("opened_elsewhere")
            return self._dead_end(visit, now)
        status = 200 if fault is None else 422
        return page_of(self._code_screen(visit, journey, now, fault).signed(""), status)

    def _landing(self, visit: Visit, journey: Journey, now: int) -> Drawn:
        process = self._answering.reviews.look(journey.process_id, journey.review).process
        deadline = None if process is None else process.deadline_at
        when = None if deadline is None else self._local(deadline, visit.language)
        until = None if journey.is_sent else self._local(journey.expires_at, visit.language)
        return self._answering.landing(
            journey,
            visit.language,
            until,
            when,
            is_late=deadline is not None and deadline <= now,
            is_until_first=until is not None
            and deadline is not None
            and now < journey.expires_at < deadline,
        )

    def _code_screen(self, visit: Visit, journey: Journey, now: int, fault: str | None) -> Drawn:
        """Without the journey's number: whoever holds a link that was passed on sees it, too."""
        is_sent = self._codes.is_awaited(journey, now)
        return self.screens.draw(
            CODE,
            visit.language,
            is_sent=is_sent,
            fault=fault,
            comes_along=self._codes.comes_along(journey),
            address=self._codes.masked_address(journey),
        )

    def _opened(
        self, visit: Visit, journey: Journey, screen: str, html: bytes, now: int
    ) -> Response:
        # Whoever had this browser before may know what it got without a code.
        brought = self._secret(visit, journey) if screen == LANDING else None
        secret = self._answering.open(
            journey, screen, html, self._shown(visit), now, self._trace(visit), brought
        )
        response = see(f"/r/{journey.ref}/")
        if secret is None:  # another request was faster, of this browser or of somebody else
            if self._session(visit, journey, now) is not None:
                return response
            again = links.by_ref(self._inbox, journey.ref)
            return self._first_screen(visit, again or journey, now)
        self._set_cookie(response, journey.ref, secret)
        return response

    # --- who wants no more messages ---

    def _stop(self, visit: Visit, now: int) -> Response:
        """Asks whoever holds a link, one that works no more as well, what is to end."""
        if self._known(visit) is None:
            return self._wrong_link(visit, now)
        return page_of(self.screens.draw(STOP, visit.language).signed(""))

    def _stopped(self, visit: Visit, wish: Wish, now: int) -> Response:
        """Ends the schedule for the seller of a link, at the wish of whoever holds it; where they
        say that they are not the seller, also all links."""
        journey = self._known(visit)
        if journey is None:
            return self._wrong_link(visit, now)
        seller_id = journey.seller_id
        known = wish_in(self._inbox.find(seller_id=seller_id, kind=NOTICE_SCHEDULE))
        if known not in (wish, "not_me"):
            by = {"recorded_by": RECORDED_BY, "seller_id": seller_id}
            self._inbox.append([wished(wish, journey_id=journey.journey_id, **by)])
        if wish == "not_me":
            links.revoke(self._inbox, seller_id=seller_id)
        return self._message(visit, "stopped", 200)

    def _known(self, visit: Visit) -> Journey | None:
        """The journey of a link, whatever became of it; None of a false one."""
        token = visit.parts.get("token", "")
        return links.by_token(self._inbox, token) if 20 <= len(token) <= 100 else None

    # --- within a journey --------------------------------------------------------------------

    def go_on(self, visit: Visit) -> Response:
        """Leads to the first question without an answer, or to the review of all."""
        place = self._place(visit)
        if isinstance(place, Response):
            return place
        return see(self._next(place))

    def question(self, visit: Visit) -> Response:
        """Shows one question, with the answer that this seller gave to it in this journey."""
        place = self._place(visit)
        if isinstance(place, Response):
            return place
        question = place.asked.at(visit.parts["slug"])
        if question is None:
            return see(self._next(place))
        drawn = self._answering.question(place.journey, place.asked, question, visit.language)
        return self._signed(place, question.asked, drawn)

    def answer(self, visit: Visit) -> Response:
        """Records the answers on one screen, or shows what is wrong with them."""
        place = self._place(visit)
        if isinstance(place, Response):
            return place
        question = place.asked.at(visit.parts["slug"])
        if question is None:
            return see(self._next(place))
        names = form.names_of(question)
        typed = {it: visit.form.get(it, "") for it in names}
        answering, token = self._answering, visit.form.get("page", "")
        drawn = answering.question(place.journey, place.asked, question, visit.language)
        taken = answering.seen(place.journey, place.session, question, token, drawn, place.now)
        reading = form.read(question, typed, self.screens.bands)
        if taken is None:
            # A second press, or the same sent once more after the line was lost: it is answered.
            if not reading.faults and reading.values.items() <= place.asked.answers.items():
                return see(self._next(place))
            # What was typed to another question, whose place this one took, is not shown in it.
            is_own = self._sessions.page(place.session, question.asked, token) is not None
            return self._again(visit, place, question, typed if is_own else None, is_changed=True)
        if reading.faults:
            return self._again(visit, place, question, typed, faults=reading.faults)
        is_recorded = answering.answer(
            place.journey,
            place.session,
            taken,
            reading.values,
            self._shown(visit),
            self._trace(visit),
        )
        if not is_recorded:
            meanwhile = links.by_ref(self._inbox, place.journey.ref)
            return self._over(visit, meanwhile or place.journey)
        asked = answering.form(place.journey)
        return see(self._next(Place(place.journey, place.session, asked, place.now)))

    def check(self, visit: Visit) -> Response:
        """Says what would be wrong with what stands on a screen so far: input -> words. Nothing is
        recorded of it."""
        place = self._place(visit)
        if isinstance(place, Response):
            return JSONResponse({}, place.status_code, headers=NO_STORE)
        question = place.asked.at(visit.parts["slug"])
        if question is None:
            return JSONResponse({}, 404, headers=NO_STORE)
        typed = {it: visit.form.get(it, "") for it in form.names_of(question)}
        faults = form.read(question, typed, self.screens.bands).faults
        said = {
            name: page_texts.fault(faults[each.path], each, visit.language)
            for name, each in question.inputs
            if each.path in faults
        }
        return JSONResponse(said, headers=NO_STORE)

    def _again(
        self,
        visit: Visit,
        place: Place,
        question: Question,
        typed: Mapping[str, str] | None,
        *,
        faults: Mapping[str, form.FaultCode] | None = None,
        is_changed: bool = False,
    ) -> Response:
        drawn = self._answering.question(
            place.journey,
            place.asked,
            question,
            visit.language,
            typed=typed,
            faults=faults,
            is_changed=is_changed,
        )
        return self._shown_again(place, question.slug, question.asked, drawn, is_changed=is_changed)

    def _shown_again(
        self, place: Place, screen: str, asked: str, drawn: Drawn, *, is_changed: bool
    ) -> Response:
        """A screen once more, since something changed meanwhile, or was wrong with what was sent.
        `asked`: what its token names."""
        html = self._answering.show_again(
            place.journey,
            place.session,
            screen,
            drawn,
            "changed" if is_changed else "faults_shown",
            place.now,
            asked=asked,
        )
        return page_of(html, 409 if is_changed else 422)

    def review(self, visit: Visit) -> Response:
        """Shows all answers, once there are all."""
        place = self._place(visit)
        if isinstance(place, Response):
            return place
        if place.asked.next is not None:
            return see(self._next(place))
        drawn = self._answering.review(place.journey, place.asked, visit.language)
        return self._signed(place, REVIEW, drawn)

    def confirm(self, visit: Visit) -> Response:
        """Records the declaration and all answers, which ends the link."""
        place = self._place(visit)
        if isinstance(place, Response):
            return place
        if place.asked.next is not None:
            return see(self._next(place))
        answering, token = self._answering, visit.form.get("page", "")
        taken = answering.reviewed(
            place.journey, place.session, place.asked, token, visit.language, place.now
        )
        if taken is None:
            return self._review_again(visit, place, is_changed=True)
        if visit.form.get("declared") != "yes":
            return self._review_again(visit, place, is_changed=False)
        name = self._settings.journey_name
        is_recorded = answering.confirm(
            place.journey,
            place.session,
            place.asked,
            taken,
            page_texts.text("declaration", visit.language, name=name),
            self._shown(visit),
            self._trace(visit),
        )
        if is_recorded:
            visit.confirmation = Confirmation(
                place.journey.ref, place.journey.process_id, place.now
            )
            return see(f"/r/{place.journey.ref}/receipt")
        meanwhile = self._place(visit)
        if isinstance(meanwhile, Response):  # confirmed or ended by another request
            return meanwhile
        if meanwhile.asked.next is not None:
            return see(self._next(meanwhile))
        return self._review_again(visit, meanwhile, is_changed=True)

    def _review_again(self, visit: Visit, place: Place, *, is_changed: bool) -> Response:
        """All answers once more: they have changed, or the declaration is missing."""
        drawn = self._answering.review(
            place.journey,
            place.asked,
            visit.language,
            faults=not is_changed,
            is_changed=is_changed,
        )
        return self._shown_again(place, REVIEW, REVIEW, drawn, is_changed=is_changed)

    # --- afterwards --------------------------------------------------------------------------

    def receipt(self, visit: Visit) -> Response:
        """Shows the number, and what has become of the answers."""
        found = self._confirmed(visit)
        if isinstance(found, Response):
            return found
        journey, session, now = found
        drawn, _ = self._receipt(visit, journey, now)
        html = drawn.signed(self._answering.token(session, RECEIPT, drawn, now))
        try:
            self._answering.keep_receipt(journey, drawn, html, self._shown(visit), now)
        except OperatorError as error:  # the confirmation is in the log all the same
            LOG.error("a receipt was not shown, since it was not recorded: %s", error.in_one_line)
            return self._wait(visit, "confirmed")
        return page_of(html)

    def _receipt(self, visit: Visit, journey: Journey, now: int) -> tuple[Drawn, bool]:
        """The receipt, and whether the seller can correct something there."""
        status, to_correct, is_finished = self._status(journey, visit.language)
        # No seller keeps the link of a banner, and nobody got that of a correction.
        is_link_kept = message_of(self._inbox, journey) is not None
        confirmed_at = journey.confirmed_at or now
        until = confirmed_at + links.SHOWN_LIFE
        drawn = self.screens.draw(
            RECEIPT,
            visit.language,
            ref=journey.ref,
            status=status,
            is_finished=is_finished,
            page=PLACE if to_correct else None,
            action=f"/r/{journey.ref}/receipt",
            confirmed_at=self._local(confirmed_at, visit.language),
            download=f"/r/{journey.ref}/receipt.txt",
            leave=f"/r/{journey.ref}/leave",
            again_until=(
                self._local(until, visit.language)
                if is_link_kept and self._is_shown(journey, now)
                else None
            ),
            return_url=journey.return_url,
        )
        return drawn, to_correct

    def receipt_file(self, visit: Visit) -> Response:
        """The receipt as a file that the seller keeps: the number, the time, what has become of the
        answers so far, whom to ask, and the answers."""
        found = self._confirmed(visit)
        if isinstance(found, Response):
            return found
        journey, _, now = found
        language, given = visit.language, self._answering.confirmed(journey)
        number = links.shown_ref(journey.ref)
        lines = [
            f"{self._settings.journey_name} – {page_texts.text('receipt_title', language)}",
            f"{page_texts.text('receipt_number', language)}: {number}",
            f"{page_texts.text('receipt_at', language)}:"
            f" {self._local(journey.confirmed_at or now, language)}",
            f"{page_texts.text('receipt_until', language, when=self._local(now, language))}:"
            f" {self._status(journey, language)[0]}",
            "",
            *self.screens.help_in_words(language),
        ]
        groups = self.screens.groups(
            language,
            journey.ref,
            given.questions,
            given.answers,
            is_business=given.is_business,
        )
        for group in groups:
            lines += ["", *filter(None, [group.whose])]
            lines += [f"{line.label}: {line.value}" for line in group.lines]
        headers = {**NO_STORE, "Content-Disposition": f'attachment; filename="{number}.txt"'}
        return Response("\n".join(lines) + "\n", media_type="text/plain", headers=headers)

    def correct(self, visit: Visit) -> Response:
        """Goes on with a fresh link for what the platform refused, in the same browser."""
        found = self._confirmed(visit)
        if isinstance(found, Response):
            return found
        journey, session, now = found
        token = visit.form.get("page", "")
        page = self._sessions.page(session, RECEIPT, token)
        drawn, to_correct = self._receipt(visit, journey, now)
        # Its button begins the next journey, so it is what the seller saw there.
        if page is None or page.digest != drawn.digest or not to_correct:
            return see(f"/r/{journey.ref}/receipt")
        if (begun := self._correcting(visit, journey, now)) is not None:
            return see(f"/r/{begun.ref}/")
        try:
            fresh = links.mint(
                self._settings,
                self._inbox,
                journey.process_id,
                recorded_by=RECORDED_BY,
                return_url=journey.return_url,
                reviews=self._answering.reviews,
            ).journey
        except CallerError:
            return self._message(visit, "invalid", 404)
        return self._opened(visit, fresh, RECEIPT, drawn.signed(token), now)

    def _correcting(self, visit: Visit, journey: Journey, now: int) -> Journey | None:
        """Where this browser is correcting the same already: what was answered there stays."""
        refused = self._answering.reviews.look(journey.process_id, journey.review).to_correct
        for made in links.of_process(self._inbox, journey.process_id):
            is_same = made.only_paths == refused and self._is_answerable(made, now)
            if is_same and self._session(visit, made, now) is not None:
                return made
        return None

    def leave(self, visit: Visit) -> Response:
        """Ends what is confirmed in this browser: its next user sees no answers. A receipt
        that was corrected is open in a journey of its own, which ends as well."""
        found = self._confirmed(visit)
        if isinstance(found, Response):
            return found
        response = self._message(visit, "left", 200)
        for made in links.of_process(self._inbox, found.journey.process_id):
            session = self._session(visit, made, found.now)
            if session is not None and made.confirmed_at is not None:
                self._sessions.end(session)
                self._set_cookie(response, made.ref, LEFT)  # the way back says why it shows nothing
        return response

    def nothing(self, visit: Visit) -> Response:
        """Every other address."""
        return self._message(visit, "invalid", 404)

    def busy(self, visit: Visit) -> Response:
        """What is shown while nothing can be recorded."""
        return self._wait(visit, "busy")

    def _wait(self, visit: Visit, code: str) -> Response:
        again = visit.path if visit.method in ("GET", "POST") else None
        return self._message(visit, code, 503, {"Retry-After": "5"}, again=again)
