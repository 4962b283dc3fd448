"""Pixels in files: PNG, JPEG, GIF and BMP, by Pillow."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError, UnimplementedError
from headrace.kernels.reference.ops.summary import png

try:
    import PIL.Image

    # Else Pillow imports its formats inside a kernel, which the end of a run may interrupt.
    PIL.Image.init()
except ImportError:
    PIL = None  # type: ignore[assignment]


def _pillow() -> Any:
    if PIL is None:
        raise UnimplementedError(None, None, "images in files need Pillow: pip install pillow")
    return PIL.Image


_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def decoded(contents: bytes, channels: int, dtype: np.dtype, frames: bool = False) -> np.ndarray:
    """The pixels of a file.

    Args:
      channels: 1 to 4; 0 for as many as the file has.
      dtype: uint8, uint16, or a float between 0 and 1.
      frames: all pictures of an animation, [frames, height, width, channels].
    Raises: InvalidArgumentError for bytes that are not an image.
    """
    image_module = _pillow()
    try:
        image = image_module.open(io.BytesIO(contents))
        count = getattr(image, "n_frames", 1) if frames else 1
        pictures = []
        for number in range(count):
            image.seek(number)
            pictures.append(_pixels(image, channels, dtype))
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidArgumentError(
            None,
            None,
            f"{len(contents)} bytes are not an image of a kind that is read: PNG, JPEG, GIF or BMP",
        ) from error
    return np.stack(pictures) if frames else pictures[0]


def _pixels(image: Any, channels: int, dtype: np.dtype) -> np.ndarray:
    if image.mode.startswith("I"):  # 16 bits of grey
        grey = np.asarray(image).astype(np.uint16)[..., np.newaxis]
        values = grey if channels in (0, 1) else np.repeat(grey, 3, axis=-1)
        if dtype == np.uint8:
            return (values >> 8).astype(dtype)  # the low byte is dropped, as libpng drops it
        return values if dtype == np.uint16 else _to(values / 65535.0, dtype)
    own = {"1": "L", "P": "RGB", "CMYK": "RGB"}.get(image.mode, image.mode)
    mode = _MODES[channels] if channels else own if own in _MODES.values() else "RGB"
    if image.format == "PNG" and mode == "L" and own in ("RGB", "RGBA"):
        values = (np.asarray(image.convert("RGB")) @ np.array([9797, 19234, 3737])) >> 15
        values = values.astype(np.uint8)  # libpng's weights; it rounds down
    else:
        values = np.asarray(image.convert(mode))
    values = values if values.ndim == 3 else values[..., np.newaxis]
    return values.copy() if dtype == np.uint8 else _to(values / 255.0, dtype)


def _to(share: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "f":
        return share.astype(dtype)
    return np.rint(share * np.iinfo(dtype).max).astype(dtype)


def encoded_png(image: np.ndarray) -> bytes:
    """A PNG file of [height, width, channels]."""
    if image.ndim != 3 or not 1 <= image.shape[2] <= 4:
        raise InvalidArgumentError(
            None, None, f"image must have 1 to 4 channels, its shape is {list(image.shape)}"
        )
    return png(image)


def encoded_jpeg(image: np.ndarray, quality: int, progressive: bool = False) -> bytes:
    """A JPEG file of [height, width, 1 or 3]."""
    if image.ndim != 3 or image.shape[2] not in (1, 3):
        raise InvalidArgumentError(
            None, None, f"image must have 1 or 3 channels, its shape is {list(image.shape)}"
        )
    pixels = image[..., 0] if image.shape[2] == 1 else image
    stream = io.BytesIO()
    _pillow().fromarray(pixels).save(stream, "JPEG", quality=quality, progressive=progressive)
    return stream.getvalue()
