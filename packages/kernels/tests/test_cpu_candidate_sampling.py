"""Candidate samplers of the cpu table: TensorFlow's streams, distributions, expected counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_harness import PreparedKernel, run_kernel

from headrace.formats.errors import InvalidArgumentError

GOLDEN = np.load(Path(__file__).parent / "golden" / "random_streams.npz")
TRUTH = np.array([[1, 2], [3, 50]], np.int64)
SAMPLED = {"num_true": 2, "num_sampled": 9, "range_max": 100, "seed": 5, "seed2": 7}


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("op", ["UniformCandidateSampler", "LogUniformCandidateSampler"])
def test_two_runs_give_tensorflows_candidates_and_counts(op, unique):
    kernel = PreparedKernel(op, TRUTH, unique=unique, **SAMPLED)
    for run in range(2):
        for i, got in enumerate(kernel.compute()):
            np.testing.assert_allclose(got, GOLDEN[f"{op}|{unique}|{run}|{i}"], rtol=1e-5)


def test_weights_decide_how_often_a_class_comes():
    weights = [1.0, 0.0, 3.0, 6.0]
    truth = np.array([[0, 1], [2, 3]], np.int64)
    got, true_count, sampled_count = run_kernel(
        "FixedUnigramCandidateSampler", truth, num_true=2, num_sampled=20000, unique=False,
        range_max=4, unigrams=weights, seed=1,
    )  # fmt: skip
    np.testing.assert_allclose(np.bincount(got, minlength=4) / 20000, [0.1, 0, 0.3, 0.6], atol=0.01)
    np.testing.assert_allclose(true_count, np.array([[0.1, 0], [0.3, 0.6]]) * 20000, rtol=1e-6)
    np.testing.assert_allclose(sampled_count, np.array(weights)[got] * 2000, rtol=1e-6)


def test_a_vocabulary_file_has_the_counts_last_in_its_lines(tmp_path):
    path = tmp_path / "vocabulary.csv"
    path.write_text("the,16\nof,9\n,0\n")
    got, *_ = run_kernel(
        "FixedUnigramCandidateSampler", np.array([[0]], np.int64), num_true=1, num_sampled=20000,
        unique=False, range_max=4, vocab_file=str(path), distortion=0.5, num_reserved_ids=1, seed=1,
    )  # fmt: skip
    np.testing.assert_allclose(
        np.bincount(got, minlength=4) / 20000, [0, 4 / 7, 3 / 7, 0], atol=0.02
    )


def test_the_learned_sampler_comes_to_prefer_what_it_saw():
    truth = np.full((500, 1), 7, np.int64)
    kernel = PreparedKernel("LearnedUnigramCandidateSampler", truth, num_true=1, num_sampled=1000,
                            unique=False, range_max=10, seed=1)  # fmt: skip
    first, second = (np.bincount(kernel.compute()[0], minlength=10) for _ in range(2))
    assert abs(first[7] - 100) < 40
    assert second[7] > 950


def test_all_candidates_are_all():
    got, true_count, sampled_count = run_kernel(
        "AllCandidateSampler", TRUTH % 5, num_true=2, num_sampled=5, unique=True
    )
    np.testing.assert_array_equal(got, np.arange(5))
    np.testing.assert_array_equal(true_count, np.ones((2, 2)))
    np.testing.assert_array_equal(sampled_count, np.ones(5))


def test_accidental_hits_point_at_row_and_place():
    sampled = np.array([3, 1, 9, 3], np.int64)
    rows, places, weights = run_kernel("ComputeAccidentalHits", TRUTH, sampled, num_true=2)
    np.testing.assert_array_equal(rows, [0, 1])
    np.testing.assert_array_equal(places, [1, 3])  # the last place of what is sampled twice
    np.testing.assert_array_equal(weights, np.full(2, -np.finfo(np.float32).max))


def test_more_unique_candidates_than_classes_are_rejected():
    with pytest.raises(InvalidArgumentError, match="cannot sample 5 of 4"):
        attrs = {"num_true": 2, "num_sampled": 5, "unique": True, "range_max": 4}
        run_kernel("UniformCandidateSampler", TRUTH, **attrs)
