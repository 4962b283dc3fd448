"""The transformation scan: a map with a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import as_element, flat_structure, spec_of, to_tensors
from headrace.graph.data.user_functions import stable_function
from headrace.graph.typing.aliases import TensorStructure


def scan(initial_state: TensorStructure, scan_func: Callable[..., Any]) -> Callable[[Any], Any]:
    """Returns a transformation that maps each element, together with a state.

    Args:
      initial_state: structure of tensors.
      scan_func: function of (state, element) that returns (next state, new element).
    Raises: the transformation raises TypeError for a function that does not return a pair, or whose
      state has other classes or dtypes.

    >>> import headrace.graph as hr
    >>> sums = hr.data.experimental.scan(0, lambda total, x: (total + x, total + x))
    >>> dataset = hr.data.Dataset.from_tensor_slices([1, 2, 3]).apply(sums)
    >>> element = dataset.batch(9).make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element))
    [1 3 6]
    """
    return lambda dataset: _scanned(dataset, initial_state, scan_func)


def _scanned(dataset: DatasetNode, initial_state: Any, scan_func: Callable[..., Any]) -> Any:
    state = as_element(initial_state)

    def state_of(made: Any) -> Any:
        if not isinstance(made, tuple) or len(made) != 2:
            raise TypeError(
                "The scan function must return a pair comprising the new state and the output "
                "value."
            )
        return made[0]

    function, state_spec = stable_function(
        scan_func, "tf.data.experimental.scan()", spec_of(state), dataset.element_spec, state_of
    )
    spec = function.output_spec[1]
    node = op(
        "ScanDataset",
        dataset._variant_tensor,
        to_tensors(state_spec, state),
        function.captured_inputs,
        f=function.function,
        preserve_cardinality=True,
        **flat_structure(spec),
    )
    return make_dataset(node, spec, [dataset], [function])
