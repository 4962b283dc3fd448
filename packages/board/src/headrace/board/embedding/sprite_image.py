"""Check the image that holds the points' tiles before a browser decodes it."""

from __future__ import annotations

import struct

from headrace.board.embedding.bad_embedding import BadEmbedding

MOST_PIXELS = 64_000_000
MOST_BYTES = 64 << 20


def image_type(data: bytes) -> tuple[str, int, int]:
    """Returns media type, width and height by what the bytes say. Raises: BadEmbedding."""
    found = _png(data) or _gif(data) or _bmp(data) or _webp(data) or _jpeg(data)
    if found is None:
        raise BadEmbedding("the sprite is no PNG, JPEG, GIF, WebP or BMP image")
    mime, width, height = found
    if not 1 <= width * height <= MOST_PIXELS:
        raise BadEmbedding(f"the sprite has {width} x {height} pixels, more than {MOST_PIXELS:,}")
    return mime, width, height


def _png(data: bytes) -> tuple[str, int, int] | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return "image/png", *struct.unpack(">II", data[16:24])


def _gif(data: bytes) -> tuple[str, int, int] | None:
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 10:
        return None
    return "image/gif", *struct.unpack("<HH", data[6:10])


def _bmp(data: bytes) -> tuple[str, int, int] | None:
    if data[:2] != b"BM" or len(data) < 26:
        return None
    width, height = struct.unpack("<ii", data[18:26])
    return "image/bmp", abs(width), abs(height)


def _webp(data: bytes) -> tuple[str, int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
    elif kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":
        width, height = (value & 0x3FFF for value in struct.unpack("<HH", data[26:30]))
    else:
        return None
    return "image/webp", width, height


def _jpeg(data: bytes) -> tuple[str, int, int] | None:
    if data[:3] != b"\xff\xd8\xff":
        return None
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return "image/jpeg", width, height
        if marker == 0xFF:
            at += 1
            continue
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
