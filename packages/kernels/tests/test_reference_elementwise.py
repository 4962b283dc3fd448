"""The reference kernels of the elementwise family: what TensorFlow gives, written down."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.oracle import run

INT32 = np.int32


def test_integer_divisions_round_as_documented() -> None:
    x, y = np.array([-7, -7, 7, 7], INT32), np.array([2, -2, -2, 2], INT32)
    assert run("FloorDiv", x, y)[0].tolist() == [-4, 3, -4, 3]
    assert run("TruncateDiv", x, y)[0].tolist() == [-3, 3, -3, 3]
    assert run("FloorMod", x, y)[0].tolist() == [1, -1, -1, 1]
    assert run("TruncateMod", x, y)[0].tolist() == [-1, -1, 1, 1]


def test_division_by_the_integer_zero_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        run("FloorMod", INT32(1), INT32(0))


def test_an_integer_to_a_negative_power_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="negative integer powers are not allowed"):
        run("Pow", INT32(2), INT32(-1))


def test_round_goes_to_the_even_neighbour() -> None:
    assert run("Round", np.array([0.5, 1.5, 2.5, -0.5]))[0].tolist() == [0.0, 2.0, 2.0, -0.0]


def test_maximum_keeps_nan_from_either_side() -> None:
    y = run("Maximum", np.array([np.nan, 1.0]), np.array([1.0, np.nan]))[0]
    assert np.isnan(y).all()


def test_no_nan_variants_are_zero_where_the_divisor_is() -> None:
    x, y = np.array([np.inf, 2.0]), np.array([0.0, 4.0])
    assert run("DivNoNan", x, y)[0].tolist() == [0.0, 0.5]
    assert run("MulNoNan", x, y)[0].tolist() == [0.0, 8.0]


def test_shifts_beyond_the_width_are_taken_as_the_widest() -> None:
    x, y = np.array([1, 1, -8], np.int8), np.array([9, -3, 100], np.int8)
    assert run("LeftShift", x, y)[0].tolist() == [-128, 1, 0]
    assert run("RightShift", x, y)[0].tolist() == [0, 1, -1]


def test_population_count_is_of_the_bits_as_they_stand() -> None:
    assert run("PopulationCount", np.array([-1, 0, 3], np.int16))[0].tolist() == [16, 0, 2]


def test_truncating_cast_cuts_the_bits_off() -> None:
    x = np.array([1.0078, -1.0078, 3.995], np.float32)
    near = run("Cast", x, DstT="bfloat16")[0]
    cut = run("Cast", x, DstT="bfloat16", Truncate=True)[0]
    assert near.dtype == cut.dtype == ml_dtypes.bfloat16
    assert near.astype(float).tolist() == [1.0078125, -1.0078125, 4.0]
    assert cut.astype(float).tolist() == [1.0, -1.0, 3.984375]


def test_bitcast_moves_between_widths_by_the_last_axis() -> None:
    x = np.array([[1.0, 0.0]], np.float32)
    octets = run("Bitcast", x, type="uint8")[0]
    assert octets.shape == (1, 2, 4) and octets[0, 0].tolist() == [0, 0, 128, 63]
    assert run("Bitcast", octets, type="float32")[0].tolist() == x.tolist()


def test_select_of_a_vector_condition_picks_rows() -> None:
    t, e = np.ones((2, 3)), np.zeros((2, 3))
    assert run("Select", np.array([True, False]), t, e)[0].tolist() == [[1.0] * 3, [0.0] * 3]


@pytest.mark.parametrize(
    ("op", "x", "y"),
    [
        ("Digamma", 0.5, -1.9635100260214235),
        ("Erfinv", 0.5, 0.4769362762044699),
        ("Ndtri", 0.975, 1.959963984540054),
        ("BesselI0", 1.0, 1.2660658777520082),
        ("BesselK1", 1.0, 0.6019072301972346),
        ("BesselY0", 2.0, 0.5103756726497451),
        ("Dawsn", 1.0, 0.5380795069127684),
        ("Expint", 1.0, 1.8951178163559368),
        ("FresnelCos", 1.0, 0.7798934003768228),
        ("FresnelSin", 4.0, 0.4205157542469284),
        ("Spence", 2.0, -0.8224670334241132),
    ],
)
def test_special_functions_at_known_points(op: str, x: float, y: float) -> None:
    assert run(op, np.float64(x))[0] == pytest.approx(y, rel=1e-13)


@pytest.mark.parametrize(
    ("op", "args", "y"),
    [
        ("Igamma", (2.0, 3.0), 0.8008517265285442),
        ("Igammac", (2.0, 3.0), 0.1991482734714558),
        ("Zeta", (2.0, 1.0), 1.6449340668482264),
        ("Polygamma", (1.0, 1.0), 1.6449340668482264),
        ("Betainc", (2.0, 3.0, 0.5), 0.6875),
    ],
)
def test_special_functions_of_several_arguments(op: str, args: tuple[float, ...], y: float) -> None:
    assert run(op, *[np.float64(a) for a in args])[0] == pytest.approx(y, rel=1e-12)


def test_shapes_that_do_not_broadcast_are_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="Add"):
        run("AddV2", np.ones(3), np.ones(4))
