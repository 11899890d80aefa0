"""Fields by their names for people."""

import pytest

from pipeline.contract.fields import OWNER, paths
from pipeline.language import fields
from pipeline.language.catalogue import Language


@pytest.mark.parametrize(
    ("path", "english", "portuguese"),
    [
        ("address.postal_code", "Postal code", "CEP"),
        ("address.line1", "Street and number", "Rua e número"),
        ("owner.address.city", "City (legal representative)", "Cidade (representante legal)"),
        ("owner.revenue", "Income (legal representative)", "Renda (representante legal)"),
        ("owner.address", "Address (legal representative)", "Endereço (representante legal)"),
        ("address.tower", "address.tower", "address.tower"),
        ("owner.cpf", "owner.cpf", "owner.cpf"),
        ("owner.type", "owner.type", "owner.type"),
        ("city", "city", "city"),
    ],
)
def test_a_field_has_a_name_for_people(path: str, english: str, portuguese: str) -> None:
    said: dict[Language, str] = {"en": english, "pt": portuguese}
    assert {it: fields.name(path, it) for it in said} == said


def test_all_that_the_contract_shows_has_a_name() -> None:
    assert [it for it in paths() if it != OWNER and fields.name(it, "en") == it] == []


@pytest.mark.parametrize(
    ("detail", "listed"),
    [
        ("address.city, owner.revenue", ["address.city", "owner.revenue"]),
        ("revenue", ["revenue"]),
        ("revenue, tax.regime", []),
        ("acc_1", []),
        ("", []),
    ],
)
def test_a_detail_lists_fields_where_each_of_its_words_is_one(
    detail: str, listed: list[str]
) -> None:
    assert fields.listed_in(detail) == listed
