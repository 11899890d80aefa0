"""What each request of the seller's page needs: whose it is, its language, and how to answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse, RedirectResponse, Response

from pipeline import instants
from pipeline.http.asgi import Headers
from pipeline.http.origins import foreign_page
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.heartbeats import Part, beat
from pipeline.journey import form, links, page_texts, pictures
from pipeline.journey.answering import REVIEW, Answering, Form
from pipeline.journey.entrance import door
from pipeline.journey.entrance.door import Door
from pipeline.journey.entrance.one_time_codes import Codes
from pipeline.journey.entrance.sessions import Session, Sessions
from pipeline.journey.evidence import Shown
from pipeline.journey.links import Journey
from pipeline.journey.notifying import Help, Notices
from pipeline.journey.page_texts import LANGUAGES, Language
from pipeline.journey.reviews import Review, Reviews
from pipeline.journey.screens import Drawn, Screens
from pipeline.log.artifacts import ArtifactStore
from pipeline.settings import Settings
from pipeline.submit import casefile
from pipeline.submit.decision import Terms

LANGUAGE_COOKIE: Final = "lang"
LANGUAGE_SECONDS: Final = 30 * 86_400
LEFT: Final = "left"
"""In place of a session's secret, once somebody has signed out."""
NO_STORE: Final = {"Cache-Control": "no-store"}


class Confirmation(NamedTuple):
    """What a request has confirmed: of which journey and process, and when, in microseconds."""

    ref: str
    process_id: str
    at: int


@dataclass(slots=True)
class Visit:
    """One request, and what the app has to do after it."""

    method: str
    path: str
    parts: Mapping[str, str]
    query: Mapping[str, str]
    cookies: Mapping[str, str]
    headers: Headers
    form: Mapping[str, str]
    peer: str | None
    confirmation: Confirmation | None = None
    """The one that this request made, if it made one."""
    to_renew: Journey | None = None
    """A link in whose place a new one was asked for."""

    @property
    def language(self) -> Language:
        """That the seller chose, else the one that the browser asks for first."""
        chosen = self.cookies.get(LANGUAGE_COOKIE)
        for language in LANGUAGES:
            if chosen == language:
                return language
        accepted = self.headers.get(b"accept-language", b"").decode("latin-1").lower()
        return "en" if accepted.strip().startswith("en") else "pt-BR"


class Inside(NamedTuple):
    """A request with a session in a journey, which may be confirmed or over."""

    journey: Journey
    session: Session
    now: int


@dataclass(frozen=True, slots=True)
class Place:
    """A visit within a journey: whose it is, and what is asked there."""

    journey: Journey
    session: Session
    asked: Form
    now: int


class Ground:
    """What the handlers stand on."""

    def __init__(self, settings: Settings, inbox: Inbox, notices: Notices | None = None) -> None:
        """`notices`: without it no new link is sent in place of a dead one. Raises `SettingsError`
        where a file of the settings cannot be used."""
        self._settings = settings
        self._can_renew = notices is not None
        self._inbox = inbox
        bands = Terms.of(settings).bands
        self.screens = Screens(
            settings,
            None if bands is None else sorted(bands, key=_lowest),
            Help if notices is None else notices.help,
        )
        self._sessions = Sessions(inbox, round(settings.journey_idle_minutes * instants.MINUTE))
        self._codes = Codes(settings, inbox)
        self._door = Door(settings)
        self._answering = Answering(
            inbox,
            artifact_store(settings, inbox),
            self.screens,
            self._sessions,
            Reviews(inbox),
        )
        public = urlsplit(settings.journey_url or "")
        self._is_secure = public.scheme == "https"
        self._host = public.netloc.encode()

    def warm_up(self) -> None:
        """Does first-time work before the first seller waits for it."""
        casefile.warm_up()
        for language in LANGUAGES:
            page_texts.countries(language)
            self.screens.draw("message", language, code="busy", again=None, can_renew=False)

    def tidy(self) -> None:
        """Writes the counts down and forgets what is over. Raises `InboxUnavailable`."""
        beat(self._inbox, Part.JOURNEY)
        now = self._inbox.now()
        self._door.record(self._inbox, now)
        self._sessions.forget(now)
        links.forget_addresses(self._inbox, now)

    def note_refusal(self, reason: str) -> None:
        """Counts what a seller was not answered, by one of the door's reasons."""
        self._door.note(reason)

    @property
    def store(self) -> ArtifactStore:
        """Where the screens that sellers saw are kept."""
        return self._answering.store

    def take_pictures(self, browser: Path, ref: str) -> int:
        """Adds pictures of its screens to a journey; how many."""
        return pictures.take(browser, self._inbox, self.store, ref)

    def _inside(self, visit: Visit) -> Inside | Response:
        """The journey of a request and its session; or the answer, where there is none."""
        if (refused := self._refused_origin(visit)) is not None:
            return refused
        now = self._inbox.now()
        journey = links.by_ref(self._inbox, visit.parts["ref"])
        session = None if journey is None else self._session(visit, journey, now)
        if journey is None or session is None:
            has_left = visit.cookies.get(self._cookie(visit.parts["ref"])) == LEFT
            return self._message(visit, "left" if has_left else "ended", 404)
        return Inside(journey, session, now)

    def _place(self, visit: Visit) -> Place | Response:
        """Where a request is that may still answer; or the answer, where it may not."""
        found = self._inside(visit)
        if isinstance(found, Response):
            return found
        journey, session, now = found
        if journey.confirmed_at is not None:
            return see(f"/r/{journey.ref}/receipt")
        if not self._is_answerable(journey, now):
            return self._over(visit, journey)
        self._sessions.touch(session, now)
        return Place(journey, session, self._answering.form(journey), now)

    def _over(self, visit: Visit, journey: Journey) -> Response:
        """What whoever was answering sees where they no longer can, though they have not confirmed.
        Where somebody did by another link, or the platform has finished the review, it says what
        became of the answers here: by the causes of a dead link, they seem to have been sent."""
        if journey.revoked_at is None:
            review = self._answering.reviews.look(journey.process_id, journey.review)
            is_overtaken = review.is_finished
        else:  # a confirmation ends the other links at its own instant
            others = links.of_process(self._inbox, journey.process_id)
            is_overtaken = any(it.confirmed_at == journey.revoked_at for it in others)
        return self._message(visit, "overtaken" if is_overtaken else "invalid", 404)

    def _is_answerable(self, journey: Journey, now: int) -> bool:
        if not journey.is_live(now):
            return False
        review = self._answering.reviews.look(journey.process_id, journey.review)
        return review.unanswerable is None and review.asks_any_of(journey.only_paths)

    def _confirmed(self, visit: Visit) -> Inside | Response:
        """Where a request is after the confirmation; or the answer, where none was made yet."""
        found = self._inside(visit)
        if isinstance(found, Inside) and found.journey.confirmed_at is None:
            return see(f"/r/{found.journey.ref}/")
        return found

    def _status(self, journey: Journey, language: Language) -> tuple[str, bool, bool]:
        """What has become of the answers, in words, whether the seller can correct them, and
        whether the review is finished, so that nothing else will become of them."""
        review = self._answering.reviews.look(journey.process_id, journey.review)
        name = self._settings.journey_name
        confirmed_at = journey.confirmed_at or 0
        if review.is_finished:
            # Else it was finished without these answers, or nobody knows whether with them.
            is_sent = (review.accepted_at or 0) >= confirmed_at
            said = page_texts.text("receipt_sent" if is_sent else "receipt_finished", language)
            return said, False, True
        if review.to_correct and not self._is_corrected(journey, review.refused_at or 0):
            asked = form.questions(
                review.wanted("business"), asks_type=False, only=review.to_correct
            )
            refused = [each for question in asked for each in question.fields]
            fields = ", ".join(page_texts.full_label(it, language) for it in refused)
            refusal = page_texts.text("receipt_refused", language, fields=fields)
            return refusal + self._moved(journey, review, language), True, False
        waits = page_texts.text("receipt_waiting", language, name=name)
        return waits + self._moved(journey, review, language), False, False

    def _moved(self, journey: Journey, review: Review, language: Language) -> str:
        """Says by when the platform wants the answers, where that changed since the link was
        made."""
        before, now = Review.read(journey.review).process, review.process
        if before is None or now is None or before.deadline_at is None or now.deadline_at is None:
            return ""
        when = self._local(now.deadline_at, language)
        if when == self._local(before.deadline_at, language):
            return ""
        return " " + page_texts.text("receipt_moved", language, when=when)

    def _is_corrected(self, journey: Journey, refused_at: int) -> bool:
        """Whether its seller has confirmed since, by this link or another one of the process."""
        made = links.of_process(self._inbox, journey.process_id)
        return any(it.confirmed_at is not None and it.confirmed_at > refused_at for it in made)

    def _next(self, place: Place) -> str:
        question = place.asked.next
        return f"/r/{place.journey.ref}/{REVIEW if question is None else question.slug}"

    def _signed(self, place: Place, screen: str, drawn: Drawn) -> Response:
        token = self._answering.token(place.session, screen, drawn, place.now)
        return page_of(drawn.signed(token))

    def _session(self, visit: Visit, journey: Journey, now: int) -> Session | None:
        return self._sessions.find(self._secret(visit, journey), journey.ref, now)

    def _secret(self, visit: Visit, journey: Journey) -> str | None:
        return visit.cookies.get(self._cookie(journey.ref))

    def _cookie(self, ref: str) -> str:
        return f"__Host-j_{ref}" if self._is_secure else f"j_{ref}"

    def _set_cookie(self, response: Response, ref: str, secret: str) -> None:
        response.set_cookie(
            self._cookie(ref), secret, httponly=True, secure=self._is_secure, samesite="lax"
        )

    def chosen_language(self, visit: Visit) -> Response | None:
        """Remembers a language that was asked for, and leads back to the same page. Every screen
        has the link that asks for it, one that says what does not work, too."""
        chosen = visit.query.get("lang")
        if visit.method == "POST" or chosen not in LANGUAGES:
            return None
        response = see(f"/{visit.path.lstrip('/')}")  # two slashes would lead to another host
        response.set_cookie(
            LANGUAGE_COOKIE,
            chosen,
            max_age=LANGUAGE_SECONDS,
            httponly=True,
            secure=self._is_secure,
            samesite="lax",
        )
        return response

    def _refused_origin(self, visit: Visit) -> Response | None:
        """403 where another site's page caused a request that changes something. A proxy in front
        may name us as it knows us, and not as sellers do."""
        known = (visit.headers, {**visit.headers, b"host": self._host})
        if visit.method != "POST" or None in (foreign_page(it, visit.method) for it in known):
            return None
        self._door.note("foreign_page")
        return self._message(visit, "invalid", 403)

    def _shown(self, visit: Visit) -> Shown:
        return Shown(visit.language, self.screens.wording)

    def _trace(self, visit: Visit) -> Mapping[str, object]:
        if self._settings.journey_trace == "none":
            return {}
        address = self._door.address(visit.peer, visit.headers)
        return {"trace": door.traced(address, visit.headers)}

    def _message(
        self,
        visit: Visit,
        code: str,
        status: int,
        headers: Mapping[str, str] | None = None,
        again: str | None = None,
        *,
        can_renew: bool = False,
        about: str | None = None,
    ) -> Response:
        """`about`: the number that the seller gives us; else the one in the address, if one is
        there, whether a journey has it or not."""
        ref = visit.parts.get("ref", "")
        drawn = self.screens.draw(
            "message",
            visit.language,
            about=about or (ref if links.is_ref(ref) else None),
            code=code,
            again=again,
            can_renew=can_renew,
        )
        return page_of(drawn.signed(""), status, headers)

    def _local(self, at: int, language: Language) -> str:
        there = datetime.fromtimestamp(at / instants.SECOND, self._settings.zone)
        return page_texts.minute(there, language)


def _lowest(band: str) -> tuple[int, str]:
    lower = band.partition("_to_")[0]
    return (int(lower) if lower.isdigit() else 0, band)


def see(path: str) -> Response:
    """The answer that leads on to another address of the page."""
    return RedirectResponse(path, status_code=303, headers=NO_STORE)


def page_of(html: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that shows a screen; nobody keeps a copy of it."""
    return HTMLResponse(html, status_code=status, headers={**NO_STORE, **(headers or {})})
