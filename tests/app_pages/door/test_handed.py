"""What a button hands out is made once it is pressed, and kept for the person who pressed it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app_pages.door import access, handed
from pipeline.errors import CallerError
from pipeline.serve.roles import Person, Role

ANA = Person("ana", frozenset({Role.OFFICER}))
BIA = Person("bia", frozenset({Role.OFFICER}))


class Desk:
    """Anyone who looks, and the tabs that are open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whoever: Person | None = ANA
        self.tabs = {""}
        self.makers: list[Callable[[], bytes]] = []
        self.now = 0.0
        monkeypatch.setattr(access, "session", lambda: lambda: self.whoever)
        monkeypatch.setattr(handed.st, "download_button", self._offered)
        monkeypatch.setattr(handed.runtime, "get_instance", lambda: self)
        monkeypatch.setattr(handed.time, "monotonic", lambda: self.now)

    def _offered(self, label: str, make: Callable[[], bytes], **_: Any) -> None:
        self.makers.append(make)

    def is_active_session(self, tab: str) -> bool:
        return tab in self.tabs

    def press(self, make: Callable[[], bytes | Path] = lambda: b"rows") -> str:
        """The name of the file that a press makes."""
        handed.button("CSV", make, file_name="a.csv", mime="text/csv", may=_is_officer)
        bytes_of_streamlit = self.makers[-1]()
        return f"{handed._calculate_file_id(bytes_of_streamlit, 'text/csv', 'a.csv')}.csv"


def _is_officer(whoever: Person) -> bool:
    return Role.OFFICER in whoever.roles


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    yield Desk(monkeypatch)
    handed._FILES.clear()


def is_handed(name: str, asker: Person | None = ANA) -> bool:
    return handed.taken(name, asker) is not None


@pytest.mark.parametrize(
    "whoever", [None, Person("ana", frozenset({Role.ANALYST}))], ids=["nobody", "analyst"]
)
def test_a_button_that_outlived_its_session_or_role_hands_nothing_out(
    whoever: Person | None, desk: Desk
):
    """The button is pressed on a page that was drawn long ago; or the file was made before."""
    name = desk.press()
    assert is_handed(name)
    desk.whoever = whoever
    assert not is_handed(name)
    with pytest.raises(CallerError, match="the session or the role is over"):
        desk.makers[0]()


def test_a_file_is_that_of_the_person_and_the_press(desk: Desk):
    """Two people who took the same rows had one address, and each could fetch the other's."""
    first, second = desk.press(), desk.press()
    assert first != second
    assert is_handed(first)
    assert not is_handed(first, BIA)
    assert not is_handed(first, Person("ana", frozenset({Role.ANALYST})))
    assert not is_handed(first, None)
    assert not is_handed("")
    assert not is_handed("x.csv")


def test_a_file_ends_with_its_tab_and_its_time(desk: Desk):
    name = desk.press()
    desk.tabs.clear()
    assert not is_handed(name)
    desk.tabs.add("")
    assert is_handed(name)
    desk.now = handed.SECONDS
    assert not is_handed(name)
    handed.sweep()
    assert handed._FILES == {}


def test_a_tab_that_makes_file_after_file_keeps_the_last_ones(desk: Desk):
    names = [desk.press() for _ in range(handed.MOST + 3)]
    assert [is_handed(it) for it in names] == [False] * 3 + [True] * handed.MOST
    assert len(handed._FILES) == handed.MOST


def test_a_package_whose_folder_went_is_not_there(desk: Desk, tmp_path: Path):
    package = tmp_path / "package.zip"
    package.write_bytes(b"x")
    name = desk.press(lambda: package)
    assert is_handed(name)
    package.unlink()
    assert not is_handed(name)
