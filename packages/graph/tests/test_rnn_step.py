"""What recurrent networks have in common, and linear maps of several tensors."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.functional.rows import Rows
from headrace.graph.rnn_cells.linear import Linear
from headrace.graph.rnn_cells.rnn_step import batch_size_of, check_cell, kept_rows, state_dtype


def test_an_object_that_lacks_what_networks_need_is_no_cell() -> None:
    with pytest.raises(TypeError, match="'zero_state' property is missing, is not callable"):
        check_cell("cell", object())
    check_cell("cell", hr.contrib.rnn.GRUBlockCell(2))


def test_the_batch_size_is_known_from_any_input() -> None:
    unknown, known = hr.placeholder("float32"), hr.placeholder("float32", [None, 5, 2])
    assert batch_size_of([unknown, known]) == 5
    assert isinstance(batch_size_of([unknown]), hr.Tensor)
    with pytest.raises(ValueError, match="rank at least 2"):
        batch_size_of([hr.zeros([3])])


def test_the_dtype_of_a_state_is_that_of_its_tensors() -> None:
    state = (hr.zeros([1]), [hr.zeros([1])])
    assert state_dtype(None, state) is hr.float32
    assert state_dtype("half", state) == "half"
    with pytest.raises(ValueError, match="different inferred_dtypes"):
        state_dtype(None, (hr.zeros([1]), hr.zeros([1], "half")))
    with pytest.raises(ValueError, match="empty state"):
        state_dtype(None, ())


def test_scalars_and_arrays_are_not_kept_by_row() -> None:
    array = hr.TensorArray("float32", size=1)
    scalar = hr.constant(1.0)
    old, new = (hr.zeros([2]), scalar, array), (hr.ones([2]), scalar, array.identity())
    rows, number, kept = kept_rows(hr.constant([True, False]), old, new)
    assert rows.op.type in ("Select", "SelectV2") and number is new[1] and kept is new[2]


def test_a_linear_map_has_a_kernel_for_all_its_inputs() -> None:
    with hr.variable_scope("s"):
        linear = Linear([hr.zeros([2, 3]), hr.zeros([2, 4])], 5, build_bias=True)
        result = linear([hr.zeros([2, 3]), hr.zeros([2, 4])])
    assert result.shape.as_list() == [2, 5]
    names = [(v.name, v.shape.as_list()) for v in hr.global_variables("s/")]
    assert names == [("s/kernel:0", [7, 5]), ("s/bias:0", [5])]
    with pytest.raises(ValueError, match="2D arguments"):
        Linear(hr.zeros([3]), 5, build_bias=False)
    with pytest.raises(ValueError, match="to be provided"):
        Linear(hr.placeholder("float32", [2, None]), 5, build_bias=False)


def test_rows_of_several_tensors_are_read_together() -> None:
    rows = Rows({"a": hr.zeros([4, 2]), "b": hr.placeholder("int32", [None])})
    assert rows.count == 4 and rows.dtypes == [hr.float32, hr.int32]
    assert sorted(rows.read(0)) == ["a", "b"]


class _Counter(hr.contrib.rnn.LayerRNNCell):
    state_size = output_size = property(lambda self: 1)

    def build(self, input_shape: object) -> None:
        self._step = self.add_weight("step", [])
        self.built = True

    def call(self, inputs: hr.Tensor, state: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        return state, state + self._step


def test_a_layer_cell_counts_each_weight_once() -> None:
    cell = _Counter(name="counter")
    hr.nn.dynamic_rnn(cell, hr.zeros([1, 2, 1]), dtype="float32", scope="net")
    assert [w.name for w in cell.weights] == ["net/counter/step:0"]
