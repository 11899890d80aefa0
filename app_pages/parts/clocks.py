"""Says how far this machine's clock is off, where the clocks that are held against it disagree."""

from app_pages.language import formats
from app_pages.language.i18n import _
from pipeline import instants
from pipeline.ledger import service


def badges() -> list[str]:
    """One for the freshness line, or none while the clocks agree."""
    inbox = service.current().inbox
    inbox.clock()  # a page may be the first to look after a jump
    if inbox.machine.doubted is None:
        return []
    seconds = formats.number(round(inbox.machine.offset / instants.SECOND))
    text = _("This machine's clock is {seconds} s off", seconds=seconds)
    return [formats.badge(text, "red", ":material/schedule:")]
