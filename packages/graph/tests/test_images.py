"""Image ops: static shapes and errors."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.ops.image.checks import at_least_three_dimensional


def _batch():
    return hr.placeholder("float32", [None, 6, 5, 3])


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda x: hr.image.resize_images(x, [9, 4]), [None, 9, 4, 3]),
        (lambda x: hr.image.resize_images(x[0], [9, 4]), [9, 4, 3]),
        (lambda x: hr.image.rot90(x), [None, 5, 6, 3]),
        (lambda x: hr.image.central_crop(x, 0.5), [None, 4, 3, 3]),
        (lambda x: hr.image.pad_to_bounding_box(x, 1, 1, 9, 9), [None, 9, 9, 3]),
        (lambda x: hr.image.resize_image_with_crop_or_pad(x, 3, 9), [None, 3, 9, 3]),
        (lambda x: hr.image.rgb_to_grayscale(x), [None, 6, 5, 1]),
        (lambda x: hr.image.grayscale_to_rgb(x[..., :1]), [None, 6, 5, 3]),
        (lambda x: hr.image.sobel_edges(x), [None, 6, 5, 3, 2]),
        (lambda x: hr.image.ssim(x, x, 1.0, filter_size=3), [None]),
        (lambda x: hr.image.random_flip_left_right(x[0]), [6, 5, 3]),
        (lambda x: hr.image.random_contrast(x, 0.5, 2.0), [None, 6, 5, 3]),
        (lambda x: hr.image.random_jpeg_quality(x[0], 50, 90), [None, None, 3]),
        (lambda x: hr.image.decode_png("", channels=3), [None, None, 3]),
    ],
)
def test_image_ops_infer_static_shapes(make, shape):
    assert make(_batch()).shape.as_list() == shape


def test_resize_to_the_same_size_adds_no_node():
    x = _batch()
    assert hr.image.resize_images(x, [6, 5]) is x


def test_image_ops_preserve_the_dtype():
    x = hr.placeholder("uint8", [6, 5, 3])
    for result in (hr.image.adjust_contrast(x, 2.0), hr.image.random_brightness(x, 0.1)):
        assert result.dtype == hr.uint8
    assert hr.image.resize_images(x, [3, 3]).dtype == hr.float32
    nearest = hr.image.ResizeMethod.NEAREST_NEIGHBOR
    assert hr.image.resize_images(x, [3, 3], nearest).dtype == hr.uint8


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda x: hr.image.flip_left_right(x[0, 0]), "at least three-dimensional"),
        (lambda x: hr.image.resize_images(x, [3, 3, 3]), "2 elements"),
        (lambda x: hr.image.resize_images(x, [3, 3], 7), "not implemented: 7"),
        (lambda x: hr.image.central_crop(x, 1.5), r"within \(0, 1\]"),
        (lambda x: hr.image.pad_to_bounding_box(x, 1, 0, 6, 5), "height must be <="),
        (lambda x: hr.image.crop_to_bounding_box(x, 3, 0, 4, 5), "height must be >="),
        (lambda x: hr.image.adjust_gamma(x, -1), "non-negative"),
        (lambda x: hr.image.random_hue(x, 0.7), "max_delta must be <= 0.5"),
        (lambda x: hr.image.random_contrast(x, 2.0, 1.0), "upper must be > lower"),
        (lambda x: hr.image.psnr(x, x[:, :3], 1.0), "shapes are different"),
        (lambda x: hr.image.image_gradients(x[0]), "4D tensor"),
    ],
)
def test_invalid_images_raise(make, says):
    with pytest.raises(ValueError, match=says):
        make(_batch())


def test_convert_image_dtype_requires_numeric_dtypes():
    with pytest.raises(AttributeError, match="floating point or integer"):
        hr.image.convert_image_dtype(_batch(), "string")


def test_standardised_images_keep_their_dtype_and_have_three_dimensions():
    image = hr.image.per_image_standardization
    for dtype in (hr.uint8, hr.float16, hr.float32, hr.float64):
        assert image(hr.zeros([2, 4, 5, 3], dtype)).dtype == dtype
    with pytest.raises(ValueError, match="'image' must be at least three-dimensional"):
        image(hr.zeros([4, 5]))
    with pytest.raises(ValueError, match=r"all dims of 'image.shape' must be > 0: \(0, 5, 3\)"):
        image(hr.zeros([0, 5, 3]))
    assert image(hr.placeholder(hr.float32)).shape.ndims is None


def test_a_shape_that_is_not_known_is_checked_in_the_run():
    known = at_least_three_dimensional(hr.zeros([4, 5, 3]))
    assert not known.op.control_inputs
    checked = at_least_three_dimensional(hr.placeholder(hr.float32, [None, None, 3]))
    assert [check.type for check in checked.op.control_inputs] == ["Assert", "Assert"]
