"""One program built by TensorFlow's and Headrace's API has equal nodes and names."""

from __future__ import annotations

import pytest

import headrace.graph as hr

pytestmark = pytest.mark.peer


def operators(m):
    x = m.placeholder(m.float32, [None, 4], name="x")
    x + 1.0, 2.0 - x, x * x, x / 3.0, x // 2.0, x % 2.0, 2.0**x, -x, abs(x)
    b = (x > 1.0) & (x < 2.0)
    ~b | b, b ^ b
    m.constant([1, 2]) / 2, m.constant([1, 2]) - 1
    x[0], x[:, 1:3], x[..., m.newaxis], x[m.constant(1)], x[::-1, 0]
    m.convert_to_tensor([x, x])


def scopes(m):
    with m.name_scope("a"), m.device("/job:ps/task:1"):
        a = m.constant(1.0, name="c")
        with m.name_scope("A"), m.device("/cpu:0"):
            b = m.constant(1.0, name="c")
    with m.name_scope("a"), m.control_dependencies([a, b]):
        c = m.identity(a)
        m.maximum(c, b)
    with m.colocate_with(b):
        m.constant(2.0, name="c")
    m.group(a, b)
    m.tuple([a, c])
    m.no_op()


def variables(m):
    m.set_random_seed(3)
    v = m.Variable([1.0, 2.0], name="v")
    m.Variable(lambda: m.constant([3.0, 4.0]) + 1.0)
    m.Variable(v * 2.0, name="u")
    r = m.Variable([1.0, 2.0], name="r", use_resource=True)
    v + r
    v.assign([1.0, 3.0]), m.assign_add(v, r), m.scatter_add(v, [0], [2.0])
    v.read_value(), r.read_value(), v.initialized_value()
    with m.variable_scope("s", reuse=m.AUTO_REUSE):
        m.get_variable("w", [4, 2], initializer=m.truncated_normal_initializer(seed=9))
        m.get_variable("z", [40, 40], initializer=m.zeros_initializer())
        with m.variable_scope("s"):
            m.get_variable("g", [2, 3], use_resource=True)
    p = m.get_variable("p", [5, 2], partitioner=m.fixed_size_partitioner(2),
                       initializer=m.ones_initializer())  # fmt: skip
    m.convert_to_tensor(p) + 1.0
    m.global_variables_initializer()


def branches_and_loops(m):
    x = m.placeholder(m.float32, [], name="x")
    y = m.constant(2.0, name="y")
    v = m.Variable(1.0, name="v")
    m.cond(x < y, lambda: x + y, lambda: y * 3.0)
    m.cond(x < y, lambda: m.assign_add(v, 1.0), lambda: v.read_value())
    m.case([(x < 1.0, lambda: y), (x < 2.0, lambda: x)], default=lambda: m.constant(3.0))
    m.while_loop(lambda a: a < 100.0, lambda a: a * x, [1.0], maximum_iterations=7)
    with m.control_dependencies([y]):
        m.while_loop(
            lambda i, a: i < 10,
            lambda i, a: [i + 1, m.cond(i < 5, lambda: a + x, lambda: a * y)],
            [0, y],
        )

    def outer(i, t):
        return i + 1, m.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j), (0, t))[1]

    m.while_loop(lambda i, t: i < 4, outer, (0, 0))
    m.Assert(x < 10.0, [x])


def listed(graph):
    nodes = {}
    for o in graph.get_operations():
        try:
            groups = o.get_attr("_class")
        except ValueError:
            groups = []
        nodes[o.name] = (
            o.type,
            [t.name for t in o.inputs],
            sorted([c.name for c in o.control_inputs]),
            groups,
            o.device,
            [str(t.shape) for t in o.outputs],
        )
    return nodes


@pytest.fixture(scope="module")
def tf():
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow")
    tensorflow.compat.v1.disable_v2_behavior()
    return tensorflow.compat.v1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [operators, scopes, variables, branches_and_loops])
def test_a_program_builds_the_same_graph(program, tf):
    with tf.Graph().as_default() as theirs:
        program(tf)
    with hr.Graph().as_default() as ours:
        program(hr)
    expected, found = listed(theirs), listed(ours)
    assert found.keys() == expected.keys()
    for name, node in expected.items():
        assert (name, found[name]) == (name, node)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [operators, scopes, variables, branches_and_loops])
def test_graphs_are_imported_both_ways(program, tf):
    with hr.Graph().as_default() as ours:
        program(hr)
    message = tf.GraphDef.FromString(ours.as_graph_def().SerializeToString())
    with tf.Graph().as_default() as theirs:
        tf.import_graph_def(message, name="")
    with hr.Graph().as_default() as again:
        hr.import_graph_def(theirs.as_graph_def().SerializeToString(), name="")
    found = listed(again)
    for name, node in listed(ours).items():
        assert found[name][:4] == node[:4]
