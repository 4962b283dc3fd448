"""Logarithms of determinants that themselves overflow; TensorFlow 2.21 gives inf for some."""

from __future__ import annotations

import numpy as np

import headrace.graph as hr


def test_the_logarithm_of_an_updated_operator_is_finite() -> None:
    large = 10.0 * np.eye(60, dtype=np.float32) + np.triu(np.ones([60, 60], np.float32), 1)
    update = 30.0 * np.eye(60, dtype=np.float32)
    with hr.Graph().as_default(), hr.Session() as session:
        operator = hr.linalg.LinearOperatorLowRankUpdate(
            hr.linalg.LinearOperatorFullMatrix(hr.constant(large)), hr.constant(update)
        )
        found = session.run(operator.log_abs_determinant())
    wide = large.astype(np.float64) + update.astype(np.float64) @ update.T
    np.testing.assert_allclose(found, np.linalg.slogdet(wide)[1], rtol=2e-5)
