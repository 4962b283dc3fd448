"""Candidate samplers: random classes to train on instead of all classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.formats import op_catalogue
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import get_seed
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.typing.aliases import TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import CandidateSampler


def _seeds(seed: int | None) -> dict[str, int]:
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


def _sampler(function_name: str, op_type: str, summary: str) -> CandidateSampler:
    def function(
        true_classes: TensorLike,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        return op(
            op_type,
            true_classes,
            num_true=num_true,
            num_sampled=num_sampled,
            unique=unique,
            range_max=range_max,
            name=name,
            **_seeds(seed),
        )

    function.__doc__ = (
        f"{summary}.\n\n    Args:\n      true_classes: [batch, num_true] int64; num_true: of each "
        "example.\n      num_sampled: how many to draw; unique: no class twice; range_max: "
        "classes.\n    Returns: (sampled_candidates [num_sampled] int64, true_expected_count "
        "[batch, num_true],\n      sampled_expected_count [num_sampled]).\n    "
    )
    function.__name__ = function.__qualname__ = function_name
    return function


uniform_candidate_sampler = _sampler(
    "uniform_candidate_sampler", "UniformCandidateSampler", "Draws classes that are all as likely"
)
log_uniform_candidate_sampler = _sampler(
    "log_uniform_candidate_sampler",
    "LogUniformCandidateSampler",
    "Draws classes by Zipf's law, class 0 most often",
)
learned_unigram_candidate_sampler = _sampler(
    "learned_unigram_candidate_sampler",
    "LearnedUnigramCandidateSampler",
    "Draws classes as often as they were true so far",
)


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Samples classes by given frequencies.

    Args:
      vocab_file: CSV file with the frequencies of classes in its last column.
      unigrams: list of frequencies, instead of vocab_file.
      distortion: exponent of the frequencies.
      num_reserved_ids: number of classes before the first one with a frequency.
      num_shards, shard: sample only classes with index % num_shards == shard.
      the others: as in uniform_candidate_sampler.
    Returns: as uniform_candidate_sampler.
    """
    return op(
        "FixedUnigramCandidateSampler",
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=[float(n) for n in unigrams],
        name=name,
        **_seeds(seed),
    )


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns all classes as candidates; arguments and results as in uniform_candidate_sampler."""
    return op(
        "AllCandidateSampler",
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        name=name,
        **_seeds(seed),
    )


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Finds sampled classes that are true classes.

    Args:
      true_classes: [batch, num_true] int64.
      sampled_candidates: [n] int64.
      num_true: number of true classes per example.
      seed: ignored.
    Returns: (indices of examples int32, indices of candidates int64, weights): each weight is the
      lowest float, to add to the logit.
    """
    return op(
        "ComputeAccidentalHits",
        true_classes,
        sampled_candidates,
        num_true=num_true,
        name=name,
        **_seeds(seed),
    )


for _op_type in op_catalogue.names():
    if op_catalogue.family(_op_type) == "candidate_sampling":
        no_gradient(_op_type, "classes are chosen, not computed")
