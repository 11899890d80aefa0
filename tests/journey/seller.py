"""A seller with a browser that runs no scripts: follows links, fills forms in, keeps cookies."""

import http.client
import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit


@dataclass
class Screen:
    """What a browser has before it."""

    status: int
    path: str
    headers: dict[str, str]
    html: str

    @property
    def slug(self) -> str:
        return self.path.rsplit("/", 1)[1]

    @property
    def heading(self) -> str:
        found = re.search(r"<h1>(.*?)</h1>", self.html)
        assert found is not None, self.html
        return unescape(found[1])

    @property
    def inputs(self) -> dict[str, str]:
        """The form's inputs and what is in them; for choices, the one that is taken."""
        reader = _Inputs()
        reader.feed(self.html)
        return reader.found

    @property
    def faults(self) -> list[str]:
        return [unescape(it) for it in re.findall(r'<li><a href="#[^"]*">(.*?)</a>', self.html)]


class _Inputs(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        name = known.get("name") or ""
        if tag == "select":
            self._select = name
            self.found[name] = ""
        elif tag == "option" and "selected" in known:
            self.found[self._select] = known.get("value") or ""
        elif tag == "input" and name:
            is_choice = known.get("type") in ("radio", "checkbox")
            if not is_choice or "checked" in known:
                self.found[name] = known.get("value") or ""
            else:
                self.found.setdefault(name, "")


ANSWERS = {
    "type": {"f0": "individual"},
    "revenue": {"f0_from": "1000", "f0_to": "5000"},
    "postal-code": {"f0": "01310-100"},
    "line1": {"f0": "Rua das Flores, 123", "f1": ""},
    "line3": {"f0": "Centro"},
    "city": {"f0": "São Paulo", "f1": "SP"},
    "country-code": {"f0": "BR"},
}
"""What this seller types on each screen, by its name without `owner-`."""


@dataclass
class Seller:
    """One browser."""

    base: str
    cookies: dict[str, str] = field(default_factory=dict)
    language: str = "pt-BR"
    address: str | None = None  # as a proxy in front would name it

    def get(self, path: str) -> Screen:
        return self._followed(self.ask("GET", path))

    def post(self, path: str, **inputs: str) -> Screen:
        return self._followed(self.ask("POST", path, inputs))

    def ask(
        self, method: str, path: str, inputs: dict[str, str] | None = None, **headers: str
    ) -> Screen:
        """One request; redirects are not followed."""
        place = urlsplit(path if path.startswith("http") else self.base + path)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        sent = {"Accept-Language": self.language, **headers}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if self.address is not None:
            sent["X-Forwarded-For"] = self.address
        body = None
        if inputs is not None:
            body = urlencode(inputs)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
            sent.setdefault("Origin", self.base)
        target = place.path + (f"?{place.query}" if place.query else "")
        try:
            connection.request(method, target, body, sent)
            response = connection.getresponse()
            known = {name.lower(): value for name, value in response.getheaders()}
            for name, value in response.getheaders():
                if name.lower() == "set-cookie":
                    cookie, _, rest = value.partition("=")
                    self.cookies[cookie] = rest.partition(";")[0]
            return Screen(response.status, place.path, known, response.read().decode())
        finally:
            connection.close()

    def _followed(self, screen: Screen) -> Screen:
        for _ in range(5):
            if screen.status != 303:
                return screen
            screen = self.ask("GET", screen.headers["location"])
        raise AssertionError("it leads round in circles")

    # --- a journey ---

    def open(self, url: str) -> Screen:
        """Opens a link and begins."""
        assert self.get(url).status == 200
        return self.post(url, do="start")

    def answer(self, screen: Screen, **inputs: str) -> Screen:
        """Fills the form in and sends it, with what else it holds."""
        return self.post(screen.path, **{**screen.inputs, **inputs})

    def answer_all(self, screen: Screen) -> Screen:
        """Answers every question up to the review."""
        while screen.slug != "review":
            assert screen.status in (200, 422), screen.html
            screen = self.answer(screen, **ANSWERS[screen.slug.removeprefix("owner-")])
        return screen

    def confirm(self, screen: Screen) -> Screen:
        return self.answer(screen, declared="yes")

    def finish(self, url: str) -> Screen:
        """The whole journey of a link, up to the receipt."""
        return self.confirm(self.answer_all(self.open(url)))
