"""Media types are recognised from the bytes; other data are never served as media."""

from __future__ import annotations

import io
import struct
import wave

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.board.summaries.media_types import UNKNOWN, media_of


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\2\0\0\0"


def jpeg(width: int, height: int, marker: int = 0xC0) -> bytes:
    comment = b"\xff\xfe\0\6abcd\xff"
    return (
        b"\xff\xd8\xff\xe0\0\4JF" + comment + bytes([0xFF, marker])
        + b"\0\x11\x08" + struct.pack(">HH", height, width) + b"\3\1\x11\0"
    )  # fmt: skip


def wav(seconds: float, rate: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(b"\0\0" * int(seconds * rate))
    return out.getvalue()


def bmp(width: int, height: int) -> bytes:
    return b"BM" + bytes(12) + struct.pack("<Iii", 40, width, height) + bytes(8)


SIZED = {
    "image/png": png(300, 20),
    "image/jpeg": jpeg(300, 20),
    "image/gif": b"GIF89a" + struct.pack("<HH", 300, 20),
    "image/bmp": bmp(300, -20),
    "image/webp": b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x2b\1\0\x13\0\0",
}


@pytest.mark.parametrize("mime", SIZED)
def test_images_are_known_with_their_size(mime: str) -> None:
    media = media_of(SIZED[mime])
    assert (media.mime, media.width, media.height) == (mime, 300, 20)


def test_the_other_forms_of_webp_have_their_size_too() -> None:
    lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (299 | 19 << 14).to_bytes(4, "little")
    lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 300, 20)
    for data in (lossless, lossy):
        media = media_of(data)
        assert (media.mime, media.width, media.height) == ("image/webp", 300, 20)


def test_sounds_are_known_and_wav_with_its_length() -> None:
    media = media_of(wav(0.5, 8000))
    assert (media.mime, media.sample_rate, media.seconds) == ("audio/wav", 8000, 0.5)
    for start, mime in (
        (b"OggS\0\2", "audio/ogg"),
        (b"fLaC\0", "audio/flac"),
        (b"ID3\4", "audio/mpeg"),
        (b"\xff\xfb\x90\x64", "audio/mpeg"),
    ):
        assert media_of(start + bytes(30)).mime == mime


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<?xml version='1.0'?><svg/>",
        b"<!doctype html><script>alert(1)</script>",
        b"%PDF-1.7",
        b"\xff\xd8\xff\xe0\0\1",
        b"\x89PNG\r\n\x1a\n",
        b"BM<script>alert(1)</script>aaaaaaaaaaaaaaa",
        b"\xff\xff\xff\xff",
    ],
)
def test_anything_else_is_unknown(data: bytes) -> None:
    assert media_of(data).mime == UNKNOWN


def test_an_image_with_too_many_pixels_is_marked() -> None:
    assert not media_of(png(8000, 8000)).too_large
    assert media_of(png(8001, 8000)).too_large
    assert media_of(jpeg(65535, 65535)).too_large


@given(st.sampled_from([*SIZED.values(), wav(0.01, 100), b"", b"BM", b"\xff\xd8"]), st.data())
def test_no_bytes_are_an_error(start: bytes, data: st.DataObject) -> None:
    cut = start[: data.draw(st.integers(0, len(start)))] + data.draw(st.binary(max_size=40))
    media = media_of(cut)
    assert media.width >= 0 and media.height >= 0 and media.seconds >= 0
