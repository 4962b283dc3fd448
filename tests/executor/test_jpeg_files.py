"""JPEG files: decoding, windows, encoding, and data that is corrupted or cut off."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from concurrently import concurrently

import headrace.graph as hr
from headrace.formats.errors import DeadlineExceededError, InvalidArgumentError, OpError

pytest.importorskip("PIL")  # its wheels contain libjpeg-turbo


def _pixels(height: int = 37, width: int = 61, channels: int = 3) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    planes = [x * 4 % 256, y * 6 % 256, (x + y) * 3 % 256][:channels]
    return np.stack(planes, -1).astype(np.uint8)


def _file(session: hr.Session, pixels: np.ndarray, **options: Any) -> bytes:
    result: bytes = session.run(hr.image.encode_jpeg(pixels, **options))
    return result


def _compiled() -> hr.Session:
    config = hr.ConfigProto()
    config.experimental.refuse_reference_kernels = True
    return hr.Session(config=config)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"progressive": True},
        {"optimize_size": True},
        {"chroma_downsampling": False},
        {"xmp_metadata": "<x/>", "density_unit": "cm"},
    ],
)
def test_files_keep_their_pixels_nearly(options: dict[str, Any]) -> None:
    with _compiled() as session:
        y, x = np.mgrid[:40, :60]
        smooth = np.stack([x * 4, y * 6, x + y], -1).astype(np.uint8)
        file = _file(session, smooth, quality=100, **options)
        assert ("xmp_metadata" in options) == (b"ns.adobe.com/xap" in file)
        decoded = session.run(hr.image.decode_jpeg(file))
        assert np.abs(decoded.astype(int) - smooth).mean() < 4
        assert session.run(hr.image.extract_jpeg_shape(file)).tolist() == [40, 60, 3]
        grey = session.run(hr.image.decode_jpeg(_file(session, smooth[..., :1])))
        assert grey.shape == (40, 60, 1)


def test_the_default_is_the_fast_transform() -> None:
    with _compiled() as session:
        file = _file(session, _pixels())
        default, fast, accurate = session.run(
            [
                hr.image.decode_jpeg(file, dct_method=m)
                for m in ("", "INTEGER_FAST", "INTEGER_ACCURATE")
            ]
        )
        assert np.array_equal(default, fast) and not np.array_equal(default, accurate)


def test_windows_are_cut_out_of_the_image() -> None:
    with _compiled() as session:
        file = _file(session, _pixels(200, 300))
        whole = session.run(hr.image.decode_jpeg(file))
        for y, x, height, width in (
            (0, 0, 5, 7),
            (3, 5, 16, 9),
            (100, 150, 100, 150),
            (0, 0, 200, 300),
        ):
            window = session.run(hr.image.decode_and_crop_jpeg(file, [y, x, height, width]))
            expected = whole[y : y + height, x : x + width]
            # At its edges the colours of a window are interpolated without their neighbours.
            assert window.shape == expected.shape
            assert np.array_equal(window[:-1, :-1], expected[:-1, :-1])
        for bad in (
            [-1, 0, 5, 5],
            [0, 0, 0, 5],
            [0, 0, 201, 5],
            [0, 296, 5, 5],
            [2**31 - 1, 0, 2, 2],
        ):
            with pytest.raises(InvalidArgumentError, match="Invalid JPEG data or crop window"):
                session.run(hr.image.decode_and_crop_jpeg(file, bad))


def test_ratios_make_the_image_smaller() -> None:
    with _compiled() as session:
        file = _file(session, _pixels(64, 96))
        for ratio in (1, 2, 4, 8):
            shape = session.run(hr.image.decode_jpeg(file, ratio=ratio)).shape
            assert shape == (64 // ratio, 96 // ratio, 3)
        with pytest.raises(InvalidArgumentError, match="ratio must be 1, 2, 4, or 8"):
            session.run(hr.image.decode_jpeg(file, ratio=3))


def test_a_png_file_is_decoded_as_well() -> None:
    with _compiled() as session:
        file = session.run(hr.image.encode_png(_pixels()))
        assert np.array_equal(session.run(hr.image.decode_jpeg(file)), _pixels())


def test_data_that_is_cut_off() -> None:
    with _compiled() as session:
        file = _file(session, _pixels(400, 300), quality=60)
        whole = session.run(hr.image.decode_jpeg(file))
        half = file[: len(file) // 2]
        for bad, words in (
            (b"", "Input is empty"),
            (b"x", "Unknown image file format"),
            (file[:20], "Invalid JPEG data"),
            (half, "Invalid JPEG data"),
        ):
            with pytest.raises(InvalidArgumentError, match=words):
                session.run(hr.image.decode_jpeg(bad))
        some = session.run(hr.image.decode_jpeg(half, acceptable_fraction=0.25))
        assert some.shape == whole.shape and np.array_equal(some[:100], whole[:100])
        assert not some[-16:].any()
        recovered = session.run(hr.image.decode_jpeg(half, try_recover_truncated=True))
        assert recovered.shape == whole.shape and np.array_equal(recovered[:100], whole[:100])


def test_corrupted_data_is_rejected_or_decoded() -> None:
    dice = np.random.default_rng(3)
    contents = hr.placeholder(hr.string, [])
    fetches = [
        hr.image.decode_jpeg(contents),
        hr.image.decode_and_crop_jpeg(contents, [1, 2, 9, 8]),
        hr.image.extract_jpeg_shape(contents),
    ]
    rejected = 0
    with _compiled() as session:
        files = [_file(session, _pixels(20, 30), progressive=p) for p in (False, True)]
        for n in range(300):
            changed = bytearray(files[n % 2])
            for _ in range(1 + n % 4):
                changed[int(dice.integers(len(changed)))] = int(dice.integers(256))
            try:
                session.run(fetches[n % 3], {contents: bytes(changed)})
            except OpError:
                rejected += 1
    assert rejected > 10


def test_threads_decode_at_once() -> None:
    with _compiled() as session:
        files = [_file(session, _pixels(50 + n, 40)) for n in range(4)]
        contents = hr.placeholder(hr.string, [])
        decoded = hr.image.decode_jpeg(contents)
        expected = [session.run(decoded, {contents: file}) for file in files]

        def work(thread: int) -> None:
            for _ in range(30):
                got = session.run(decoded, {contents: files[thread]})
                assert np.array_equal(got, expected[thread])

        concurrently(work, 4)


def test_invalid_images_and_options_are_rejected() -> None:
    with _compiled() as session:
        for image, options in (
            (np.zeros([2, 2, 4], np.uint8), {}),
            (np.zeros([0, 2, 3], np.uint8), {}),
            (np.zeros([2, 2, 1], np.uint8), {"format": "rgb"}),
            (np.zeros([2, 2, 3], np.uint8), {"quality": 101}),
            (np.zeros([2, 2, 3], np.uint8), {"xmp_metadata": "x" * 70_000}),
        ):
            with pytest.raises((InvalidArgumentError, ValueError)):
                session.run(hr.image.encode_jpeg(image, **options))


def test_a_file_of_many_scans_ends_with_its_step() -> None:
    """Reading all of a progressive file is one call of the library; this one takes minutes."""
    with _compiled() as session:
        file = _file(session, np.zeros([2000, 2000, 3], np.uint8), progressive=True)
        at = file.rindex(b"\xff\xda")
        many = file[:at] + file[at:-2] * 100_000 + file[-2:]
        contents = hr.placeholder(hr.string, [])
        used = time.process_time()
        with pytest.raises(DeadlineExceededError):
            session.run(
                hr.image.decode_jpeg(contents), {contents: many},
                options=hr.RunOptions(timeout_in_ms=100),
            )  # fmt: skip
        assert time.process_time() - used < 30
