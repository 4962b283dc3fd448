"""Datasets of parsed Example messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.data.csv_records import read_in_parallel, shuffled_and_repeated
from headrace.graph.data.dataset import AUTOTUNE, Dataset
from headrace.graph.data.element_specs import are_compatible, output_types
from headrace.graph.data.mapping import map_elements
from headrace.graph.data.readers import TFRecordDataset
from headrace.graph.framework.tensor_spec import TensorSpec
from headrace.graph.ops.parsing.examples import parse_example
from headrace.graph.ops.readers import ReaderBase

_STRING = as_dtype("string")


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: int = 1
) -> Callable[[Any], Any]:
    """Returns a transformation that parses batches of serialized Example messages.

    Args:
      features: as hr.io.parse_example.
      num_parallel_calls: number of batches to parse at once.
    Raises: ValueError without features; the transformation raises TypeError for elements that are
      no vectors of strings.
    """
    if features is None:
        raise ValueError(f"Missing: features was {features}.")

    def apply(dataset: Dataset) -> Dataset:
        if not are_compatible(dataset.element_spec, TensorSpec([None], _STRING)):
            raise TypeError("Input dataset should be a dataset of vectors of strings")
        return dataset.map(lambda x: parse_example(x, features), num_parallel_calls)

    return apply


def make_batched_features_dataset(
    file_pattern: str | Sequence[str],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Any = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Returns a dataset of batches of parsed Examples, as a dict from features to tensors.

    Args:
      file_pattern: glob pattern, or a list of them.
      features: as hr.io.parse_example.
      reader: function of a file's name, and reader_args, that returns a dataset of strings.
      label_key: feature to return beside the dict, in a pair.
      num_epochs: number of repetitions; None repeats without end and leaves out a smaller batch.
      shuffle, shuffle_buffer_size, shuffle_seed: whether and how to shuffle Examples and files.
      prefetch_buffer_size: number of batches to compute ahead; None chooses one.
      reader_num_threads: number of files to read at once, 1 by default.
      parser_num_threads: number of batches to parse at once, 2 by default.
      sloppy_ordering: whether the order may depend on which file is read faster.
      drop_final_batch: whether to leave out a last batch that is smaller.
    Raises: TypeError for a reader of the older kind; ValueError for an unknown label_key.
    """
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    if isinstance(reader, type) and issubclass(reader, ReaderBase):
        raise TypeError(
            "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are "
            "not supported. For example, pass `tf.data.TFRecordDataset` instead of "
            "`tf.TFRecordReader`."
        )
    args = list(reader_args or [])
    dataset = read_in_parallel(
        files, lambda name: reader(name, *args), reader_num_threads, sloppy_ordering
    )
    if output_types(dataset.element_spec) == (_STRING, _STRING):
        dataset = map_elements(dataset, lambda _, v: v, use_inter_op_parallelism=False)
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    threads = 2 if parser_num_threads is None else parser_num_threads
    dataset = dataset.apply(parse_example_dataset(features, num_parallel_calls=threads))
    if label_key:
        if label_key not in features:
            raise ValueError(
                f"The `label_key` provided ({label_key!r}) must be one of the `features` keys."
            )
        dataset = dataset.map(lambda x: (x, x.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def read_batch_features(
    file_pattern: str | Sequence[str],
    batch_size: int,
    features: Mapping[str, Any],
    reader: Any = TFRecordDataset,
    reader_args: Sequence[Any] | None = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """Returns the next batch of make_batched_features_dataset, of an iterator that it makes."""
    dataset = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        shuffle=randomize_input,
        num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )
    return dataset.make_one_shot_iterator().get_next()
