"""The images or sounds in a Summary.Value, and the signed names by which browsers fetch them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from headrace.board.summaries.media_types import MAX_PIXELS, Media, media_of
from headrace.board.summaries.tensor_strings import strings_of

_PLACE = struct.Struct("<iqqii?")
_MAC_BYTES = 16
_MAX_ITEMS = 10_000


@dataclass(frozen=True)
class Place:
    """Where an item lies: a record, a value of its summary, a sample of the value."""

    file: int
    offset: int
    length: int
    value: int
    sample: int
    sound: bool


class ItemNames:
    """Names of items, signed with a key of this process.

    Without a signature a client could choose file, offset and length and read other bytes.

    Args:
      key: the secret of the signature; a random one by default.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def name(self, place: Place) -> str:
        """Returns the signed name of a place, safe in a URL."""
        packed = _PLACE.pack(*astuple(place))
        return base64.urlsafe_b64encode(packed + self._mac(packed)).rstrip(b"=").decode()

    def place(self, name: str) -> Place | None:
        """Returns the place that a name stands for; None if its signature is wrong."""
        try:
            raw = base64.b64decode(
                (name + "=" * (-len(name) % 4)).encode("ascii"), altchars=b"-_", validate=True
            )
        except (ValueError, UnicodeEncodeError):
            return None
        packed, mac = raw[: _PLACE.size], raw[_PLACE.size :]
        if len(packed) != _PLACE.size or not hmac.compare_digest(mac, self._mac(packed)):
            return None
        return Place(*_PLACE.unpack(packed))

    def _mac(self, packed: bytes) -> bytes:
        return hmac.new(self._key, packed, hashlib.sha256).digest()[:_MAC_BYTES]


@dataclass(frozen=True)
class Item:
    """One image or sound: its bytes and what the log records about it, else 0 or an empty text."""

    data: bytes
    width: int = 0
    height: int = 0
    label: str = ""
    sample_rate: float = 0.0
    frames: int = 0


def items_of(value: Any, kind: str) -> list[Item]:
    """Returns the items of a Summary.Value; an empty list if the value is not of that kind.

    Args:
      kind: "image": a legacy image, or a tensor of strings [width, height, image, image, ...].
        "audio": legacy audio, or a tensor of strings [k] or [k, 1], or [k, 2] with a label each.
    """
    what = value.WhichOneof("value")
    if what == "image":
        image = value.image
        return [Item(image.encoded_image_string, max(0, image.width), max(0, image.height))]
    if what == "audio":
        audio = value.audio
        return [Item(audio.encoded_audio_string, sample_rate=max(0.0, audio.sample_rate),
                     frames=max(0, audio.length_frames))]  # fmt: skip
    if what != "tensor":
        return []
    strings, shape, _ = strings_of(value.tensor, 2 * _MAX_ITEMS)
    return _image_strings(strings) if kind == "image" else _audio_strings(strings, shape)


def _image_strings(strings: Sequence[bytes]) -> list[Item]:
    if len(strings) < 2:
        return []
    width, height = (int(s) if s.isdigit() and len(s) < 10 else 0 for s in strings[:2])
    return [Item(data, width, height) for data in strings[2 : 2 + _MAX_ITEMS]]


def _audio_strings(strings: Sequence[bytes], shape: list[int]) -> list[Item]:
    if len(shape) == 2 and shape[1] == 2:
        pairs = zip(strings[::2], strings[1::2])
        return [Item(data, label=label.decode("utf-8", "replace")) for data, label in pairs]
    return [Item(data) for data in strings[:_MAX_ITEMS]]


def item_document(item: Item) -> dict[str, Any]:
    """Returns what a page needs to know about an item before it fetches the bytes."""
    media = media_of(item.data)
    document = {
        "width": media.width or item.width,
        "height": media.height or item.height,
        "mime": media.mime,
        "bytes": len(item.data),
        "label": item.label,
        "sample_rate": media.sample_rate or item.sample_rate,
        "seconds": media.seconds,
    }
    if not media.seconds and item.frames and item.sample_rate:
        document["seconds"] = item.frames / item.sample_rate
    if media.too_large:
        document["too_large"] = too_large_text(media)
    return document


def too_large_text(media: Media) -> str:
    """Returns why an image is not sent to the browser."""
    return (
        f"the image has {media.width} x {media.height} pixels,"
        f" more than the {MAX_PIXELS} that are shown"
    )
