"""Whole histories for hypothesis: realistic in shape, nasty in order, spelling and repetition.

    @given(histories().flatmap(lambda history: st.tuples(st.just(history), instants_of(history))))
    @given(histories_and_as_of())          # the same, shorter

A history is a list of occurrence dicts in the order of recording, as `oracle.rows` takes it. All
instants come from one small pool, so that ties are common; ids come from a handful, so that
events of one process, attempts of one id and answers to one path meet each other.

`reordered(history)` and `repeated(history)` give the same occurrences in another order and more
often: no state may depend on either.
"""

from tests.support.histories.questions import histories_and_as_of, instants_of
from tests.support.histories.whole import histories, reordered, repeated

__all__ = ["histories", "histories_and_as_of", "instants_of", "reordered", "repeated"]
