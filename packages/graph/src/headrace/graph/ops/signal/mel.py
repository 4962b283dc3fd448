"""Mel spectra and cepstral coefficients."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.arrays.creation import linspace
from headrace.graph.ops.signal.cosine_transforms import dct
from headrace.graph.ops.signal.framing import frame
from headrace.graph.typing.aliases import DTypeLike, TensorLike

_BREAK_HERTZ = 700.0
_HIGH_FREQUENCY_Q = 1127.0


def _mel(hertz: Tensor) -> Any:
    return _HIGH_FREQUENCY_Q * op("Log", 1.0 + hertz / _BREAK_HERTZ)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: TensorLike = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Returns a matrix that maps linear spectra to mel spectra: mel = matmul(spectra, matrix).

    Args:
      num_mel_bins: number of triangular bands.
      num_spectrogram_bins: number of frequencies of a spectrum, from zero to half of sample_rate.
      sample_rate: samples per second.
      lower_edge_hertz, upper_edge_hertz: range of the bands.
      dtype: floating point.
    Returns: [num_spectrogram_bins, num_mel_bins].
    Raises: ValueError for another dtype, or numbers that make no bands.
    """
    kind = as_dtype(dtype)
    count_nodes(-10)
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if lower_edge_hertz < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(
            f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}"
        )
    if not isinstance(sample_rate, Tensor):
        if sample_rate <= 0.0:  # type: ignore[operator]
            raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
        if upper_edge_hertz > sample_rate / 2:  # type: ignore[operator]
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {upper_edge_hertz} for sample_rate: {sample_rate}"
            )
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {kind}")
    with name_scope(name, "linear_to_mel_weight_matrix"):
        rate = op("Cast", convert_to_tensor(sample_rate, name="sample_rate"), DstT=kind)
        zero = convert_to_tensor(0.0, dtype=kind)
        # the band of zero hertz would be empty
        frequencies = linspace(zero, rate / 2.0, num_spectrogram_bins)[1:]
        places = op("ExpandDims", _mel(frequencies), 1)
        ends = [
            _mel(convert_to_tensor(hertz, dtype=kind))
            for hertz in (lower_edge_hertz, upper_edge_hertz)
        ]
        edges = frame(linspace(ends[0], ends[1], num_mel_bins + 2), 3, 1)
        lower, center, upper = [op("Reshape", edges[:, i], [1, num_mel_bins]) for i in range(3)]
        rising = (places - lower) / (center - lower)
        falling = (upper - places) / (upper - center)
        weights = op("Maximum", zero, op("Minimum", rising, falling))
        result: Tensor = op("Pad", weights, [[1, 0], [0, 0]])
        return result


def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the mel-frequency cepstral coefficients of log mel spectra.

    Args:
      log_mel_spectrograms: [..., num_mel_bins] float32 or float64.
    Returns: [..., num_mel_bins].
    Raises: ValueError if there are no bins.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        x = convert_to_tensor(log_mel_spectrograms)
        bins: Any = x.get_shape()[-1].value
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {x}")
        count = op("Cast", op("Shape", x)[-1] if bins is None else bins, DstT=x.dtype.base_dtype)
        return dct(x, type=2) * op("Rsqrt", count * 2.0)
