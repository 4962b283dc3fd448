"""Checks the image with the tiles of the points before a browser decodes it."""

from __future__ import annotations

from headrace.board.embedding.embedding_error import EmbeddingError
from headrace.board.summaries.media_types import MAX_PIXELS, media_of

MAX_BYTES = 64 << 20


def image_type(data: bytes) -> tuple[str, int, int]:
    """Returns media type, width and height of an image.

    Args:
      data: the bytes of the file, which determine the type.
    Raises: EmbeddingError if browsers cannot show the image, or if it is too large.
    """
    media = media_of(data)
    if not media.is_image or not media.width * media.height:
        raise EmbeddingError("the sprite is not a PNG, JPEG, GIF, WebP or BMP image")
    if media.too_large:
        raise EmbeddingError(
            f"the sprite has {media.width} x {media.height} pixels, more than {MAX_PIXELS:,}"
        )
    return media.mime, media.width, media.height
