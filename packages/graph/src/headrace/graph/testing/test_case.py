"""hr.test.TestCase, and functions for tests."""

from __future__ import annotations

import contextlib
import math
import re
import shutil
import sys
import tempfile
import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.formats.errors import OpError
from headrace.graph.client.session import Session
from headrace.graph.framework.graph import Graph, get_default_graph, reset_default_graph
from headrace.graph.typing.aliases import Proto

_folder: str | None = None


def get_temp_dir() -> str:
    """Returns a temporary folder of the process, removed at exit."""
    global _folder
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="headrace-test-")
        import atexit

        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    return _folder


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the `__main__` module, and exits."""
    unittest.main(argv=sys.argv if argv is None else argv)


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: object | None = None
) -> bool:
    """Returns whether a session has a GPU; False with CUDA requirements, which are unsupported."""
    return not cuda_only and bool(gpu_device_name())


def gpu_device_name() -> str:
    """Returns the name of the first GPU, or ""."""
    with Graph().as_default(), Session() as session:
        for device in session.list_devices():
            if device.device_type == "GPU":
                return device.name
    return ""


def is_built_with_cuda() -> bool:
    """Returns False: GPU kernels use OpenCL."""
    return False


def is_built_with_gpu_support() -> bool:
    """Returns whether a session may have a GPU."""
    return bool(gpu_device_name())


def is_built_with_rocm() -> bool:
    """Returns False: GPU kernels use OpenCL."""
    return False


def is_built_with_xla() -> bool:
    """Returns False: XLA is not supported."""
    return False


def assert_equal_graph_def(
    actual: Any,
    expected: Any,
    checkpoint_v2: bool = False,
    hash_table_shared_name: bool = False,
) -> None:
    """Asserts that two GraphDefs have the same nodes, in any order.

    Raises: AssertionError for different nodes; TypeError for other types.
    """
    for message in (actual, expected):
        if not hasattr(message, "node"):
            raise TypeError(f"a GraphDef is needed, got {type(message)}")
    mine = {node.name: node for node in actual.node}
    other = {node.name: node for node in expected.node}
    if sorted(mine) != sorted(other):
        raise AssertionError(
            f"nodes differ: only actual: {sorted(mine.keys() - other.keys())}, only expected: "
            f"{sorted(other.keys() - mine.keys())}"
        )
    for name, node in mine.items():
        if node != other[name]:
            raise AssertionError(f"node {name} differs: actual {node}, expected {other[name]}")


class TestCase(unittest.TestCase):
    """Base class of tests, with a new graph per test, sessions, and comparisons of arrays."""

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803 - unittest's name
        super().__init__(methodName)
        self._cached: Any = None
        self._tempdir: str | None = None

    def setUp(self) -> None:  # noqa: N802 - unittest's name
        """Creates a new default graph, and seeds the random generators."""
        super().setUp()
        self._close_cached()
        np.random.seed(87654321)
        reset_default_graph()
        get_default_graph().seed = 87654321

    def tearDown(self) -> None:  # noqa: N802 - unittest's name
        """Closes the cached session."""
        self._close_cached()
        super().tearDown()

    def _close_cached(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    def get_temp_dir(self) -> str:
        """Returns the temporary folder of the test."""
        if self._tempdir is None:
            self._tempdir = tempfile.mkdtemp(dir=get_temp_dir())
        return self._tempdir

    # -- sessions --------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: Proto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Any]:
        """Returns a context manager of a new default session, by default of the default graph."""
        with Session(graph=graph, config=config) as result:
            yield result

    @contextlib.contextmanager
    def cached_session(
        self,
        graph: Graph | None = None,
        config: Proto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Any]:
        """Returns a context manager of the session of the test, created on first use."""
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
        elif graph is not None and self._cached.graph is not graph:
            raise ValueError("The graph used to get the cached session is different")
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    @contextlib.contextmanager
    def test_session(
        self,
        graph: Graph | None = None,
        config: Proto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Any]:
        """Same as `session` with a graph, as `cached_session` without."""
        manager = self.cached_session if graph is None else self.session
        with manager(graph, config, use_gpu, force_gpu) as result:
            yield result

    test_session.__test__ = False  # type: ignore[attr-defined] # its name is not a test's

    def evaluate(self, tensors: Any) -> Any:
        """Evaluates a structure of tensors in the default session."""
        from headrace.graph.framework.default_session import get_default_session

        session = get_default_session()
        if session is None:
            with self.test_session() as result:
                return result.run(tensors)
        return session.run(tensors)

    def _array(self, value: Any) -> np.ndarray:
        if hasattr(value, "graph") and hasattr(value, "dtype"):
            value = self.evaluate(value)
        return np.asarray(value)

    # -- comparisons -----------------------------------------------------------------------

    def assertNear(  # noqa: N802
        self, f1: Any, f2: Any, err: float, msg: str | None = None
    ) -> None:
        """Asserts that two numbers differ by at most err."""
        self.assertTrue(
            f1 == f2 or math.fabs(f1 - f2) <= err,
            f"{f1} != {f2} +/- {err}{f' ({msg})' if msg else ''}",
        )

    def assertArrayNear(  # noqa: N802
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Asserts that the elements of two sequences differ by at most err."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for a, b in zip(farray1, farray2):
            self.assertNear(float(a), float(b), err, msg)

    def assertNDArrayNear(  # noqa: N802
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Asserts that the distance of two arrays is at most err."""
        distance = float(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2)))
        self.assertTrue(distance <= err, msg or f"distance {distance} is above {err}")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802
        """Asserts that two arrays, tensors or structures have equal shapes and elements."""
        one, other = self._array(a), self._array(b)
        self.assertEqual(one.shape, other.shape, f"Shapes differ.  {msg or ''}")
        same = one == other
        if one.dtype.kind in "fc" and other.dtype.kind in "fc":
            same = np.logical_or(same, np.logical_and(np.isnan(one), np.isnan(other)))
        if not np.all(same):
            places = np.argwhere(~np.asarray(same))[:10].tolist()
            raise AssertionError(f"{msg or ''} not equal where {places}: {one!r} and {other!r}")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802
        """Asserts that two arrays differ in at least one element."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def assertAllClose(  # noqa: N802
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Asserts that two structures are equal within atol + rtol * |b|."""
        if isinstance(a, dict):
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, f"{msg or ''} at {key!r}")
            return
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            try:
                one, other = self._array(a), self._array(b)
            except ValueError:  # ragged: compare the parts separately
                one = other = np.array(None)
            if one.dtype == object or other.dtype == object:
                self.assertEqual(len(a), len(b), msg)
                for number, (x, y) in enumerate(zip(a, b)):
                    self.assertAllClose(x, y, rtol, atol, f"{msg or ''} at {number}")
                return
        one, other = self._array(a), self._array(b)
        self.assertEqual(one.shape, other.shape, f"Shapes differ.  {msg or ''}")
        if one.dtype.kind == "V" or one.dtype.name in ("bfloat16", "float16"):
            rtol, atol = max(rtol, 1e-2), max(atol, 1e-2)
        kind = np.complex128 if one.dtype.kind == "c" or other.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            one.astype(kind), other.astype(kind), rtol=rtol, atol=atol, err_msg=msg or ""
        )

    def assertAllCloseAccordingToType(  # noqa: N802
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
        float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2, bfloat16_atol: float = 1e-2, msg: str | None = None,
    ) -> None:  # fmt: skip
        """Same as assertAllClose, with the tolerance of the less precise dtype."""
        names = {self._array(a).dtype.name, self._array(b).dtype.name}
        if names & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in names:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if "bfloat16" in names:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(  # noqa: N802
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Asserts that two structures are not close."""
        try:
            self.assertAllClose(a, b, rtol=rtol, atol=atol)
        except AssertionError:
            return
        raise AssertionError(f"The two values are close at all elements. {msg or ''}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Asserts that all elements are greater than a value."""
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Asserts that all elements are greater than or equal to a value."""
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Asserts that all elements are less than a value."""
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:  # noqa: N802
        """Asserts that all elements are less than or equal to a value."""
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(  # noqa: N802
        self, target: Any, lower_bound: Any, upper_bound: Any,
        open_lower_bound: bool = False, open_upper_bound: bool = False,
    ) -> None:  # fmt: skip
        """Asserts that all elements are within bounds, which may be open."""
        array = self._array(target)
        low = array > lower_bound if open_lower_bound else array >= lower_bound
        high = array < upper_bound if open_upper_bound else array <= upper_bound
        self.assertTrue(bool(np.all(low & high)), f"{array} is not in range")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:  # noqa: N802
        """Asserts that all elements are in a set."""
        found = set(np.unique(self._array(target)).tolist()) - set(expected_set)
        self.assertFalse(found, f"not in the set: {found}")

    def assertShapeEqual(  # noqa: N802
        self, np_array: Any, tf_tensor: Any, msg: str | None = None
    ) -> None:
        """Asserts that the shape of an array equals the static shape of a tensor."""
        shape = tf_tensor.get_shape().as_list()
        self.assertEqual(list(np.asarray(np_array).shape), shape, msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:  # noqa: N802
        """Asserts the dtype of an array or of a tensor's value."""
        self.assertEqual(self._array(target).dtype, np.dtype(expected_dtype))

    def assertDeviceEqual(  # noqa: N802
        self, device1: Any, device2: Any, msg: str | None = None
    ) -> None:
        """Asserts that two names denote the same device."""
        from headrace.graph.framework.device_spec import DeviceSpec

        one, other = (DeviceSpec.from_string(str(d or "")).to_string() for d in (device1, device2))
        self.assertEqual(one, other, msg)

    def assertStartsWith(  # noqa: N802
        self, actual: str, expected_start: str, msg: str | None = None
    ) -> None:
        """Asserts that a string starts with another."""
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r}, {expected_start!r}")

    def assertEndsWith(  # noqa: N802
        self, actual: str, expected_end: str, msg: str | None = None
    ) -> None:
        """Asserts that a string ends with another."""
        self.assertTrue(actual.endswith(expected_end), msg or f"{actual!r}, {expected_end!r}")

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:  # noqa: N802
        """Asserts that a container is empty."""
        self.assertFalse(len(container), msg or f"{container!r} is not empty")

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:  # noqa: N802
        """Asserts that a container is not empty."""
        self.assertTrue(len(container), msg or f"{container!r} is empty")

    def assertLen(  # noqa: N802
        self, container: Any, expected_len: int, msg: str | None = None
    ) -> None:
        """Asserts the length of a container."""
        self.assertEqual(len(container), expected_len, msg or f"length of {container!r}")

    def assertBetween(  # noqa: N802
        self, value: Any, minv: Any, maxv: Any, msg: str | None = None
    ) -> None:
        """Asserts that a value is within bounds."""
        self.assertTrue(minv <= value <= maxv, msg or f"{value!r} is not in [{minv!r}, {maxv!r}]")

    def assertContainsSubset(  # noqa: N802
        self, expected_subset: Any, actual_set: Any, msg: str | None = None
    ) -> None:
        """Asserts that a set contains all of the expected elements."""
        missing = set(expected_subset) - set(actual_set)
        self.assertFalse(missing, msg or f"missing: {missing}")

    def assertSameElements(  # noqa: N802
        self, expected_seq: Any, actual_seq: Any, msg: str | None = None
    ) -> None:
        """Asserts that two sequences have the same set of elements."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertItemsEqual(  # noqa: N802
        self, first: Any, second: Any, msg: str | None = None
    ) -> None:
        """Asserts that two sequences have the same elements, in any order."""
        self.assertCountEqual(first, second, msg)

    def assertProtoEquals(  # noqa: N802
        self, expected_message_maybe_ascii: Any, validate_message: Any, msg: str | None = None
    ) -> None:
        """Asserts that a message equals another one, or its text format."""
        from google.protobuf import text_format

        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = text_format.Parse(expected, type(validate_message)())
        self.assertEqual(
            text_format.MessageToString(expected),
            text_format.MessageToString(validate_message),
            msg,
        )

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:  # noqa: N802
        """Context manager: an OpError comes out; see assertRaisesWithPredicateMatch."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(  # noqa: N802
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """Context manager: an error comes out whose text a pattern finds, or a function accepts."""
        try:
            yield
        except exception_type as error:
            text = error.message if isinstance(error, OpError) else str(error)
            if callable(expected_err_re_or_predicate):
                fits = bool(expected_err_re_or_predicate(error))
            else:
                fits = re.search(expected_err_re_or_predicate, text) is not None
            if not fits:
                raise AssertionError(
                    f"Exception of type {type(error).__name__}: {text} does not match "
                    f"{expected_err_re_or_predicate!r}"
                ) from error
            return
        self.fail(f"{exception_type} was not raised")
