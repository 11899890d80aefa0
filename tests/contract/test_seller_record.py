"""A value of a seller's record stays under its own name, and is hidden there."""

from pipeline.contract.readings import SellerRecord
from pipeline.contract.seller_record import FIELDS, MASKS
from pipeline.ledger.facts.rows import SellerEvent


def test_the_record_has_the_listed_fields_in_their_order() -> None:
    """Both readers give it values by position: out of order, an address stands under a name that
    no mask hides."""
    names = [each.name for each in FIELDS]
    assert SellerRecord._fields == ("id", *names, "retry", "decision_reasons", "document_tax_id")


def test_each_listed_field_is_a_fact_and_what_hides_one_names_it() -> None:
    columns = {each.column or each.name for each in FIELDS}
    assert columns <= {*SellerEvent._fields}
    assert MASKS.keys() <= columns
