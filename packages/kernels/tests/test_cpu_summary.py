"""Summaries of the compiled kernels, read back; the PNG files in them, unpacked by zlib."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.summary_pb2 import Summary, SummaryMetadata
from headrace.formats.tensor_codec import make_ndarray
from headrace.kernels.reference import oracle

TAG = np.array(b"name", object)


def texts(*values):
    return np.array(values, object)


def summary(op, *inputs, **attrs):
    return Summary.FromString(run_kernel(op, *inputs, **attrs).item())


def same_as_reference(op, *inputs, **attrs):
    (expected,) = oracle.run(op, *inputs, **attrs)
    assert run_kernel(op, *inputs, **attrs).item() == expected.item()


def unpacked(png):
    """The pixels of a PNG file, [height, width, channels]; its checksums are right."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        name, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        (crc,) = struct.unpack_from(">I", png, at + 8 + size)
        assert crc == zlib.crc32(name + data)
        chunks[name] = data
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, bits, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [0, 0, 0]
    channels, depth = {0: 1, 4: 2, 2: 3, 6: 4}[colour], bits // 8
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    rows = rows.reshape(height, 1 + width * channels * depth)
    lines = np.zeros((height, width * channels * depth), np.uint8)
    for y, row in enumerate(rows):
        assert row[0] in (0, 2)
        lines[y] = row[1:] + (lines[y - 1] if row[0] == 2 else 0)
    kind = np.uint8 if depth == 1 else np.dtype(">u2")
    return (
        lines.view(kind)
        .astype(kind.newbyteorder("=") if depth == 2 else kind)
        .reshape(height, width, channels)
    )


# ---- numbers and tensors ----


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8"])
def test_scalars_keep_tags_and_values(dtype):
    same_as_reference("ScalarSummary", texts(b"a", b"b/c"), np.array([0, 3], dtype))
    same_as_reference("ScalarSummary", TAG, np.array(7, dtype))


def test_scalars_reject_tags_of_another_shape():
    with pytest.raises(InvalidArgumentError, match="tags and values not the same shape"):
        run_kernel("ScalarSummary", texts(b"a", b"b"), np.float32([1, 2, 3]))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
def test_histogram_counts_as_the_reference(dtype):
    rng = np.random.default_rng(1)
    values = (rng.normal(size=1000) * 10.0 ** rng.integers(-4, 2, 1000)).astype(dtype)
    same_as_reference("HistogramSummary", TAG, values)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [0.0],
        [-0.0],
        [5e-324, -5e-324, 1e-13, -1e-13],
        [1e-12, -1e-12, 1.1, -1.1, 1e300, -1e300],
    ],
)
def test_histogram_puts_edges_where_the_reference_does(values):
    same_as_reference("HistogramSummary", TAG, np.array(values))


def test_histogram_puts_bucket_ends_into_the_bucket_above():
    whole = summary("HistogramSummary", TAG, np.array([1.0])).value[0].histo
    ends = np.array(
        summary("HistogramSummary", TAG, np.linspace(-9, 9, 99)).value[0].histo.bucket_limit
    )
    assert len(whole.bucket) == 3 and list(whole.bucket) == [0, 1, 0]
    same_as_reference("HistogramSummary", TAG, ends[1:-1])


@pytest.mark.parametrize(
    ("bad", "written_summary"), [(np.nan, "Nan"), (np.inf, "Infinity"), (-np.inf, "Inf")]
)
def test_histogram_rejects_what_is_not_finite(bad, written_summary):
    with pytest.raises(
        InvalidArgumentError, match=f"{written_summary}.* in summary histogram for: name"
    ):
        run_kernel("HistogramSummary", TAG, np.float32([1, bad]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int64", "complex64"])
def test_tensor_summary_holds_the_tensor(dtype):
    from headrace.formats.dtypes import as_dtype

    x = np.arange(6).reshape(2, 3).astype(as_dtype(dtype).as_numpy_dtype)
    metadata = SummaryMetadata(display_name="shown").SerializeToString()
    (value,) = summary("TensorSummaryV2", TAG, x, np.array(metadata, object)).value
    assert value.tag == "name" and value.metadata.display_name == "shown"
    np.testing.assert_array_equal(make_ndarray(value.tensor), x)
    (value,) = summary("TensorSummary", x).value
    assert value.tag == "" and value.HasField("metadata")
    np.testing.assert_array_equal(make_ndarray(value.tensor), x)


def test_tensor_summary_holds_strings_and_rejects_corrupted_metadata():
    x = texts(b"a", b"", b"\xff\x00")
    (value,) = summary("TensorSummaryV2", TAG, x, np.array(b"", object)).value
    assert make_ndarray(value.tensor).tolist() == x.tolist()
    with pytest.raises(InvalidArgumentError, match="not a SummaryMetadata message"):
        run_kernel("TensorSummaryV2", TAG, x, np.array(b"\x0a\xff", object))


def test_merge_puts_values_side_by_side_and_rejects_a_tag_twice():
    one, two = (run_kernel("ScalarSummary", texts(tag), np.float32([1])) for tag in (b"a", b"b"))
    untagged = run_kernel("TensorSummary", np.float32([1]))
    merged = summary("MergeSummary", [one, two, untagged, untagged])
    assert [v.tag for v in merged.value] == ["a", "b", "", ""]
    same_as_reference("MergeSummary", [one, two, untagged, untagged])
    with pytest.raises(InvalidArgumentError, match="Duplicate tag a found in summary inputs"):
        run_kernel("MergeSummary", [one, two, one])
    with pytest.raises(InvalidArgumentError, match="input 1 is not a Summary message"):
        run_kernel("MergeSummary", [one, np.array(b"\x0a\x7f", object)])


# ---- pictures ----


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("kind", ["noise", "flat", "smooth", "repeated"])
def test_png_holds_every_pixel(kind, dtype, channels):
    rng = np.random.default_rng(2)
    shape = (67, 129, channels)
    pixels = {
        "noise": lambda: rng.integers(0, np.iinfo(dtype).max + 1, shape),
        "flat": lambda: np.full(shape, 200),
        "smooth": lambda: np.indices(shape).sum(0) % 256,
        "repeated": lambda: np.tile(rng.integers(0, 256, (67, 3, channels)), (1, 43, 1)),
    }[kind]().astype(dtype)
    result = run_kernel("EncodePng", pixels).item()
    np.testing.assert_array_equal(unpacked(result), pixels)
    if kind != "noise":
        assert len(result) < pixels.nbytes / 3


def test_large_noise_is_stored_in_blocks():
    pixels = np.random.default_rng(3).integers(0, 256, (300, 300, 3)).astype(np.uint8)
    result = run_kernel("EncodePng", pixels).item()
    assert len(result) < pixels.nbytes * 1.01
    np.testing.assert_array_equal(unpacked(result), pixels)


def test_png_of_a_batch_is_a_file_each():
    batch = np.arange(2 * 3 * 4 * 5 * 1, dtype=np.uint8).reshape(2, 3, 4, 5, 1)
    result = run_kernel("EncodePng", batch)
    assert result.shape == (2, 3)
    for place in np.ndindex(2, 3):
        np.testing.assert_array_equal(unpacked(result[place]), batch[place])
    with pytest.raises(InvalidArgumentError, match="1 to 4 channels"):
        run_kernel("EncodePng", np.zeros((2, 2, 5), np.uint8))


def _pictures(x, **attrs):
    ours = summary("ImageSummary", TAG, x, **attrs)
    (text,) = oracle.run("ImageSummary", TAG, x, **attrs)
    theirs = Summary.FromString(text.item())
    assert [v.tag for v in ours.value] == [v.tag for v in theirs.value]
    for one, other in zip(ours.value, theirs.value, strict=True):
        fields = ("height", "width", "colorspace")
        assert [getattr(one.image, f) for f in fields] == [getattr(other.image, f) for f in fields]
        np.testing.assert_array_equal(
            unpacked(one.image.encoded_image_string), unpacked(other.image.encoded_image_string)
        )
    return ours


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16", "float64"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("low", [0, -3])
def test_images_show_what_the_reference_shows(dtype, channels, low):
    rng = np.random.default_rng(4)
    x = rng.uniform(max(low, 0) if dtype == "uint8" else low, 9, (5, 6, 7, channels)).astype(dtype)
    assert len(_pictures(x).value) == 3
    assert [v.tag for v in _pictures(x, max_images=1).value] == ["name/image"]


def test_pixels_that_are_not_finite_have_the_bad_colour():
    x = np.random.default_rng(5).normal(size=(1, 4, 4, 3)).astype(np.float32)
    x[0, 1, 2, 0], x[0, 3, 3, 1] = np.nan, np.inf
    result = unpacked(_pictures(x).value[0].image.encoded_image_string)
    assert result[1, 2].tolist() == result[3, 3].tolist() == [255, 0, 0]
    blue = _pictures(x, bad_color=np.uint8([0, 0, 255, 255])).value[0]
    assert unpacked(blue.image.encoded_image_string)[1, 2].tolist() == [0, 0, 255]
    _pictures(np.full((1, 2, 2, 1), np.nan, np.float32))
    _pictures(np.zeros((1, 2, 2, 1), np.float32))
    with pytest.raises(InvalidArgumentError, match="'bad_color' to be uint8 of at least 3"):
        run_kernel("ImageSummary", TAG, x, bad_color=np.uint8([1, 2]))


def test_images_reject_other_ranks_and_depths():
    for shape in ((4, 4, 3), (1, 4, 4, 2)):
        with pytest.raises(InvalidArgumentError, match="Tensor must be 4-D with last dim"):
            run_kernel("ImageSummary", TAG, np.zeros(shape, np.float32))


# ---- sounds ----


@pytest.mark.parametrize("shape", [(4, 50), (2, 50, 2)])
def test_sounds_are_the_files_of_the_reference(shape):
    x = np.random.default_rng(6).normal(size=shape).astype(np.float32)
    same_as_reference("AudioSummary", TAG, x, sample_rate=8000.0)
    same_as_reference("AudioSummaryV2", TAG, x, np.float32(44100.5), max_outputs=1)


def test_halves_of_a_step_are_rounded_away_from_zero():
    x = np.float32([[0.5858917, 1.5 / 32768, -1.5 / 32768, 2.0, -2.0]])  # as TensorFlow does
    result = summary("AudioSummary", TAG, x, sample_rate=8000.0).value[0].audio
    samples = np.frombuffer(result.encoded_audio_string[44:], "<i2")
    assert samples.tolist() == [19199, 2, -2, 32767, -32768]


def test_sounds_reject_a_rate_that_is_not_positive():
    x = np.zeros((1, 4), np.float32)
    with pytest.raises(InvalidArgumentError, match="sample_rate must be positive, got 0"):
        run_kernel("AudioSummaryV2", TAG, x, np.float32(0))
    with pytest.raises(InvalidArgumentError, match="sample_rate must be positive, got -1"):
        run_kernel("AudioSummary", TAG, x, sample_rate=-1.0)
