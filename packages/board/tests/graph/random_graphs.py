"""Random graphs for hypothesis: any names and inputs, cycles, loops, repetitions."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from headrace.formats.proto.graph_pb2 import GraphDef


def unhurried(examples: int) -> settings:
    """Settings without a clock: the machine may be busy."""
    return settings(
        max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


PARTS = [
    "a",
    "b",
    "c1",
    "c2",
    "c3",
    "",
    "Mixed_0",
    "Mixed_1",
    "Mixed_2",
    "\n",
    "\\",
    "\u202e",
    "x y",
]
OPS = ["Add", "MatMul", "NoOp", "Const", "SaveV2", "Assign", "nobody's op", ""]

names = st.lists(st.sampled_from(PARTS), min_size=0, max_size=5).map("/".join)


@st.composite
def any_graphs(draw: st.DrawFn) -> GraphDef:
    """Whatever bytes may hold: names repeat, inputs lead nowhere, to themselves, in circles."""
    graph = GraphDef()
    count = draw(st.integers(0, 30))
    known = [draw(names) for _ in range(count)]
    texts = st.one_of(
        st.sampled_from(known or ["none"]),
        st.sampled_from(known or ["none"]).map(lambda n: f"^{n}"),
        st.tuples(st.sampled_from(known or ["none"]), st.integers(0, 10**12)).map(
            lambda t: f"{t[0]}:{t[1]}"
        ),
        st.text(max_size=5),
    )
    for name in known:
        node = graph.node.add(name=name, op=draw(st.sampled_from(OPS)))
        node.input.extend(draw(st.lists(texts, max_size=4)))
        node.device = draw(st.sampled_from(["", "/device:GPU:0", "\x00"]))
        if draw(st.booleans()):
            node.attr["T"].type = draw(st.integers(0, 40))
        if draw(st.booleans()):
            for _ in range(draw(st.integers(0, 3))):
                shape = node.attr["_output_shapes"].list.shape.add()
                shape.unknown_rank = draw(st.booleans())
                for size in draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)):
                    shape.dim.add(size=size)
        if draw(st.integers(0, 9)) == 0:
            node.attr["f"].func.name = "fn"
    if draw(st.booleans()):
        for _ in range(draw(st.integers(1, 2))):
            function = graph.library.function.add()
            function.signature.name = draw(st.sampled_from(["fn", "", "a/b"]))
            function.signature.input_arg.add(name="x", type=1)
            function.signature.output_arg.add(name="y", type=1)
            function.node_def.add(name="n", op="Add", input=["x", "n:z:0", draw(st.text())])
            function.ret["y"] = draw(st.sampled_from(["n:z:0", "x", "", "nobody:0"]))
    return graph


def proper_graph(seed: int, nodes: int = 40) -> GraphDef:
    """A graph with scopes in which every input is a node."""
    chance = random.Random(seed)
    graph = GraphDef()
    scopes = [""]
    for i in range(nodes):
        if chance.random() < 0.3:
            scopes.append(f"{chance.choice(scopes)}s{i}/")
        node = graph.node.add(
            name=f"{chance.choice(scopes)}n{i}", op=chance.choice(["Add", "Mul", "Neg"])
        )
        node.attr[chance.choice(["T", "U", "V"])].type = chance.choice([1, 3])
        for _ in range(chance.randrange(3)):
            source = graph.node[chance.randrange(len(graph.node))].name
            node.input.append(chance.choice(["", "^"]) + source)
    return graph


def renamed_and_shuffled(graph: GraphDef, seed: int) -> tuple[GraphDef, dict[str, str]]:
    """The same graph under other names, its nodes in another order; and the new names."""
    chance = random.Random(seed)
    parts: dict[str, str] = {}

    def new(name: str) -> str:
        return "/".join(
            parts.setdefault("/".join(name.split("/")[: i + 1]), f"q{len(parts)}_{chance.random()}")
            for i in range(name.count("/") + 1)
        )

    names = {node.name: new(node.name) for node in graph.node}
    nodes = []
    for node in graph.node:
        other = type(node)()
        other.CopyFrom(node)
        other.name = names[node.name]
        inputs = [("^" if t[0] == "^" else "") + names[t.lstrip("^")] for t in node.input]
        del other.input[:]
        other.input.extend(inputs)
        nodes.append(other)
    chance.shuffle(nodes)
    out = GraphDef()
    out.node.extend(nodes)
    return out, names
