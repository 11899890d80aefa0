"""Says what a package's report says, in English or Brazilian Portuguese."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from pipeline import findings, instants
from pipeline.audit.package.first_page import FIRST_PAGE
from pipeline.contract import review_types
from pipeline.language import codes, fields, states
from pipeline.language.catalogue import N_, NC_, Language, counted_in, said_in
from pipeline.log.actions import WRITTEN
from pipeline.log.kinds import collection, kinds
from pipeline.log.kinds.assignment import RULES_WORDS
from pipeline.names import BY_RULE

STATES: Final = ("EXPIRED", "OVERDUE", "UNKNOWN", "PENDING", "FINISHED")
"""What is worst first."""

_UNITS: Final = (
    ("d", instants.DAY),
    ("h", instants.HOUR),
    ("min", instants.MINUTE),
    ("s", instants.SECOND),
)
_BEFORE: Final = N_("{span} before the deadline")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language."""

    into: Language
    tag: str
    language: str
    thousands: str

    def __getitem__(self, name: str) -> str:
        """The words under a name of this file."""
        return tables(self.into)["word"][name]

    def say(self, name: str, **values: int) -> str:
        """The words under a name of this file, with numbers in them."""
        return self[name].format_map({it: self.number(value) for it, value in values.items()})

    def of(self, table: str, code: str) -> str:
        """The word for a code of one of the `tables`, or the code itself if there is none."""
        return tables(self.into)[table].get(code, code)

    def about(self, table: str, name: str) -> str:
        """What a word of the glossary means."""
        if table != "review type":
            return self[f"about_{name}"]
        listed = review_types.named(name)
        text = "about_partial" if listed.is_partial else "about_whole"
        return self.say(text, days=listed.total_days)

    def of_step(self, kind: str, step: str) -> str:
        """The word for a step of a kind of entry, such as a ticket that was opened; where it has
        none, for the kind."""
        return tables(self.into)["step"].get(f"{kind} {step}") or self.of("kind", kind)

    def field(self, path: str) -> str:
        """A field by its name for people; a path that has none stands for itself."""
        return fields.name(path, self.into)

    def by_whom(self, actor: str, reason: str) -> tuple[str, str]:
        """Who did something and why, as people wrote it; what the rule says in this language."""
        if actor != BY_RULE:
            return actor, self.of("written reason", reason)
        return self.of("rule's words", actor), self.of("rule's words", reason)

    def not_of_log(self, rows: int) -> str:
        """What the report says of rows that other entries of the log contradict."""
        return counted_in(
            self.into,
            "{rows} row that these entries alone would suggest is not shown: other entries of the"
            " log contradict it.",
            "{rows} rows that these entries alone would suggest are not shown: other entries of the"
            " log contradict them.",
            rows,
            rows=self.number(rows),
        )

    def number(self, count: int) -> str:
        """A whole number with this language's separator of thousands."""
        return f"{count:,}".replace(",", self.thousands)

    def span(self, microseconds: int) -> str:
        """A time between two instants in its two largest units, such as `+4 d 1 h`."""
        return f"{'-' if microseconds < 0 else '+'}{self._duration(abs(microseconds))}"

    def ahead(self, microseconds: int) -> str:
        """How long before a deadline something was, or after it."""
        text = N_("{span} after the deadline") if microseconds < 0 else _BEFORE
        return said_in(self.into, text, span=self._duration(abs(microseconds)))

    def standing(self, state: str, seconds: str | int | None) -> str:
        """A process's state with what it means; with the whole seconds to its deadline, where a
        table says them, also the time left."""
        return states.standing(state, None if seconds in (None, "") else int(seconds), self.into)

    def summary(
        self, totals: Mapping[str, Mapping[str, int]], processes: int, uncovered: int
    ) -> str:
        """What the report comes to, in two or three sentences, what is worst first.

        `totals` as in parameters.json; `processes` and `uncovered`: how many processes there are,
        and fields that were sent without evidence.
        """
        known = self._counts("state", totals["processes"], STATES)
        n = self.number(processes)
        about = counted_in(self.into, "{n} process", "{n} processes", processes, n=n)
        said = [
            said_in(
                self.into,
                N_("This package is about {processes}{states}."),
                processes=about if processes else self["no_processes"],
                states=f": {', '.join(known)}" if known else "",
            )
        ]
        found = self._counts("severity", totals["findings"], codes.SEVERITIES)
        if found:
            said.append(said_in(self.into, N_("Findings: {findings}."), findings=", ".join(found)))
        if uncovered:
            said.append(self.say("summary_uncovered", n=uncovered))
        if not found and not uncovered:
            said.append(self["summary_sound"])
        return " ".join(said)

    def _counts(self, table: str, totals: Mapping[str, int], codes: Iterable[str]) -> list[str]:
        """How many there are of each of these codes, of which there are any."""
        return [
            f"{self.number(totals[code])} × {word if table == 'state' else word.lower()}"
            for code in codes
            if totals.get(code) and (word := self.of(table, code))
        ]

    def _duration(self, microseconds: int) -> str:
        parts = []
        rest = microseconds
        for unit, size in _UNITS:
            count, rest = divmod(rest, size)
            if count:
                parts.append(f"{count} {unit}")
        return " ".join(parts[:2]) or self["under_a_second"]


TEXTS: Final[Mapping[str, str]] = {
    # the frame
    "title": N_("Evidence of registration reviews"),
    "package": N_("audit package"),
    "process": N_("Process"),
    "seller": N_("Seller"),
    "as_of": N_("As of"),
    "actor": N_("Requested by"),
    "reason": N_("Reason"),
    "profile": N_("Profile"),
    "profile_full": N_("Full, for the platform"),
    "profile_masked": N_("Masked"),
    "log": N_("Log"),
    "entries": N_("Entries"),
    "utc": N_(
        "All times are in UTC. Each line names its entry in the log (#) and the first digits of"
        " that entry's hash in the Merkle tree."
    ),
    "sample": N_("sample ({n} of {of})"),
    "drawn": N_("How these processes were drawn"),
    "drawn_text": N_(
        "Nobody chose them. All processes of the period that a signed checkpoint knows (size"
        " {checkpoint}) were ordered by SHA-256 over four lines: prazo-sample v1, the checkpoint's"
        " root in hex, the number, and the process as its leaf names it. The first of these are"
        " here. verify.py draws again, from the leaves of the whole period."
    ),
    "drawn_number": N_("The number that was given is {number}."),
    "drawn_without": N_("No number was given, and the third line is empty."),
    "drawn_before": N_(
        "Each drawing is an export in the log: entries.csv lists the exports of periods and samples"
        " before this one."
    ),
    "left_out": N_("What was masked or left out"),
    "nothing_left_out": N_(
        "Nothing: every body and every artifact of these entries is in the package."
    ),
    "nothing_else": N_(
        "Nothing else was left out. Whatever is withheld remains bound by its commitment in the"
        " log; what is said of it here and in the tables is the word of whoever exported it."
    ),
    "body_withheld": N_("body withheld"),
    "record_withheld": N_("record of how it came in or ended withheld"),
    "masked_columns": N_(
        "Of sellers' names, and of the names of files, only the first letter is shown. Tax ids,"
        " identifiers that could be personal, and reasons of a denial in words of their own are"
        " replaced by a keyed hash. What another system wrote of an attempt's end is masked but for"
        " words that say what failed. Not masked are the names of those who worked for the"
        " marketplace and the reasons and notes that they wrote, in which a seller may be named."
    ),
    "rest_in_tables": N_("{shown} of {all} are shown here; the tables hold all of them."),
    "basis_log": N_("Based on entries of the log outside this package."),
    # the summary
    "no_processes": N_("no process"),
    "summary_sound": N_("No rule was broken, and no field was sent without evidence."),
    "summary_uncovered": N_("Fields sent without evidence: {n}."),
    # the glossary
    "glossary": N_("Words in this report"),
    "about_process": N_(
        "One review of a seller's registration, which the platform asked for, with its deadline."
    ),
    "about_whole": N_("{days} days, every field is sent."),
    "about_partial": N_("{days} days, only the requested fields are sent."),
    "about_PENDING": N_("Asked for, and not yet OVERDUE: a submission is in time."),
    "about_OVERDUE": N_("The deadline has not passed, and a submission is in time."),
    "about_EXPIRED": N_("The deadline passed before an accepted submission."),
    "about_breach": N_("A rule was broken."),
    "about_risk": N_("Something that can become a breach, or cannot be shown not to be one."),
    "about_notice": N_("Something to know that breaks no rule."),
    "about_covered": N_(
        "Of a field that was sent: the seller's own answer, in time, with the value that was sent."
    ),
    "about_entry": N_("One thing that happened, under its number in the log."),
    "about_withheld": N_("Not shown in this package, but bound by its commitment in the log."),
    "about_log": N_(
        "All that was recorded, in order: entries are only ever added, and its state is signed."
    ),
    # tables
    "findings": N_("Findings"),
    "no_findings": N_("No rule was broken."),
    "severity": N_("Severity"),
    "rule": N_("Rule"),
    "subject": N_("Process or seller"),
    "found_at": N_("Since"),
    "entry": N_("Entry"),
    "listed": N_("Which processes are here"),
    "standing": N_("State"),
    "processes": N_("The story of each process"),
    "opened_at": NC_("when", "Opened"),
    "deadline_at": N_("Deadline"),
    "finished_at": NC_("when", "Finished"),
    "attempts": N_("Attempts"),
    "late": NC_("a process", "Late"),
    "seller_deleted_at": N_("Seller deleted"),
    "when": N_("When"),
    "after": N_("After"),
    "what": N_("What happened"),
    "coverage": N_("Evidence, field by field"),
    "path": N_("Field"),
    "was_requested": N_("Requested"),
    "answered_at": N_("Answered by the seller"),
    "source": N_("Source"),
    "sent_at": N_("Sent"),
    "covered": N_("Covered"),
    "yes": N_("yes"),
    "no": N_("no"),
    "others": N_("Entries that belong to no process"),
    "missing": N_("not in the log"),
    "not_yet": N_("not yet"),
    "uncovered": N_("missing"),
    "uncovered_fields": N_("Sent without evidence:"),
    "withheld": N_("withheld"),
    "status_reported": N_("Status reported"),
    "under_a_second": N_("less than 1 s"),
    # what proves that the seller was asked in time
    "asked": N_("Seller asked"),
    "asked_unknown": N_("Not shown by these entries: that the seller was asked"),
    "in_time": N_("in time"),
    "in_tree": N_("its proof"),
    "proof_text": N_(
        "The proof of an entry (#): its leaf stands in data/leaves.ndjson under that number, and"
        " data/proof.txt leads from all leaves to the signed data/checkpoint.note."
    ),
    "rounding": N_(
        "Instants are shown without parts of a second, and times between them are those between"
        " the instants as shown, in their two largest units, rounded down."
    ),
    # the four steps
    "requested": N_("Requested"),
    "collected": N_("Collected"),
    "submitted": N_("Submitted"),
    "answered": N_("Platform answered"),
    "artifact": N_("artifact"),
    **FIRST_PAGE,
    # verifying
    "verify": N_("How to verify this package"),
    "verify_text": N_(
        "Every entry comes with a proof that it is in the signed log, and verify.py checks all of"
        " it offline, with nothing but Python and OpenSSL:"
    ),
    "key_text": N_(
        "Compare the key with one that reached you by another route. If you kept an earlier"
        " checkpoint of the log, pass it with --against; if you trust witnesses who cosigned this"
        " one, name them in a file and pass it with --policy. Nothing else shows that the log was"
        " never rewritten."
    ),
}

_WHY: Final[Mapping[str, str]] = {
    "the masked profile": N_("masked profile"),
    "by the exporter": N_("by the exporter"),
    "erased": N_("erased"),
    "not in the artifact store": N_("not in the artifact store"),
    "damaged in the artifact store": N_("damaged in the artifact store"),
    "kept by another system": N_("kept by another system"),
}
"""Why something is not in a package."""


@cache
def tables(into: Language) -> Mapping[str, Mapping[str, str]]:
    """What the report calls codes -> the word of each, in a language."""
    named = {
        "word": TEXTS,
        "state": codes.STATES,
        "review type": codes.REVIEW_TYPES,
        "severity": codes.SEVERITIES,
        "event type": codes.EVENT_TYPES,
        "channel": codes.SELLER_CHANNELS,
        "via": codes.VIAS,
        "source": {"seller": TEXTS["seller"]},  # a fact beside others, not part of a sentence
        "error": codes.ERRORS,
        "kind": {code: kind.name for code, kind in kinds().items()},
        "step": {
            f"{code} {step}": name
            for code, kind in kinds().items()
            for step, name in kind.steps.items()
        }
        | {f"{collection.COLLECTION} {step}": name for step, name in collection.STEPS.items()},
        "rule": {code: rule.name for code, rule in findings.rules().items()},
        "why": _WHY,
        "rule's words": RULES_WORDS,
        "written reason": WRITTEN,
    }
    return {
        table: {code: said_in(into, text) for code, text in words.items()}
        for table, words in named.items()
    }


WORDS: Final[Mapping[Language, Words]] = {
    "en": Words("en", "en", "English", ","),
    "pt": Words("pt", "pt-BR", "Português", "."),
}
