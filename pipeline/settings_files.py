"""Reads a TOML file of settings into a model. One error names all of its faults."""

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, ValidationError

from pipeline.errors import SettingsError
from pipeline.hosts import parts_of_url, url_in_ascii
from pipeline.written import read_small

Model = TypeVar("Model", bound=BaseModel)
_EXTRA: Final = "Extra inputs are not permitted"
"""Pydantic's message for an unknown name."""


def read(path: Path, model: type[Model], *, what: str, page: str) -> Model:
    """The model that a file describes. Raises `SettingsError`, which names every fault.

    `what`: how the message calls the file's content. `page`: the page that the message refers to.
    """
    try:
        text = read_small(path)
    except SettingsError as error:
        raise _refusal(path, what, page, [error.why]) from None
    return parsed(text, path, model, what=what, page=page)


def parsed(text: str, path: Path, model: type[Model], *, what: str, page: str) -> Model:
    """The model that a file's text describes; otherwise like `read`."""
    try:
        return model.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        faults = [f"it is not TOML: {error}"]
    except ValidationError as error:
        faults = [_fault(it["loc"], it["msg"], model) for it in error.errors()]
    raise _refusal(path, what, page, faults)


def _refusal(path: Path, what: str, page: str, faults: list[str]) -> SettingsError:
    return SettingsError(
        f"{what} in {path} cannot be used",
        "; ".join(faults),
        f"correct the file; {page} says what may stand in it",
    )


def _url(url: str) -> str:
    """Refuses a URL with credentials: messages show it, and would show a password."""
    url = url_in_ascii(url)
    parts = parts_of_url(url)
    if not url.isprintable() or " " in url:
        raise ValueError("is not an http:// or https:// URL")
    if "@" in parts.netloc:
        raise ValueError("holds credentials: a URL is shown in logs; leave them out")
    if parts.fragment:
        raise ValueError("has a part after #, which is never sent")
    return url


PlainUrl = Annotated[str, AfterValidator(_url)]
"""An http(s) URL without credentials."""


def _unknown(place: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """What to say of a name that is not known at its place. In TOML whatever follows `[part]`
    belongs to that part, so that a setting of the whole file easily ends up in its last part."""
    of_the_file = [field.alias or name for name, field in model.model_fields.items()]
    name = str(place[-1])
    if len(place) > 1 and name in of_the_file:
        return "there is no such setting here: move it above the first [part] of the file"
    near = difflib.get_close_matches(name, of_the_file, n=1) if len(place) == 1 else []
    return f"there is no such setting: is it {near[0]}?" if near else "there is no such setting"


def _fault(place: tuple[int | str, ...], message: str, model: type[BaseModel]) -> str:
    if message == _EXTRA:
        message = _unknown(place, model)
    named = ".".join(str(it + 1) if isinstance(it, int) else it for it in place)
    said = message.removeprefix("Value error, ")
    return f"{named}: {said}" if named else said
