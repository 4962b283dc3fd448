"""DecodePng against files made here: every colour type, depth, filter and order of rows."""

from __future__ import annotations

import random
import struct
import zlib

import numpy as np
import pytest
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError

GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
SAMPLES = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
KINDS = [(GREY, d) for d in (1, 2, 4, 8, 16)] + [(PALETTE, d) for d in (1, 2, 4, 8)]
KINDS += [(colour, d) for colour in (RGB, GREY_ALPHA, RGBA) for d in (8, 16)]
# left, top, step to the right, step down
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
ADAM7 += [(0, 1, 1, 2)]


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def packed_rows(pixels, depth, rng):
    """[height, width, samples] as bytes, each row behind a filter of its own."""
    height, width, samples = pixels.shape
    step = max(1, samples * depth // 8)
    lines = []
    above = None
    for row in pixels.reshape(height, width * samples):
        if depth == 16:
            line = row.astype(">u2").view(np.uint8)
        else:
            bits = np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, 8 - depth :]
            line = np.packbits(bits.ravel())
        line = line.astype(int)
        up = np.zeros_like(line) if above is None else above
        left = np.concatenate([np.zeros(step, int), line[:-step] if step < len(line) else []])
        left = left[: len(line)].astype(int)
        corner = np.concatenate([np.zeros(step, int), up[:-step] if step < len(up) else []])
        corner = corner[: len(line)].astype(int)
        guess = left + up - corner
        near = np.stack([abs(guess - left), abs(guess - up), abs(guess - corner)])
        paeth = np.choose(near.argmin(0), [left, up, corner])
        kind = int(rng.integers(0, 5))
        predicted = [0, left, up, (left + up) // 2, paeth][kind]
        lines.append(bytes([kind]) + ((line - predicted) % 256).astype(np.uint8).tobytes())
        above = line
    return b"".join(lines)


def png(pixels, colour, depth, rng, interlaced=False, level=9, more=b""):
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    parts = [pixels[top::down, left::right] for left, top, right, down in passes]
    raw = b"".join(packed_rows(part, depth, rng) for part in parts if part.size)
    data = zlib.compress(raw, level)
    cut = len(data) // 2  # the data may come in several chunks
    body = chunk(b"IDAT", data[:cut]) + chunk(b"IDAT", data[cut:])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + body + chunk(b"IEND", b"")


def decode(file, **attrs):
    return run_kernel("DecodePng", np.array(file, object), **attrs)


def result(colour, depth, seed=0, height=13, width=11):
    rng = np.random.default_rng([seed, colour, depth])
    return rng, rng.integers(0, 1 << depth, (height, width, SAMPLES[colour]))


def expected(pixels, colour, depth, palette):
    """As the file has them: 8 bits a sample, or 16."""
    if colour == PALETTE:
        return palette[pixels[..., 0]]
    return pixels * 255 // ((1 << depth) - 1) if depth < 8 else pixels


@pytest.mark.parametrize(("colour", "depth"), KINDS)
@pytest.mark.parametrize("interlaced", [False, True])
def test_pixels_come_out_as_they_went_in(colour, depth, interlaced):
    rng, pixels = result(colour, depth)
    palette = rng.integers(0, 256, (1 << min(depth, 8), 3))
    more = chunk(b"PLTE", palette.astype(np.uint8).tobytes()) if colour == PALETTE else b""
    want = expected(pixels, colour, depth, palette)
    file = png(pixels, colour, depth, rng, interlaced, more=more)
    wide = depth == 16
    np.testing.assert_array_equal(decode(file), want >> 8 if wide else want)
    np.testing.assert_array_equal(decode(file, dtype="uint16"), want if wide else want * 257)


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (2, 3), (70, 300)])
@pytest.mark.parametrize("level", [0, 1, 6, 9])
@pytest.mark.parametrize("interlaced", [False, True])
def test_sizes_and_kinds_of_compression(size, level, interlaced):
    rng, pixels = result(RGB, 8, 1, *size)
    pixels[: size[0] // 2] //= 64  # some that compresses, some that does not
    np.testing.assert_array_equal(decode(png(pixels, RGB, 8, rng, interlaced, level)), pixels)


def test_other_channels_are_made_of_those_that_are_there():
    rng, grey = result(GREY, 8)
    file = png(grey, GREY, 8, rng)
    np.testing.assert_array_equal(decode(file, channels=3), grey.repeat(3, -1))
    with pytest.raises(InvalidArgumentError, match="channels` must be 0, 1, 3 or 4 but got 2"):
        decode(file, channels=2)
    rng, rgb = result(RGB, 8)
    file = png(rgb, RGB, 8, rng)
    luma = (rgb @ [9797, 19234, 3737]) >> 15  # TensorFlow's, by libpng
    np.testing.assert_array_equal(decode(file, channels=1)[..., 0], luma)
    np.testing.assert_array_equal(decode(file, channels=4)[..., :3], rgb)
    np.testing.assert_array_equal(decode(file, channels=4)[..., 3], 255)
    rng, rgba = result(RGBA, 8)
    np.testing.assert_array_equal(decode(png(rgba, RGBA, 8, rng), channels=3), rgba[..., :3])


def test_transparent_colours_become_alpha():
    rng, rgb = result(RGB, 8)
    key = chunk(b"tRNS", struct.pack(">HHH", *rgb[3, 4].tolist()))
    alpha = decode(png(rgb, RGB, 8, rng, more=key), channels=4)[..., 3]
    np.testing.assert_array_equal(alpha, np.where((rgb == rgb[3, 4]).all(-1), 0, 255))
    rng, index = result(PALETTE, 2)
    palette = np.arange(12, dtype=np.uint8)
    more = chunk(b"PLTE", palette.tobytes()) + chunk(b"tRNS", bytes([7, 200]))
    got = decode(png(index, PALETTE, 2, rng, more=more))
    np.testing.assert_array_equal(got[..., :3], palette.reshape(4, 3)[index[..., 0]])
    np.testing.assert_array_equal(got[..., 3], np.array([7, 200, 255, 255])[index[..., 0]])


def test_what_encode_writes_decode_reads():
    x = np.random.default_rng(2).integers(0, 65536, (31, 17, 4)).astype(np.uint16)
    np.testing.assert_array_equal(decode(run_kernel("EncodePng", x).item(), dtype="uint16"), x)


def test_corruption_is_reported_and_never_skipped():
    rng, pixels = result(PALETTE, 4)
    more = chunk(b"PLTE", bytes(range(48)))
    whole = png(pixels, PALETTE, 4, rng, more=more)
    with pytest.raises(InvalidArgumentError, match="4 bytes are not an image"):
        decode(b"PNG8")
    for n in range(len(whole)):
        with pytest.raises(InvalidArgumentError, match="not an image that can be read"):
            decode(whole[:n])
    for at in range(len(whole)):
        turned = bytearray(whole)
        turned[at] ^= 1 << at % 8
        with pytest.raises(InvalidArgumentError, match="not an image that can be read"):
            decode(bytes(turned))
    with pytest.raises(InvalidArgumentError, match="a pixel is not of its palette"):
        few = chunk(b"PLTE", bytes(range(6)))
        decode(png(pixels, PALETTE, 4, rng, more=few))
    huge = struct.pack(">IIBBBBB", 20000, 20000, 8, RGB, 0, 0, 0)
    with pytest.raises(InvalidArgumentError, match="it holds less data than its size says"):
        decode(whole[:8] + chunk(b"IHDR", huge) + whole[33:])


def test_hostile_streams_end_in_an_error():
    """Chunks with right checksums around random changes of the compressed data."""
    rng, pixels = result(RGB, 8)
    pieces = random.Random(4)
    good = zlib.compress(packed_rows(pixels, 8, rng), 9)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 11, 13, 8, RGB, 0, 0, 0))
    rejected = 0
    for _ in range(1000):
        data = bytearray(good)
        for _ in range(pieces.randint(1, 4)):
            data[pieces.randrange(len(data))] = pieces.randrange(256)
        data = data[: pieces.randint(len(data) // 2, len(data))]
        file = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", bytes(data)) + chunk(b"IEND", b"")
        try:
            decode(file)
        except InvalidArgumentError:
            rejected += 1
    assert rejected > 950
