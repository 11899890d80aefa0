"""Says who works on cases: which names are the reader's, who is away, and who stands in; and asks
whose reviews a list is to show."""

from typing import Final

from app_pages.language.i18n import _
from app_pages.parts import acting, address, views
from pipeline.alert.decision import present
from pipeline.alert_rules import AlertRules, reports
from pipeline.continuity import service

ALL, MINE, UNASSIGNED = reports.ALL, "mine", "unassigned"
MOST_NAMES: Final = 50


def ask_whose() -> str:
    """Draws the filter by whom a list's reviews are assigned to; `ALL`, `MINE` or `UNASSIGNED`."""
    names = {ALL: _("Anybody"), MINE: _("Mine"), UNASSIGNED: _("Unassigned")}
    return address.choice(_("Assigned to"), names, "whose")


def rules() -> AlertRules:
    """What is set of alerts and of those who are told of them."""
    return service.current().alert_rules.get()


def mine() -> list[str]:
    """Names under which processes are the reader's: their own, and those of people who are away
    and for whom they stand in; none while nobody knows the reader's name."""
    name = acting.reader_name()
    if name is None:
        return []
    asked = rules()
    own = set(asked.assigned(name))
    for_whom = {it for it in asked.recipients if stand_in(it) in own} if own else set()
    names = [name]
    for recipient in sorted(own | for_whom):
        names += asked.recipients[recipient].names(recipient)
    # Whoever assigns may spell a name in other letters: messages and reports go by any.
    wanted = {it.strip().casefold() for it in names}
    spelled = [row["assignee"] or "" for row in views.groups("assignments", ["assignee"])]
    names += [it for it in spelled if it.strip().casefold() in wanted]
    return list(dict.fromkeys(names))


def stand_in(assignee: str) -> str | None:
    """Who stands in for somebody who is away today; None where they are not away, or nobody
    does."""
    asked = rules()
    for name in asked.assigned(assignee):
        instead = present(name, asked, service.current().now())
        if instead != name:
            return instead
    return None


def known() -> list[str]:
    """Names to choose from when a process is assigned: the reader's first, and each person under
    one of their names."""
    found = views.groups("assignments", ["assignee"], is_shown=False)
    assigned = [row["assignee"] for row in found]
    asked = rules()
    names = [acting.reader_name(), *asked.recipients, *assigned[:MOST_NAMES]]
    one_each: list[str] = []
    taken: set[str] = set()
    for name in names:
        if name and name.strip().casefold() not in taken:
            one_each.append(name)
            taken |= asked.names_of(name)
    return one_each
