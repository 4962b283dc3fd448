"""GIF, BMP and WAV files: all kinds, cut off, with changed bytes; decode_image of any kind."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, OpError

Image = pytest.importorskip("PIL.Image")
RNG = np.random.default_rng(5)


def _decoded(op: str, contents: bytes, **attrs: Any) -> list[np.ndarray]:
    config = hr.ConfigProto()
    config.experimental.refuse_reference_kernels = True
    with hr.Graph().as_default(), hr.Session(config=config) as session:
        data = hr.placeholder(hr.string, [])
        result = getattr(hr.raw_ops, op)(contents=data, **attrs)
        fetches = list(result) if isinstance(result, tuple) else [result]
        return session.run(fetches, {data: contents})


def _pixels(height: int, width: int, channels: int) -> np.ndarray:
    return RNG.integers(0, 256, (height, width, channels), dtype=np.uint8)


def _saved(image: Any, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _bmp(pixels: np.ndarray, from_top: bool = False) -> bytes:
    """A file of 8, 24 or 32 bits a pixel."""
    height, width, channels = pixels.shape
    stored = pixels[..., [2, 1, 0, 3][:channels]] if channels > 1 else pixels
    rows = stored if from_top else stored[::-1]
    padding = b"\0" * (-width * channels % 4)
    data = b"".join(row.tobytes() + padding for row in rows)
    size = struct.pack("<iihh", width, -height if from_top else height, 1, 8 * channels)
    head = struct.pack("<IHHI", 54 + len(data), 0, 0, 54) + struct.pack("<I", 40) + size
    return b"BM" + head + b"\0" * (52 - len(head)) + data


def _wav(samples: np.ndarray, rate: int = 8000, before: bytes = b"", behind: bytes = b"") -> bytes:
    channels = samples.shape[1]
    form = struct.pack("<HHIIHH", 1, channels, rate, 2 * rate * channels, 2 * channels, 16)
    data = samples.astype("<i2").tobytes()
    chunks = b"WAVE" + before + b"fmt " + struct.pack("<I", 16) + form + behind
    chunks += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


GREY, RGB, RGBA = _pixels(3, 5, 1), _pixels(4, 3, 3), _pixels(2, 6, 4)


@pytest.mark.parametrize("from_top", [False, True])
def test_a_bmp_file_has_its_pixels_and_the_channels_asked_for(from_top: bool) -> None:
    for pixels in (GREY, RGB, RGBA):
        file = _bmp(pixels, from_top)
        (found,) = _decoded("DecodeBmp", file)
        np.testing.assert_array_equal(found, pixels)
        coloured = np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels[..., :3]
        (found,) = _decoded("DecodeBmp", file, channels=3)
        np.testing.assert_array_equal(found, coloured)
        (found,) = _decoded("DecodeImage", file, channels=4)
        alpha = pixels[..., 3:] if pixels.shape[2] == 4 else np.full((*pixels.shape[:2], 1), 255)
        np.testing.assert_array_equal(found, np.concatenate([coloured, alpha], axis=2))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b[:31], "requires at least 32 bytes to find the header size"),
        (lambda b: b[:-1], r"\(header_size \+ row_size \* abs_height\) but they differ by -1"),
        (lambda b: b + b"xx", "but they differ by 2"),
        (lambda b: b[:18] + b"\0\0\0\0" + b[22:], "Width must be positive"),
        (lambda b: b[:22] + b"\0\0\0\0" + b[26:], "Height must be nonzero"),
        (lambda b: b[:22] + b"\0\0\0\x80" + b[26:], "Total possible pixel bytes"),
        (lambda b: b[:10] + b"\0\0\0\x80" + b[14:], "header size must be nonnegative"),
        (lambda b: b[:28] + b"\x10\0" + b[30:], "must be 1, 3 or 4, was 2"),
    ],
)
def test_a_damaged_bmp_file_is_rejected_with_the_reason(change: Any, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        _decoded("DecodeBmp", change(_bmp(RGB)))


def _quantized(colours: int = 50) -> Any:
    return Image.fromarray(_pixels(6, 7, 3)).quantize(colours)


def test_a_gif_file_gives_all_its_pictures() -> None:
    for interlace in (0, 1):
        pictures = [_quantized(n) for n in (2, 17, 42)]
        more = {"save_all": True, "append_images": pictures[1:], "interlace": interlace}
        file = _saved(pictures[0], "GIF", **more)
        expected = np.stack([np.asarray(picture.convert("RGB")) for picture in pictures])
        np.testing.assert_array_equal(_decoded("DecodeGif", file)[0], expected)
        np.testing.assert_array_equal(_decoded("DecodeImage", file)[0], expected)
        (first,) = _decoded("DecodeImage", file, expand_animations=False)
        np.testing.assert_array_equal(first, expected[0])
        with pytest.raises(InvalidArgumentError, match="Got 3 frames, but animated gifs"):
            _decoded("DecodePng", file)


def _gif(*pictures: bytes) -> bytes:
    """A file of 4 colours, 0 to 3 of red, whose codes have nine bits: literals of `least` 8."""
    colours = b"".join(bytes([i, 0, 0]) for i in range(4))
    return b"GIF89a" + struct.pack("<HHBBB", 9, 9, 0x81, 0, 0) + colours + b"".join(pictures) + b";"


def _picture(left: int, top: int, indices: np.ndarray, transparent: int | None = None) -> bytes:
    height, width = indices.shape
    control = b""
    if transparent is not None:
        control = b"!\xf9\x04" + bytes([1, 0, 0, transparent, 0])
    codes, bits = [256, *indices.ravel().tolist(), 257], 0
    for i, code in enumerate(codes):
        bits |= code << (9 * i)
    data = bits.to_bytes((9 * len(codes) + 7) // 8, "little")
    place = struct.pack("<HHHHB", left, top, width, height, 0)
    return control + b"," + place + b"\x08" + bytes([len(data)]) + data + b"\0"


def test_pictures_are_drawn_over_those_before_them() -> None:
    whole = np.arange(12).reshape(3, 4) % 4
    part = np.array([[1, 2], [3, 1]])
    (found,) = _decoded("DecodeGif", _gif(_picture(0, 0, whole), _picture(2, 1, part, 2)))
    expected = np.stack([whole, whole])
    expected[1, 1, 2], expected[1, 2, 2:] = 1, [3, 1]
    np.testing.assert_array_equal(found[..., 0], expected)
    assert not found[..., 1:].any()
    # What reaches over the edge of the canvas is cut; nothing before the first is black.
    (found,) = _decoded("DecodeGif", _gif(_picture(1, 1, whole)))
    assert found[0, :, :, 0].tolist() == [[0, 0, 0, 0], [0, 0, 1, 2], [0, 0, 1, 2]]


def test_a_gif_file_that_is_cut_off_gives_the_pictures_before_the_cut() -> None:
    pictures = [_picture(0, 0, np.full((2, 3), i)) for i in (1, 2, 3)]
    file = _gif(*pictures)
    ends = np.cumsum([25, *map(len, pictures)])
    for cut in range(len(file)):
        whole = int(np.searchsorted(ends, cut, side="right")) - 1
        if whole < 1:
            with pytest.raises(InvalidArgumentError, match="Invalid GIF data|Unknown|empty"):
                _decoded("DecodeGif", file[:cut])
        else:
            assert _decoded("DecodeGif", file[:cut])[0][:, 0, 0, 0].tolist() == [1, 2, 3][:whole]


def test_decode_image_gives_every_kind_in_every_dtype() -> None:
    picture = Image.fromarray(RGB)
    png, gif = _saved(picture, "PNG"), _saved(picture.quantize(256), "GIF")
    for file, scale in ((png, 257), (gif, 256), (_bmp(RGB), 256)):
        for dtype, expected in (
            ("uint8", RGB),
            ("uint16", RGB.astype(np.uint16) * scale),
            ("float32", RGB.astype(np.float32) / 255),
        ):
            (found,) = _decoded(
                "DecodeImage", file, dtype=hr.as_dtype(dtype), expand_animations=False
            )
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    jpeg = _saved(picture, "JPEG")
    (found,) = _decoded("DecodeImage", jpeg)
    np.testing.assert_array_equal(found, _decoded("DecodePng", jpeg)[0])
    assert _decoded("DecodeGif", jpeg)[0].shape == (1, 4, 3, 3)


@pytest.mark.parametrize(
    ("op", "kind", "attrs", "words"),
    [
        ("DecodeImage", "JPEG", {"channels": 4}, "JPEG does not support 4 channels"),
        ("DecodeImage", "GIF", {"channels": 4}, "channels must be 0 or 3 for GIF, got 4"),
        ("DecodeImage", "BMP", {"channels": 1}, "must be 0, 3 or 4 for BMP, but got 1"),
        ("DecodeImage", "PNG", {"channels": 2}, "must be 0, 1, 3 or 4 but got 2"),
        ("DecodeBmp", "PNG", {}, "Use `decode_png` or `decode_image` instead"),
        ("DecodePng", "BMP", {}, "Use `decode_bmp` or `decode_image` instead. Op used: DecodePng"),
    ],
)
def test_what_a_kind_of_file_cannot_give_is_rejected(
    op: str, kind: str, attrs: dict[str, int], words: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        _decoded(op, _saved(Image.fromarray(RGB), kind), **attrs)


def test_static_shapes_are_those_of_tensorflow() -> None:
    with hr.Graph().as_default():
        data = hr.placeholder(hr.string, [])
        assert hr.image.decode_gif(data).shape.as_list() == [None, None, None, 3]
        assert hr.image.decode_bmp(data, channels=3).shape.as_list() == [None, None, 3]
        assert hr.image.decode_image(data).shape.ndims is None
        still = hr.image.decode_image(data, channels=3, expand_animations=False)
        assert still.shape.as_list() == [None, None, 3]
        sound, rate = hr.audio.decode_wav(data, desired_samples=5)
        assert sound.shape.as_list() == [5, None] and rate.shape.as_list() == []


SOUND = np.array([[0, 1], [-32768, 32767], [100, -100]])


def test_a_wav_file_is_cut_and_padded_as_asked() -> None:
    junk = b"JUNK\x04\0\0\0abcd"
    file = _wav(SOUND, before=junk, behind=b"LIST\x03\0\0\0abc")
    found, rate = _decoded("DecodeWav", file)
    np.testing.assert_array_equal(found, SOUND / np.float32(32768))
    assert rate == 8000 and rate.dtype == np.int32
    found, _ = _decoded("DecodeWav", file, desired_channels=4, desired_samples=5)
    assert not found[3:].any()
    np.testing.assert_array_equal(found[:3], (SOUND / np.float32(32768))[:, [0, 1, 1, 1]])
    found, _ = _decoded("DecodeWav", file, desired_channels=1, desired_samples=2)
    np.testing.assert_array_equal(found, SOUND[:2, :1] / np.float32(32768))


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (0, b"RIFX", "Expected RIFF but found RIFX"),
        (12, b"LIST", "Unexpected field LIST"),
        (16, b"\x14", "Expected 16 or 18, but got20"),
        (20, b"\x03", r"Expected 1 \(PCM\), but got3"),
        (22, b"\x00", "Expected at least 1, but got 0"),
        (28, b"\x01", "Bad bytes per second in WAV header"),
        (32, b"\x03", "Expected 4 but got 3"),
        (34, b"\x08", "Can only read 16-bit WAV files, but received 8"),
        (36, b"xxxx", "No data chunk found"),
        (40, b"\xff", "Data too short"),
    ],
)
def test_a_damaged_wav_file_is_rejected_with_the_reason(at: int, value: bytes, words: str) -> None:
    file = _wav(SOUND)
    with pytest.raises(InvalidArgumentError, match=words):
        _decoded("DecodeWav", file[:at] + value + file[at + len(value) :])


def test_changed_bytes_never_end_the_process() -> None:
    files = [_bmp(RGB), _wav(SOUND)]
    files += [_saved(_quantized(n), "GIF", interlace=n % 2) for n in (2, 17, 200)]
    config = hr.ConfigProto()
    config.experimental.refuse_reference_kernels = True
    outcomes = []
    with hr.Graph().as_default(), hr.Session(config=config) as session:
        data = hr.placeholder(hr.string, [])
        image, sound = hr.image.decode_image(data), hr.audio.decode_wav(data)[0]
        for _ in range(600):
            file = bytearray(files[RNG.integers(len(files))])
            for _ in range(RNG.integers(1, 4)):
                file[RNG.integers(len(file))] = RNG.integers(256)
            cut = bytes(file[: RNG.integers(len(file) // 2, 2 * len(file))])
            try:
                session.run(sound if cut[:1] == b"R" else image, {data: cut})
                outcomes.append("decoded")
            except OpError as error:
                assert isinstance(error, InvalidArgumentError), error
                outcomes.append("rejected")
    assert set(outcomes) == {"decoded", "rejected"}
