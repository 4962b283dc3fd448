"""Sounds: in WAV files, as spectrograms and as cepstral coefficients."""

from __future__ import annotations

import io
import itertools
import wave
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.summary import wav
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel

# ---- sound ----


@kernel("EncodeWav")
def encode_wav(attrs: Attrs, audio: np.ndarray, rate: np.ndarray) -> np.ndarray:
    if rate <= 0:
        raise InvalidArgumentError(None, None, f"sample_rate must be in (0, 2^32), got: {rate}")
    if not 0 < audio.shape[1] < 2**16:
        raise InvalidArgumentError(
            None, None, f"num_channels must be in (0, 2^16), got: {audio.shape[1]}"
        )
    return np.array(wav(audio, int(rate)), object)


@kernel("DecodeWav")
def decode_wav(attrs: Attrs, contents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    try:
        with wave.open(io.BytesIO(contents.item())) as stream:
            if stream.getsampwidth() != 2:
                raise wave.Error(f"{8 * stream.getsampwidth()} bits a sample instead of 16")
            rate, channels = stream.getframerate(), stream.getnchannels()
            samples = np.frombuffer(stream.readframes(stream.getnframes()), "<i2")
    except (wave.Error, EOFError) as error:
        raise InvalidArgumentError(None, None, f"not a WAV file of 16 bits: {error}") from error
    audio = samples.reshape(-1, channels).astype(np.float32) / np.float32(32768)
    for axis, requested in ((0, attrs["desired_samples"]), (1, attrs["desired_channels"])):
        if requested > audio.shape[axis]:  # silence, and the first channel again
            missing = requested - audio.shape[axis]
            widths = [(0, missing if a == axis else 0) for a in (0, 1)]
            audio = np.pad(audio, widths, mode="constant" if axis == 0 else "edge")
        elif requested >= 0:
            audio = audio[:requested] if axis == 0 else audio[:, :requested]
    return np.ascontiguousarray(audio), np.array(rate, np.int32)


@kernel("AudioSpectrogram")
def audio_spectrogram(attrs: Attrs, x: np.ndarray) -> np.ndarray:
    """Of each channel, frames of a Hann window, padded to a power of two."""
    size, stride = attrs["window_size"], attrs["stride"]
    if not 1 < size < 2**31:
        raise InvalidArgumentError(None, None, f"window size must be > 1, got {size}")
    if not 0 < stride < 2**31:
        raise InvalidArgumentError(None, None, f"stride must be strictly positive, got {stride}")
    length = 1 << max(int(np.ceil(np.log2(size))), 0)
    count = max((len(x) - size) // stride + 1, 0)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    result = np.zeros((x.shape[1], count, length // 2 + 1))
    for channel, frame in itertools.product(range(x.shape[1]), range(count)):
        piece = wide(x[frame * stride : frame * stride + size, channel]) * hann
        power = np.abs(np.fft.rfft(piece, length)) ** 2
        result[channel, frame] = power if attrs["magnitude_squared"] else np.sqrt(power)
    return result.astype(np.float32)


@kernel("Mfcc")
def mfcc(attrs: Attrs, spectrogram: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Cosine transform of the logarithm of a bank of triangles on the mel scale.

    Source: Davis and Mermelstein 1980, with HTK's mel scale.
    """
    bins = spectrogram.shape[-1]
    channels, coefficients = attrs["filterbank_channel_count"], attrs["dct_coefficient_count"]
    low_limit, high_limit = attrs["lower_frequency_limit"], attrs["upper_frequency_limit"]
    if not (
        channels >= 1
        and bins >= 2
        and rate > 0
        and low_limit >= 0
        and not high_limit <= low_limit
        and 1 <= coefficients <= channels
    ):
        raise InvalidArgumentError(
            None,
            None,
            f"Mfcc initialization failed for channel count {bins}, sample rate {int(rate)} and "
            f"filterbank_channel_count {channels}",
        )

    def mel(frequency: Any) -> Any:
        return 1127.0 * np.log1p(np.asarray(frequency) / 700.0)

    step = 0.5 * float(rate) / (bins - 1)
    # A band beyond the last bin is no error: TensorFlow logs it and gives zeros.
    if not high_limit / step < min(bins, 2**31):
        return np.zeros((*spectrogram.shape[:-1], coefficients), np.float32)
    low, high = mel(low_limit), mel(high_limit)
    centres = low + (high - low) * np.arange(1, channels + 2) / (channels + 1)
    first, last = int(1.5 + low_limit / step), int(high_limit / step)
    bank = np.zeros((bins, channels))
    for i in range(first, last + 1):
        at = mel(i * step)
        channel = int(np.searchsorted(centres, at, side="left")) - 1
        left = centres[channel] if channel >= 0 else low
        right = centres[channel + 1]
        weight = (right - at) / (right - left)
        if channel >= 0:
            bank[i, channel] += weight
        if channel + 1 < channels:
            bank[i, channel + 1] += 1 - weight
    heard = slice(first, last + 1)  # what lies outside is not read: it may be NaN
    energy = np.log(np.maximum(np.sqrt(wide(spectrogram[..., heard])) @ bank[heard], 1e-12))
    places = (np.arange(channels) + 0.5) * np.pi / channels
    cosines = np.sqrt(2 / channels) * np.cos(np.outer(np.arange(coefficients), places))
    return (energy @ cosines.T).astype(np.float32)
