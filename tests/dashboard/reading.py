"""What a page shows, as a reader would read it."""

import re

from streamlit.testing.v1 import AppTest

_KINDS = ("title", "header", "markdown", "caption", "code", "warning", "error", "success", "info")
_WIDGETS = (
    "button",
    "text_input",
    "selectbox",
    "multiselect",
    "pills",
    "segmented_control",
    "datetime_input",
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
    for kind in ("pills", "segmented_control", "selectbox", "multiselect"):
        for widget in app.get(kind):
            found += list(widget.options)
    found += [expander.label for expander in app.expander]
    for table in app.table:
        found += [str(name) for name in table.value.index]
        found += [str(value) for value in table.value.to_numpy().ravel()]
    return [plain(text) for text in found if text]


def page_text(app: AppTest) -> str:
    return "\n".join(texts(app))


def plain(markdown: str) -> str:
    """`:red-badge[:material/alarm: Due] **soon\\.**` -> `Due soon.`"""
    text = re.sub(r":material/\w+:\s*", "", markdown)
    text = re.sub(r"(?<!\\):[a-z]+(?:-badge)?\[((?:\\.|[^\[\]\\])*)\]", r"\1", text)
    text = re.sub(r":[a-z]+(?:-badge)?\[((?:\\.|[^\[\]\\])*)\]", r"\1", text)
    text = re.sub(r"(?<!\\)[*`]+", "", text)
    return re.sub(r"\\(.)", r"\1", text).replace("  \n", " ").strip()


def metrics(app: AppTest) -> dict[str, tuple[str, str]]:
    """Label -> value and note of the bordered figures."""
    return {plain(it.label): (plain(it.value), plain(it.delta)) for it in app.metric}


def chart(app: AppTest, number: int = 0) -> dict[str, object]:
    """The Plotly specification of a figure on the page."""
    import json

    spec: dict[str, object] = json.loads(app.get("plotly_chart")[number].proto.spec)
    return spec
