"""What a popover holds is drawn, and costs anything, only once it is opened."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.app_pages.support.reading import unfold

pytestmark = pytest.mark.usefixtures("folded")


def page() -> None:
    import streamlit as st

    from app_pages.parts import folds

    if st.session_state.pop("begins again", False):
        st.rerun()
    if st.session_state.pop("closes", False):
        folds.close()
    if open_to_browser := st.session_state.pop("open to the browser", None):
        st.session_state[open_to_browser] = True
    for name in ("one", "other"):
        label = f"{name} {st.session_state.get('times', 0)}"
        if (place := folds.popover(label, key=name, icon=":material/add:")) is not None:
            with place:
                st.text_input(name, key=f"typed {name}")
                st.button("Do it", key=f"do {name}", on_click=folds.close)


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(page).run()


def drawn(app: AppTest) -> list[str]:
    return [it.label for it in app.text_input]


def test_nothing_is_drawn_until_one_is_opened_and_then_the_last_one_alone(app: AppTest) -> None:
    assert drawn(app) == []
    unfold(app, "one")
    assert drawn(app) == ["one"]
    app.session_state["one"] = False  # a click beside it
    app.run()
    assert drawn(app) == ["one"]
    unfold(app, "other")
    app.run()
    assert drawn(app) == ["other"]


def test_what_was_typed_is_there_after_a_click_beside_it_and_gone_once_it_is_done(
    app: AppTest,
) -> None:
    unfold(app, "one")
    app.text_input(key="typed one").set_value("called").run()
    app.session_state["one"] = False
    app.run()
    unfold(app, "one")
    assert app.text_input(key="typed one").value == "called"
    app.button(key="do one").click().run()
    assert app.session_state["one"] is False
    assert drawn(app) == []
    unfold(app, "one")
    assert app.text_input(key="typed one").value == ""


def test_the_second_click_of_a_double_click_closes_it_too(app: AppTest) -> None:
    """It came before the browser heard of the first, and the form stayed open over *Undo*."""
    unfold(app, "one")
    app.button(key="do one").click().run()
    app.session_state["open to the browser"] = "one"
    app.session_state["closes"] = True
    app.run()
    assert app.session_state["one"] is False
    assert drawn(app) == []


def test_one_stays_open_while_its_label_changes(app: AppTest) -> None:
    """To Streamlit another label made another one of it, which was closed."""
    unfold(app, "one")
    app.session_state["times"] = 1
    app.run()
    assert app.session_state["one"] is True
    assert drawn(app) == ["one"]


def test_an_act_closes_its_form_also_where_the_page_begins_again_before_it_is_drawn(
    app: AppTest,
) -> None:
    """*Ask again* stayed open after it had sent, with a button that sends once more."""
    unfold(app, "one")
    app.session_state["begins again"], app.session_state["open to the browser"] = True, "one"
    app.button(key="do one").click().run()
    assert drawn(app) == []
    unfold(app, "one")
    assert drawn(app) == ["one"]
