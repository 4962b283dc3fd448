"""Constants that a function returns as an element, kept longer than the function.

Modules: executor/function_calls.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "executor"))
from child_process import output

# The iterator lies in a container of its own, whose reset ends the function's body; the element
# stays in a queue. Freed memory is overwritten at once.
SCRIPT = """
    import gc
    raw = hr.raw_ops
    dtype, value = {value}
    def plain(x):
        return hr.constant(value)
    def waits(x):
        with hr.control_dependencies([hr.py_func(lambda: np.int64(0), [], hr.int64)]):
            return hr.constant(value)
    def build():
        queue = hr.FIFOQueue(-1, [hr.variant], shapes=[[]], shared_name="kept")
        with hr.container("iterators"):
            dataset = hr.data.Dataset.range(3).map({body})
            iterator = hr.data.make_initializable_iterator(dataset)
        kind = dict(output_types=[dtype], output_shapes=[[None]])
        element = raw.IteratorGetNextAsOptional(iterator=iterator._iterator_resource, **kind)
        got = raw.OptionalGetValue(optional=queue.dequeue(), **kind)[0]
        return iterator.initializer, queue.enqueue(element), got
    for i in range(5):
        target = f"local://elements{{i}}"
        with hr.Graph().as_default():
            initializer, put, _ = build()
            with hr.Session(target) as session:
                session.run(initializer)
                session.run(put)
        del session, initializer, put
        hr.Session.reset(target, ["iterators"])
        gc.collect()
        others = [bytes([7]) * n for n in range(512, 20_000, 64) for _ in range(4)]
        with hr.Graph().as_default():
            _, _, got = build()
            with hr.Session(target) as session:
                assert np.array_equal(session.run(got), value)
    print("kept")
"""
VALUES = {
    "numbers": "hr.float32, np.arange(3000, dtype=np.float32)",
    "texts": "hr.string, np.array([b'a text that is long enough'] * 300, object)",
}


@pytest.mark.parametrize("body", ["plain", "waits"])
@pytest.mark.parametrize("values", VALUES)
def test_a_constant_element_is_kept_as_long_as_what_holds_it(values: str, body: str) -> None:
    script = SCRIPT.format(value=VALUES[values], body=body)
    assert output(script, MALLOC_PERTURB_="165") == "kept\n"
