"""Switch, Merge and loops by their nodes, functional ops, and calls."""

from __future__ import annotations

import headrace.graph as hr
from headrace.graph.functions import Defun
from op_programs import Program, Runs

r = hr.raw_ops
F = hr.float32


def _switch() -> Runs:
    runs: Runs = []
    for where in (True, False):
        off, on = r.Switch(data=2.0, pred=where)
        merged = r.Merge(inputs=[hr.negative(off), hr.square(on)])
        runs += [[merged.output, merged.value_index], [on if where else off],
                 [off if where else on]]  # fmt: skip
    return [*runs, [r.ControlTrigger()], [r.NoOp()]]


def _loop() -> Runs:
    first = r.Enter(data=0.0, frame_name="loop")
    merged = r.Merge(inputs=[first, first])
    limit, one = [r.Enter(data=n, frame_name="loop", is_constant=True) for n in (3.0, 1.0)]
    go = r.LoopCond(input=r.Less(x=merged.output, y=limit))
    out, body = r.Switch(data=merged.output, pred=go)
    merged.output.op._update_input(1, r.NextIteration(data=r.Add(x=body, y=one)))
    return [[r.Exit(data=out)]]


def _references() -> Runs:
    made = r.VariableV2(shape=[], dtype=F, shared_name="refs")
    start = r.Assign(ref=made, value=2.0)
    off, on = r.RefSwitch(data=made, pred=True)
    merged = r.RefMerge(inputs=[off, on])
    add = r.AssignAdd(ref=merged.output, value=1.0)
    return [[start], [merged.value_index], [add], [hr.identity(made)]]


def _reference_loop() -> Runs:
    made = r.VariableV2(shape=[], dtype=F, shared_name="refs in a loop")
    start = r.Assign(ref=made, value=0.0)
    first = r.RefEnter(data=made, frame_name="refs")
    merged = r.RefMerge(inputs=[first, first])
    limit, one = [r.Enter(data=n, frame_name="refs", is_constant=True) for n in (3.0, 1.0)]
    go = r.LoopCond(input=r.Less(x=merged.output, y=limit))
    out, body = r.RefSwitch(data=merged.output, pred=go)
    more = r.AssignAdd(ref=body, value=one)
    merged.output.op._update_input(1, r.RefNextIteration(data=more))
    return [[start], [hr.identity(r.RefExit(data=out))], [hr.identity(made)]]


def _functions() -> tuple:
    @Defun(F)
    def double(x: hr.Tensor) -> hr.Tensor:
        return x * 2.0

    @Defun(F)
    def square(x: hr.Tensor) -> hr.Tensor:
        return x * x

    @Defun(F)
    def small(x: hr.Tensor) -> hr.Tensor:
        return x < 100.0

    @Defun(hr.int32, F)
    def step(i: hr.Tensor, x: hr.Tensor) -> hr.Tensor:
        return x + hr.cast(i, F)

    for one in (double, square, small, step):
        one.add_to_graph(hr.get_default_graph())
    return double, square, small, step


def _functional() -> Runs:
    double, square, small, step = _functions()
    x = [hr.constant(3.0)]
    runs: Runs = []
    for pre in ("", "Stateless"):
        for where in (True, False):
            runs.append(list(_many(getattr(r, pre + "If")(
                cond=where, input=x, Tout=[F],
                then_branch=double, else_branch=square))))  # fmt: skip
        runs.append(list(_many(getattr(r, pre + "While")(input=x, cond=small, body=square))))
        for index in (0, 1, 7, -1):
            runs.append(list(_many(getattr(r, pre + "Case")(
                branch_index=index, input=x, Tout=[F], branches=[double, square]))))  # fmt: skip
        call = getattr(r, ("Stateful" if pre else "") + "PartitionedCall")
        runs.append(list(_many(call(args=x, Tout=[F], f=square))))
    runs.append(list(_many(r.For(start=0, limit=4, delta=1, input=x, body=step))))
    runs.append(list(_many(r.SymbolicGradient(input=[*x, hr.constant(1.0)], Tout=[F], f=square))))
    return runs


def _many(value: object) -> list:
    return list(value) if isinstance(value, (list, tuple)) else [value]


PROGRAMS = [
    Program("switch", _switch),
    Program("loop", _loop),
    Program("switch of references", _references),
    Program("loop of references", _reference_loop),
    Program("functional ops", _functional),
]
