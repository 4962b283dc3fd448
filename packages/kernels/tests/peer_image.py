"""Writes golden/image_ops.npz: TensorFlow's results of the calls in image_cases.py.

Run it in an environment with TensorFlow: python peer_image.py golden/image_ops.npz
"""

from __future__ import annotations

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf
from image_cases import CASES

arrays = {}
for key, (op, inputs, attrs) in CASES.items():
    got = getattr(tf.raw_ops, op)(**inputs, **attrs)
    for i, value in enumerate(got if isinstance(got, tuple) else [got]):
        arrays[f"{key}|{i}"] = np.asarray(value)
np.savez_compressed(sys.argv[1], **arrays)
