"""A test as users write it, with hr.test."""

from __future__ import annotations

import numpy as np

import headrace.graph as hr


class SquaresTest(hr.test.TestCase):
    def test_values_gradients_and_errors(self):
        x = hr.constant([[1.0, 2.0]])
        with self.test_session() as session:
            y = hr.matmul(x, x, transpose_b=True)
            self.assertAllClose(y, [[5.0]])
            self.assertAllEqual(session.run(y), [[5.0]])
            self.assertShapeEqual(np.zeros([1, 1]), y)
            error = hr.test.compute_gradient_error(x, [1, 2], y, [1, 1], delta=1e-2)
            self.assertLess(error, 1e-2)
            z = hr.placeholder(hr.complex64, [2])
            self.assertLess(
                hr.test.compute_gradient_error(z, [2], hr.square(z), [2], delta=1e-2), 2e-2
            )
            with self.assertRaisesOpError("must feed a value"):
                session.run(hr.placeholder(hr.float32, []))
            with self.assertRaises(AssertionError):
                self.assertAllEqual([1, 2], [1, 3])
            with self.assertRaises(AssertionError):
                self.assertAllClose([1.0], [1.1])
        self.assertNotAllClose([1.0], [1.1])
        self.assertProtoEquals("value { tag: 'a' }", hr.Summary(value=[hr.Summary.Value(tag="a")]))


def test_there_is_no_gpu_here():
    assert not hr.test.is_built_with_cuda() and not hr.test.is_gpu_available()
    assert hr.test.gpu_device_name() == ""
