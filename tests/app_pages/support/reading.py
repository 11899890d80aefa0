"""What a page shows, as a reader would read it."""

import re

from streamlit.testing.v1 import AppTest

BELL = "shown=open"
"""Where the bell in the header of each page leads, of which a page's own links are told apart."""
_KINDS = ("title", "header", "markdown", "caption", "code", "warning", "error", "success", "info")
_WIDGETS = (
    "button",
    "text_input",
    "selectbox",
    "multiselect",
    "pills",
    "segmented_control",
    "datetime_input",
    "date_input",
    "text_area",
    "radio",
    "download_button",
    "page_link",
)


def texts(app: AppTest) -> list[str]:
    """Every text on the page, with Markdown's marks and escapes taken away."""
    found = [element.value for kind in _KINDS for element in app.get(kind)]
    for alert in ("warning", "error", "success", "info"):
        found += [element.proto.title for element in app.get(alert)]
    for metric in app.metric:
        found += [metric.label, metric.value, metric.delta, metric.help]
    for kind in _WIDGETS:
        found += [element.label for element in app.get(kind)]
        found += [element.help for element in app.get(kind) if getattr(element, "help", None)]
    for kind in ("pills", "segmented_control", "selectbox", "multiselect", "radio"):
        for widget in app.get(kind):
            found += list(widget.options)
    found += [expander.label for expander in app.expander]
    for table in app.table:
        names = (*table.value.index, *table.value.columns)
        found += [str(name) for name in names if name != "value"]  # hidden: a list of pairs
        found += [str(value) for value in table.value.to_numpy().ravel()]
    return [plain(text) for text in found if text]


def page_text(app: AppTest) -> str:
    return "\n".join(texts(app))


def plain(markdown: str) -> str:
    """`:red-badge[:material/alarm: Due] **soon\\.**` -> `Due soon.`"""
    text = re.sub(r"\(data:image/[^)]*\)", "", markdown)  # an image: its text alone is read
    text = re.sub(r":material/\w+:\s*", "", text)
    text = re.sub(r"(?<!\\):[a-z]+(?:-badge)?\[((?:\\.|[^\[\]\\])*)\]", r"\1", text)
    text = re.sub(r":[a-z]+(?:-badge)?\[((?:\\.|[^\[\]\\])*)\]", r"\1", text)
    text = re.sub(r"(?<!\\)[*`]+", "", text)
    return re.sub(r"\\(.)", r"\1", text).replace("  \n", " ").strip()


def table(app: AppTest, first_column: str) -> list[list[str]]:
    """The cells of the static table whose first column is named so."""
    [found] = [it.value for it in app.table if it.value.columns[0] == first_column]
    return [[plain(str(cell)) for cell in row] for row in found.to_numpy()]


def metrics(app: AppTest) -> dict[str, tuple[str, str]]:
    """Label -> value and note of the bordered figures."""
    return {plain(it.label): (plain(it.value), plain(it.delta)) for it in app.metric}


def links(app: AppTest) -> list[tuple[str, str]]:
    """Label and query of the links to other pages, but for what each page has: the bell, the
    question mark that leads to Help, and at the foot the Ledger."""
    of_every_page = ("Help on this page", "Ajuda sobre esta página", "Ledger", "Livro de registros")
    return [it for it in all_links(app) if it[1] != BELL and it[0] not in of_every_page]


def all_links(app: AppTest) -> list[tuple[str, str]]:
    """Label and query of the links to other pages."""
    return [(plain(it.label), it.proto.query_string) for it in app.get("page_link")]


def marked(app: AppTest) -> str:
    """The place of the chosen row in the list, from 0; "" where the list does not have it."""
    [place] = re.findall(
        r'class="prazo-chosen" data-row="(\d*)"', "".join(it.proto.body for it in app.get("html"))
    )
    return place


def chart(app: AppTest, number: int = 0) -> dict[str, object]:
    """The Plotly specification of a figure on the page, which Plotly itself finds right: the page
    sends it without looking."""
    import json

    from plotly.graph_objects import Figure

    spec: dict[str, object] = json.loads(app.get("plotly_chart")[number].proto.spec)
    Figure(spec)  # raises where it is not
    return spec


def press(app: AppTest, label: str) -> None:
    """Presses the button, of a form or alone, and runs the page."""
    [button] = [it for it in app.button if it.label == label]
    button.click().run()
    assert not app.exception, app.exception


def unfold(app: AppTest, key: str) -> None:
    """Opens an expander by its key, and runs the page."""
    app.session_state[key] = True
    app.run()
    assert not app.exception, app.exception
