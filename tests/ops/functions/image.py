"""Images resized, turned, cut, coloured, compared, encoded."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(10)
F = _rng.uniform(0, 1, (2, 6, 5, 3)).astype(np.float32)
G = np.clip(F + _rng.normal(size=F.shape) * 0.1, 0, 1).astype(np.float32)
BIG = _rng.uniform(0, 1, (2, 33, 30, 2)).astype(np.float32)
BIG2 = np.clip(BIG + _rng.normal(size=BIG.shape) * 0.05, 0, 1).astype(np.float32)
U = (F * 255).astype(np.uint8)
S = (F[0] * 65535).astype(np.uint16)
BOXES = np.array([[0.1, 0.2, 0.9, 0.8], [0, 0, 1, 1], [-0.2, 0.3, 1.2, 0.1]], np.float32)
SCORES = np.array([0.9, 0.7, 0.8], np.float32)


def _open(m, x):
    """The image, of a size that is only known when it runs."""
    return m.placeholder_with_default(x, [None] * x.ndim)


def _gradient(m, y, x):
    return [y, *m.gradients(m.reduce_sum(m.sin(y)), [x])]


def _resized(m):
    x = m.constant(F)
    result = []
    for method in (
        m.image.ResizeMethod.BILINEAR,
        m.image.ResizeMethod.NEAREST_NEIGHBOR,
        m.image.ResizeMethod.BICUBIC,
        m.image.ResizeMethod.AREA,
    ):
        result.append(m.image.resize_images(x, [9, 4], method))
        result.append(m.image.resize_images(U[0], [3, 7], method, align_corners=True))
    return [*result, m.image.resize(x, [6, 5]), m.image.resize_images(F, m.constant([7, 8]))]


def _gradients(m):
    x, boxes = m.constant(F), m.constant(BOXES)
    result = []
    for function in ("resize_bilinear", "resize_bicubic", "resize_nearest_neighbor"):
        for mode in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            result += _gradient(m, getattr(m.image, function)(x, [9, 4], **mode), x)
    crops = m.image.crop_and_resize(x, boxes, [0, 1, 1], [4, 3])
    result += [crops, *m.gradients(m.reduce_sum(m.sin(crops)), [x, boxes])]
    result += _gradient(m, m.image.rgb_to_hsv(x), x)
    scaled = m.raw_ops.ScaleAndTranslate(
        images=x, size=[5, 9], scale=[0.7, 1.4], translation=[0.5, -1.0], antialias=False
    )
    result += _gradient(m, scaled, x)
    turn = m.constant([[1.1, 0.2, -0.5, -0.1, 0.9, 0.3, 0.01, 0.02]])
    inputs = {"images": x, "transforms": turn, "output_shape": [6, 5], "interpolation": "BILINEAR"}
    result += _gradient(m, m.raw_ops.ImageProjectiveTransformV2(**inputs), x)
    result += _gradient(m, m.raw_ops.ImageProjectiveTransformV3(**inputs, fill_value=0.5), x)
    return result


def _turned(m):
    i = m.image
    result = []
    for x in (F, F[0]):
        result += [i.flip_left_right(x), i.flip_up_down(x), i.transpose_image(x)]
        result += [i.rot90(x, k) for k in range(-1, 4)]
        result += [i.rot90(x, m.placeholder_with_default(k, [])) for k in range(4)]
    return result


def _cut(m):
    i = m.image
    result = [i.central_crop(F, 0.5), i.central_crop(F[0], 0.3), i.central_crop(F, 1.0)]
    result += [i.pad_to_bounding_box(F, 1, 2, 9, 8), i.crop_to_bounding_box(F[0], 1, 2, 3, 2)]
    for x in (F, F[0]):
        result += [i.resize_image_with_crop_or_pad(x, *size) for size in ((3, 9), (9, 2), (5, 4))]
        result += [i.resize_image_with_pad(x, *size) for size in ((3, 9), (9, 2), (12, 10))]
    known_rank = [_open(m, F), _open(m, F[0])]
    result += [i.central_crop(x, 0.5) for x in known_rank]
    result += [i.pad_to_bounding_box(known_rank[0], 1, 2, 9, 8)]
    result += [i.crop_to_bounding_box(known_rank[1], 1, 2, 3, 2)]
    result += [i.resize_with_crop_or_pad(x, 7, 3) for x in known_rank]
    return result


def _types(m):
    result = []
    for x in (m.constant(F), m.constant(U), m.constant(S), m.constant(F, m.float16)):
        for kind in (m.float32, m.float16, m.uint8, m.uint16, m.float64, m.int16):
            if x.dtype == m.float16 and kind.is_integer and kind != m.uint8:
                continue  # 65535.5 is not a half
            for saturate in (False, True):
                result.append(m.image.convert_image_dtype(x, kind, saturate))
    return result


def _adjusted(m):
    i = m.image
    result = []
    for x in (m.constant(F), m.constant(U)):
        result += [
            i.adjust_brightness(x, 0.2),
            i.adjust_contrast(x, 1.5),
            i.adjust_gamma(x, 0.7, 0.9),
            i.adjust_hue(x, 0.1),
            i.adjust_saturation(x, 0.5),
            i.per_image_standardization(m.cast(x, m.float32)),  # TF 2 keeps no other dtype
            i.rgb_to_grayscale(x),
            i.grayscale_to_rgb(x[..., :1]),
        ]
    return result


def _files(m):
    png = m.image.encode_png(U[0])
    wav = m.audio.encode_wav(F[0, 0, :, :1], 8000)
    jpeg = m.image.encode_jpeg(U[0], quality=100)
    return [
        m.image.decode_png(png),
        m.image.decode_image(png),
        m.image.decode_image(png, dtype=m.float32),
        *m.audio.decode_wav(wav),
        m.image.is_jpeg(jpeg),
        m.image.is_jpeg(png),
        m.image.extract_jpeg_shape(jpeg),
    ]


def _boxes(m):
    i = m.image
    result = [
        i.draw_bounding_boxes(F, np.stack([BOXES, BOXES])),
        i.draw_bounding_boxes(F, np.stack([BOXES, BOXES]), colors=[[0.1, 0.9, 0.5]]),
        i.non_max_suppression(BOXES, SCORES, 3, 0.3),
        *i.non_max_suppression_with_scores(BOXES, SCORES, 3, 0.3, 0.1, 0.5),
        *i.non_max_suppression_padded(BOXES, SCORES, 5, 0.3, 0.1, pad_to_max_output_size=True),
        i.non_max_suppression_overlaps(np.eye(3, dtype=np.float32), SCORES, 2),
        *i.combined_non_max_suppression(
            np.tile(BOXES[None, :, None], (2, 1, 1, 1)), np.ones((2, 3, 2), np.float32), 2, 3
        ),
        i.extract_glimpse(F, [3, 2], [[0.0, 0.0], [0.1, 0.1]]),
    ]
    return result


def _alike(m):
    i = m.image
    x, y = m.constant(BIG), m.constant(BIG2)
    mine = i.ssim(x, y, 1.0)
    many = i.ssim_multiscale(x, y, 1.0, power_factors=(0.3, 0.3), filter_size=7)
    return [
        i.psnr(x, y, 1.0),
        i.psnr(U, (G * 255).astype(np.uint8), 255),
        *_gradient(m, mine, x),
        *_gradient(m, many, x),
        i.ssim(x, y, 1.0, filter_size=5, return_index_map=True),
        i.total_variation(x),
        i.total_variation(x[0]),
        *i.image_gradients(x),
        i.sobel_edges(x),
    ]


def _aspect(m):
    return [
        m.image.resize_images(F, [12, 12], preserve_aspect_ratio=True),
        m.image.resize_images(_open(m, F), [3, 20], preserve_aspect_ratio=True),
    ]


PROGRAMS = {
    "resize_images": _resized,
    "preserve_aspect_ratio": _aspect,
    "gradients": _gradients,
    "turned": _turned,
    "cut and padded": _cut,
    "convert_image_dtype": _types,
    "adjusted": _adjusted,
    "colour spaces": lambda m: [
        getattr(m.image, name)(F)
        for name in "rgb_to_hsv hsv_to_rgb rgb_to_yuv yuv_to_rgb rgb_to_yiq yiq_to_rgb".split()
    ],
    "files": _files,
    "boxes": _boxes,
    "alike": _alike,
}
