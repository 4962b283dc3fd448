"""Short-time Fourier transforms, and shifts of spectra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.linalg.fourier import irfft, rfft
from headrace.graph.ops.reduction import reduce_sum
from headrace.graph.ops.signal.framing import frame, known_int, overlap_and_add
from headrace.graph.ops.signal.windows import hann_window
from headrace.graph.typing.aliases import DTypeLike, TensorLike


def _power_of_two(length: Any) -> Any:
    """Returns the least power of two that is at least length."""
    known = known_int(length)
    if known is not None:
        return 1 << max(0, known - 1).bit_length()
    exponent = op("Ceil", op("Log", op("Cast", length, DstT="float64")) / 0.6931471805599453)
    return op("Cast", op("Pow", 2.0, op("Cast", exponent, DstT="float32")), DstT="int32")


def stft(
    signals: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the short-time Fourier transform of real signals.

    Args:
      signals: [..., samples] float32 or float64.
      frame_length, frame_step: samples of a window, and between the starts of two.
      fft_length: size of the transform; by default the power of two that holds a frame.
      window_fn: `f(frame_length, dtype=...)`; None for no window.
      pad_end: pad the signals with zeros, so that a frame starts at each frame_step.
    Returns: [..., frames, fft_length // 2 + 1] complex.
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        x = convert_to_tensor(signals, name="signals")
        size = _power_of_two(frame_length) if fft_length is None else fft_length
        frames = frame(x, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=frames.dtype.base_dtype)
        result: Tensor = rfft(frames, [size])
        return result


def inverse_stft(
    stfts: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Returns the signals of short-time Fourier transforms.

    Only with the window of inverse_stft_window_fn is it the inverse of stft.

    Args:
      stfts: [..., frames, fft_length // 2 + 1] complex.
      the others: as in stft.
    Returns: [..., samples] real.
    """
    with name_scope(name, "inverse_stft", [stfts]):
        x = convert_to_tensor(stfts, name="stfts")
        size = _power_of_two(frame_length) if fft_length is None else fft_length
        frames = irfft(x, [size])
        length, known = known_int(frame_length), known_int(size)
        if length is None or known is None or length != known:
            frames = frames[..., :frame_length]
            more = op("Maximum", 0, frame_length - op("Shape", frames)[-1])
            before = op("Fill", op("Pack", [op("Rank", frames) - 1, 2]), 0)
            pads = op("ConcatV2", [before, op("Pack", [op("Pack", [0, more])])], 0)
            shape = frames.get_shape()
            frames = op("Pad", frames, pads)
            if shape.ndims is not None:
                frames.set_shape([*shape.as_list()[:-1], length])
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=frames.dtype.base_dtype)
        return overlap_and_add(frames, frame_step)


def inverse_stft_window_fn(
    frame_step: TensorLike,
    forward_window_fn: Callable[..., Any] = hann_window,
    name: str | None = None,
) -> Callable[..., Tensor]:
    """Returns the window with which inverse_stft inverts stft.

    Args:
      frame_step: as in stft.
      forward_window_fn: window of stft.
    Source: Griffin and Lim 1984.
    """

    def inverse_window(frame_length: TensorLike, dtype: DTypeLike) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn", [frame_length]):
            forward = forward_window_fn(frame_length, dtype=dtype)
            parts = -(-frame_length // frame_step)  # type: ignore[operator]
            more = parts * frame_step - frame_length  # type: ignore[operator]
            squares = op("Pad", op("Square", forward), convert_to_tensor([[0, more]]))
            rows = op("Reshape", squares, convert_to_tensor([parts, frame_step]))
            sums = op("Tile", reduce_sum(rows, 0, keepdims=True), convert_to_tensor([parts, 1]))
            result: Tensor = forward / op("Reshape", sums, [-1])[:frame_length]
            return result

    return inverse_window


def fftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Moves the zero frequency to the middle of a spectrum.

    Args:
      axes: axis or axes; None means all.
    """
    return _shifted(x, axes, name, "fftshift", lambda n: n // 2)


def ifftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Moves the zero frequency back to the start; the inverse of fftshift."""
    return _shifted(x, axes, name, "ifftshift", lambda n: -(n // 2))


def _shifted(
    x: Any, axes: Any, name: str | None, default_name: str, shift: Callable[[Any], Any]
) -> Tensor:
    with name_scope(name, default_name, [x]) as scope:
        values = convert_to_tensor(x)
        if axes is None:
            rank = values.get_shape().ndims
            if rank is None:
                raise ValueError(f"{default_name}: give axes for a tensor of unknown rank")
            axes = list(range(rank))
        elif isinstance(axes, int):
            axes = [axes]
        shape = op("Shape", values)
        offsets = op("Pack", [shift(shape[axis]) for axis in axes])
        result: Tensor = op("Roll", values, offsets, axes, name=scope)
        return result
