"""Recognises images and sounds by their first bytes.

The board serves only these types under their own media type. A browser must not display anything
else that a log may contain, above all SVG and HTML.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAX_PIXELS = 64_000_000
UNKNOWN = "application/octet-stream"


@dataclass(frozen=True)
class Media:
    """What the first bytes of a file show; 0 where they do not."""

    mime: str
    width: int = 0
    height: int = 0
    sample_rate: int = 0
    seconds: float = 0.0

    @property
    def is_image(self) -> bool:
        return self.mime.startswith("image/")

    @property
    def too_large(self) -> bool:
        """Whether a browser would need too much memory to decode the image."""
        return self.width * self.height > MAX_PIXELS


def media_of(data: bytes) -> Media:
    """Returns the media type of data; an image of unknown size counts as unknown data."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and len(data) >= 24:
        return Media("image/png", *struct.unpack(">II", data[16:24]))
    if data[:3] == b"\xff\xd8\xff":
        return _jpeg(data)
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return Media("image/gif", *struct.unpack("<HH", data[6:10]))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    if data[:2] == b"BM" and len(data) >= 26:
        return _bmp(data)
    return _audio(data)


def _audio(data: bytes) -> Media:
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return _wav(data)
    if data[:4] == b"OggS":
        return Media("audio/ogg")
    if data[:4] == b"fLaC":
        return Media("audio/flac")
    # An ID3 tag, or the header of a frame: layer 3 with a valid bit rate and sample rate.
    if data[:3] == b"ID3" or (
        len(data) >= 4
        and data[0] == 0xFF
        and data[1] & 0xE6 == 0xE2
        and data[2] & 0xF0 not in (0xF0, 0x00)
        and data[2] & 0x0C != 0x0C
    ):
        return Media("audio/mpeg")
    return Media(UNKNOWN)


def _jpeg(data: bytes) -> Media:
    """Walks the segments up to the frame header, which contains the size."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Media("image/jpeg", width, height)
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            (length,) = struct.unpack(">H", data[at + 2 : at + 4])
            if length < 2:
                break
            at += 2 + length
    return Media(UNKNOWN)


def _webp(data: bytes) -> Media:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        width = 1 + int.from_bytes(data[24:27], "little")
        return Media("image/webp", width, 1 + int.from_bytes(data[27:30], "little"))
    if kind == b"VP8L" and len(data) >= 25 and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return Media("image/webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 " and len(data) >= 30 and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return Media("image/webp", width & 0x3FFF, height & 0x3FFF)
    return Media(UNKNOWN)


def _bmp(data: bytes) -> Media:
    (header,) = struct.unpack("<I", data[14:18])
    if header == 12:
        return Media("image/bmp", *struct.unpack("<HH", data[18:22]))
    if header in (40, 52, 56, 64, 108, 124):
        width, height = struct.unpack("<ii", data[18:26])
        return Media("image/bmp", abs(width), abs(height))
    return Media(UNKNOWN)


def _wav(data: bytes) -> Media:
    at, rate, bytes_a_second = 12, 0, 0
    while at + 8 <= len(data):
        name, (size,) = data[at : at + 4], struct.unpack("<I", data[at + 4 : at + 8])
        if name == b"fmt " and at + 20 <= len(data):
            rate, bytes_a_second = struct.unpack("<II", data[at + 12 : at + 20])
        if name == b"data":
            size = min(size, len(data) - at - 8)  # a streamed file may not know its size
            seconds = size / bytes_a_second if bytes_a_second else 0.0
            return Media("audio/wav", sample_rate=rate, seconds=seconds)
        at += 8 + size + size % 2
    return Media("audio/wav", sample_rate=rate)
