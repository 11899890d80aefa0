"""The seller's page: how long a seller needs by reading speed, and a hundred sellers at once.

A seller is a program that reads 238 words a minute (the mean of adults' silent reading), types
three characters a second, as on a phone, and needs a second for each tap. It reads what stands
between a screen's header and footer, on every screen; of a list of choices it reads none.
"""

import asyncio
import random
import re
import statistics
import tempfile
import time
from html import unescape
from pathlib import Path
from typing import NamedTuple

import httpx

from pipeline.journey.screens import text_of
from tests.benchmarks.rows import Row
from tests.journey.seller import ANSWERS, Screen
from tests.journey.served import OF_BUSINESS, Page, served

WORDS_PER_SECOND = 238 / 60
CHARACTERS_PER_SECOND = 3.0
TAP_SECONDS = 1.0
SELLERS = 100
PAUSE_SECONDS = (1.0, 5.0)
"""Between two screens of the hundred: faster than anybody reads."""
ARRIVAL_SECONDS = 20.0
"""Within which the hundred come; all of them are there for the rest of it."""
ACI_SECONDS, ACP_SECONDS, FIRST_BYTE_SECONDS = 60.0, 180.0, 0.050


class Answered(NamedTuple):
    """One seller's way: the seconds that a person needs, and those of each first byte."""

    person: float
    first_bytes: list[float]


async def answer(base: str, url: str, pauses: random.Random | None) -> Answered:
    """Opens a link and answers all; with pauses between screens, where they are given."""
    person, first_bytes = 0.0, []
    async with httpx.AsyncClient(base_url=base, headers={"Origin": base}, timeout=60) as client:

        async def ask(method: str, path: str, typed: dict[str, str] | None = None) -> Screen:
            while True:
                began = time.perf_counter()
                async with client.stream(method, path, data=typed) as response:
                    first_bytes.append(time.perf_counter() - began)
                    html = (await response.aread()).decode()
                if response.status_code != 303:
                    assert response.status_code == 200, (path, response.status_code, html)
                    return Screen(200, response.url.path, dict(response.headers), html)
                method, path, typed = "GET", response.headers["location"], None

        async def person_on(screen: Screen, typed: dict[str, str]) -> None:
            nonlocal person
            person += _seconds(screen, typed)
            if pauses is not None:
                await asyncio.sleep(pauses.uniform(*PAUSE_SECONDS))

        if pauses is not None:
            await asyncio.sleep(pauses.uniform(0, ARRIVAL_SECONDS))
        screen = await ask("GET", url)
        await person_on(screen, {})
        screen = await ask("POST", url, {"do": "start"})
        while screen.slug != "review":
            typed = ANSWERS[screen.slug.removeprefix("owner-")]
            await person_on(screen, typed)
            screen = await ask("POST", screen.path, {**screen.inputs, **typed})
        await person_on(screen, {"declared": ""})
        receipt = await ask("POST", screen.path, {**screen.inputs, "declared": "yes"})
        assert receipt.slug == "receipt"
    return Answered(person + sum(first_bytes), first_bytes)


def _seconds(screen: Screen, typed: dict[str, str]) -> float:
    """What a person needs for a screen: to read it, to fill it in, to go on."""
    lists = re.findall(r"<select.*?</select>", screen.html, re.DOTALL)
    main = screen.html.partition("<main>")[2].partition("</main>")[0]
    html = re.sub(r"<select.*?</select>|<span class=.unseen.*?</span>", "", main, flags=re.DOTALL)
    words = len(re.findall(r"\w+", unescape(text_of(html.encode()).decode())))
    characters = sum(len(it) for it in typed.values()) if not lists else len(typed.get("f0", ""))
    taps = 1 + len(typed) + 2 * len(lists)
    return words / WORDS_PER_SECOND + characters / CHARACTERS_PER_SECOND + taps * TAP_SECONDS


def run() -> list[Row]:
    """The rows of the table."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as page:
        return [*_alone(page), _at_once(page)]


def _alone(page: Page) -> list[Row]:
    rows = []
    for name, fields, kind, most in (
        ("ACI of one field", ["revenue"], "ACI", ACI_SECONDS),
        ("ACP of a business", list(OF_BUSINESS), "ACP", ACP_SECONDS),
    ):
        process = page.review(fields, kind=kind, seller_type="business")
        done = asyncio.run(answer(page.base, page.mint(process).url, None))
        figures = f"{done.person:.0f} s by reading speed, {sum(done.first_bytes):.2f} s of it ours"
        rows.append(Row(f"seller answers an {name}", most / done.person, figures, 1.0))
    return rows


def _at_once(page: Page) -> Row:
    links = []
    for _ in range(SELLERS):
        process = page.review(OF_BUSINESS, kind="ACP", seller_type="business")
        links.append(page.mint(process).url)

    async def all_of_them() -> list[Answered]:
        sellers = (
            answer(page.base, url, random.Random(number)) for number, url in enumerate(links)
        )
        return await asyncio.gather(*sellers)

    began = time.perf_counter()
    found = asyncio.run(all_of_them())
    seconds = time.perf_counter() - began
    first_bytes = [it for each in found for it in each.first_bytes]
    p99 = statistics.quantiles(first_bytes, n=100)[98]
    middle = statistics.median(first_bytes)
    figures = (
        f"{SELLERS} sellers, {len(first_bytes) / seconds:.0f} requests/s:"
        f" p50 {middle * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms"
    )
    return Row("first byte of a seller's screen", FIRST_BYTE_SECONDS / p99, figures, 1.0)
