"""Reads a TOML file of settings into a model; what is wrong with it is said all at once."""

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pipeline.errors import SettingsError

Model = TypeVar("Model", bound=BaseModel)


def read(path: Path, model: type[Model], *, what: str, page: str) -> Model:
    """The model that a file says. Raises `SettingsError`, which names every fault.

    `what`: the file's content in the message. `page`: that says what may stand in it.
    """
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        faults = [str(error.strerror)]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        faults = [f"it is not TOML: {error}"]
    except ValidationError as error:
        faults = [_fault(it["loc"], it["msg"]) for it in error.errors()]
    raise SettingsError(
        f"{what} in {path} cannot be used",
        "; ".join(faults),
        f"correct the file; {page} says what may stand in it",
    )


def _fault(place: tuple[int | str, ...], message: str) -> str:
    named = ".".join(str(it + 1) if isinstance(it, int) else it for it in place)
    said = message.removeprefix("Value error, ")
    return f"{named}: {said}" if named else said
