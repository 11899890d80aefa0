"""Says in plain words, in the reader's language, what the verifier leaves open about a package, and
of what scope that is (docs/evidence.md#on-a-page)."""

import re
from collections.abc import Mapping, Sequence
from datetime import time
from typing import Final

from app_pages.language import formats
from app_pages.language.i18n import N_, _
from pipeline import instants

OPEN: Final = (
    (
        "the package's own word. Compare it with one",
        N_(
            "Whether the key that signed it is really that of the log which it names: the package"
            " itself says so. Ask for the key by another way, and compare the two."
        ),
    ),
    (
        "was replaced later, before the export",
        N_(
            "Whether the log had taken a newer key before the package was made. Compare its key"
            " with the newest that the log published."
        ),
    ),
    (
        "replaced the key: they are of that kind",
        N_(
            "Whether some entries that are here without their content handed the log over to"
            " another key."
        ),
    ),
    (
        "another one than this, so do not run it",
        N_(
            "Whether the verifier in the package can be trusted: it is another one than ours. Do"
            " not run it before you have compared it with that of its release."
        ),
    ),
    (
        "why tables and reports say what was true at",
        N_(
            "Why the report shows an instant long before the package was made: what became late or"
            " expired since is not in it."
        ),
    ),
    (
        "where a process ends is the exporter's word",
        N_(
            "Whether its processes go on in later entries. A package of one process shows that of"
            " that process."
        ),
    ),
    (
        "what else the log holds of",
        N_("What else the log holds of other sellers whom its entries name."),
    ),
    (
        "are about messages of this package",
        N_(
            "Whether some entries that name no process are about messages of this package: their"
            " content is left out."
        ),
    ),
    (
        "more results or retractions of its seller notices",
        N_("Whether the log holds more of what became of its messages to sellers."),
    ),
    (
        "so both are the exporter's word. A package of a period",
        N_(
            "Whether entries are missing between the newest one here and the making of the package."
            " A package of a period from that day on shows it."
        ),
    ),
    (
        "belongs to the period: all were recorded before it",
        N_(
            "Whether something earlier belongs to the period: all of it was recorded before the"
            " period began."
        ),
    ),
    (
        "belongs to the period: they were recorded",
        N_(
            "Whether something recorded between the end of the package and its making belongs to"
            " the period: it is not here."
        ),
    ),
    (
        "before it drew a sample, too",
        N_(
            "Whether earlier packages drew samples, too: what these were about is left out. So a"
            " sample may have been drawn again until it pleased."
        ),
    ),
    (
        "is an auditor's own, and was given only after",
        N_(
            "Whether an auditor gave the number of the sample, {quoted}, and only after they had"
            " its checkpoint: whoever gave it knows. Otherwise samples could be tried out."
        ),
    ),
    (
        "waited for a checkpoint whose sample pleased",
        N_(
            "Whether somebody waited until a sample pleased them: it was drawn without a number"
            " from an auditor, which would exclude that."
        ),
    ),
    (
        "another system keeps them, as their entries say",
        N_("Some files that prove answers: another system keeps them, so they are not here."),
    ),
    (
        "no erasure here names them",
        N_(
            "Whether some contents were erased because a person was forgotten: the entries that"
            " may say so are left out."
        ),
    ),
    (
        "the entries that would say so are not of this period",
        N_(
            "Whether some contents were erased because a person was forgotten: the entries that"
            " would say so are not of this period."
        ),
    ),
    (
        "it is bound by commitments",
        N_(
            "What stands in contents that are left out, such as personal data: that they were not"
            " changed is proved, but not what is said of them."
        ),
    ),
    (
        "it is bound by digests",
        N_(
            "Details of some attempts that are left out: that they were not changed is proved, but"
            " not what is said of them."
        ),
    ),
    (
        "and which tables rest on",
        N_(
            "Some values of the tables that come from contents that are left out: whoever made the"
            " package says that they are so."
        ),
    ),
    (
        "only the log's key and the bodies can tell",
        N_(
            "Whether the ids of processes and sellers in the tables are those of the entries: only"
            " whoever has the log can compare them."
        ),
    ),
    (
        "whether the masked profile hides all",
        N_(
            "Whether all that could be about a person is left out, and nothing else: the full"
            " verifier of Prazo decides that."
        ),
    ),
    (
        "what follows from the entries: processes.csv",
        N_(
            "Whether tables and reports follow from the entries: only the release of Prazo that"
            " made the package makes them again."
        ),
    ),
    (
        "that the log was not rewritten before the export",
        N_(
            "Whether the log was rewritten before the package was made. An earlier checkpoint of"
            " the log, from somebody else, decides that."
        ),
    ),
    (
        ", which does not count: it is of",
        N_("One witness of the log: what it signed is older than the newest entry."),
    ),
    (
        "the timestamp: give the certificate",
        N_(
            "Whether the timestamp is genuine: that takes the certificate of the authority which"
            " gave it."
        ),
    ),
    (
        "certificate was revoked at the time",
        N_(
            "Whether the certificate of the timestamp had been revoked when the timestamp was"
            " given."
        ),
    ),
    (
        "the authority's key was misused later",
        N_(
            "Whether the timestamp holds although its certificate has ended since: a newer"
            " timestamp over the package shows that."
        ),
    ),
    (
        "when entries were recorded that are not listed here",
        N_(
            "When some entries that are not listed were recorded: the clock of the log was ahead"
            " then."
        ),
    ),
    (
        "rows that rest on what is not in the package",
        N_(
            "Some rows of a table that rest on entries outside of the package: whoever made it says"
            " that they are so."
        ),
    ),
    (
        "what tables and reports say: they are as of",
        N_(
            "What the report says: the clock of the log was ahead when the package was made. Ask"
            " for a new package."
        ),
    ),
    (
        "when what is listed here was recorded",
        N_(
            "When the entries were recorded: the clock of the log was ahead. Ask for a new package."
        ),
    ),
    (
        "is of a past that was given up",
        N_(
            "Whether the log is still the one of your checkpoint: it lost entries since, and an"
            " entry says why. Read that entry, and compare with a newer checkpoint."
        ),
    ),
    (
        "newer: cannot compare",
        N_(
            "Whether the log is the one of your checkpoint, which is newer than the package:"
            " compare with an older one, or ask for a new package."
        ),
    ),
)
"""A part of a line of the verifier's (pipeline/verify.py) that no other line has, and what the line
means for who is no engineer."""


_QUOTED: Final = r'"(?:[^"\\]|\\.)*"(?: and \d+ more characters)?'


def plain(lines: Sequence[str]) -> list[str]:
    """What the verifier's lines mean, as Markdown, each thing once. A line without plain words, as
    of another release, stands as it is."""
    return [*dict.fromkeys(map(_meaning, lines))]


def _meaning(line: str) -> str:
    quoted = re.search(_QUOTED, line)
    said = formats.plain(quoted[0]) if quoted else ""
    found = (_(means, quoted=said) for part, means in OPEN if part in line)
    return next(found, None) or formats.plain(line)


_ABOUT: Final = re.compile(
    r"(?:process (?P<process>Q)|seller (?P<seller>Q)|a sample of (?P<sample>\d+))?(?:, )?"
    r"(?:from (?P<since>\S+), to (?P<until>\S+))?"
    r"; as of Q; (?P<profile>Q) profile; (?P<n>\d+) entries of the first (?P<size>\d+) of Q;"
    r" exported by (?P<actor>Q), because of (?P<reason>Q), entry (?P<seq>\d+) of (?P<at>\S+),"
    r" with (?P<software>Q)".replace("Q", _QUOTED)
)
_LABELS: Final[Mapping[str, str]] = {
    "process": N_("Process"),
    "seller": N_("Seller"),
    "sample": N_("Processes drawn"),
    "since": N_("From"),
    "until": N_("Until before"),
    "profile": N_("Profile"),
    "n": N_("Entries"),
    "size": N_("Chosen from the log up to entry"),
    "actor": N_("Made by"),
    "reason": N_("Reason"),
    "seq": N_("Recorded as entry"),
    "at": N_("Recorded at"),
    "software": N_("Made with"),
}


def scope(line: str) -> dict[str, str] | None:
    """What the verifier says of a package's scope, by labels in the reader's language; what stands
    in quotation marks is the package's own. None where the line is of another release."""
    found = _ABOUT.fullmatch(line)
    if found is None:
        return None
    said = {name: value for name, value in found.groupdict().items() if value}
    for name in ("n", "size", "seq"):
        said[name] = formats.number(int(said[name]))
    for name in said.keys() & {"since", "until", "at"}:
        said[name] = _instant(said[name])
    return {_(label): formats.plain(said[it]) for it, label in _LABELS.items() if it in said}


def _instant(text: str) -> str:
    """An instant of the verifier's as pages show one; the start of a UTC day as that day."""
    known = instants.parse(text)
    if known is None:
        return text
    at = instants.of(known)
    if at.time() == time():
        return _("{day} (UTC)", day=formats.day(at.date()))
    return formats.second(at)
