"""Says what each page is for and what its words mean, for the page Help."""

from collections.abc import Mapping, Sequence
from typing import Final

from app_pages.language.i18n import N_

EVERYWHERE: Final[Sequence[str]] = (
    N_(
        "**Find** (key `/`) finds a process or a seller by part of an id, by tax id, and by name if"
        " you may see names. Enter, then arrows and Enter, opens what was found."
    ),
    N_(
        "By the keyboard: *Skip to the list*, at the top of a page, leads into its list, arrows to"
        " a row, Shift with the space bar ticks the row or takes the tick away, and Tab leads on to"
        " what is done with those ticked."
    ),
    N_(
        "**View as of** shows a page as it stood at a past instant. A banner says so, and leads"
        " back to now."
    ),
    N_(
        "**Download**, below a list, gives all its rows: XLSX or CSV for spreadsheets, CSV or"
        " Parquet for programs. **Copy link** copies the address with filters, order and chosen"
        " row."
    ),
    N_(
        "**Undo** (Ctrl-Z) stands at the bottom for some seconds after you have recorded something."
        " What is sent to a seller or to the platform cannot be undone, and says so before."
    ),
    N_(
        "Personal data is masked. Whoever shows it gives a reason, and the log says who saw it and"
        " why."
    ),
)
"""What every page has."""

PAGES: Final[Mapping[str, Sequence[str]]] = {
    "overview": (
        N_("What is late, what to do now and what is coming. Each figure leads to its rows."),
        N_("*What needs action today* begins with what can still be saved."),
    ),
    "watchlist": (
        N_(
            "Unfinished reviews, each in one queue: *Act now* is yours, the others wait for the"
            " seller or the platform, or have expired."
        ),
        N_(
            "Click a row for its card: what can follow, what to do, and what you may record. Tick"
            " several to take, assign or ask them at once."
        ),
    ),
    "sellers": (
        N_(
            "Each seller with an open review, when they were last contacted, and what became of it."
        ),
        N_(
            "*Ask again* sends one seller notice with a link to all that is missing. Record calls"
            " and letters on the card, with what was promised for when."
        ),
    ),
    "since": (
        N_(
            "What came, what changed and why: since yesterday, Friday or your last visit, which"
            " ends half an hour after its last page."
        ),
    ),
    "alerts": (
        N_("What is alarming, who was notified, and who has taken it."),
        N_(
            "*Take it* ends the escalation: nobody else is notified. *Snooze* asks until when, and"
            " why it can wait."
        ),
    ),
    "trends": (
        N_(
            "Whether it gets better: reviews in time by month or week, how long each step takes,"
            " who has how much, and how many open reviews are expected to expire."
        ),
    ),
    "submissions": (
        N_("What is answered and ready to send, what waits for a retry, and what needs a person."),
        N_("*Validate* works out what would be sent, and sends nothing."),
    ),
    "findings": (
        N_("Which rule of the contract was broken where, with the entry of the log that shows it."),
    ),
    "denials": (
        N_(
            "Why the platform denied sellers, month against month, who came back as a new seller,"
            " and who was approved then."
        ),
    ),
    "process": (
        N_(
            "One review from the request to its answer: what was asked and answered, the evidence"
            " of each field, and each attempt with request and answer."
        ),
    ),
    "seller": (
        N_("All reviews, denials and contacts of one seller. Messages can be stopped and resumed."),
    ),
    "evidence": (
        N_("What sellers did in their journeys, and packages of evidence for an auditor."),
        N_("Whoever gets a package can check it without us and without installing Prazo."),
    ),
    "check": (
        N_(
            "Drop the ZIP of a package, and read what is proved, what is not checked and whether it"
            " is of this log."
        ),
    ),
    "privacy": (
        N_(
            "All that is held of one person, kind by kind, how much of it was erased, and who saw"
            " it, when and why. Finding somebody by a part of their name counts as a search."
        ),
        N_("It ends with how the person is forgotten or corrected, and whom a copy was given to."),
    ),
    "ledger": (
        N_(
            "Whether the log is whole and up to date, every entry and delivery, and what is in"
            " quarantine."
        ),
    ),
    "dictionary": (N_("What each view and column means, with its rows, its file and its SQL."),),
}
"""By the name of a page's file."""

WORDS: Final[Mapping[str, str]] = {
    N_("Queue"): N_("Whose turn it is with a review: yours, the seller's or the platform's."),
    N_("Seller notice"): N_(
        "A message to a seller that asks for what is missing, sent by a person or by the schedule."
    ),
    N_("Escalation"): N_("Who else is notified of an alert that nobody takes, and after how long."),
    N_("Finding"): N_("A rule of the contract that was broken, or may be, with its evidence."),
    N_("Submission"): N_("What is sent to the platform as the answer to a review."),
    N_("Attempt"): N_("One sending of a submission, with what the platform answered."),
    N_("Denial"): N_("The platform's refusal of a seller, with reasons and whether to try again."),
    N_("Quarantine"): N_("Deliveries that could not be read, kept with the reason."),
    N_("Log integrity"): N_(
        "Whether the log is as it was recorded, worked out from its signed tree."
    ),
    N_("Role"): N_("What a person may see and do here."),
}
"""Words beside those of a package's report, which Help shows, too."""
