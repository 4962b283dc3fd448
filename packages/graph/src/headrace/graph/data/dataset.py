"""hr.data.Dataset: a pipeline of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.data import (
    batches,
    file_lists,
    generators,
    iterator,
    joining,
    mapping,
    order,
    sources,
)
from headrace.graph.data import element_specs as specs
from headrace.graph.data.dataset_node import DatasetNode, make_dataset, set_dataset_class
from headrace.graph.data.iterator import Iterator
from headrace.graph.data.option_sets import Options
from headrace.graph.typing.aliases import DTypeStructure, SparseLike, TensorLike, TensorStructure

# A number, or a [] int64 tensor.
IntLike = TensorLike
AUTOTUNE = mapping.AUTOTUNE


class Dataset(DatasetNode):
    """A pipeline of elements, which an iterator reads in a run.

    An element is a structure of tuples, named tuples and dicts whose components are tensors,
    SparseTensors or datasets; all elements of a dataset have the same structure and dtypes. A
    method returns a new dataset and leaves this one unchanged.

    >>> import headrace.graph as hr
    >>> dataset = hr.data.Dataset.range(10).filter(lambda x: x % 2 < 1).map(lambda x: x * x)
    >>> pairs = dataset.batch(2)
    >>> pairs
    <DatasetV1Adapter shapes: (?,), types: tf.int64>
    >>> element = pairs.make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element), session.run(element))
    [0 4] [16 36]
    """

    _shown_as = "DatasetV1Adapter"

    def __init__(self) -> None:
        raise TypeError(
            "Can't instantiate abstract class Dataset: use Dataset.from_tensors, "
            "Dataset.from_tensor_slices or another static method"
        )

    def __iter__(self) -> Any:
        raise RuntimeError(
            "__iter__() is only supported inside of tf.function or when eager execution is enabled."
        )

    # -- sources -------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: TensorStructure) -> Dataset:
        """Returns a dataset of one element, which consists of these tensors."""
        return sources.from_tensors(tensors)

    @staticmethod
    def from_tensor_slices(tensors: TensorStructure) -> Dataset:
        """Returns a dataset of the rows of tensors: the slices along their first dimension.

        Arrays become constants of the graph: feed large ones through placeholders.

        Args:
          tensors: structure of tensors with equal numbers of rows.
        Raises: ValueError for scalars, and different numbers of rows.

        >>> import headrace.graph as hr
        >>> hr.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [[3.0], [4.0]]}).output_shapes
        {'a': TensorShape([]), 'b': TensorShape([Dimension(1)])}
        """
        return sources.from_tensor_slices(tensors)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseLike) -> Dataset:
        """Returns a dataset of the rows of a SparseTensor, as (indices, values, dense_shape).

        Raises: TypeError for something else.
        """
        return sources.from_sparse_tensor_slices(sparse_tensor)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: DTypeStructure,
        output_shapes: Any = None,
        args: Any = None,
    ) -> Dataset:
        """Returns a dataset of the values of a Python generator.

        The generator is called anew for each pass over the dataset, in the process that made the
        graph. A graph that another process loads cannot call it.

        Args:
          generator: function that returns an iterable.
          output_types: structure of the dtypes of an element.
          output_shapes: shapes in that structure; None leaves all unknown.
          args: tensors whose values are passed to the generator as arrays.
        Raises: TypeError if the generator is not callable; in a run InvalidArgumentError for values
          of another structure, dtype or shape.

        >>> import headrace.graph as hr
        >>> def lines():
        ...     yield from ["a", "b"]
        >>> dataset = hr.data.Dataset.from_generator(lines, hr.string, [])
        >>> element = dataset.make_one_shot_iterator().get_next()
        >>> with hr.Session() as session:
        ...     print(session.run(element))
        b'a'
        """
        return generators.from_generator(generator, output_types, output_shapes, args)

    @staticmethod
    def range(*args: IntLike) -> Dataset:
        """Returns a dataset of int64 numbers: range(stop), range(start, stop[, step]).

        Raises: ValueError for another number of arguments.
        """
        return sources.number_range(*args)

    @staticmethod
    def list_files(
        file_pattern: TensorLike, shuffle: bool | None = None, seed: int | None = None
    ) -> Dataset:
        """Returns a dataset of the paths of files.

        Args:
          file_pattern: glob pattern, or a list of them.
          shuffle: whether the order is random; None means True.
          seed: seed of that order.
        Raises: in a run InvalidArgumentError if no file matches.
        """
        return file_lists.list_files(file_pattern, shuffle, seed)

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Returns a dataset whose elements consist of one element of each dataset.

        It ends with the shortest dataset.

        Args:
          datasets: structure of datasets.
        Raises: TypeError for a structure with something else in it, such as a list.
        """
        return joining.zipped(datasets)

    # -- order and number of elements ------------------------------------------------------------

    def concatenate(self, dataset: Dataset) -> Dataset:
        """Returns a dataset of these elements and then those of another dataset.

        Raises: TypeError for elements of other dtypes or classes.
        """
        return joining.concatenated(self, dataset)

    def prefetch(self, buffer_size: IntLike | None) -> Dataset:
        """Returns a dataset that computes up to buffer_size elements ahead.

        `hr.data.experimental.AUTOTUNE` leaves the number to the runtime.
        """
        return order.prefetch(self, buffer_size)

    def repeat(self, count: IntLike | None = None) -> Dataset:
        """Returns a dataset that repeats the elements; None or -1 repeats them without end."""
        return order.repeat(self, count)

    def enumerate(self, start: IntLike = 0) -> Dataset:
        """Returns a dataset of pairs of a number, from start on, and an element."""
        return joining.zipped((sources.number_range(start, 2**63 - 1), self))

    def shuffle(
        self,
        buffer_size: IntLike,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
    ) -> Dataset:
        """Returns a dataset of the elements in random order.

        Each element is drawn from the next buffer_size elements: a buffer as large as the dataset
        makes all orders equally likely.

        Args:
          seed: seed, together with that of the graph.
          reshuffle_each_iteration: whether each repetition has another order; None means
            True.
        """
        return order.shuffle(self, buffer_size, seed, reshuffle_each_iteration)

    def cache(self, filename: TensorLike = "") -> Dataset:
        """Returns a dataset that keeps the elements of its first pass.

        Args:
          filename: begin of the names of files for them; memory if it is empty.
        """
        return order.cache(self, filename)

    def take(self, count: IntLike) -> Dataset:
        """Returns a dataset of the first elements; -1 takes all."""
        return order.take(self, count)

    def skip(self, count: IntLike) -> Dataset:
        """Returns a dataset without the first elements; -1 leaves out all."""
        return order.skip(self, count)

    def shard(self, num_shards: IntLike, index: IntLike) -> Dataset:
        """Returns a dataset of each num_shards-th element, beginning with number index."""
        return order.shard(self, num_shards, index)

    # -- batches ---------------------------------------------------------------------------------

    def batch(self, batch_size: IntLike, drop_remainder: TensorLike = False) -> Dataset:
        """Returns a dataset of batches of successive elements of equal shapes.

        Args:
          drop_remainder: whether to leave out a last batch that is smaller.
        """
        return batches.batch(self, batch_size, drop_remainder)

    def padded_batch(
        self,
        batch_size: IntLike,
        padded_shapes: Any,
        padding_values: Any = None,
        drop_remainder: TensorLike = False,
    ) -> Dataset:
        """Returns a dataset of batches of elements that are padded to one shape.

        Args:
          padded_shapes: the shapes, in the structure of an element; an unknown size, None or -1, is
            the largest of the batch.
          padding_values: scalars in that structure; 0 and the empty string by default.
          drop_remainder: whether to leave out a last batch that is smaller.
        Raises: TypeError for sparse tensors, and padding of another dtype; ValueError for shapes
          that elements do not fit into.

        >>> import headrace.graph as hr
        >>> dataset = hr.data.Dataset.range(1, 4).map(lambda n: hr.fill([n], n))
        >>> element = dataset.padded_batch(3, [None]).make_one_shot_iterator().get_next()
        >>> with hr.Session() as session:
        ...     print(session.run(element))
        [[1 0 0]
         [2 2 0]
         [3 3 3]]
        """
        return batches.padded_batch(self, batch_size, padded_shapes, padding_values, drop_remainder)

    def unbatch(self) -> Dataset:
        """Returns a dataset of the rows of the elements.

        Raises: ValueError for scalars, and components with different numbers of rows.
        """
        return batches.unbatch(self)

    def window(
        self,
        size: IntLike,
        shift: IntLike | None = None,
        stride: IntLike = 1,
        drop_remainder: TensorLike = False,
    ) -> Dataset:
        """Returns a dataset of windows: each component of an element is a nested dataset.

        Args:
          size: number of elements of a window.
          shift: distance of successive windows; None means size.
          stride: distance of successive elements of a window.
          drop_remainder: whether to leave out last windows that are smaller.
        """
        return batches.window(self, size, size if shift is None else shift, stride, drop_remainder)

    # -- functions of elements -------------------------------------------------------------------

    def map(
        self, map_func: Callable[..., Any], num_parallel_calls: IntLike | None = None
    ) -> Dataset:
        """Returns a dataset of the results of a function of each element.

        Args:
          map_func: function of tensors; an element that is a tuple is passed as several arguments.
            It is called once, while the graph is built.
          num_parallel_calls: number of elements to compute at once; the order stays.
        Raises: TypeError for results that do not convert to tensors.
        """
        return mapping.map_elements(self, map_func, num_parallel_calls)

    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: IntLike | None = None
    ) -> Dataset:
        """Same as map, with a function that Defun makes."""
        return mapping.map_elements(self, map_func, num_parallel_calls, legacy=True)

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """Returns a dataset of the elements of the datasets that a function makes of each element.

        Raises: TypeError if map_func does not return a dataset.
        """
        return mapping.flat_map(self, map_func)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: IntLike = AUTOTUNE,
        block_length: IntLike = 1,
        num_parallel_calls: IntLike | None = None,
    ) -> Dataset:
        """Returns a dataset of the elements of several datasets at a time, in turns.

        Args:
          map_func: function that makes a dataset of an element.
          cycle_length: number of datasets at a time.
          block_length: number of successive elements of one dataset.
          num_parallel_calls: number of datasets to read at once; the order stays.
        Raises: TypeError if map_func does not return a dataset.
        """
        return mapping.interleave(self, map_func, cycle_length, block_length, num_parallel_calls)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """Returns a dataset of the elements that a predicate accepts.

        Raises: ValueError for a predicate that does not return a scalar bool.
        """
        return mapping.filtered(self, predicate)

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Dataset:
        """Same as filter, with a function that Defun makes."""
        return mapping.filtered(self, predicate, legacy=True)

    def reduce(self, initial_state: TensorStructure, reduce_func: Callable[..., Any]) -> Any:
        """Returns the last state of a function that combines a state and an element.

        Args:
          initial_state: structure of tensors.
          reduce_func: function of (state, element) that returns the new state.
        Returns: structure of tensors.
        Raises: TypeError for a new state of other classes or dtypes.
        """
        return mapping.reduce(self, initial_state, reduce_func)

    def apply(self, transformation_func: Callable[[Any], Any]) -> Dataset:
        """Returns the dataset that a function makes of this one. Raises: TypeError for another."""
        dataset = transformation_func(self)
        if not isinstance(dataset, DatasetNode):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {dataset}.")
        return dataset  # type: ignore[return-value]

    def with_options(self, options: Options) -> Dataset:
        """Returns a dataset with further options. Raises: ValueError for one with two values."""
        return make_dataset(
            self._variant_tensor,
            self.element_spec,
            [self],
            options=self.options().merge(options),
        )

    # -- iterators -------------------------------------------------------------------------------

    def make_one_shot_iterator(self) -> Iterator:
        """Returns an iterator that needs no initialisation and reads the dataset once.

        Raises: ValueError for a pipeline that reads a variable, a table or a placeholder.
        """
        return iterator.one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Returns an iterator whose `initializer` begins anew; run it first.

        Args:
          shared_name: name under which sessions share the iterator.
        """
        return iterator.initializable_iterator(self, shared_name)

    # -- elements --------------------------------------------------------------------------------

    @property
    def output_classes(self) -> Any:
        """The classes of the components, in their structure."""
        return specs.output_classes(self.element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components, in their structure."""
        return specs.output_shapes(self.element_spec)

    @property
    def output_types(self) -> Any:
        """The dtypes of the components, in their structure."""
        return specs.output_types(self.element_spec)


set_dataset_class(Dataset)


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Same as `dataset.make_one_shot_iterator()`."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """Same as `dataset.make_initializable_iterator(shared_name)`."""
    return dataset.make_initializable_iterator(shared_name)


def get_structure(dataset_or_iterator: Any) -> Any:
    """Returns the structure of the specs of the elements. Raises: TypeError for something else."""
    if not hasattr(dataset_or_iterator, "element_spec"):
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        )
    return dataset_or_iterator.element_spec


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Returns the dtypes of the components of elements, in their structure."""
    return specs.output_types(get_structure(dataset_or_iterator))


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Returns the shapes of the components of elements, in their structure."""
    return specs.output_shapes(get_structure(dataset_or_iterator))


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Returns the classes of the components of elements, in their structure."""
    return specs.output_classes(get_structure(dataset_or_iterator))
