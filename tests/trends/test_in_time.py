"""Which way it goes, of all kinds of reviews together."""

import pytest

from pipeline.trends import in_time


def of(kind, in_time, due):
    return {"review_type": kind, "finished_in_time": in_time, "due_so_far": due}


SEPTEMBER = [of("ACI", 13, 17)]
OCTOBER = [of("ACI", 15, 25), of("ACP", 23, 29)]


@pytest.mark.parametrize(
    ("last", "before", "said"),
    [
        (OCTOBER, SEPTEMBER, "Worse: 70.4% in time in Oct, after 76.5%"),
        (SEPTEMBER, OCTOBER, "Better: 76.5% in time in Oct, after 70.4%"),
        (SEPTEMBER, [of("ACP", 26, 34)], "As before: 76.5% in time in Oct"),
        ([of("ACI", 7650, 10000)], [of("ACI", 7651, 10000)], "As before: 76.5% in time in Oct"),
        (OCTOBER, [of("ACP", 0, 0)], "70.4% in time in Oct"),
    ],
)
def test_a_kind_that_is_new_hides_no_fall_of_the_whole(last, before, said):
    wholes = (in_time.whole(last), in_time.whole(before))
    assert in_time.headline(*wholes, "in Oct", "en") == said


def test_where_nothing_was_due_there_is_no_whole():
    assert in_time.whole([of("ACI", 0, 0)]) is None
