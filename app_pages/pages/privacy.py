"""Privacy: all that is held of one person, who saw it, and how they are forgotten."""

import shlex
from collections.abc import Sequence

import streamlit as st

from app_pages.desk import find, packages
from app_pages.door.pages import Page, Section
from app_pages.language import code_texts, columns, formats, occurrences
from app_pages.language.i18n import N_, _, language, ngettext
from app_pages.parts import elements, folds, links, lists, records, views
from pipeline import instants
from pipeline.clearance import acts
from pipeline.continuity import service
from pipeline.continuity.vault import Keep, copies_of
from pipeline.erasure.forgetting import Forgotten, forget
from pipeline.errors import PrazoError
from pipeline.log.actions import WRITTEN
from pipeline.log.kinds.erasure import ERASURE
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK

PAGE = Page(
    title=N_("Privacy"),
    icon="shield_person",
    section=Section.PROOF,
    place=15,
    for_analysts=False,
)

PACKAGES = ["package", "masked_package"]
MOST_PROCESSES = 6  # the newest collected for; the seller's page has the others


def held_table(holdings: Sequence[views.Row]) -> None:
    """What the log has of the person, kind by kind."""
    st.table(
        {
            _("Kind"): [
                formats.plain(code_texts.word(occurrences.KINDS, row["kind"])) for row in holdings
            ],
            _("Entries"): [entries_in_words(it) for it in holdings],
            _("When"): [formats.span(it["first_at"], it["last_at"]) for it in holdings],
            _("Artifacts"): [formats.number(it["artifacts"]) for it in holdings],
        },
        hide_index=True,
        border="horizontal",
        alt=_("What the log holds of this person"),
    )


def entries_in_words(row: views.Row) -> str:
    """How many, and how many of them were erased: a fifth column had no room on a phone."""
    entries = formats.number(row["entries"])
    if not row["erased"]:
        return entries
    return _("{n}, of these erased: {erased}", n=entries, erased=formats.number(row["erased"]))


def where_to_open(seller_id: str) -> None:
    """Leads from the counts to what they count: each step and screen of a process, and the file in
    which all of it stands."""
    rows = views.read("collections", where={"seller_id": seller_id})
    processes = [*dict.fromkeys(it["process_id"] for it in rows)]
    for process in processes[:MOST_PROCESSES]:
        shown = formats.plain(views.shown("process_id", process))
        links.to_named(
            "evidence", _("View the collections of {process}", process=shown), of=process
        )
    if len(processes) > MOST_PROCESSES:
        elements.say_cut(MOST_PROCESSES, len(processes))
    said = _(
        "The answers themselves and each kept screen stand, with all else, in one file: a full"
        " package of this seller."
    )
    if packages.may_take_everything():
        st.markdown(f"{said} {_('Choose the full profile there, and give the reason.')}")
    else:  # each role that opens this page may, once its name is known
        masked = _(
            "Without a login you can make a masked one, which leaves out contents that hold"
            " personal data. With a login, officers, auditors and administrators make a full one"
            " there; without, whoever runs Prazo types this:"
        )
        st.markdown(f"{said} {masked}")
        shown = views.shown("seller_id", seller_id)
        full = ["prazo", "export", f"--seller={shown}", "--profile", "full"]
        asked = ["--out", "full.zip", "--reason", "...", "--actor", "..."]
        st.code(shlex.join([*full, *asked]), language=None, wrap_lines=True)
    links.to_package(scope="seller", subject=seller_id)


def entries_of(holdings: Sequence[views.Row], kind: str) -> int:
    return sum(it["entries"] for it in holdings if it["kind"] == kind)


def say_forgotten(holdings: Sequence[views.Row]) -> None:
    """When the person was forgotten; nothing of whoever was not."""
    erasures = [it for it in holdings if it["kind"] == ERASURE]
    if not erasures:
        return
    when = formats.minute(erasures[0]["last_at"])
    st.badge(_("Forgotten on {day}", day=when), icon=":material/ink_eraser:", color="blue")


def places() -> str:
    """Where what stands in the table lies."""
    settings = service.current().settings
    stored = _("the inbox") if settings.artifacts_in == "database" else _("the artifacts folder")
    return _(
        "Each entry lies in the inbox and, made from it, in the ledger; artifacts lie in {place}."
        " Of what is erased, ids, codes and instants stay.",
        place=stored,
    )


def given(holdings: Sequence[views.Row], seller_id: str) -> None:
    """Whom a copy was given to."""
    this = {"seller_id": seller_id}
    made = views.count("personal_accesses", where=this | {"how": PACKAGES})
    said = {
        _("Packages"): _(
            "{n}; who made each, and why, stands under *Who looked*", n=formats.number(made)
        ),
        _("The platform"): ngettext(
            "{n} submission",
            "{n} submissions",
            sent := entries_of(holdings, SUBMISSION_STARTED),
            n=formats.number(sent),
        ),
    }
    for endpoint in views.read("forwardings"):
        passed = views.count(
            "log_entries",
            where=this | {"kind": WEBHOOK},
            between={"seq": (None, endpoint["position"] + 1)},
        )
        said[formats.plain(endpoint["endpoint"])] = ngettext(
            "up to {n} delivery passed on",
            "up to {n} deliveries passed on",
            passed,
            n=formats.number(passed),
        )
    elements.details(said, alt=_("Whom a copy was given to"))


def dry_run(seller_id: str) -> None:
    """What `prazo forget` would erase, and where the data would still be."""
    held = service.current()
    try:
        found = forget(
            held.settings,
            held.inbox,
            seller_id,
            reason="",
            actor=None,
            recorded_by="",
            is_dry_run=True,
        )
    except PrazoError as error:
        elements.say(error)
    else:
        say_found(found)
    copies()


def say_found(found: Forgotten) -> None:
    said = {
        formats.plain(code_texts.word(occurrences.KINDS, kind)): formats.number(count)
        for kind, count in sorted(found.kinds.items())
    }
    said[_("Artifacts")] = _("up to {n}", n=formats.number(found.artifacts))
    said[_("Former files on this machine")] = formats.number(len(found.former))
    elements.details(said, alt=_("What would be erased"))


def copies() -> None:
    """The copies of backups, with until when each is kept."""
    settings = service.current().settings
    if settings.backup_to is None:
        st.markdown(_("No copies of backups are kept by Prazo: ask whoever runs it for others."))
        return
    keep = Keep.read(settings.backup_keep)
    try:
        kept = copies_of(settings.backup_to, keep, None, instants.now())
    except PrazoError as error:
        elements.say(error)
        return
    if not kept:
        st.markdown(_("There is no copy of a backup yet."))
        return
    ends = {
        formats.plain(name): _("for two years or more")
        if at is None
        else _("until {day}", day=formats.day(instants.of(at).date()))
        for name, at in kept.items()
    }
    st.markdown(_("Copies of backups, which hold the log as it was when each was made:"))
    elements.details(ends, alt=_("Copies of backups"))


def command(seller_id: str, *more: str) -> str:
    """The command as it is typed: an id of the platform may hold anything, and may begin as an
    option does."""
    asked = ["--reason", "...", "--actor", "...", *more]
    whom = ["--", seller_id] if seller_id.startswith("-") else [seller_id]
    return shlex.join(["prazo", "forget", *asked, *whom])


def how_to_forget(seller_id: str) -> None:
    """The commands that forget the person, for whoever runs Prazo."""
    if not records.is_shown(seller_id) and views.shown("seller_id", seller_id) != seller_id:
        st.markdown(
            _("The id is masked, since it looks like a tax id: show personal data first, above.")
        )
        return
    st.markdown(
        _(
            "Whoever runs Prazo types this: first to see what would go, then to erase it for good."
            " The reason must not quote the person."
        )
    )
    st.code(command(seller_id, "--dry-run"), language=None)
    st.code(command(seller_id), language=None)
    st.markdown(
        _(
            "Four eyes: the command first asks a second person, who approves it on the page Alerts;"
            " typed again, it erases."
        )
        if acts.FORGET in service.current().settings.acts_of_two
        else _("No second person is asked here: see *Four eyes* in the guide *Operations*.")
    )


def how_to_correct() -> None:
    st.markdown(
        _(
            "The record is the platform's: Prazo keeps what it sent, and never edits it. The"
            " seller has it corrected there; the platform then sends `seller.updated`, which is"
            " what pages show from then on. Where the platform asks for a field in a review, the"
            " seller's answer is sent with the submission."
        )
    )


def accesses(rows: Sequence[views.Row], key: str) -> None:
    """Who saw what of the person, when and why."""

    def cells(row: views.Row) -> views.Row:
        view = row["shown_view"]
        return {
            "how": code_texts.word(occurrences.ACCESSES, row["how"]),
            "shown_view": None if view is None else columns.view_name(view, language()),
            "reason": code_texts.word(WRITTEN, row["reason"]),
        }

    lists.grid(
        [row | cells(row) for row in rows],
        {
            "occurred_at": lists.instant(_("When")),
            "actor": lists.text(_("Who"), 110),
            "how": lists.text(_("What was seen"), 150),
            "reason": lists.text(_("Reason"), 290),
            "shown_view": lists.text(_("View"), 150),
            "process_id": lists.subject_id(_("Process")),
            "recorded_by": lists.text(_("Recorded by"), 120),
            "seq": lists.number(_("Entry"), 80),
        },
        alt=_("Who saw this person's data, newest first"),
        key=key,
    )


def count_accesses(total: int) -> str:
    return ngettext("{n} time", "{n} times", total, n=formats.number(total))


asked = find.person()
if not asked:
    if not find.is_person_asked():
        elements.empty(
            _("Which person?"),
            _("Find them above: the page says all that is held of them, and who saw it."),
        )
    elements.end_page()

this = {"seller_id": asked}
holdings = views.read("seller_holdings", where=this)
if not holdings:
    elements.empty(
        _(
            "No entry of the log names {seller}",
            seller=formats.code(views.shown("seller_id", asked)),
        ),
        _("The id must be exactly as the platform wrote it (`customer_id` of a review event)."),
    )
    elements.end_page()

with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    st.header(formats.plain(records.title(asked)), anchor=False, width="content")
    say_forgotten(holdings)
    links.to_seller(asked)

# --- what is held --------------------------------------------------------------------------------

left, right = st.columns(2, gap="small")
with left.container(border=True, gap="xsmall"):
    st.header(_("What is held"), anchor=False)
    held_table(holdings)
    where_to_open(asked)
    st.markdown(formats.muted(places()))
    seller = views.read_one("seller_state", where=this)
    if seller is not None:
        records.show(seller)

# --- who looked ----------------------------------------------------------------------------------

with right.container(border=True, gap="xsmall"):
    st.header(_("Who looked"), anchor=False)
    seen = lists.paged("personal_accesses", accesses, counted=count_accesses, where=this)
    if seen.drawn is None and not seen.total:
        st.markdown(_("The log says of nobody that they saw this person's data."))
    st.markdown(
        formats.muted(
            _(
                "Searches of one session count once: by the first that found this person. Prazo"
                " shows nobody personal data before an entry says so. Whoever opens the stores'"
                " files themselves, or has a copy, leaves none."
            )
        )
    )

# --- the way on ----------------------------------------------------------------------------------

with right.container(border=True, gap="xsmall"):
    st.header(_("Forgetting this person"), anchor=False)
    how_to_forget(asked)
    place = folds.expander(
        _("What would be erased, and which copies remain"), key="privacy_dry_run"
    )
    if place is not None:
        with place:
            dry_run(asked)
with left.container(border=True, gap="xsmall"):
    st.header(_("Whom a copy was given to"), anchor=False)
    given(holdings, asked)
    st.header(_("Correcting"), anchor=False)
    how_to_correct()
