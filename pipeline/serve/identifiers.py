"""Masks ids that look like a tax id or an e-mail address where personal values are masked, and
telephone numbers in texts.

Some marketplaces know a seller by the CPF. The mask ends with a keyed digest, so that two such ids
stay two, and one of them stays the same in every file; without the log's key none can be guessed.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlencode

from pipeline.ledger.syntax import filters as filtering
from pipeline.ledger.views import catalogue, formats
from pipeline.texts import (
    PERSONAL_ID,
    TAX_ID_WITHIN,
    hide_personal,
    is_marked_or_checked,
    is_phone,
    is_tax_id,
    may_be_address,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.inbox import Inbox

_PROCESSES: Final = "select distinct process_id from entries where process_id is not null"
_FEW: Final = 1000
"""Texts that are looked through sooner than Arrow's functions are imported."""
_DIGEST_DIGITS: Final = 10
_DIGEST: Final = re.compile("[0-9a-f]{64}")


def mask(identifier: str, log_key: bytes | None) -> str:
    """The id itself, or its mask where it looks personal; of an id that holds a tax id among other
    characters (`cpf-529.982.247-25`), with the mask of that. No `log_key`: without the digest."""
    if is_tax_id(identifier):
        return _mask(identifier, f"***{identifier[-2:]}", log_key)
    if may_be_address(identifier):
        return _mask(identifier, f"{identifier[:1]}***", log_key)
    return TAX_ID_WITHIN.sub(lambda found: _mask_if_sure(found[0], log_key), identifier)


def _mask_if_sure(found: str, log_key: bytes | None) -> str:
    """Ids are made of digits as well: what looks like a tax id in one may be a time or a number."""
    return _mask(found, f"***{found[-2:]}", log_key) if is_marked_or_checked(found) else found


def _mask(identifier: str, shown: str, log_key: bytes | None) -> str:
    if log_key is None:
        return shown
    digest = hmac.new(log_key, identifier.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
    return f"{shown}~{digest[:_DIGEST_DIGITS]}"


def as_recorded(shown: Sequence[str], inbox: "Inbox") -> Mapping[str, str]:
    """Each process's id, and how rows show it, of such as rows show: a sender has to name the
    process, and an id with the digits of a tax id is shown by its mask."""
    if not any("***" in it for it in shown):
        return {it: it for it in shown}
    ids = {mask(it, inbox.log_key): it for (it,) in inbox.query(_PROCESSES)}
    return {ids.get(it, it): it for it in shown}


def mask_within(text: str, log_key: bytes | None) -> str:
    """The text, with the mask of each id in it that looks personal, and of each telephone
    number."""

    def hide(found: str) -> str:
        is_number = is_phone(found)
        return _mask(found, f"***{found[-2:]}", log_key) if is_number else mask(found, log_key)

    return hide_personal(text, hide)


def _mask_ids_within(text: str, log_key: bytes | None) -> str:
    """The same for texts that are made of ids, among which a telephone number is an id, too."""
    return hide_personal(text, lambda found: mask(found, log_key), PERSONAL_ID)


def _mask_in_filters(filters: str, log_key: bytes | None) -> str:
    """The filters of a page, as its address has them, with the mask of each id that looks personal.
    An address writes `@` and `/` in other signs, which nothing finds an id behind. Who works here
    is often known by an e-mail address: the column of assignees has it whole, and a report of
    theirs that asked for a mask would list nothing."""
    asked = parse_qsl(filters, keep_blank_values=True)

    def hide(text: str) -> str:
        return mask(text, log_key) if is_tax_id(text) else _mask_ids_within(text, log_key)

    hidden = [(hide(name), value if name == "assignee" else hide(value)) for name, value in asked]
    return filters if hidden == asked else urlencode(hidden, safe="*")


def _mask_in_path(path: str, log_key: bytes | None) -> str:
    """The same for the path of an address."""
    plain = unquote(path)
    hidden = _mask_ids_within(plain, log_key)
    return path if hidden == plain else hidden


def _mask_if_sure_within(text: str, log_key: bytes | None) -> str:
    """For numbers that somebody else gives: most that have the digits of a tax id are none."""

    def hide(found: str) -> str:
        return mask(found, log_key) if may_be_address(found) else _mask_if_sure(found, log_key)

    return PERSONAL_ID.sub(lambda found: hide(found[0]), text)


def _mask_digest(digest: str, log_key: bytes | None) -> str:
    """Of a payload that asks for a postal code alone, a digest without a key tells which one it is
    once all are tried."""
    return _mask(digest, "***", log_key) if _DIGEST.fullmatch(digest) else digest


_MASKS: Final[Mapping[str, Callable[[str, bytes | None], str]]] = {
    "id": mask,
    "ids": _mask_ids_within,
    "text": mask_within,
    "filters": _mask_in_filters,
    "secret": _mask_digest,
    "path": _mask_in_path,
    "number": _mask_if_sure_within,
}
"""Kind of a column, as the header of its view declares it -> what masks its texts. Who sends a code
or a path may write anything in its place, such as whose CPF is wrong; and so may people who say why
they did something, or name what they keep. No mask: of other kinds nothing is to be hidden, or the
view itself hides it."""


def _column(texts: list[str | None]) -> "pa.Array":
    """A column of texts. `pa.array` imports pandas, which takes a command a third of a second."""
    import pyarrow as pa

    builder = pa.lib.StringBuilder()
    builder.append_values(texts)
    return builder.finish()


def _texts_in(values: "pa.Array") -> set[str]:
    """The different texts in a column, and in its lists and structs."""
    if len(values) <= _FEW:  # `flatten` imports Arrow's functions, which takes a command 0.1 s
        return {*_texts(values.to_pylist())}
    import pyarrow as pa

    if pa.types.is_list(values.type):
        return _texts_in(values.flatten())
    if pa.types.is_struct(values.type):
        return {text for part in values.flatten() for text in _texts_in(part)}
    if not pa.types.is_string(values.type):
        return set()
    return {*values.dictionary_encode().dictionary.to_pylist()} - {None}


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, in its lists and structs."""
    match value:
        case list():
            for inner in value:
                yield from _texts(inner)
        case dict():
            for inner in value.values():
                yield from _texts(inner)
        case str():
            yield value


def _each_hidden(value: Any, hide: Callable[[str], str]) -> Any:
    """The value with each text in it hidden, in its lists and structs."""
    match value:
        case list():
            return [_each_hidden(inner, hide) for inner in value]
        case dict():
            return {name: _each_hidden(inner, hide) for name, inner in value.items()}
        case str():
            return hide(value)
        case _:
            return value


def mask_of(column: str) -> Callable[[str, bytes | None], str] | None:
    """What masks the texts of a view's column, with the log's key; None where nothing is masked.
    A column that no view has is masked like a text."""
    return _MASKS.get(catalogue.kinds().get(column, "text"))


def may_be_masked(column: str, view: str | None = None) -> bool:
    """Whether `masked` may hide texts in the column, of this view or of any: searches in it, asked
    often enough, would spell out what it hides."""
    of_view = catalogue.public().get(view or "")
    kinds = catalogue.kinds() if of_view is None else of_view.kinds
    return kinds.get(column) in _MASKS


def masked_question(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a file of masked rows says that it answers, as `formats.notes` takes it, with the ids in
    it masked as well: who asked had them, whom the file is handed to need not."""

    def hide(column: str, value: object) -> object:
        if isinstance(value, list | tuple):
            return type(value)(hide(column, it) for it in value)
        return (mask_of(column) or mask_within)(value, None) if isinstance(value, str) else value

    filters = ("where", "contains", "between")
    return {
        name: {column: hide(column, value) for column, value in (said or {}).items()}
        if name in filters
        else said
        for name, said in asked.items()
    }


def file_of(
    rows: "pa.Table",
    asked: formats.Asked,
    as_of: int,
    form: formats.Format,
    look: formats.Look,
) -> bytes:
    """Rows, masked where no reason to unmask them was given, as a file that says what it answers.
    `as_of`: of which instant they are, in microseconds."""
    where = filtering.parse(asked.filters)
    if asked.unmask is None:
        where = masked_question({"where": where})["where"]
    notes = formats.notes(asked.view, rows, as_of=as_of, where=where)
    return formats.encode(rows, form, notes, look)


def masked(rows: "pa.Table", log_key: bytes) -> "pa.Table":
    """The rows of a view with the ids in their columns masked, as their personal values are, and
    what looks like one in the place of a code."""
    import pyarrow as pa

    for number, field in enumerate(rows.schema):
        hide = mask_of(field.name)
        if hide is None or not _holds_texts(field.type):
            continue
        column = rows.column(number)
        texts = {text for chunk in column.chunks for text in _texts_in(chunk)}
        masks = {it: hide(it, log_key) for it in texts}
        if any(it != hidden for it, hidden in masks.items()):
            known = [_each_hidden(value, masks.__getitem__) for value in column.to_pylist()]
            is_plain = pa.types.is_string(field.type)
            hidden = _column(known) if is_plain else pa.array(known, type=field.type)
            rows = rows.set_column(number, field, hidden)
    return rows


def _holds_texts(of: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(of) or pa.types.is_list(of) or pa.types.is_struct(of))


def masked_value(column: str, value: Any, log_key: bytes) -> Any:
    """A value of one row in such a column, as JSON has it, masked as `masked` does it."""
    hide = mask_of(column)
    return value if hide is None else _each_hidden(value, lambda text: hide(text, log_key))
