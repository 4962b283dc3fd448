"""Fourier transforms of the last axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


def _axes(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


def _fft(transform: Any, rank: int, x: np.ndarray) -> np.ndarray:
    if x.ndim < rank:
        raise _invalid(f"Input must have rank of at least {rank} but got: {list(x.shape)}")
    if not x.size:  # no points to transform
        return x
    return transform(wide(x), axes=_axes(rank)).astype(x.dtype)


@kernel("FFT")
def fft(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _fft(np.fft.fftn, 1, x)


@kernel("FFT2D")
def fft2d(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _fft(np.fft.fftn, 2, x)


@kernel("FFT3D")
def fft3d(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _fft(np.fft.fftn, 3, x)


@kernel("IFFT")
def ifft(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _fft(np.fft.ifftn, 1, x)


@kernel("IFFT2D")
def ifft2d(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _fft(np.fft.ifftn, 2, x)


@kernel("IFFT3D")
def ifft3d(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    return _fft(np.fft.ifftn, 3, x)


def _half_fft(
    forward: bool, rank: int, attrs: Attrs, x: np.ndarray, length: np.ndarray
) -> np.ndarray:
    """A transform between real numbers and the half of their spectrum that says all."""
    real, spectrum = numpy_type(attrs["Treal"]), numpy_type(attrs["Tcomplex"])
    if np.dtype(spectrum).itemsize != 2 * np.dtype(real).itemsize:
        raise _invalid(
            f"Wrong types for {'forward' if forward else 'backward'} real FFT: "
            f"Treal is {real}, Tcomplex is {spectrum}"
        )
    if length.shape != (rank,):
        raise _invalid(f"fft_length must have shape [{rank}], it has {list(length.shape)}")
    if x.ndim < rank:
        raise _invalid(f"Input must have rank of at least {rank} but got: {list(x.shape)}")
    requested = length.tolist()
    for place, n in enumerate(requested):
        axis = x.ndim - rank + place
        least = n // 2 + 1 if not forward and place == rank - 1 else n
        if n < 0:
            raise _invalid(f"fft_length[{place}] must >= 0, but got: {n}")
        if x.shape[axis] < least and not (x.shape[axis] == 0 and 0 in requested):
            raise _invalid(
                f"Input dimension {axis} must have length of at least {least} but got: "
                f"{x.shape[axis]}"
            )
    outer = x.shape[: x.ndim - rank]
    if 0 in requested or 0 in outer:
        if forward and requested[-1]:
            requested[-1] = requested[-1] // 2 + 1
        return np.zeros((*outer, *requested), spectrum if forward else real)
    transform = np.fft.rfftn if forward else np.fft.irfftn
    return transform(wide(x), s=requested, axes=_axes(rank)).astype(spectrum if forward else real)


@kernel("RFFT")
def rfft(attrs: Attrs, x: np.ndarray, length: np.ndarray) -> np.ndarray:
    return _half_fft(True, 1, attrs, x, length)


@kernel("RFFT2D")
def rfft2d(attrs: Attrs, x: np.ndarray, length: np.ndarray) -> np.ndarray:
    return _half_fft(True, 2, attrs, x, length)


@kernel("RFFT3D")
def rfft3d(attrs: Attrs, x: np.ndarray, length: np.ndarray) -> np.ndarray:
    return _half_fft(True, 3, attrs, x, length)


@kernel("IRFFT")
def irfft(attrs: Attrs, x: np.ndarray, length: np.ndarray) -> np.ndarray:
    return _half_fft(False, 1, attrs, x, length)


@kernel("IRFFT2D")
def irfft2d(attrs: Attrs, x: np.ndarray, length: np.ndarray) -> np.ndarray:
    return _half_fft(False, 2, attrs, x, length)


@kernel("IRFFT3D")
def irfft3d(attrs: Attrs, x: np.ndarray, length: np.ndarray) -> np.ndarray:
    return _half_fft(False, 3, attrs, x, length)
