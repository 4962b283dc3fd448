from __future__ import annotations

import headrace.graph as hr

analyzer = hr.contrib.slim.model_analyzer


def test_variables_are_listed_with_their_sizes(graph, capsys):
    hr.get_variable("w", [3, 2])
    hr.get_variable("b", [], hr.float64)
    assert analyzer.analyze_vars(hr.global_variables(), print_info=True) == (7, 32)
    assert capsys.readouterr().out.splitlines() == [
        "---------",
        "Variables: name (type shape) [size]",
        "---------",
        "w:0 (float32_ref 3x2) [6, bytes: 24]",
        "b:0 (float64_ref ) [1, bytes: 8]",
        "Total size of variables: 7",
        "Total bytes of variables: 32",
    ]


def test_operations_are_listed_with_their_outputs(graph, capsys):
    x = hr.placeholder(hr.float32, [2, 3], name="x")
    hr.identity(x, name="y")
    hr.placeholder(hr.float32, [None, 3], name="z")
    hr.no_op(name="n")
    assert analyzer.analyze_ops(graph, print_info=True) == 12
    assert capsys.readouterr().out.splitlines()[3:] == [
        "x \t-> (float32 2x3) [6]",
        "y \t-> (float32 2x3) [6]",
        "z \t-> (float32 ?x3) [0]",
        "n \t->  [0]",
        "---------",
        "Total size: 12",
    ]
