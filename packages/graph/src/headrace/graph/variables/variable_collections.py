"""Collections of variables, their initializers, and tests of initialisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops import state
from headrace.graph.typing.aliases import TensorLike

if TYPE_CHECKING:
    from headrace.graph.variables.variable import Variable

_STORAGE = ("Variable", "VariableV2", "VarHandleOp")


def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the global variables, which are shared and saved."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """Same as global_variables, its old name."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """Returns the local variables of the process, which are not saved."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that inference with the model requires."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that optimizers update by default."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables with moving averages."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """Creates an operation that initialises variables."""
    from headrace.graph.control_flow.control_flow_ops import group

    return group(*[v.initializer for v in var_list], name=name)


initialize_variables = variables_initializer


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Creates an operation that initialises the lookup tables of the graph."""
    from headrace.graph.control_flow.control_flow_ops import group

    return group(*get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


initialize_all_tables = tables_initializer


def global_variables_initializer() -> Operation:
    """Creates an operation that initialises the global variables."""
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer


def local_variables_initializer() -> Operation:
    """Creates an operation that initialises the local variables."""
    return variables_initializer(local_variables())


initialize_local_variables = local_variables_initializer


def is_variable_initialized(variable: TensorLike) -> Tensor:
    """Returns whether a variable is initialised, [] bool."""
    return state.is_variable_initialized(variable)


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Operation | None:
    """Creates an operation that fails unless all variables are initialised."""
    from headrace.graph.control_flow.control_flow_ops import group

    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        return None
    return group(*[v.value() for v in var_list], name="assert_initialized")


def report_uninitialized_variables(
    var_list: Any = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Returns the names of uninitialised variables, [n] string."""
    if var_list is None:
        var_list = global_variables() + local_variables()
        if not var_list:
            var_list = [o for o in get_default_graph().get_operations() if o.type in _STORAGE]
    graph = get_default_graph()
    with name_scope(name):
        if not var_list:
            return convert_to_tensor([], as_dtype("string"))
        with graph.device("/cpu:0"):
            count_nodes(22)  # a mask of the names
            flags = [_flag(v) for v in var_list]
            missing = op("LogicalNot", op("Pack", flags))
            names = convert_to_tensor(
                [v.name.partition(":")[0] for v in var_list], as_dtype("string")
            )
            where = op("Reshape", op("Where", missing), [-1])
            return op("GatherV2", names, where, 0, name="Gather")


def _flag(variable: Any) -> Tensor:
    if isinstance(variable, Operation):
        kind = "VarIsInitializedOp" if variable.type == "VarHandleOp" else "IsVariableInitialized"
        return op(kind, variable.outputs[0])
    return state.is_variable_initialized(variable)
