"""Which way it goes, of all kinds of reviews together."""

import pytest

from pipeline.trends import in_time


def of(kind, in_time, due):
    return {"review_type": kind, "finished_in_time": in_time, "due_so_far": due}


HALF = [of("ACI", 30, 60)]
A_QUARTER = [of("ACI", 15, 60)]
WITH_A_NEW_TYPE = [*A_QUARTER, of("ACP", 57, 60)]


@pytest.mark.parametrize(
    ("last", "before", "said"),
    [
        # By hand: Wilson's intervals are 0.158 to 0.372 and 0.377 to 0.623; 0.25 is more than
        # the root of 0.123 squared and 0.122 squared, which is 0.173.
        (A_QUARTER, HALF, "Worse: 25.0% in time in Oct, after 50.0%"),
        (HALF, A_QUARTER, "Better: 50.0% in time in Oct, after 25.0%"),
        # 40 of 51 after 15 of 19, and 20 of 60 after 30 of 60: 0.167 is less than 0.176.
        (
            [of("ACI", 40, 51)],
            [of("ACI", 15, 19)],
            "No clear change from the period before: 78.4% in time in Oct",
        ),
        ([of("ACI", 20, 60)], HALF, "No clear change from the period before: 33.3% in time in Oct"),
        ([of("ACI", 19, 60)], HALF, "Worse: 31.7% in time in Oct, after 50.0%"),
        (
            WITH_A_NEW_TYPE,
            HALF,
            "Worse: 25.0% in time in Oct, after 50.0%, of the types that were due in both",
        ),
        # 77 of 120 in all; of the type of both 20 of 60, which is not clear, as above.
        (
            [of("ACI", 20, 60), of("ACP", 57, 60)],
            HALF,
            "No clear change from the period before: 64.2% in time in Oct, of all types",
        ),
        # Clear, since there are so many, but 0.50004 and 0.5 are both printed as 50.0%.
        (
            [of("ACI", 5_000_400_000, 10_000_000_000)],
            [of("ACI", 5_000_000_000, 10_000_000_000)],
            "No clear change from the period before: 50.0% in time in Oct",
        ),
        (WITH_A_NEW_TYPE, [of("ACP", 0, 0)], "60.0% in time in Oct"),
        (A_QUARTER, [of("ACP", 50, 60)], "25.0% in time in Oct"),
    ],
)
def test_a_change_is_said_where_it_is_clear_and_like_is_compared_with_like(last, before, said):
    assert in_time.headline(in_time.compared(last, before), "in Oct", "en") == said


def test_where_nothing_was_due_there_is_no_whole():
    assert in_time.whole([of("ACI", 0, 0)]) is None
    assert in_time.compared([of("ACI", 0, 0)], HALF) is None
