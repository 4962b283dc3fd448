"""Images recoloured, and in files. Sizes, boxes and sounds are in the files of those names."""

from __future__ import annotations

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.image.files import decoded, encoded_jpeg, encoded_png
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel

# ---- colours ----


@kernel("AdjustContrast")
def adjust_contrast(
    attrs: Attrs, images: np.ndarray, factor: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    return np.clip(_contrasted(images, factor), float(low), float(high)).astype(np.float32)


@kernel("AdjustContrastv2")
def adjust_contrast_v2(attrs: Attrs, images: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return _contrasted(images, factor).astype(images.dtype)


def _contrasted(images: np.ndarray, factor: np.ndarray) -> np.ndarray:
    values = images.astype(np.float64)
    mean = values.mean(axis=(-3, -2), keepdims=True)
    return (values - mean) * float(factor) + mean


def _hsv(rgb: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(rgb, -1, 0)
    value = rgb.max(axis=-1)
    span = value - rgb.min(axis=-1)
    saturation = np.where(value > 0, span / np.where(value > 0, value, 1), 0)
    norm = 1 / (6 * np.where(span > 0, span, 1))
    hue = np.where(
        red == value,
        norm * (green - blue),
        np.where(green == value, norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6),
    )
    hue = np.where(span > 0, hue, 0)
    return np.stack([np.where(hue < 0, hue + 1, hue), saturation, value], axis=-1)


def _rgb(hsv: np.ndarray) -> np.ndarray:
    hue, saturation, value = np.moveaxis(hsv, -1, 0)
    sixth = hue * 6
    parts = [np.abs(sixth - 3) - 1, 2 - np.abs(sixth - 2), 2 - np.abs(sixth - 4)]
    shades = np.stack([np.clip(p, 0, 1) for p in parts], axis=-1)
    s = saturation[..., np.newaxis]
    return ((1 - s) + s * shades) * value[..., np.newaxis]


@kernel("RGBToHSV")
def rgb_to_hsv(attrs: Attrs, images: np.ndarray) -> np.ndarray:
    return _hsv(wide(images)).astype(images.dtype)


@kernel("HSVToRGB")
def hsv_to_rgb(attrs: Attrs, images: np.ndarray) -> np.ndarray:
    return _rgb(wide(images)).astype(images.dtype)


@kernel("AdjustHue")
def adjust_hue(attrs: Attrs, images: np.ndarray, delta: np.ndarray) -> np.ndarray:
    hsv = _hsv(wide(images))
    hsv[..., 0] = np.mod(hsv[..., 0] + float(delta), 1.0)
    return _rgb(hsv).astype(images.dtype)


@kernel("AdjustSaturation")
def adjust_saturation(attrs: Attrs, images: np.ndarray, scale: np.ndarray) -> np.ndarray:
    hsv = _hsv(wide(images))
    hsv[..., 1] = np.clip(hsv[..., 1] * float(scale), 0, 1)
    return _rgb(hsv).astype(images.dtype)


# ---- files ----


@kernel("DecodeJpeg", "DecodePng", "DecodeBmp")
def decode_still(attrs: Attrs, contents: np.ndarray) -> np.ndarray:
    dtype = numpy_type(attrs.get("dtype", 4))
    return decoded(contents.item(), attrs["channels"], dtype)


@kernel("DecodeAndCropJpeg")
def decode_and_crop_jpeg(attrs: Attrs, contents: np.ndarray, window: np.ndarray) -> np.ndarray:
    y, x, height, width = window.tolist()
    image = decoded(contents.item(), attrs["channels"], np.dtype(np.uint8))
    if y < 0 or x < 0 or y + height > image.shape[0] or x + width > image.shape[1]:
        raise InvalidArgumentError(
            None, None, f"Invalid crop window {window.tolist()} of an image of {image.shape}"
        )
    return image[y : y + height, x : x + width].copy()


@kernel("DecodeGif")
def decode_gif(attrs: Attrs, contents: np.ndarray) -> np.ndarray:
    return decoded(contents.item(), 3, np.dtype(np.uint8), frames=True)


@kernel("DecodeImage")
def decode_image(attrs: Attrs, contents: np.ndarray) -> np.ndarray:
    frames = attrs["expand_animations"] and contents.item().startswith(b"GIF8")
    return decoded(contents.item(), attrs["channels"], numpy_type(attrs["dtype"]), frames=frames)


@kernel("ExtractJpegShape")
def extract_jpeg_shape(attrs: Attrs, contents: np.ndarray) -> np.ndarray:
    image = decoded(contents.item(), 0, np.dtype(np.uint8))
    return np.array(image.shape, numpy_type(attrs["output_type"]))


@kernel("EncodeJpeg")
def encode_jpeg(attrs: Attrs, image: np.ndarray) -> np.ndarray:
    if not 0 <= attrs["quality"] <= 100:
        raise InvalidArgumentError(
            None, None, f"quality must be in [0,100], got {attrs['quality']}"
        )
    density = [attrs["x_density"], attrs["y_density"]]
    for name, value in zip(("x_density", "y_density"), density, strict=True):
        if not -(2**31) <= value < 2**31:
            raise InvalidArgumentError(
                None, None, f"Attr {name} has value {value} out of range for an int32"
            )
    result = encoded_jpeg(image, attrs["quality"], attrs["progressive"])
    unit = b"\1" if attrs["density_unit"] == b"in" else b"\2"
    head = unit + b"".join((value & 0xFFFF).to_bytes(2, "big") for value in density)
    return np.array(result[:13] + head + result[18:], object)  # in the JFIF header


@kernel("EncodeJpegVariableQuality")
def encode_jpeg_variable_quality(
    attrs: Attrs, image: np.ndarray, quality: np.ndarray
) -> np.ndarray:
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(None, None, f"quality must be in [0,100], got {int(quality)}")
    return np.array(encoded_jpeg(image, int(quality)), object)


@kernel("EncodePng")
def encode_png(attrs: Attrs, image: np.ndarray) -> np.ndarray:
    flat = image.reshape((-1,) + image.shape[-3:])
    files = np.empty(len(flat), object)
    files[:] = [encoded_png(one) for one in flat]
    return files.reshape(image.shape[:-3])
