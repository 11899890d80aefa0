"""What an erasure's entry says."""

from pipeline.contract.body import canonical_json
from pipeline.log import erasures


def test_an_erasure_of_which_no_key_is_known_speaks_against_none() -> None:
    of_none = [None, b"{}", canonical_json({"taxpayer_mark": "m"})]
    assert erasures.taxpayer_marks(of_none) == {"m"}


def test_the_newest_erasure_of_an_entry_says_what_stays_of_it() -> None:
    """It came back with an older copy, and was erased again by another release."""
    first, later = (canonical_json({"erased": [f"1:{it * 64}"]}) for it in "ab")
    assert erasures.known([(3, first), (5, later)]) == {1: bytes.fromhex("b" * 64)}


def test_an_erasure_that_is_recorded_again_names_what_both_pasts_have() -> None:
    particulars = {"erased": [f"{seq}:{'a' * 64}" for seq in (4, 5, 6)], "was_seq": 9}
    again = erasures.up_to(particulars, 5)
    assert again == {"erased": [f"{seq}:{'a' * 64}" for seq in (4, 5)], "was_seq": 9}
