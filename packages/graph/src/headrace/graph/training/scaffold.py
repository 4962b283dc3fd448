"""Scaffold: the operations for initialisation, checks, saving and summaries of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.graph.checkpoints.saver import Saver
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.summary.summaries import merge_all
from headrace.graph.typing.aliases import FeedDict
from headrace.graph.variables.variable_collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)

if TYPE_CHECKING:
    from headrace.graph.framework.operation import Operation, Tensor

_NONE = object()  # created, and the result is None


class Scaffold:
    """The operations of a training program; `finalize` creates missing ones.

    Args:
      init_op: initialises the model, with init_feed_dict; init_fn(scaffold, session) runs next.
      ready_op: [n] string, names of uninitialised variables.
      ready_for_local_init_op: same as ready_op, evaluated before local_init_op.
      local_init_op: initialises state that checkpoints lack, with local_init_feed_dict.
      summary_op: a serialized Summary.
      saver: Saver.
      copy_from_scaffold: Scaffold with defaults of the other arguments.
    Raises: TypeError if copy_from_scaffold is not a Scaffold.
    """

    def __init__(
        self,
        init_op: Tensor | Operation | None = None,
        init_feed_dict: FeedDict | None = None,
        init_fn: Callable[..., Any] | None = None,
        ready_op: Tensor | Operation | None = None,
        ready_for_local_init_op: Tensor | Operation | None = None,
        local_init_op: Tensor | Operation | None = None,
        summary_op: Tensor | Operation | None = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: FeedDict | None = None,
    ) -> None:
        other = copy_from_scaffold
        if other is not None and not isinstance(other, Scaffold):
            raise TypeError(f"copy_from_scaffold is not a Scaffold instance: {other!r}")

        def provided(value: Any, name: str) -> Any:
            return value if value is not None or other is None else getattr(other, name)

        self._init_op = provided(init_op, "_init_op")
        self._init_feed_dict = provided(init_feed_dict, "_init_feed_dict")
        self._user_init_fn = provided(init_fn, "_user_init_fn")
        self._ready_op = provided(ready_op, "_ready_op")
        self._ready_for_local_init_op = provided(
            ready_for_local_init_op, "_ready_for_local_init_op"
        )
        self._local_init_op = provided(local_init_op, "_local_init_op")
        self._local_init_feed_dict = provided(local_init_feed_dict, "_local_init_feed_dict")
        self._summary_op = provided(summary_op, "_summary_op")
        self._saver = provided(saver, "_saver")

    def finalize(self) -> Scaffold:
        """Creates missing operations, finalizes the default graph, and returns the scaffold."""
        if self._init_op is None:
            self._init_op = self.get_or_default(
                "init_op", GraphKeys.INIT_OP, global_variables_initializer
            )
        if self._ready_op is None:
            self._ready_op = self.get_or_default(
                "ready_op", GraphKeys.READY_OP, report_uninitialized_variables
            )
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
        if self._local_init_op is None:
            self._local_init_op = self.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self._summary_op is None:
            # without summaries there is no operation
            collection = get_default_graph().get_collection_ref(GraphKeys.SUMMARY_OP)
            result = collection[0] if collection else merge_all()
            self._summary_op = _NONE if result is None else result
            if result is not None and not collection:
                collection.append(result)
        if self._saver is None:
            self._saver = _default_saver()
        self._saver.build()
        get_default_graph().finalize()
        return self

    @staticmethod
    def default_local_init_op() -> Any:
        """Creates an operation that initialises local variables and tables."""
        tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
        return group(local_variables_initializer(), *tables)

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """Returns the only element of a collection, or creates and adds one.

        Raises: RuntimeError if the collection has more than one element.
        """
        found = get_default_graph().get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f"Graph has more than one {arg_name} in collection {collection_key!r}: remove "
                f"all but one, or give {arg_name} to the Scaffold: {found}"
            )
        if found:
            return found[0]
        result = default_constructor()
        if result is not None:
            get_default_graph().add_to_collection(collection_key, result)
        return result

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """The user's init_fn as a function of a session, or None."""
        function = self._user_init_fn
        return None if function is None else lambda session: function(self, session)

    init_op = property(lambda self: self._init_op, doc="Initialises.")
    init_feed_dict = property(lambda self: self._init_feed_dict, doc="Feeds of init_op.")
    ready_op = property(lambda self: self._ready_op, doc="Names what is not initialised.")
    ready_for_local_init_op = property(
        lambda self: self._ready_for_local_init_op, doc="As ready_op, before local_init_op."
    )
    local_init_op = property(lambda self: self._local_init_op, doc="Initialises local variables.")
    local_init_feed_dict = property(
        lambda self: self._local_init_feed_dict, doc="Feeds of local_init_op."
    )
    summary_op = property(
        lambda self: None if self._summary_op is _NONE else self._summary_op,
        doc="A serialised Summary, or None.",
    )
    saver = property(lambda self: self._saver, doc="The Saver.")


def _default_saver() -> Saver:
    """Returns the Saver of the graph's collection, or a new one for all variables."""
    collection = get_default_graph().get_collection_ref(GraphKeys.SAVERS)
    if len(collection) > 1:
        raise RuntimeError(
            f"More than one item in collection {GraphKeys.SAVERS}; give saver to the Scaffold"
        )
    if collection:
        return collection[0]
    saver = Saver(sharded=True, allow_empty=True)  # each task writes its variables
    collection.append(saver)
    return saver
