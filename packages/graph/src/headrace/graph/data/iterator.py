"""Iterators: the state of reading a dataset, in a session."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.tracked_objects import SavedObject
from headrace.graph.data import element_nest as nest
from headrace.graph.data.applied_options import with_applied_options
from headrace.graph.data.dataset_node import DatasetNode
from headrace.graph.data.element_specs import (
    flat_structure,
    from_tensors,
    output_classes,
    output_shapes,
    output_types,
    specs_from,
)
from headrace.graph.framework.default_graph import add_to_collection
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with, device, name_scope
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.functions.defun import Defun
from headrace.graph.platform import logging
from headrace.graph.typing.aliases import DTypeStructure, TensorLike

GLOBAL_ITERATORS = "iterators"  # the collection of the iterators' resources
_MOST_CALLS = 32  # of get_next before a warning
_MANY_CALLS = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates "
    "that `Iterator.get_next()` is being called inside a training loop, which will cause gradual "
    "slowdown and eventual resource exhaustion. If this is the case, restructure your code to "
    "call `next_element = iterator.get_next()` once outside the loop, and use `next_element` as "
    "the input to some computation that is invoked inside the loop."
)


class Iterator(SavedObject):
    """The state of reading a dataset.

    Each session has its own state. `dataset.make_one_shot_iterator()`,
    `dataset.make_initializable_iterator()`, `Iterator.from_structure` and
    `Iterator.from_string_handle` make iterators.

    Args:
      iterator_resource: [] resource.
      initializer: operation that begins anew, or None.
      output_types, output_shapes, output_classes: structures of dtypes, shapes and classes of the
        components of an element.
    Raises: ValueError if one of these structures is missing.

    >>> import headrace.graph as hr
    >>> iterator = hr.data.Dataset.range(3).make_initializable_iterator()
    >>> element = iterator.get_next()
    >>> with hr.Session() as session:
    ...     session.run(iterator.initializer)
    ...     print(session.run(element), session.run(element))
    0 1
    """

    _saved_name = "ITERATOR"

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: DTypeStructure,
        output_shapes: Any,
        output_classes: Any,
    ) -> None:
        if output_types is None or output_shapes is None or output_classes is None:
            raise ValueError(
                "If `structure` is not specified, all of `output_types`, `output_shapes`, and "
                "`output_classes` must be specified."
            )
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._element_spec = specs_from(output_types, output_shapes, output_classes)
        self._string_handle = op("IteratorToStringHandle", iterator_resource)
        self._get_next_call_count = 0
        add_to_collection(GLOBAL_ITERATORS, iterator_resource)

    @staticmethod
    def from_structure(
        output_types: DTypeStructure,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Returns an iterator without a dataset; `make_initializer` gives it one.

        Args:
          output_types: structure of the dtypes of the components.
          output_shapes: shapes in that structure; None leaves all unknown.
          shared_name: name under which sessions share the iterator.
          output_classes: classes in that structure, Tensor by default.
        Raises: TypeError or ValueError for different structures.

        >>> import headrace.graph as hr
        >>> iterator = hr.data.Iterator.from_structure(hr.int64, hr.TensorShape([]))
        >>> begin = iterator.make_initializer(hr.data.Dataset.range(3))
        >>> iterator.get_next().shape
        TensorShape([])
        """
        structure = _structure(output_types, output_shapes, output_classes)
        with _on_cpu():
            resource = op(
                "IteratorV2",
                container="",
                shared_name=shared_name or "",
                **flat_structure(specs_from(*structure)),
            )
        return Iterator(resource, None, *structure)

    @staticmethod
    def from_string_handle(
        string_handle: TensorLike,
        output_types: DTypeStructure,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Returns the iterator that a handle names, such as a placeholder that is fed.

        Args:
          string_handle: [] string, a value of `Iterator.string_handle()`.
          output_types, output_shapes, output_classes: as from_structure.
        Raises: as from_structure.
        """
        structure = _structure(output_types, output_shapes, output_classes)
        handle = convert_to_tensor(string_handle, as_dtype("string"))
        with _on_cpu():
            resource = op(
                "IteratorFromStringHandleV2", handle, **flat_structure(specs_from(*structure))
            )
        return Iterator(resource, None, *structure)

    @property
    def initializer(self) -> Operation:
        """The operation that begins anew. Raises: ValueError if the iterator has none."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: DatasetNode, name: str | None = None) -> Operation:
        """Returns an operation that begins to read a dataset.

        Raises: TypeError for elements of other dtypes, shapes or classes; ValueError for another
          structure.
        """
        with name_scope(name, "make_initializer") as scope:
            self._check(dataset)
        with colocate_with(self._iterator_resource):
            return op("MakeIterator", dataset._variant_tensor, self._iterator_resource, name=scope)

    def _check(self, dataset: DatasetNode) -> None:
        specs = dataset.element_spec
        types, shapes, classes = output_types(specs), output_shapes(specs), output_classes(specs)
        nest.assert_same_structure(self.output_types, types)
        nest.assert_same_structure(self.output_shapes, shapes)
        if _differ(self.output_classes, classes):
            raise TypeError(
                f"Expected output classes {self.output_classes!r} but got dataset with output "
                f"class {classes!r}."
            )
        if _differ(self.output_types, types):
            raise TypeError(
                f"Expected output types {self.output_types!r} but got dataset with output types "
                f"{types!r}."
            )
        pairs = zip(nest.flatten(self.output_shapes), nest.flatten(shapes), strict=True)
        if not all(ours.is_compatible_with(theirs) for ours, theirs in pairs):
            raise TypeError(
                f"Expected output shapes compatible with {self.output_shapes!r} but got dataset "
                f"with output shapes {shapes!r}."
            )

    def get_next(self, name: str | None = None) -> Any:
        """Returns the next element, in its structure.

        Call it once and run the result many times: each call adds an operation to the graph.

        Raises: in a run OutOfRangeError at the end, FailedPreconditionError before the iterator is
          initialised.
        """
        self._get_next_call_count += 1
        if self._get_next_call_count > _MOST_CALLS:
            warnings.warn(_MANY_CALLS, stacklevel=2)
        specs = self._element_spec
        found = op("IteratorGetNext", self._iterator_resource, name=name, **flat_structure(specs))
        return from_tensors(specs, found)

    def _saved_tensor(self) -> Tensor:
        return op("SerializeIterator", self._iterator_resource)

    def _restored_from(self, value: Tensor) -> Operation:
        with colocate_with(self._iterator_resource):
            return op("DeserializeIterator", self._iterator_resource, value)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Returns a [] string that names the iterator, for `from_string_handle`."""
        if name is None:
            return self._string_handle
        return op("IteratorToStringHandle", self._iterator_resource, name=name)

    @property
    def output_classes(self) -> Any:
        """The classes of the components, in their structure."""
        return output_classes(self._element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components, in their structure."""
        return output_shapes(self._element_spec)

    @property
    def output_types(self) -> Any:
        """The dtypes of the components, in their structure."""
        return output_types(self._element_spec)

    @property
    def element_spec(self) -> Any:
        """The structure of the specs of an element."""
        return self._element_spec


def _differ(one: Any, other: Any) -> bool:
    pairs = zip(nest.flatten(one), nest.flatten(other), strict=True)
    return any(a is not b and a != b for a, b in pairs)


def _on_cpu() -> Any:
    """Returns a scope that places an iterator on a CPU unless the program has chosen a device."""
    scope = get_default_graph()._local.scope
    return nullcontext() if scope.device or scope.devices else device("/cpu:0")


def _structure(types: Any, shapes: Any, classes: Any) -> tuple[Any, Any, Any]:
    """Returns structures of dtypes, shapes and classes, with the defaults of missing ones."""
    types = nest.map_structure(as_dtype, types)
    if shapes is None:
        shapes = nest.map_structure(lambda _: TensorShape(None), types)
    else:
        shapes = nest.map_structure_up_to(types, as_shape, shapes)
    if classes is None:
        classes = nest.map_structure(lambda _: Tensor, types)
    nest.assert_same_structure(types, shapes)
    return types, shapes, classes


# ---- of datasets -------------------------------------------------------------------------------


def one_shot_iterator(dataset: DatasetNode) -> Iterator:
    """Returns an iterator that needs no initialisation.

    Raises: ValueError for a pipeline that reads a variable or table.
    """
    _warn_of_other_graphs(dataset)
    variants = _variant_ops(dataset._variant_tensor)

    @Defun(capture_by_value=True, whitelisted_stateful_ops=variants)
    def _make_dataset() -> Tensor:
        return with_applied_options(dataset)._variant_tensor

    try:
        _make_dataset.add_to_graph(get_default_graph())
    except ValueError as error:
        if "Cannot capture a stateful node" not in str(error):
            raise
        raise ValueError(
            "Failed to create a one-shot iterator for a dataset. "
            "`Dataset.make_one_shot_iterator()` does not support datasets that capture stateful "
            "objects, such as a `Variable` or `LookupTable`. In these cases, use "
            f"`Dataset.make_initializable_iterator()`. (Original error: {error})"
        ) from error
    specs = dataset.element_spec
    resource = op("OneShotIterator", dataset_factory=_make_dataset, **flat_structure(specs))
    types, shapes = output_types(specs), output_shapes(specs)
    return Iterator(resource, None, types, shapes, output_classes(specs))


def initializable_iterator(dataset: DatasetNode, shared_name: str | None) -> Iterator:
    """Returns an iterator whose `initializer` must be run first."""
    _warn_of_other_graphs(dataset)
    applied = with_applied_options(dataset)
    specs = dataset.element_spec
    resource = op(
        "IteratorV2", container="", shared_name=shared_name or "", **flat_structure(specs)
    )
    with colocate_with(resource):
        initializer = op("MakeIterator", applied._variant_tensor, resource)
    types, shapes = output_types(specs), output_shapes(specs)
    return Iterator(resource, initializer, types, shapes, output_classes(specs))


def _variant_ops(tensor: Tensor) -> list[Operation]:
    """Returns the operations of a pipeline that return variants."""
    found: dict[Operation, None] = {}
    seen: set[Operation] = set()
    ahead = [tensor.op]
    while ahead:
        node = ahead.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.outputs[0].dtype.base_dtype.name == "variant":
            found[node] = None
        ahead.extend([t.op for t in node.inputs])
    return list(found)


def _warn_of_other_graphs(dataset: DatasetNode) -> None:
    """Warns of datasets that another graph than the default graph holds."""
    current = get_default_graph()
    ahead, seen = [dataset], set()
    while ahead:
        node = ahead.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node._graph is not current:
            logging.warning(
                "The graph (%s) of the iterator is different from the graph (%s) the dataset: %s "
                "was created in. Create all datasets of a pipeline in the graph of the iterator.",
                current,
                node._graph,
                node._variant_tensor,
            )
        ahead.extend(node._inputs())
