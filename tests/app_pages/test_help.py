"""Help says what each page is for, in the reader's language, and each page leads to its part."""

import pytest

from app_pages.door import pages
from app_pages.language import help_texts
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import all_links, page_text

HISTORY = [review("prc_1", before(days=40))]


def test_help_speaks_of_every_page() -> None:
    said, there = set(help_texts.PAGES), set(pages.pages()) - {"help"}
    assert said == there, "write it into app_pages/language/help_texts.py"


@pytest.mark.parametrize(
    ("language", "question_mark", "first", "says", "word"),
    [
        (
            "en",
            "Help on this page",
            "Watchlist",
            "Unfinished reviews, each in one queue",
            "**Queue**: Whose turn it is",
        ),
        (
            "pt",
            "Ajuda sobre esta página",
            "Em risco",
            "Revisões não concluídas, cada uma em uma fila",
            "**Fila**: De quem é a vez",
        ),
    ],
)
def test_a_pages_question_mark_leads_to_what_help_says_of_it(
    open_log: OpenLog,
    visit: Visit,
    language: str,
    question_mark: str,
    first: str,
    says: str,
    word: str,
) -> None:
    with open_log(HISTORY):
        assert (question_mark, "about=watchlist") in all_links(visit("watchlist", lang=language))
        helped = visit("help", about="watchlist", lang=language)
        assert helped.header[0].value == first
        assert says in page_text(helped)
        assert word in [it.value[: len(word)] for it in helped.markdown]
        assert question_mark not in dict(all_links(helped))
