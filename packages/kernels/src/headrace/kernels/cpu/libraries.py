"""Loads libraries of other packages, which kernels find among those of the process."""

# Pillow's wheels contain libjpeg-turbo, for the kernels of JPEG files.
try:
    import PIL._imaging as pillow
except ImportError:
    pillow = None  # type: ignore[assignment]

__all__ = ["pillow"]
