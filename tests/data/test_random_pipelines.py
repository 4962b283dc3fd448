"""Random pipelines give what Python lists give, also from a state that was saved in the middle.

`HEADRACE_PIPELINES=5000 pytest tests/data/test_random_pipelines.py` runs many.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_pipelines import PIPELINES, Datasets, Lists, is_ordered

import headrace.graph as hr

COUNT = int(os.environ.get("HEADRACE_PIPELINES", "25"))


def rest(session: hr.Session, element: Any, most: int = 10_000) -> list[int]:
    """The elements that an iterator has still got, up to a number of them."""
    found: list[int] = []
    try:
        while len(found) < most:
            found.append(int(session.run(element)))
    except hr.errors.OutOfRangeError:
        pass
    return found


def fitting(found: list[int], ordered: bool) -> list[int]:
    return found if ordered else sorted(found)


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(PIPELINES, st.integers(0, 20))
def test_a_pipeline_gives_what_lists_give_and_goes_on_where_it_was_saved(
    pipeline: Any, first: int
) -> None:
    ordered = is_ordered(pipeline)
    if not ordered:  # what follows a shuffle may depend on the order
        names = [name for name, _ in pipeline[1]]
        pipeline = (pipeline[0], pipeline[1][: names.index("shuffle") + 1])
    expected = Lists().elements(pipeline)
    # As in TensorFlow, an iterator in the middle of a window, which is a dataset, cannot be saved.
    saved = all(name != "window" for name, _ in pipeline[1])
    with hr.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        iterator = hr.data.make_initializable_iterator(Datasets().dataset(pipeline))
        element = iterator.get_next()
        saver = hr.train.Saver([hr.data.experimental.make_saveable_from_iterator(iterator)])
        with hr.Session() as session:
            session.run(iterator.initializer)
            begun = rest(session, element, first)
            if saved:
                saver.save(session, f"{folder}/state")
            ended = rest(session, element)
        assert fitting(begun + ended, ordered) == fitting(expected, ordered)
        if not saved:
            return
        with hr.Session() as session:
            session.run(iterator.initializer)
            saver.restore(session, f"{folder}/state")
            again = rest(session, element)
        assert fitting(again, ordered) == fitting(ended, ordered)
