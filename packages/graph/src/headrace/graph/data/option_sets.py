"""Options of datasets: `hr.data.Options` and the sets of options in it.

Options that choose how TensorFlow's own runtime optimises or schedules a pipeline are accepted and
kept; those about the results are obeyed.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from headrace.graph.data.stats_aggregator import StatsAggregator


class AutotuneAlgorithm(enum.Enum):
    """Names of TensorFlow's algorithms that choose parallelism and buffer sizes."""

    HILL_CLIMB = 0
    GRADIENT_DESCENT = 1


class _Option:
    """An attribute of a set of options, with a type that is checked."""

    def __init__(self, kind: Any, doc: str, default: Callable[[], Any] = lambda: None) -> None:
        self._kind = kind
        self._default = default
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, options: Any, owner: type | None = None) -> Any:
        if options is None:
            return self
        return options._values.setdefault(self._name, self._default())

    def __set__(self, options: Any, value: Any) -> None:
        if not isinstance(value, self._kind):
            raise TypeError(
                f'Property "{self._name}" must be of type {self._kind}, got: {value!r} '
                f"(type: {type(value)!r})"
            )
        options._values[self._name] = value


class OptionSet:
    """Base class of sets of options; an attribute that does not exist cannot be set."""

    def __init__(self) -> None:
        object.__setattr__(self, "_values", {})

    _values: dict[str, Any]

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, type(self)):
            return NotImplemented
        names = set(self._values) | set(other._values)
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(self, name):
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)


def merged(*sets: Any) -> Any:
    """Returns a set with the options of several sets.

    Raises: TypeError for sets of different classes; ValueError for an option with two values.
    """
    kind = type(sets[0])
    for options in sets:
        if not isinstance(options, kind):
            raise TypeError(f"Incompatible options type: {type(options)!r} vs {kind!r}")
    if not isinstance(sets[0], OptionSet):
        raise TypeError("The inputs should inherit from `OptionsBase`")
    default, result = kind(), kind()
    for options in sets:
        for name in list(options._values):
            ours, theirs = getattr(result, name), getattr(options, name)
            if theirs == getattr(default, name):
                continue
            if ours == getattr(default, name):
                setattr(result, name, theirs)
            elif isinstance(ours, OptionSet):
                setattr(result, name, merged(ours, theirs))
            elif ours != theirs:
                raise ValueError(
                    f"Cannot merge incompatible values ({ours!r} and {theirs!r}) of option: {name}"
                )
    return result


class ThreadingOptions(OptionSet):
    """Options about threads; without effect, since pipelines use the threads of the session."""

    max_intra_op_parallelism = _Option(int, "The number of threads of one operation, or None.")
    private_threadpool_size = _Option(int, "The number of threads of the dataset, or None.")


class MapVectorizationOptions(OptionSet):
    """Options about maps over whole batches; without effect."""

    enabled = _Option(bool, "Whether maps before a batch are computed after it.")
    use_choose_fastest = _Option(bool, "Whether the faster of both is chosen in the run.")

    def _static_optimizations(self) -> list[str]:
        return ["map_vectorization"] if self.enabled else []

    def _static_optimization_configs(self) -> list[str]:
        fastest = "true" if self.use_choose_fastest else "false"
        return [f"map_vectorization:use_choose_fastest:{fastest}"]


class OptimizationOptions(OptionSet):
    """Options about TensorFlow's rewriting of pipelines; they do not change the elements."""

    apply_default_optimizations = _Option(bool, "Whether those that are on by default are applied.")
    autotune = _Option(bool, "Whether parallelism and buffers are chosen in the run.")
    autotune_algorithm = _Option((int, AutotuneAlgorithm), "The algorithm that chooses them.")
    autotune_buffers = _Option(bool, "Whether buffers are chosen as well.")
    autotune_cpu_budget = _Option(int, "The number of cores to use; None uses all.")
    filter_fusion = _Option(bool, "Whether successive filters become one.")
    filter_with_random_uniform_fusion = _Option(bool, "Whether random filters become samples.")
    hoist_random_uniform = _Option(bool, "Whether random numbers are made before a map.")
    map_and_batch_fusion = _Option(bool, "Whether map and batch become one.")
    map_and_filter_fusion = _Option(bool, "Whether map and filter become one.")
    map_fusion = _Option(bool, "Whether successive maps become one.")
    map_parallelization = _Option(bool, "Whether maps without state run in parallel.")
    map_vectorization = _Option(
        MapVectorizationOptions, "Options about maps over batches.", MapVectorizationOptions
    )
    noop_elimination = _Option(bool, "Whether transformations without effect are left out.")
    parallel_batch = _Option(bool, "Whether the elements of a batch are copied in parallel.")
    shuffle_and_repeat_fusion = _Option(bool, "Whether shuffle and repeat become one.")

    def _static_optimizations(self) -> list[str]:
        by_default = ("map_and_batch_fusion", "noop_elimination", "shuffle_and_repeat_fusion")
        others = (
            "filter_fusion", "filter_with_random_uniform_fusion", "hoist_random_uniform",
            "map_and_filter_fusion", "map_parallelization", "map_fusion", "parallel_batch",
        )  # fmt: skip
        chosen = {name for name in (*others, *by_default) if getattr(self, name)}
        if self.apply_default_optimizations is not False:
            chosen |= {name for name in by_default if getattr(self, name) is not False}
        chosen |= set(self.map_vectorization._static_optimizations())
        if self.autotune is not False and self.autotune_buffers:
            chosen.add("inject_prefetch")
        return sorted(chosen)


class DistributeOptions(OptionSet):
    """Options about datasets of several machines; without effect."""

    auto_shard = _Option(bool, "Whether the dataset is divided among machines.", lambda: True)
    _make_stateless = _Option(bool, "Whether state is moved out of the pipeline.")
    num_devices = _Option(int, "The number of devices that read the dataset.")


class StatsOptions(OptionSet):
    """Options about statistics: what collects them, and the tags that they get."""

    aggregator = _Option(StatsAggregator, "The StatsAggregator of the dataset, or None.")
    prefix = _Option(str, "What stands before the tags.", lambda: "")
    counter_prefix = _Option(str, "What stands before the names of counters.", lambda: "")
    latency_all_edges = _Option(bool, "Whether all transformations are measured: without effect.")


class Options(OptionSet):
    """Options of a dataset; `dataset.with_options(options)` sets them.

    >>> import headrace.graph as hr
    >>> options = hr.data.Options()
    >>> options.experimental_deterministic = False
    >>> hr.data.Dataset.range(3).with_options(options).options().experimental_deterministic
    False
    """

    experimental_deterministic = _Option(
        bool, "Whether parallel transformations keep the order of elements; None means True."
    )
    experimental_distribute = _Option(
        DistributeOptions, "Options about several machines.", DistributeOptions
    )
    experimental_optimization = _Option(
        OptimizationOptions, "Options about rewriting.", OptimizationOptions
    )
    experimental_slack = _Option(bool, "Whether the last prefetch leaves time to the step.")
    experimental_stats = _Option(StatsOptions, "Options about statistics.", StatsOptions)
    experimental_threading = _Option(ThreadingOptions, "Options about threads.", ThreadingOptions)
    experimental_stateful_whitelist = _Option(
        list, "Stateful ops that a dataset may contain and be saved nevertheless."
    )

    def merge(self, options: Options) -> Options:
        """Returns options with those of both. Raises: ValueError for an option with two values."""
        return merged(self, options)

    def _static_optimizations(self) -> list[str]:
        names = list(self.experimental_optimization._static_optimizations())
        if self.experimental_deterministic is False:
            names.append("make_sloppy")
        if self.experimental_slack:
            names.append("slack")
        if self.experimental_distribute._make_stateless:
            names.append("make_stateless")
        return names

    def _static_optimization_configs(self) -> list[str]:
        optimization = self.experimental_optimization
        configs = list(optimization.map_vectorization._static_optimization_configs())
        if self.experimental_slack:
            devices = self.experimental_distribute.num_devices or 1
            configs.append(f"slack:slack_period:{devices}")
        return configs
