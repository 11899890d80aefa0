"""Holds the words of a package's first page, which says what the package is and how to check it."""

from collections.abc import Mapping
from typing import Final

from pipeline.language.catalogue import N_

FIRST_PAGE: Final[Mapping[str, str]] = {
    "start_title": N_("Start here"),
    "start_what": N_(
        "This is an audit package. It shows what a payment platform asked of a marketplace's"
        " sellers, what was collected from them, what was sent and what the platform answered,"
        " as a log holds it that nobody can change unseen."
    ),
    "start_unpack": N_("Unpack first"),
    "start_alone": N_(
        "Unpack the whole ZIP into a folder, then open START-HERE.html in that folder. Opened from"
        " within the ZIP, this page says all that follows, but the report is not beside it."
    ),
    "start_unpacked": N_("I have unpacked it: show the link to the report"),
    "start_asked": N_("What was asked for"),
    "start_read": N_("Read it"),
    "start_report": N_("The report"),
    "start_artifacts": N_(
        "The folder data/artifacts holds files as sellers and the marketplace's programs sent them,"
        " and the words of messages to sellers: a web page among them runs its scripts when you"
        " open it, and may look like one of ours."
    ),
    "start_tables": N_(
        "The same as tables: processes.csv, entries.csv, findings.csv and coverage.csv in the"
        " folder data. A spreadsheet opens them."
    ),
    "start_check": N_("Check it before you rely on it"),
    "start_key": N_(
        "Get the key of this log from the marketplace by another route than this package, such as"
        " its website or a call. It should be this one:"
    ),
    "start_verifier": N_(
        "Take verify.py from the source of Prazo, or the one in this package if you trust whoever"
        " made it. It needs Python 3.9 and OpenSSL 3.0, or newer ones, and no network:"
    ),
    "start_stands_for": N_(
        "PACKAGE.zip stands for the file that you were given, as it came: not for the folder into"
        " which it was unpacked. KEY stands for the key that you got."
    ),
    "start_verdict": N_(
        "It ends with VERIFIED, names each fault, or says what it cannot decide. It also says what"
        " it did not check; that much is the word of whoever made the package, and so is this"
        " page."
    ),
    "start_drop": N_(
        "Without installing anything: drop the ZIP, as it came, on the page “Check a package” of"
        " the marketplace's Prazo; ask them for its address. That is the word of their server. To"
        " need nobody's word, use verify.py:"
    ),
    "start_ask": N_("Whom to ask"),
    "start_nobody": N_("Whoever handed you this package."),
    "start_name": N_("Name the log and what was asked for, as they stand above."),
    "start_personal": N_(
        "The package holds personal data in full. Keep it where only those can open it who need it,"
        " and delete it when the audit is over."
    ),
    "start_masked": N_(
        "Sellers' personal data is masked in this package. The names of the marketplace's own"
        " people, and the reasons and notes that they wrote, are not. What is left can still lead"
        " to a person: keep it with care."
    ),
}
