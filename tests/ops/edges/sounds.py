"""Sounds and spectrograms whose rates, windows and limits are none."""

from __future__ import annotations

import numpy as np

from edges import Edge, i32, ramp

EDGES: list[Edge] = []
for rate in (0, -1, 1, 44100, 2**31 - 1):
    EDGES.append(Edge("EncodeWav", [ramp(4, 2), i32(rate)]))
    EDGES.append(Edge("AudioSummaryV2", [np.array(b"t", object), ramp(2, 4, 1), np.float32(rate)]))
EDGES.append(Edge("EncodeWav", [ramp(4, 0), i32(8000)]))
for value in (np.nan, np.inf, -np.inf, 1.5, -1.5, 1.0, -1.0):
    x = np.float32([[0.5], [value], [-0.5]])
    EDGES.append(Edge("EncodeWav", [x, i32(8000)]))
    EDGES.append(Edge("AudioSummaryV2", [np.array(b"t", object), x[None], np.float32(8000.5)]))
for size, stride in ((0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (9, 1), (-1, 1), (4, 0), (4, -1)):
    EDGES.append(Edge("AudioSpectrogram", [ramp(8, 2)], {"window_size": size, "stride": stride}))
EDGES.append(
    Edge(
        "AudioSpectrogram", [np.float32([[np.inf], [1], [2], [3]])], {"window_size": 2, "stride": 1}
    )
)
EDGES.append(Edge("AudioSpectrogram", [ramp(8, 0)], {"window_size": 4, "stride": 2}))
for power in (-1.0, np.nan, np.inf, 0.0, 4.0):
    EDGES.append(Edge("Mfcc", [np.float32(np.full((1, 2, 33), power)), i32(8000)]))
BINS = ramp(1, 1, 33)
BINS[0, 0, 5] = -1
EDGES.append(Edge("Mfcc", [BINS, i32(8000)]))
# Bands beyond the last bin, and so high that their number is none; bins that no band hears.
for rate in (1, 3, 100, 1000000, 2**31 - 1):
    EDGES.append(Edge("Mfcc", [BINS, i32(rate)]))
for top in (30.0, 4125.0, 4124.0, 1e30, np.inf, np.nan):
    EDGES.append(Edge("Mfcc", [np.abs(BINS), i32(8000)], {"upper_frequency_limit": top}))
EDGES.append(Edge("Mfcc", [ramp(1, 2, 2), i32(3)]))
EDGES.append(
    Edge(
        "Mfcc", [BINS, i32(16000)], {"upper_frequency_limit": 8000.0, "lower_frequency_limit": 0.0}
    )
)
