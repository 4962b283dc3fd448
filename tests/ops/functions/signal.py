"""Signals: frames, windows, short-time Fourier transforms, cosine transforms, mel spectra."""

from __future__ import annotations

import numpy as np


def _wave(n=37, rows=2, dtype=np.float32):
    return np.random.default_rng(7).standard_normal((rows, n)).astype(dtype)


def frames(m):
    x = m.constant(_wave())
    unknown = m.placeholder_with_default(_wave(), [None, None])
    return [
        m.signal.frame(x, 8, 3),
        m.signal.frame(x, 8, 3, pad_end=True, pad_value=5.0),
        m.signal.frame(unknown, 8, 3, pad_end=True),
        m.signal.frame(x, 50, 3),
        m.signal.frame(x, 1, 2, axis=0),
        m.signal.frame(m.constant(np.arange(24).reshape(2, 6, 2)), 3, 2, axis=1),
    ]


def overlapping_frames(m):
    x = _wave(5 * 8, rows=3).reshape(3, 5, 8)
    unknown = m.placeholder_with_default(x, [None, None, None])
    return [
        m.signal.overlap_and_add(m.constant(x), 3),
        m.signal.overlap_and_add(m.constant(x), 8),
        m.signal.overlap_and_add(m.constant(x[0]), 10),
        m.signal.overlap_and_add(unknown, m.constant(4)),
        m.signal.overlap_and_add(m.constant(x), 1),
    ]


def windows(m):
    return [
        *[m.signal.hann_window(n) for n in (1, 2, 7, 8)],
        *[m.signal.hann_window(n, periodic=False) for n in (1, 2, 7, 8)],
        m.signal.hamming_window(10, periodic=False, dtype=m.float64),
        m.signal.hamming_window(10),
    ]


def short_time_transforms(m):
    x = m.constant(_wave(100))
    spectrum = m.signal.stft(x, 20, 5)
    window = m.signal.inverse_stft_window_fn(5)
    return [
        spectrum,
        m.signal.stft(x, 20, 5, fft_length=64, window_fn=m.signal.hamming_window, pad_end=True),
        m.signal.stft(x, 16, 8, window_fn=None),
        m.signal.inverse_stft(spectrum, 20, 5, window_fn=window),
        m.signal.inverse_stft(spectrum, 20, 5, window_fn=None),
        m.signal.inverse_stft(m.signal.stft(x, 16, 4), 16, 4),
        window(20, m.float32),
    ]


def gradients_of_a_short_time_transform(m):
    x = m.constant(_wave(60))
    power = m.square(m.abs(m.signal.stft(x, 16, 4)))
    return m.gradients(m.reduce_sum(power), [x])


def cosine_transforms(m):
    x, y = m.constant(_wave(9)), m.constant(_wave(8, dtype=np.float64))
    found = [m.signal.dct(v, type=t) for v in (x, y) for t in (1, 2, 3, 4)]
    found += [m.signal.dct(v, type=t, norm="ortho") for v in (x, y) for t in (2, 3, 4)]
    found += [m.signal.idct(v, type=t, norm="ortho") for v in (x, y) for t in (2, 3, 4)]
    found += [m.signal.dct(x, n=5), m.signal.dct(x, n=12), m.spectral.idct(y, type=1)]
    return found


def mel_spectra(m):
    matrix = m.signal.linear_to_mel_weight_matrix(10, 33, 8000, 80.0, 3800.0)
    energy = m.abs(m.signal.stft(m.constant(_wave(200)), 64, 32))
    log_mel = m.log(m.tensordot(energy, matrix, 1) + 1e-6)
    return [
        matrix,
        m.signal.linear_to_mel_weight_matrix(dtype=m.float64),
        m.signal.mfccs_from_log_mel_spectrograms(log_mel),
    ]


def shifts(m):
    x = m.constant(np.arange(35).reshape(5, 7))
    return [
        m.signal.fftshift(x),
        m.signal.ifftshift(x),
        m.signal.fftshift(x, axes=1),
        m.signal.ifftshift(x, axes=[0]),
    ]


PROGRAMS = {
    "frames": frames,
    "overlapping frames": overlapping_frames,
    "windows": windows,
    "short time transforms": short_time_transforms,
    "gradients of a short time transform": gradients_of_a_short_time_transform,
    "cosine transforms": cosine_transforms,
    "mel spectra": mel_spectra,
    "shifts": shifts,
}
