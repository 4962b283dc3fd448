"""Variables, mutexes, session handles, maps of sparse tensors and rendezvous."""

from __future__ import annotations

import headrace.graph as hr
from op_programs import Program, Runs

r = hr.raw_ops
F, I = hr.float32, hr.int64  # noqa: E741


def _ref_variable(v: str) -> Runs:
    made = getattr(r, "Variable" + v)(shape=[2], dtype=F, shared_name="rv" + v)
    there = r.IsVariableInitialized(ref=made)
    start = r.Assign(ref=made, value=[1.0, 2.0])
    more = r.AssignAdd(ref=made, value=[1.0, 1.0])
    less = r.AssignSub(ref=made, value=[0.5, 0.5])
    twin = r.RefIdentity(input=made)
    bad = r.Assign(ref=made, value=hr.placeholder_with_default([1.0], None))
    return [[there], [hr.identity(made)], [start], [there], [more], [less], [hr.identity(twin)],
            [bad], [hr.identity(made)]]  # fmt: skip


def _resource_variable() -> Runs:
    h = r.VarHandleOp(dtype=F, shape=[2], shared_name="rsv")
    there, read = r.VarIsInitializedOp(resource=h), r.ReadVariableOp(resource=h, dtype=F)
    start = r.AssignVariableOp(resource=h, value=[1.0, 2.0])
    more = r.AssignAddVariableOp(resource=h, value=[1.0, 1.0])
    less = r.AssignSubVariableOp(resource=h, value=[0.5, 0.5])
    shape = r.VariableShape(input=h)
    gone = r.DestroyResourceOp(resource=h)
    again = r.DestroyResourceOp(resource=h, ignore_lookup_error=False)
    return [[there], [read], [more], [start], [read, there], [more], [less], [read], [shape],
            [gone], [read], [again], [there]]  # fmt: skip


def _counters() -> Runs:
    ref = r.VariableV2(shape=[], dtype=I, shared_name="cnt")
    start, up = r.Assign(ref=ref, value=hr.constant(0, I)), r.CountUpTo(ref=ref, limit=1)
    h = r.VarHandleOp(dtype=I, shape=[], shared_name="rcnt")
    start2 = r.AssignVariableOp(resource=h, value=hr.constant(0, I))
    up2 = r.ResourceCountUpTo(resource=h, limit=1, T=I)
    return [[start, start2], [up, up2], [up], [up2]]


def _mutex() -> Runs:
    lock = r.MutexLock(mutex=r.MutexV2(shared_name="mutex"))
    with hr.control_dependencies([hr.identity(1.0)]):
        out = r.ConsumeMutexLock(mutex_lock=lock)
    return [[out], [out, hr.constant(1)]]


def _sparse_maps() -> Runs:
    indices, values, shape = hr.constant([[0], [2]], I), [1.0, 2.0], hr.constant([4], I)
    named = {"container": "", "shared_name": "maps"}
    one = r.AddSparseToTensorsMap(
        sparse_indices=indices, sparse_values=values, sparse_shape=shape, **named)  # fmt: skip
    many = r.AddManySparseToTensorsMap(
        sparse_indices=hr.constant([[0, 1], [1, 0]], I), sparse_values=values,
        sparse_shape=hr.constant([2, 3], I), **named)  # fmt: skip
    take = r.TakeManySparseFromTensorsMap(
        sparse_handles=hr.stack([one]), dtype=F, container="", shared_name="maps")  # fmt: skip
    bad = r.AddManySparseToTensorsMap(
        sparse_indices=hr.constant([[0], [1]], I), sparse_values=values, sparse_shape=shape, **named
    )
    none = r.TakeManySparseFromTensorsMap(
        sparse_handles=hr.constant([99], I), dtype=F, container="", shared_name="maps")  # fmt: skip
    return [list(take), [hr.shape(many)], [bad], list(none)]


def _scatter_of_variables() -> Runs:
    ref = r.VariableV2(shape=[3], dtype=F, shared_name="sc")
    h = r.VarHandleOp(dtype=F, shape=[3], shared_name="rsc")
    runs = [[r.Assign(ref=ref, value=[1.0, 2.0, 3.0]),
             r.AssignVariableOp(resource=h, value=[1.0, 2.0, 3.0])]]  # fmt: skip
    read = r.ReadVariableOp(resource=h, dtype=F)
    for name in ("Update", "Add", "Sub", "Mul", "Div", "Max", "Min"):
        both = {"indices": [2, 0], "updates": [4.0, 5.0]}
        runs += [[getattr(r, "Scatter" + name)(ref=ref, **both)],
                 [getattr(r, "ResourceScatter" + name)(resource=h, **both)], [read]]  # fmt: skip
    for name in ("Update", "Add", "Sub", "Max", "Min"):
        both = {"indices": [[2], [0]], "updates": [4.0, 5.0]}
        runs += [[getattr(r, "ScatterNd" + name)(ref=ref, **both)],
                 [getattr(r, "ResourceScatterNd" + name)(ref=h, **both)], [read]]  # fmt: skip
    bad = {"indices": [3], "updates": [4.0]}
    runs += [[r.ScatterAdd(ref=ref, **bad)], [r.ResourceScatterAdd(resource=h, **bad)]]
    bad = {"indices": [[-1]], "updates": [4.0]}
    runs += [[r.ScatterNdAdd(ref=ref, **bad)], [r.ResourceScatterNdAdd(ref=h, **bad)]]
    some = r.ResourceGather(resource=h, indices=[2, 0], dtype=F)
    some2 = r.ResourceGatherNd(resource=h, indices=[[1]], dtype=F)
    outside = r.ResourceGather(resource=h, indices=[3], dtype=F)
    part = {"begin": [1], "end": [3], "strides": [1], "value": [7.0, 8.0]}
    cut = r.StridedSliceAssign(ref=ref, **part)
    cut2 = r.ResourceStridedSliceAssign(ref=h, **part)
    return [*runs, [some], [some2], [outside], [cut], [cut2], [read]]


PROGRAMS = [
    *[Program("Variable" + v, lambda v=v: _ref_variable(v)) for v in ("", "V2")],
    Program(
        "VarHandleOp",
        _resource_variable,
        differences={
            2: "TensorFlow says NotFound, though FailedPrecondition for a read",
            11: "TensorFlow's DestroyResourceOp rejects what is not there, if it is asked to",
        },
    ),
    Program("counters", _counters),
    Program("mutex", _mutex),
    Program("maps of sparse tensors", _sparse_maps),
    Program("scatter of variables", _scatter_of_variables),
]
