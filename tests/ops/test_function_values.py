"""A public function returns what NumPy, a closed form or TensorFlow's pages say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from values import arrays, elementwise, image, metrics, networks, variables
from values.value_case import ValueCase

import headrace.graph as hr
from headrace.graph.api.namespace import find

TABLES = (elementwise, arrays, networks, image, metrics, variables)
CASES = [case for table in TABLES for case in table.CASES]


def returned(case: ValueCase) -> Any:
    """Runs the call of a case, variables initialised; of a metric, its update."""
    with hr.Graph().as_default(), hr.Session() as session:
        args = [a(hr) if callable(a) else a for a in case.args]
        result = find(case.name)(*args, **case.kwargs)
        if case.name.startswith("metrics."):
            result = result[1]
        session.run([hr.global_variables_initializer(), hr.local_variables_initializer()])
        return session.run(result)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_function_returns_the_expected_value(case: ValueCase) -> None:
    found = returned(case)
    several = isinstance(case.expected, list) and isinstance(found, (list, tuple))
    pairs = zip(found, case.expected, strict=True) if several else [(found, case.expected)]
    for mine, expected in pairs:
        assert np.shape(mine) == np.shape(expected)
        if isinstance(expected, np.ndarray) and expected.dtype.kind in "iu":
            assert np.asarray(mine).dtype == expected.dtype
        np.testing.assert_allclose(
            np.asarray(mine, np.result_type(np.asarray(expected), np.float32)),
            expected,
            rtol=2e-5,
            atol=2e-5,
        )
