"""Help: what each page is for, what every page has, and what its words mean."""

from collections.abc import Sequence

import streamlit as st

from app_pages.door import access
from app_pages.door.pages import Page, Section, pages
from app_pages.language import help_texts
from app_pages.language.i18n import N_, _, language
from app_pages.parts import links
from pipeline.audit.package import report, report_texts

PAGE = Page(
    title=N_("Help"),
    icon="help",
    section=Section.PROOF,
    place=40,
    for_analysts=True,
)


def part(texts: Sequence[str]) -> None:
    """What is said of a page, one sentence or two a line."""
    for text in texts:
        st.markdown(_(text))


asked = st.query_params.get(links.ABOUT, "")
open_ones = [name for name in pages() if name in help_texts.PAGES and access.may_open(name)]
if asked in open_ones:
    st.header(_(pages()[asked].title), anchor=False)
    part(help_texts.PAGES[asked])

st.header(_("On every page"), anchor=False)
part(help_texts.EVERYWHERE)

st.header(_("Page by page"), anchor=False)
for name in open_ones:
    if name != asked:
        with st.expander(_(pages()[name].title), icon=f":material/{pages()[name].icon}:"):
            part(help_texts.PAGES[name])
            links.to_named(name, _("Open {page}", page=_(pages()[name].title)))

st.header(_("Words"), anchor=False)
words = report_texts.WORDS[language()]
said = {_(word): _(meaning) for word, meaning in help_texts.WORDS.items()}
said |= {words.of(table, name): words.about(table, name) for table, name in report.GLOSSARY}
for word in sorted(said, key=str.casefold):
    st.markdown(f"**{word}**: {said[word]}")
