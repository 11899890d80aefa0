"""Says whether a package that is dropped on a page is genuine and complete, by the verifier's
verdict, and whose log it is of."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app_pages.door import audience, uploads
from app_pages.language import formats, verdicts
from app_pages.language.i18n import _
from app_pages.parts import elements
from pipeline.audit import apart, ours
from pipeline.audit.apart import Found
from pipeline.audit.ours import Origin, Whose
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.verify import NO_PACKAGE, read_key

_SAID: Final = "what was found in a package"


class _Said(NamedTuple):
    """What this tab's last package came to."""

    file_id: str
    name: str  # which the browser gives
    found: Found
    origin: Origin


def show(page: str) -> None:
    """The whole section. `page`: the one on which it stands, which says who may drop a package."""
    file = uploads.zip_file(
        _(
            "Is it genuine and complete? Drop its ZIP here, of {n} MB at most, as it came: nothing"
            " in it is run, and nothing of it is kept.",
            n=formats.number(st.get_option("server.maxUploadSize")),
        ),
        key="package_to_check",
        may=lambda whoever: audience.may_open(whoever, page),
    )
    if file is None:
        st.session_state.pop(_SAID, None)
        return
    said: _Said | None = st.session_state.get(_SAID)
    if said is None or said.file_id != file.file_id:
        said = _verified(file)
    if said is not None:
        with st.container(border=True, key="verdict"):
            st.markdown(f"{formats.plain(said.name)} · SHA-256 {formats.code(said.found.sha256)}")
            _say(said.found, said.origin)


def _verified(file: UploadedFile) -> _Said | None:
    """What the verifier finds; None where it came to no verdict, which is then said."""
    st.session_state.pop(_SAID, None)
    held = service.current()
    try:
        with st.spinner(_("Verifying …")):
            found = apart.found_in(file.getvalue(), ours.keys(held))
            said = _Said(file.file_id, file.name, found, ours.origin(held, found))
    except PrazoError as error:
        elements.say(error)
        return None
    uploads.forget(file)
    st.session_state[_SAID] = said
    return said


def _say(found: Found, origin: Origin) -> None:
    unproved, undecided = verdicts.plain(found.unchecked), verdicts.plain(found.undecided)
    if origin.whose is Whose.ANOTHER:  # before anything that could be taken for our word on it
        _say_whose(found, origin)
    _say_result(found, origin, len(unproved))
    if origin.whose is not Whose.ANOTHER:
        _say_whose(found, origin)
    _list(_("Faults"), map(formats.plain, found.faults))
    _list(_("What it cannot decide"), undecided)
    title = _("What this package does not prove ({n})", n=formats.number(len(unproved)))
    _list(title, unproved)
    for line in found.about:
        st.markdown(f"**{_('Scope')}**")
        scope = verdicts.scope(line)
        if scope is None:
            st.markdown(formats.plain(line))
        else:
            elements.details(scope, alt=_("Scope"))
    with st.expander(_("In the verifier's own words")):
        # On a terminal the lines stand above the result.
        st.markdown(formats.code(found.result.removesuffix(" above")))
        _list(_("Scope"), map(formats.plain, found.about))
        _list(_("Checked"), map(formats.plain, found.checked))
        _list(_("Left open"), map(formats.plain, (*found.unchecked, *found.undecided)))
        _list(_("Notes"), map(formats.plain, found.notes))
    st.markdown(
        formats.muted(
            _(
                "This is the word of our server, and of the verifier that runs on it; what stands"
                " in quotation marks is the package's own. To need neither, verify it by"
                " `verify.py` with a key and an earlier checkpoint from a source that you trust:"
                " see *Verifying a package* in the guide *Evidence*."
            )
        )
    )


def _say_result(found: Found, origin: Origin, unproved: int) -> None:
    """What the verdict means. Genuine is said of a package of our own log alone: whose another's
    key is, we do not know. `unproved`: of how many things the verifier is silent."""
    means: list[str] = []
    if found.exit_code == 1:
        name, say, icon = _("Not verified"), st.error, ":material/gpp_bad:"
        means = [_("Do not rely on it: what is wrong stands below. Ask for it again.")]
        if any(it.startswith(NO_PACKAGE) for it in found.faults):
            name = _("This is not a package of Prazo")
            means = [_("Drop the ZIP itself that *Collection and audit export* handed out.")]
    elif found.exit_code:
        name, say, icon = _("It cannot be decided"), st.warning, ":material/gpp_maybe:"
    elif origin.whose is Whose.GROWN:
        name, say, icon = _("Genuine: yes."), st.success, ":material/verified_user:"
        means = [
            _("A key of this server's log signed it, and nothing in it was changed since."),
            _how_complete(unproved),
        ]
    else:
        name, say, icon = _("Unchanged since it was signed"), st.info, ":material/task_alt:"
        means = [_("Whether whoever signed it can be trusted is another question.")]
    say("  \n".join(means), title=name, icon=icon)


def _how_complete(unproved: int) -> str:
    """Whether entries are missing may itself be among what the verifier leaves open, so that a
    plain yes is said only where nothing is."""
    if unproved:
        return _(
            "**Complete, as far as a package can show it.** What stays open stands below ({n}):"
            " none of it is a fault.",
            n=formats.number(unproved),
        )
    return _(
        "**Complete: yes.** Of what *Scope* names, no entry that the package has to hold is"
        " missing."
    )


def _say_whose(found: Found, origin: Origin) -> None:
    """Of which log it is, and what that log says of it here."""
    entries, size = formats.number(found.size), formats.number(origin.size)
    match origin.whose:
        case Whose.GROWN:
            st.markdown(
                ":material/check_circle: "
                + _(
                    "It is of the log of this server, {log}: a key of it signed the package. The"
                    " package's checkpoint reaches entry {entries}, up to which this log has the"
                    " same root; it is now at entry {size}, so since then it has only grown.",
                    log=_log(found),
                    entries=entries,
                    size=size,
                )
            )
        case Whose.OTHERWISE:
            st.error(
                _(
                    "A key of this server's log signed it, and up to entry {entries} the log as it"
                    " is here has another root, or it does not reach so far. One of the two was"
                    " rewritten, or a past was given up: ask why before you rely on either.",
                    entries=entries,
                ),
                title=_("It does not fit the log of this server"),
                icon=":material/error:",
            )
        case Whose.ANOTHER:
            st.warning(
                _(
                    "It calls itself {log}, and is signed by a key that we do not know: {key}"
                    " Whose that is, only somebody whom you trust can say.",
                    log=_log(found),
                    key=formats.code(found.signer),
                ),
                title=_("It is of another log than that of this server"),
                icon=":material/help:",
            )
        case Whose.UNKNOWN:
            st.markdown(
                formats.muted(_("Because of its faults, nothing shows of which log it is."))
            )


def _log(found: Found) -> str:
    return formats.code(read_key(found.signer).name)


def _list(title: str, lines: Iterable[str]) -> None:
    """Lines in Markdown, below what they are; nothing where there are none."""
    if listed := [f"- {it}" for it in lines]:
        st.markdown(f"**{title}**")
        st.markdown("\n".join(listed))
