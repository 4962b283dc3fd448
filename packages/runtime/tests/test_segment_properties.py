"""Properties of the segments of random programs."""

from __future__ import annotations

import itertools

import stub_kernels
from graph_text import serialized
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.runtime.graph.session_graph import SessionGraph
from headrace.runtime.passes.program import ProgramConfig, build_program
from headrace.runtime.passes.segments import segments_of

stub_kernels.install()

TWO = [stub_kernels.DEVICE, stub_kernels.DEVICE.replace("STUB:0", "STUB:1")]


@st.composite
def programs(draw):
    """Random nodes over two predicates, a queue, two devices, and control edges."""
    lines = [
        "p0 = Placeholder(; dtype=bool)",
        "p1 = Placeholder(; dtype=bool)",
        "x = Placeholder(; dtype=float)",
        "q = FIFOQueueV2(; component_types=float)",
        "v = VariableV2()",
    ]
    values = ["x", "v"]
    names = []
    count = draw(st.integers(3, 25))
    for i in range(count):
        name = f"n{i}"

        def some():
            return draw(st.sampled_from(values))

        kind = draw(st.sampled_from("neg add switch merge dequeue where reshape assign".split()))
        control = f", ^{draw(st.sampled_from(names))}" if names and draw(st.booleans()) else ""
        device = " @/stub:1" if draw(st.integers(0, 5)) == 0 and kind in ("neg", "add") else ""
        if kind == "neg":
            lines.append(f"{name} = Neg({some()}{control}){device}")
        elif kind == "add":
            lines.append(f"{name} = Add({some()}, {some()}{control}){device}")
        elif kind == "switch":
            lines.append(f"{name} = Switch({some()}, p{draw(st.integers(0, 1))})")
            values.append(f"{name}:1")
        elif kind == "merge":
            lines.append(f"{name} = Merge({some()}, {some()}; N=2)")
        elif kind == "dequeue":
            lines.append(f"{name} = QueueDequeueV2(q{control}; component_types=float)")
        elif kind == "where":
            lines.append(f"w{name} = Where({some()}{control}; T=float)")
            lines.append(f"{name} = Cast(w{name}; SrcT=int64, DstT=float)")
        elif kind == "reshape":
            lines.append(f"s{name} = Cast({some()}; SrcT=float, DstT=int32)")
            lines.append(f"{name} = Reshape({some()}, s{name}{control})")
        else:
            lines.append(f"{name} = Assign(v, {some()}{control})")
        values.append(name)
        names.append(name)
    return "\n".join(lines), names


def dead_nodes(program, predicates):
    """The nodes that are dead for these values of the predicates."""
    makers = {}
    for i, node in enumerate(program["nodes"]):
        for port, value in enumerate(node["outputs"]):
            makers[value] = (i, port)
    # By edge, not by name: two reads of one variable go by the variable's name.
    sent = {node["edge"]: i for i, node in enumerate(program["nodes"]) if node["kind"] == "SEND"}
    dead = {}

    def is_dead(i):
        if i not in dead:
            node = program["nodes"][i]
            inputs = [value_is_dead(value) for value in node["inputs"]]
            if node["kind"] == "MERGE":
                dead[i] = all(inputs)
            elif node["kind"] == "RECV":
                dead[i] = is_dead(sent[node["edge"]])
            else:
                dead[i] = any(inputs) or any(is_dead(c) for c in node["controls"])
        return dead[i]

    def value_is_dead(value):
        i, port = makers[value]
        node = program["nodes"][i]
        if is_dead(i):
            return True
        if node["kind"] != "SWITCH":
            return False
        chosen = program["nodes"][makers[node["inputs"][1]][0]]["name"]
        return predicates[chosen] != bool(port)

    return [is_dead(i) for i in range(len(program["nodes"]))]


TWO_READS_ARE_SENT = """
    p0 = Placeholder(; dtype=bool)
    p1 = Placeholder(; dtype=bool)
    x = Placeholder(; dtype=float)
    v = VariableV2()
    n0 = Neg(x)
    n1 = Neg(v) @/stub:1
    n2 = Neg(v, ^n1) @/stub:1
"""


@settings(max_examples=400, deadline=None)
@given(programs(), st.booleans())
@example((TWO_READS_ARE_SENT, ["n0", "n1", "n2"]), False)
def test_segments_run_in_order_and_live_or_die_as_one(drawn, late_feeds):
    text, names = drawn
    graph = SessionGraph()
    graph.extend(serialized(text))
    config = ProgramConfig(devices=TWO, allow_soft_placement=True)
    program = build_program(graph, ["p0", "p1", "x"], names, [], config)
    cut = segments_of(program, late_feeds)
    segments, numbers = cut.describe(program), cut.segment_numbers()
    program = program.describe()
    maker = {v: i for i, node in enumerate(program["nodes"]) for v in node["outputs"]}
    units = [("s", number) if number >= 0 else ("n", i) for i, number in enumerate(numbers)]

    # Each unit, once it has what it waits for, can run: none waits in a circle.
    waits = {unit: set() for unit in units}
    for i, node in enumerate(program["nodes"]):
        for producer in [maker[value] for value in node["inputs"]] + node["controls"]:
            if units[producer] != units[i]:
                waits[units[i]].add(units[producer])
    done = set()
    while len(done) < len(waits):
        ready = [unit for unit in waits if unit not in done and waits[unit] <= done]
        assert ready, "segments wait for one another"
        done.update(ready)

    # What enters, leaves and is waited for is all there is.
    for number, segment in enumerate(segments):
        members = {i for i, of in enumerate(numbers) if of == number}
        reads = {value for i in members for value in program["nodes"][i]["inputs"]}
        assert set(segment["inputs"]) == {v for v in reads if maker[v] not in members}
        outside = {v for i, node in enumerate(program["nodes"]) if i not in members
                   for v in node["inputs"]} | set(program["fetches"])  # fmt: skip
        assert set(segment["outputs"]) == {v for v in outside if maker[v] in members}
        assert len({program["nodes"][i]["device"] for i in members}) == 1
        # An asynchronous node, or a late feed, that one node waits for, all of them wait for.
        assert len({frozenset(blocking_ancestors(program, maker, i, late_feeds))
                    for i in members}) == 1  # fmt: skip

    for predicates in itertools.product([False, True], repeat=2):
        dead = dead_nodes(program, dict(zip(("p0", "p1"), predicates, strict=True)))
        for number in range(len(segments)):
            assert len({dead[i] for i, of in enumerate(numbers) if of == number}) == 1


def blocking_ancestors(program, maker, i, late_feeds):
    found, stack, seen = set(), [i], set()
    while stack:
        at = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        node = program["nodes"][at]
        blocks = node["op"] == "QueueDequeueV2" or node["kind"] == "RECV"
        if blocks or (late_feeds and node["kind"] == "FEED"):
            found.add(at)
        stack.extend(maker[value] for value in node["inputs"])
        stack.extend(node["controls"])
    return found
