"""A session service for the tests, which interprets a dozen ops with NumPy."""

from __future__ import annotations

import numpy as np

from headrace.formats.errors import FailedPreconditionError, InvalidArgumentError
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunMetadata
from headrace.formats.tensor_codec import make_ndarray

_ARITHMETIC = {
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Less": np.less,
    "Identity": lambda x: x,
    "ReadVariableOp": lambda x: x,
    "Neg": np.negative,
    "LogicalNot": np.logical_not,
    "PlaceholderWithDefault": lambda x: x,
}


class Interpreter:
    """Implements the SessionService protocol, and records the requests."""

    def __init__(self, target, config):
        self.target = target
        self.config = config
        self.nodes = {}
        self.variables = {}
        self.extensions = []  # number of nodes of each extend
        self.prepared = []
        self.closed = False
        self.was_reset = None

    def extend(self, graph_def):
        message = GraphDef.FromString(graph_def)
        self.extensions.append(len(message.node))
        for node in message.node:
            self.nodes[node.name] = node

    def prepare(self, feeds, fetches, targets):
        self.prepared.append((tuple(feeds), tuple(fetches), tuple(targets)))
        return _Step(self, feeds, fetches, targets)

    def partial_run_setup(self, feeds, fetches, targets):
        return _PartialStep(self)

    def list_devices(self):
        from headrace.formats.proto.device_pb2 import DeviceAttributes

        name = "/job:localhost/replica:0/task:0/device:CPU:0"
        return [DeviceAttributes(name=name, device_type="CPU").SerializeToString()]

    def reset(self, containers):
        self.was_reset = list(containers)

    def close(self):
        self.closed = True


class _Step:
    def __init__(self, session, feeds, fetches, targets):
        self.session, self.feeds, self.fetches, self.targets = session, feeds, fetches, targets

    def __call__(self, values):
        known = dict(zip(self.feeds, values))
        for name in self.targets:
            _evaluate(self.session, name + ":0", known)
        return [_evaluate(self.session, name, known)[()] for name in self.fetches]

    def run(self, values, options):
        metadata = RunMetadata()
        metadata.step_stats.dev_stats.add(device="traced")
        return self(values), metadata.SerializeToString()

    def explain(self):
        return f"{len(self.feeds)} feeds, {len(self.fetches)} fetches"


class _PartialStep:
    def __init__(self, session):
        self.session, self.known = session, {}

    def run(self, feeds, fetches):
        self.known.update(feeds)
        return [_evaluate(self.session, name, self.known)[()] for name in fetches]


def _evaluate(session, name, known):
    if name in known:
        return known[name]
    node = session.nodes[name.rpartition(":")[0]]
    for control in [i[1:] for i in node.input if i.startswith("^")]:
        _evaluate(session, control + ":0", known)
    inputs = [i if ":" in i else i + ":0" for i in node.input if not i.startswith("^")]
    if node.op == "Placeholder":
        raise InvalidArgumentError(
            None,
            None,
            f"Placeholder '{node.name}': it must be fed",
            node_name=node.name,
        )
    if node.op == "Const":
        value = make_ndarray(node.attr["value"].tensor)
    elif node.op in ("VariableV2", "VarHandleOp"):
        if node.name not in session.variables:
            raise FailedPreconditionError(
                None, None, f"variable {node.name} has no value", node_name=node.name
            )
        value = session.variables[node.name]
    elif node.op in ("Assign", "AssignVariableOp"):
        value = np.array(_evaluate(session, inputs[1], known))
        session.variables[inputs[0].rpartition(":")[0]] = value
    elif node.op == "AssignAdd":
        value = _evaluate(session, inputs[0], known) + _evaluate(session, inputs[1], known)
        session.variables[inputs[0].rpartition(":")[0]] = value
    elif node.op == "NoOp":
        value = np.zeros(())
    else:
        value = _ARITHMETIC[node.op](*[_evaluate(session, i, known) for i in inputs])
    known[name] = np.asarray(value)
    return known[name]
