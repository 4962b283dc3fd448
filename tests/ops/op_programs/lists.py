"""TensorArrays, TensorLists and stacks."""

from __future__ import annotations

import headrace.graph as hr
from op_programs import Program, Runs

r = hr.raw_ops
F = hr.float32
ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def _array(v: str) -> Runs:
    made = getattr(r, "TensorArray" + v)(
        size=3, dtype=F, **({} if v == "V2" else {"element_shape": None})
    )
    h, f = (made, hr.constant(0.0)) if v == "V2" else made
    call = lambda name, **k: getattr(r, f"TensorArray{name}{v}")(handle=h, **k)  # noqa: E731
    wrote = call("Write", index=0, value=ROWS[0], flow_in=f)
    spread = call("Scatter", indices=[1, 2], value=ROWS[1:], flow_in=wrote)
    read = call("Read", index=1, flow_in=spread, dtype=F)
    all_ = call("Gather", indices=[2, 0], flow_in=spread, dtype=F)
    joined = call("Concat", flow_in=spread, dtype=F)
    size = call("Size", flow_in=spread)
    grad = call("Grad", flow_in=spread, source="g")
    gh, gf = (grad, spread) if v == "V2" else grad
    back = getattr(r, "TensorArrayWrite" + v)(handle=gh, index=0, value=[7.0, 7.0], flow_in=gf)
    twice = getattr(r, "TensorArrayWrite" + v)(handle=gh, index=0, value=[1.0, 1.0], flow_in=back)
    total = getattr(r, "TensorArrayRead" + v)(handle=gh, index=0, flow_in=twice, dtype=F)
    outside = call("Read", index=7, flow_in=spread, dtype=F)
    again = call("Write", index=0, value=ROWS[0], flow_in=spread)
    with hr.control_dependencies([read]):
        end = call("Close")
    return [[read], [all_], [*joined], [size], [total], [outside], [again], [end]]


def _split(v: str) -> Runs:
    made = getattr(r, "TensorArray" + v)(size=2, dtype=F)
    h, f = (made, hr.constant(0.0)) if v == "V2" else made
    split = getattr(r, "TensorArraySplit" + v)
    flow = split(handle=h, value=ROWS, lengths=hr.constant([1, 2], hr.int64), flow_in=f)
    read = getattr(r, "TensorArrayRead" + v)(handle=h, index=0, flow_in=flow, dtype=F)
    bad = split(handle=h, value=ROWS, lengths=hr.constant([1, 1], hr.int64), flow_in=f)
    return [[read], [bad]]


def _grad_with_shape() -> Runs:
    h, f = r.TensorArrayV3(size=2, dtype=F)
    flow = r.TensorArrayScatterV3(handle=h, indices=[0, 1], value=[1.0, 2.0], flow_in=f)
    gh, gf = r.TensorArrayGradWithShape(handle=h, flow_in=flow, shape_to_prepend=[2], source="g")
    out = r.TensorArrayReadV3(handle=gh, index=0, flow_in=gf, dtype=F)
    return [[out], [r.TensorArraySizeV3(handle=gh, flow_in=gf)]]


def _list() -> Runs:
    empty = r.EmptyTensorList(element_shape=[2], max_num_elements=9, element_dtype=F)
    push = r.TensorListPushBack(input_handle=empty, tensor=ROWS[0])
    push = r.TensorListPushBack(input_handle=push, tensor=ROWS[1])
    shape = hr.constant([2])
    less, last = r.TensorListPopBack(input_handle=push, element_shape=shape, element_dtype=F)
    stack = r.TensorListStack(input_handle=push, element_shape=shape, element_dtype=F)
    none = r.TensorListPopBack(input_handle=empty, element_shape=shape, element_dtype=F)
    wrong = r.TensorListPushBack(
        input_handle=empty, tensor=hr.placeholder_with_default([1.0, 2.0, 3.0], None))  # fmt: skip
    what = r.TensorListElementShape(input_handle=push, shape_type=hr.int32)
    return [[stack], [last], [r.TensorListLength(input_handle=less)], [what], [none.tensor],
            [r.TensorListLength(input_handle=wrong)]]  # fmt: skip


def _whole_lists() -> Runs:
    shape = hr.constant([2])
    made = r.TensorListFromTensor(tensor=ROWS, element_shape=shape)
    get = r.TensorListGetItem(input_handle=made, index=1, element_shape=shape, element_dtype=F)
    outside = r.TensorListGetItem(input_handle=made, index=3, element_shape=shape, element_dtype=F)
    some = r.TensorListGather(
        input_handle=made, indices=[2, 0], element_shape=shape, element_dtype=F
    )
    change = r.TensorListSetItem(input_handle=made, index=0, item=[9.0, 9.0])
    longer = r.TensorListResize(input_handle=change, size=4)
    stacked = r.TensorListStack(input_handle=longer, element_shape=shape, element_dtype=F)
    spread = r.TensorListScatter(tensor=ROWS[:2], indices=[1, 0], element_shape=shape)
    spread2 = r.TensorListScatterV2(
        tensor=ROWS[:2], indices=[3, 0], element_shape=shape, num_elements=5
    )
    into = r.TensorListScatterIntoExistingList(input_handle=made, tensor=ROWS[:1], indices=[2])
    whole = [r.TensorListStack(input_handle=x, element_shape=shape, element_dtype=F)
             for x in (spread, spread2, into)]  # fmt: skip
    joined = r.TensorListConcat(input_handle=made, element_dtype=F, element_shape=[2])
    leading = hr.constant([], hr.int64)
    joined2 = r.TensorListConcatV2(
        input_handle=made, element_dtype=F, element_shape=shape, leading_dims=leading)  # fmt: skip
    parts = r.TensorListSplit(tensor=ROWS, element_shape=hr.constant([-1, 2]),
                              lengths=hr.constant([1, 2], hr.int64))  # fmt: skip
    part = r.TensorListGetItem(input_handle=parts, index=1, element_shape=[-1, 2], element_dtype=F)
    both = r.TensorListConcatLists(input_a=made, input_b=change, element_dtype=F)
    empty = r.TensorListReserve(element_shape=shape, num_elements=3, element_dtype=F)
    batch = r.TensorListPushBackBatch(input_handles=hr.stack([made, made]), tensor=ROWS[:2])
    return [[get], [outside], [some], [stacked], *[[w] for w in whole], list(joined),
            list(joined2), [part], [r.TensorListLength(input_handle=both)],
            [r.TensorListLength(input_handle=empty)], [hr.shape(batch)]]  # fmt: skip


def _stack() -> Runs:
    h = r.StackV2(max_size=2, elem_type=F)
    push = r.StackPushV2(handle=h, elem=[1.0, 2.0])
    with hr.control_dependencies([push]):
        pop = r.StackPopV2(handle=h, elem_type=F)
    with hr.control_dependencies([pop]):
        end = r.StackCloseV2(handle=h)
    fresh = r.StackV2(max_size=2, elem_type=F)
    return [[push, pop], [end], [r.StackPopV2(handle=fresh, elem_type=F)]]


PROGRAMS = [
    *[Program(f"TensorArray{v}", lambda v=v: _array(v)) for v in ("V2", "V3")],
    *[Program(f"TensorArraySplit{v}", lambda v=v: _split(v)) for v in ("V2", "V3")],
    Program("TensorArrayGradWithShape", _grad_with_shape),
    Program("list", _list),
    Program("whole lists", _whole_lists),
    Program("stack", _stack),
]
