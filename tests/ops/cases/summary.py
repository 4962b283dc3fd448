"""Cases of the summary family."""

from __future__ import annotations

from cases.case import Case, literal, real

_TAG = literal(b"tag", "string")
_MERGED = [b"\n\x09\n\x02t1\x15\x00\x00\x80?", b"\n\x09\n\x02t2\x15\x00\x00\x00@"]
CASES = [
    Case("ScalarSummary", (literal([b"a", b"b"], "string"), real(2))),
    Case("ScalarSummary", (_TAG, real())),
    Case("HistogramSummary", (_TAG, real(40))),
    Case("HistogramSummary", (_TAG, real(0)), dtypes=("float32",)),
    Case("HistogramSummary", (_TAG, real(3, low=-1e22, high=1e22)), dtypes=("float32",)),
    # other libraries press the same pixels into other bytes
    Case("ImageSummary", (_TAG, real(2, 5, 4, 3)), exact=False),
    Case(
        "ImageSummary",
        (_TAG, real(1, 5, 4, 1, low=0)),
        {"max_images": 1},
        dtypes=("float32",),
        exact=False,
    ),
    Case("AudioSummary", (_TAG, literal([[[0.5], [-1.0]]], "float32")), {"sample_rate": 8000.0}),
    Case(
        "AudioSummaryV2",
        (
            _TAG,
            literal([[[0.5, 0.25], [-1.0, 2.0]], [[0, 0], [0.1, -0.1]]], "float32"),
            literal(44100.0, "float32"),
        ),
        {"max_outputs": 1},
    ),
    Case("TensorSummaryV2", (_TAG, real(2, 3), literal(b"", "string")), exact=False),
    Case("TensorSummary", (real(2, 3),), exact=False),
    Case("MergeSummary", ([literal([one], "string") for one in _MERGED],)),
]
