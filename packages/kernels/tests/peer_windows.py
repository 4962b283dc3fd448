"""Compares convolution, pooling and batch normalisation with TensorFlow, case by case.

Run by test_cpu_peer.py in an environment that has TensorFlow: reads calls and our results from an
npz file made there, prints the names of those that differ.
"""

from __future__ import annotations

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import json

import numpy as np
import tensorflow as tf

with np.load(sys.argv[1]) as file:
    for key in sorted({name.split("|")[0] for name in file.files}):
        call = json.loads(str(file[f"{key}|call"]))
        inputs = {name: file[f"{key}|in|{name}"] for name in call["inputs"]}
        got = getattr(tf.raw_ops, call["op"])(**inputs, **call["attrs"])
        got = got if isinstance(got, tuple) else [got]
        for i in range(call["outputs"]):
            want, ours = np.asarray(got[i], np.float64), file[f"{key}|out|{i}"].astype(np.float64)
            scale = max(1e-30, np.abs(want).max()) if want.size else 1
            if want.shape != ours.shape or not np.allclose(
                ours, want, rtol=1e-4, atol=2e-5 * scale
            ):
                print(f"{key}: output {i} differs")
