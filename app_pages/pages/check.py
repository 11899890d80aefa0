"""Check a package: an auditor drops its ZIP, and reads whether it is genuine and complete."""

from app_pages.desk import checking
from app_pages.door.pages import Page, Section
from app_pages.language.i18n import N_

PAGE = Page(
    title=N_("Check a package"),
    icon="fact_check",
    section=Section.PROOF,
    place=15,
    for_analysts=False,
)

checking.show("check")
