"""Writes golden/random_streams.npz: what TensorFlow's random ops give for fixed seeds.

Run it in an environment with TensorFlow: python peer_random.py golden/random_streams.npz
"""

from __future__ import annotations

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf

SHAPE, SEEDS, PAIR = [7, 13], {"seed": 5, "seed2": 7}, [5, -7]
ops, fetches = tf.raw_ops, {}
with tf.Graph().as_default():
    for name in ("float32", "float64", "float16", "bfloat16"):
        dtype = tf.as_dtype(name)
        for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
            value = getattr(ops, op)(shape=SHAPE, dtype=dtype, **SEEDS)
            fetches[f"{op}|{name}"] = tf.cast(value, tf.float64)
        for op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
            value = getattr(ops, op)(shape=SHAPE, dtype=dtype, seed=PAIR)
            fetches[f"{op}|{name}"] = tf.cast(value, tf.float64)
    for name in ("int32", "int64"):
        low, high = tf.constant(-3, name), tf.constant(100, name)
        fetches[f"RandomUniformInt|{name}"] = ops.RandomUniformInt(
            shape=SHAPE, minval=low, maxval=high, **SEEDS
        )
        fetches[f"StatelessRandomUniformInt|{name}"] = ops.StatelessRandomUniformInt(
            shape=SHAPE, seed=PAIR, minval=low, maxval=high
        )
    fetches["RandomShuffle|1"] = ops.RandomShuffle(value=tf.range(101), **SEEDS)
    rows = tf.reshape(tf.range(33), [11, 3])
    fetches["RandomShuffle|2"] = ops.RandomShuffle(value=rows, **SEEDS)
    logits = np.log([[1.0, 2, 3, 4]]).astype(np.float32)
    fetches["Multinomial|1"] = ops.Multinomial(logits=logits, num_samples=50, **SEEDS)
    truth = np.array([[1, 2], [3, 50]], np.int64)
    for op in ("UniformCandidateSampler", "LogUniformCandidateSampler"):
        for unique in (False, True):
            sampler = getattr(ops, op)
            outputs = sampler(
                true_classes=truth, num_true=2, num_sampled=9, unique=unique, range_max=100, **SEEDS
            )
            fetches[f"{op}|{unique}"] = list(outputs)
    arrays = {}
    with tf.compat.v1.Session() as session:
        for run in range(2):
            for key, value in session.run(fetches).items():
                if isinstance(value, list):
                    arrays.update({f"{key}|{run}|{i}": v for i, v in enumerate(value)})
                else:
                    arrays[f"{key}|{run}"] = value
np.savez_compressed(sys.argv[1], **arrays)
