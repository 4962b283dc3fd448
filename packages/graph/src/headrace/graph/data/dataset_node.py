"""The node of a dataset: the variant tensor that stands for it, and what Python knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import DType
from headrace.graph.checkpoints.tracked_objects import SavedObject
from headrace.graph.data import element_nest as nest
from headrace.graph.data.component_specs import DatasetSpec
from headrace.graph.data.element_specs import flat_structure, output_shapes, output_types
from headrace.graph.data.option_sets import Options
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor


class DatasetNode(SavedObject):
    """Base class of datasets.

    Args:
      variant_tensor: [] variant, the result of an op of a dataset.
      element_spec: structure of the specs of the elements.
      inputs: the datasets that it reads.
      functions: the UserFunctions that it calls.
      options: its options; None takes those of its inputs.
    """

    _shown_as = "Dataset"

    def __init__(
        self,
        variant_tensor: Tensor,
        element_spec: Any,
        inputs: Sequence[DatasetNode] = (),
        functions: Sequence[Any] = (),
        options: Options | None = None,
    ) -> None:
        self._variant_tensor = variant_tensor
        self._element_spec = element_spec
        self._input_datasets = list(inputs)
        self._user_functions = list(functions)
        self._own_options = options
        self._graph = get_default_graph()

    @property
    def element_spec(self) -> Any:
        """The structure of the specs of an element."""
        return self._element_spec

    @property
    def _flat_structure(self) -> dict[str, Any]:
        return flat_structure(self._element_spec)

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._element_spec)

    def _inputs(self) -> list[DatasetNode]:
        return list(self._input_datasets)

    def _functions(self) -> list[Any]:
        return list(self._user_functions)

    def options(self) -> Options:
        """Returns the options of the dataset and of those that it reads."""
        if self._own_options is not None:
            return self._own_options
        options = Options()
        for dataset in self._inputs():
            options = options.merge(dataset.options())
        return options

    def _has_captured_ref(self) -> bool:
        """Returns whether a function of the pipeline reads a reference variable."""
        tensors = [t for f in self._functions() for t in f.captured_inputs]
        seen = set()
        while tensors:
            tensor = tensors.pop()
            if tensor.dtype.is_ref_dtype:
                return True
            if tensor.op not in seen:
                seen.add(tensor.op)
                tensors.extend(tensor.op.inputs)
        return any(dataset._has_captured_ref() for dataset in self._inputs())

    def __repr__(self) -> str:
        shapes = nest.map_structure(str, output_shapes(self._element_spec))
        types = nest.map_structure(_dtype_text, output_types(self._element_spec))
        shown = [str(part).replace("'", "") for part in (shapes, types)]
        return f"<{self._shown_as} shapes: {shown[0]}, types: {shown[1]}>"


def _dtype_text(dtype: Any) -> str:
    return f"tf.{dtype.name}" if isinstance(dtype, DType) else repr(dtype)


_classes: list[type[DatasetNode]] = [DatasetNode]


def set_dataset_class(kind: type[DatasetNode]) -> None:
    """Sets the class of the datasets that transformations return."""
    _classes[0] = kind
    DatasetSpec._value_type = kind  # type: ignore[attr-defined]
    DatasetSpec._make = staticmethod(lambda spec, tensor: make_dataset(tensor, spec._element_spec))


def make_dataset(
    variant_tensor: Tensor,
    element_spec: Any,
    inputs: Sequence[DatasetNode] = (),
    functions: Sequence[Any] = (),
    options: Options | None = None,
) -> Any:
    """Returns a dataset. Args: as DatasetNode."""
    kind = _classes[0]
    dataset = kind.__new__(kind)
    DatasetNode.__init__(dataset, variant_tensor, element_spec, inputs, functions, options)
    return dataset
