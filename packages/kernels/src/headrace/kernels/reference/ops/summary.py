"""Values as Summary messages, for the board."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from headrace.formats.tensor_codec import make_tensor_proto
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel


def _text(message: Summary) -> np.ndarray:
    return np.array(message.SerializeToString(), object)


@kernel("ScalarSummary")
def scalar_summary(attrs: Attrs, tags: np.ndarray, values: np.ndarray) -> np.ndarray:
    if tags.shape != values.shape:
        raise InvalidArgumentError(
            None, None, f"tags and values not the same shape: {tags.shape} != {values.shape}"
        )
    message = Summary()
    for tag, value in zip(tags.ravel(), wide(values).ravel().tolist(), strict=True):
        message.value.add(tag=tag.decode(), simple_value=value)
    return _text(message)


# ---- histograms ----


def _limits() -> np.ndarray:
    """Right ends of the buckets: powers of 1.1 from 1e-12 to 1e20, mirrored about 0."""
    positive = []
    edge = 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    greatest = float(np.finfo(np.float64).max)
    positive.append(greatest)
    return np.array([-p for p in reversed(positive)] + [0.0] + positive)


def histogram(values: np.ndarray) -> HistogramProto:
    """The histogram of finite values in TensorFlow's buckets, empty stretches as one bucket."""
    flat = wide(values).astype(np.float64).ravel()
    limits = _limits()
    counts = np.zeros(len(limits))
    places = np.searchsorted(limits, flat, side="right")
    np.add.at(counts, np.minimum(places, len(limits) - 1), 1)
    message = HistogramProto(
        min=flat.min() if flat.size else float(np.finfo(np.float64).max),
        max=flat.max() if flat.size else -float(np.finfo(np.float64).max),
        num=flat.size,
        # one after the other, as a running histogram would
        sum=np.cumsum(flat)[-1] if flat.size else 0.0,
        sum_squares=np.cumsum(flat * flat)[-1] if flat.size else 0.0,
    )
    place = 0
    while place < len(limits):
        end, count = limits[place], counts[place]
        place += 1
        if count <= 0:  # a run of empty buckets is one that ends where the next one begins
            while place < len(limits) and counts[place] <= 0:
                end, count = limits[place], counts[place]
                place += 1
        message.bucket_limit.append(end)
        message.bucket.append(count)
    if not message.bucket:
        message.bucket_limit.append(float(np.finfo(np.float64).max))
        message.bucket.append(0.0)
    return message


@kernel("HistogramSummary")
def histogram_summary(attrs: Attrs, tag: np.ndarray, values: np.ndarray) -> np.ndarray:
    flat = wide(values)
    if not np.isfinite(flat).all():
        what = "Nan" if np.isnan(flat).any() else "Infinity"
        raise InvalidArgumentError(
            None, None, f"{what} in summary histogram for: {tag.item().decode()}"
        )
    message = Summary()
    message.value.add(tag=tag.item().decode(), histo=histogram(values))
    return _text(message)


# ---- images ----


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of [height, width, channels] uint8 or uint16, 1 to 4 channels."""
    height, width, channels = pixels.shape
    depth = pixels.dtype.itemsize
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = pixels.astype(pixels.dtype.newbyteorder(">")).reshape(height, -1)
    octets = rows.view(np.uint8).reshape(height, width * channels * depth)
    filtered = np.hstack([np.zeros((height, 1), np.uint8), octets])  # filter 0: as it is

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8 * depth, colour, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(filtered.tobytes()))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def _shown(image: np.ndarray, bad_colour: np.ndarray) -> np.ndarray:
    """Float pixels as bytes: non-negative ones scaled to 255, signed ones about 127."""
    values = wide(image)
    finite = np.isfinite(values).all(axis=-1)
    of_finite = values[finite]
    low, high = (of_finite.min(), of_finite.max()) if of_finite.size else (0.0, 0.0)
    if low < 0:
        largest = max(abs(low), abs(high))
        scale, offset = (0.0 if largest < 1e-6 else 127 / largest), 128.0
    else:
        scale, offset = (0.0 if high < 1e-6 else 255 / high), 0.0
    with np.errstate(invalid="ignore"):
        pixels = (np.where(np.isfinite(values), values, 0) * scale + offset).astype(np.uint8)
    pixels[~finite] = bad_colour[: pixels.shape[-1]]
    return pixels


@kernel("ImageSummary")
def image_summary(attrs: Attrs, tag: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    if tensor.ndim != 4 or tensor.shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(
            None,
            None,
            f"Tensor must be 4-D with last dim 1, 3, or 4, not {list(tensor.shape)}",
        )
    if 0 in tensor.shape[1:]:
        text = f"input tensor must have non-zero dims. Found: {list(tensor.shape)}."
        raise InvalidArgumentError(None, None, text)
    count = min(attrs["max_images"], len(tensor))
    message = Summary()
    for number, image in enumerate(tensor[:count]):
        pixels = image if image.dtype == np.uint8 else _shown(image, attrs["bad_color"])
        # a max_images of one gives no number; of several it does, even for a batch of one
        name = tag.item().decode() + "/image"
        value = message.value.add(tag=name if attrs["max_images"] == 1 else f"{name}/{number}")
        value.image.height, value.image.width, value.image.colorspace = image.shape
        value.image.encoded_image_string = png(pixels)
    return _text(message)


# ---- sound ----


def wav(samples: np.ndarray, rate: int) -> bytes:
    """A WAV file of [frames, channels] between -1 and 1, 16 bits a sample."""
    frames, channels = samples.shape
    loud = wide(samples) * 32768
    rounded = np.trunc(loud + np.copysign(0.5, loud))  # halves away from zero
    scaled = np.clip(rounded, -32768, 32767).astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2 % 2**32, channels * 2, 16)
    stream = io.BytesIO()
    stream.write(b"RIFF" + struct.pack("<I", 36 + len(scaled)) + b"WAVE")
    stream.write(b"fmt " + struct.pack("<I", len(form)) + form)
    stream.write(b"data" + struct.pack("<I", len(scaled)) + scaled)
    return stream.getvalue()


@kernel("AudioSummary")
def audio_summary(attrs: Attrs, tag: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    return _audio(attrs, tag, tensor, attrs["sample_rate"])


@kernel("AudioSummaryV2")
def audio_summary_v2(
    attrs: Attrs, tag: np.ndarray, tensor: np.ndarray, rate: np.ndarray
) -> np.ndarray:
    return _audio(attrs, tag, tensor, float(rate))


def _audio(attrs: Attrs, tag: np.ndarray, tensor: np.ndarray, rate: float) -> np.ndarray:
    if rate <= 0:
        raise InvalidArgumentError(None, None, f"sample_rate must be positive, got {rate}")
    message = Summary()
    clips = tensor if tensor.ndim == 3 else tensor[..., np.newaxis]
    for number, clip in enumerate(clips[: attrs["max_outputs"]]):
        name = tag.item().decode() + "/audio"
        value = message.value.add(tag=name if attrs["max_outputs"] == 1 else f"{name}/{number}")
        value.audio.sample_rate = rate
        value.audio.length_frames, value.audio.num_channels = clip.shape
        value.audio.content_type = "audio/wav"
        value.audio.encoded_audio_string = wav(clip, round(rate))
    return _text(message)


# ---- whole tensors ----


@kernel("TensorSummary")
def tensor_summary(attrs: Attrs, tensor: np.ndarray) -> np.ndarray:
    message = Summary()
    value = message.value.add(tensor=make_tensor_proto(tensor, as_dtype(tensor.dtype)))
    value.metadata.SetInParent()
    return _text(message)


@kernel("TensorSummaryV2")
def tensor_summary_v2(
    attrs: Attrs, tag: np.ndarray, tensor: np.ndarray, metadata: np.ndarray
) -> np.ndarray:
    message = Summary()
    message.value.add(
        tag=tag.item().decode(),
        tensor=make_tensor_proto(tensor, as_dtype(tensor.dtype)),
        metadata=SummaryMetadata.FromString(metadata.item()),
    )
    return _text(message)


@kernel("MergeSummary")
def merge_summary(attrs: Attrs, *inputs: np.ndarray) -> np.ndarray:
    merged, seen = Summary(), set()
    for text in [one for x in inputs for one in x.ravel().tolist()]:
        for value in Summary.FromString(text).value:
            if value.tag and value.tag in seen:  # TensorSummary gives no tags
                raise InvalidArgumentError(
                    None, None, f"Duplicate tag {value.tag} found in summary inputs"
                )
            seen.add(value.tag)
            merged.value.add().CopyFrom(value)
    return _text(merged)
