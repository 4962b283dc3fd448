"""Decodes and encodes image and WAV files."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.image.colour import convert_image_dtype
from headrace.graph.typing.aliases import DTypeLike, TensorLike


def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decodes a JPEG file.

    Args:
      contents: [] string, contents of the file.
      channels: 0 (as in the file), 1 or 3.
      ratio: downscaling factor: 1, 2, 4 or 8.
      fancy_upscaling: interpolate the chroma planes.
      try_recover_truncated: accept a truncated file with at least acceptable_fraction of its rows.
      acceptable_fraction: from 0 to 1.
      dct_method: "", "INTEGER_FAST" or "INTEGER_ACCURATE".
    Returns: [height, width, channels] uint8.
    """
    return op(
        "DecodeJpeg",
        contents,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method,
        name=name,
    )


def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decodes a window of a JPEG file.

    Args:
      crop_window: [4] int32: first row, first column, height, width.
      the others: as in decode_jpeg.
    """
    return op(
        "DecodeAndCropJpeg",
        contents,
        crop_window,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method,
        name=name,
    )


def decode_png(
    contents: TensorLike, channels: int = 0, dtype: DTypeLike = "uint8", name: str | None = None
) -> Tensor:
    """Decodes a PNG file.

    Args:
      contents: [] string, contents of the file.
      channels: 0 (as in the file), 1, 3 or 4.
      dtype: uint8 or uint16.
    Returns: [height, width, channels].
    """
    return op("DecodePng", contents, channels=channels, dtype=as_dtype(dtype), name=name)


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """Decodes a BMP file. Returns: [height, width, channels] uint8."""
    return op("DecodeBmp", contents, channels=channels, name=name)


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """Decodes a GIF file. Returns: [frames, height, width, 3] uint8."""
    return op("DecodeGif", contents, name=name)


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decodes a BMP, GIF, JPEG or PNG file.

    Args:
      contents: [] string, contents of the file.
      channels: 0 (as in the file), 1, 3 or 4.
      dtype: dtype of the result, scaled as by convert_image_dtype.
      expand_animations: return all frames of a GIF file instead of the first.
    Returns: [height, width, channels], or [frames, height, width, 3].
    """
    with name_scope(name, "decode_image"):
        requested = as_dtype(dtype)
        direct = requested.name in ("uint8", "uint16", "float32")
        count_nodes(75 + {"uint8": 0, "uint16": 6, "float32": 8}.get(requested.name, 0))
        count_nodes(3 * (not expand_animations) + (not isinstance(contents, Tensor)))
        result = op(
            "DecodeImage",
            contents,
            channels=channels or 0,
            dtype=requested if direct else as_dtype("uint16"),
            expand_animations=expand_animations,
        )
        return result if direct else convert_image_dtype(result, requested)


def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """Returns the shape of a JPEG image, [3] int32 or int64, without decoding it."""
    return op("ExtractJpegShape", contents, output_type=as_dtype(output_type), name=name)


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether the contents of a file start like a JPEG file."""
    with name_scope(name, "is_jpeg") as scope:
        start = op("Substr", contents, constant(0), constant(3))
        return op("Equal", start, constant(b"\xff\xd8\xff"), name=scope)


def encode_jpeg(
    image: TensorLike,
    format: str = "",  # noqa: A002 - TF's name
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Encodes an image as a JPEG file.

    Args:
      image: [height, width, channels] uint8.
      format: "" (by the number of channels), "grayscale" or "rgb".
      quality: from 0 to 100.
      progressive: write a progressive file.
      optimize_size: spend more time to reduce the size.
      chroma_downsampling: store the chroma planes at half resolution.
      density_unit: "in" or "cm".
      x_density, y_density: pixels per density_unit.
      xmp_metadata: XMP metadata to store.
    Returns: [] string, contents of the file.
    """
    return op(
        "EncodeJpeg",
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """Encodes an image as a PNG file.

    Args:
      image: [height, width, 1 to 4 channels] uint8 or uint16.
      compression: from 0 to 9; -1 is the default level.
    Returns: [] string, contents of the file.
    """
    return op("EncodePng", image, compression=compression, name=name)


def decode_wav(
    contents: TensorLike,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> Any:
    """Decodes a 16-bit WAV file.

    Args:
      contents: [] string, contents of the file.
      desired_channels, desired_samples: sizes to crop or pad to; -1: as in the file.
    Returns: (audio [samples, channels] float from -1 to 1, sample_rate [] int32).
    """
    return op(
        "DecodeWav",
        contents,
        desired_channels=desired_channels,
        desired_samples=desired_samples,
        name=name,
    )


def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """Encodes audio as a 16-bit WAV file.

    Args:
      audio: [samples, channels] float from -1 to 1.
      sample_rate: [] int32, samples per second.
    Returns: [] string, contents of the file.
    """
    return op("EncodeWav", audio, sample_rate, name=name)
