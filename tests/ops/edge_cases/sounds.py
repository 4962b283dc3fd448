"""Sounds and spectrograms with invalid rates, windows and limits."""

from __future__ import annotations

import numpy as np

from edge_cases import EdgeCase, i32, ramp

EDGE_CASES: list[EdgeCase] = []
for rate in (0, -1, 1, 44100, 2**31 - 1):
    EDGE_CASES.append(EdgeCase("EncodeWav", [ramp(4, 2), i32(rate)]))
    EDGE_CASES.append(
        EdgeCase("AudioSummaryV2", [np.array(b"t", object), ramp(2, 4, 1), np.float32(rate)])
    )
EDGE_CASES.append(EdgeCase("EncodeWav", [ramp(4, 0), i32(8000)]))
for value in (np.nan, np.inf, -np.inf, 1.5, -1.5, 1.0, -1.0):
    x = np.float32([[0.5], [value], [-0.5]])
    EDGE_CASES.append(EdgeCase("EncodeWav", [x, i32(8000)]))
    EDGE_CASES.append(
        EdgeCase("AudioSummaryV2", [np.array(b"t", object), x[None], np.float32(8000.5)])
    )
for size, stride in ((0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (9, 1), (-1, 1), (4, 0), (4, -1)):
    EDGE_CASES.append(
        EdgeCase("AudioSpectrogram", [ramp(8, 2)], {"window_size": size, "stride": stride})
    )
EDGE_CASES.append(
    EdgeCase(
        "AudioSpectrogram", [np.float32([[np.inf], [1], [2], [3]])], {"window_size": 2, "stride": 1}
    )
)
EDGE_CASES.append(EdgeCase("AudioSpectrogram", [ramp(8, 0)], {"window_size": 4, "stride": 2}))
for power in (-1.0, np.nan, np.inf, 0.0, 4.0):
    EDGE_CASES.append(EdgeCase("Mfcc", [np.float32(np.full((1, 2, 33), power)), i32(8000)]))
BINS = ramp(1, 1, 33)
BINS[0, 0, 5] = -1
EDGE_CASES.append(EdgeCase("Mfcc", [BINS, i32(8000)]))
# Bands beyond the last bin, and so high that their number is none; bins that no band hears.
for rate in (1, 3, 100, 1000000, 2**31 - 1):
    EDGE_CASES.append(EdgeCase("Mfcc", [BINS, i32(rate)]))
for top in (30.0, 4125.0, 4124.0, 1e30, np.inf, np.nan):
    EDGE_CASES.append(EdgeCase("Mfcc", [np.abs(BINS), i32(8000)], {"upper_frequency_limit": top}))
EDGE_CASES.append(EdgeCase("Mfcc", [ramp(1, 2, 2), i32(3)]))
EDGE_CASES.append(
    EdgeCase(
        "Mfcc", [BINS, i32(16000)], {"upper_frequency_limit": 8000.0, "lower_frequency_limit": 0.0}
    )
)
