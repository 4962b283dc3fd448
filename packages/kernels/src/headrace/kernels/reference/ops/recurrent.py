"""Whole LSTM and GRU cells in one op, one step or a block of them, and their gradients."""

from __future__ import annotations

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel

Arrays = list[np.ndarray]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


_LSTM = "x=bi cs=bc h=bc w=w4 wci=c wcf=c wco=c b=4"
_SAVED = "i=bc cs=bc f=bc o=bc ci=bc co=bc"


def _check_sizes(layout: str, inputs: tuple[np.ndarray, ...]) -> None:
    """Rejects inputs whose sizes do not belong together.

    layout: for each input its name and a letter for each dimension; "w" is i + c, "2" and "4" are
      multiples of c, which the second input says.
    """
    sizes = {"c": inputs[1].shape[-1], "i": inputs[0].shape[-1]}
    sizes |= {"w": sizes["i"] + sizes["c"], "2": 2 * sizes["c"], "4": 4 * sizes["c"]}
    for part, x in zip(layout.split(), inputs, strict=True):
        name, letters = part.split("=")
        requested = [
            sizes.setdefault(letter, n) for letter, n in zip(letters, x.shape, strict=False)
        ]
        if len(letters) != x.ndim or requested != list(x.shape):
            raise InvalidArgumentError(
                None,
                None,
                f"{name} is {list(x.shape)}, it must be {requested} of rank {len(letters)}",
            )


def _lstm_step(
    attrs: Attrs, order: str, forget_bias: float, inputs: tuple[np.ndarray, ...]
) -> Arrays:
    """One step; `order` says which gate each quarter of the product is: i, c (input), f, o."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b = (wide(v) for v in inputs)
    gates = dict(zip(order, np.split(np.hstack([x, h_prev]) @ w + b, 4, axis=1), strict=True))
    peep = attrs["use_peephole"]
    i = _sigmoid(gates["i"] + (cs_prev * wci if peep else 0))
    f = _sigmoid(gates["f"] + forget_bias + (cs_prev * wcf if peep else 0))
    ci = np.tanh(gates["c"])
    cs = ci * i + cs_prev * f
    if attrs["cell_clip"] > 0:
        cs = np.clip(cs, -attrs["cell_clip"], attrs["cell_clip"])
    o = _sigmoid(gates["o"] + (cs * wco if peep else 0))
    co = np.tanh(cs)
    return [i, cs, f, o, ci, co, co * o]


def _lstm_step_grad(attrs: Attrs, order: str, inputs: tuple[np.ndarray, ...]) -> Arrays:
    """Gradients of cs_prev, of the four gates before activation, and of the peepholes."""
    values = [wide(v) for v in inputs]
    cs_prev, wci, wcf, wco = values[1], values[4], values[5], values[6]
    i, cs, f, o, ci, co, cs_grad, h_grad = values[8:]
    peep = attrs["use_peephole"]
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad + (do * wco if peep else 0)
    dci = (1 - ci * ci) * dcs * i
    df = f * (1 - f) * dcs * cs_prev
    di = i * (1 - i) * dcs * ci
    cs_prev_grad = dcs * f + (di * wci + df * wcf if peep else 0)
    by_gate = {"i": di, "c": dci, "f": df, "o": do}
    dicfo = np.hstack([by_gate[gate] for gate in order])
    return [
        cs_prev_grad,
        dicfo,
        (di * cs_prev).sum(axis=0) if peep else np.zeros_like(wci),
        (df * cs_prev).sum(axis=0) if peep else np.zeros_like(wcf),
        (do * cs).sum(axis=0) if peep else np.zeros_like(wco),
    ]


def _as_type(outputs: Arrays, like: np.ndarray) -> Arrays:
    return [y.astype(like.dtype) for y in outputs]


@kernel("LSTMBlockCell")
def lstm_block_cell(attrs: Attrs, *inputs: np.ndarray) -> Arrays:
    unused = "wci=p wcf=q wco=r"  # of any size
    peep = attrs["use_peephole"]
    _check_sizes(_LSTM if peep else _LSTM.replace("wci=c wcf=c wco=c", unused), inputs)
    return _as_type(_lstm_step(attrs, "icfo", attrs["forget_bias"], inputs), inputs[0])


@kernel("LSTMBlockCellGrad")
def lstm_block_cell_grad(attrs: Attrs, *inputs: np.ndarray) -> Arrays:
    _check_sizes(f"{_LSTM} {_SAVED} cs_grad=bc h_grad=bc", inputs)
    return _as_type(_lstm_step_grad(attrs, "icfo", inputs), inputs[0])


def _block(attrs: Attrs, order: str, forget_bias: float, inputs: tuple[np.ndarray, ...]) -> Arrays:
    _check_sizes(_LSTM.replace("x=bi", "x=tbi"), inputs[1:])
    length, x, cs, h = int(inputs[0]), inputs[1], inputs[2], inputs[3]
    if not 0 <= length <= len(x):
        raise InvalidArgumentError(None, None, f"seq_len_max {length} is not in [0, {len(x)}]")
    outputs = [np.zeros((len(x), *cs.shape), x.dtype) for _ in range(7)]
    for t in range(length):
        step = _lstm_step(attrs, order, forget_bias, (x[t], cs, h, *inputs[4:]))
        for output, value in zip(outputs, step, strict=True):
            output[t] = value
        cs, h = outputs[1][t], outputs[6][t]
    return outputs


@kernel("BlockLSTM")
def block_lstm(attrs: Attrs, *inputs: np.ndarray) -> Arrays:
    return _block(attrs, "icfo", attrs["forget_bias"], inputs)


@kernel("BlockLSTMV2")
def block_lstm_v2(attrs: Attrs, *inputs: np.ndarray) -> Arrays:
    return _block(attrs, "ifco", 0.0, inputs)


def _block_grad(attrs: Attrs, order: str, inputs: tuple[np.ndarray, ...]) -> Arrays:
    saved_layout = _SAVED.replace("=bc", "=tbc")
    layout = f"{_LSTM.replace('x=bi', 'x=tbi')} {saved_layout} h=tbc cs_grad=tbc h_grad=tbc"
    _check_sizes(layout, inputs[1:])
    length, x, cs_first, h_first, w = int(inputs[0]), *inputs[1:5]
    if not 0 <= length <= len(x):
        raise InvalidArgumentError(None, None, f"seq_len_max {length} is not in [0, {len(x)}]")
    weights, (i, cs, f, o, ci, co, h, cs_grad, h_grad) = inputs[4:9], inputs[9:]
    x_grad, w_grad = np.zeros(x.shape), np.zeros(w.shape)
    b_grad = np.zeros(inputs[8].shape)
    peephole_grads = [np.zeros(inputs[5].shape) for _ in range(3)]
    d_cs, d_h = np.zeros(cs_first.shape), np.zeros(h_first.shape)
    depth = x.shape[-1]
    for t in range(length - 1, -1, -1):
        cs_before = cs[t - 1] if t else cs_first
        h_before = h[t - 1] if t else h_first
        saved = (
            i[t],
            cs[t],
            f[t],
            o[t],
            ci[t],
            co[t],
            wide(cs_grad[t]) + d_cs,
            wide(h_grad[t]) + d_h,
        )
        step = _lstm_step_grad(attrs, order, (x[t], cs_before, h_before, *weights, *saved))
        d_cs, d_gates = step[0], step[1]
        d_inputs = d_gates @ wide(w).T
        x_grad[t], d_h = d_inputs[:, :depth], d_inputs[:, depth:]
        w_grad += np.hstack([wide(x[t]), wide(h_before)]).T @ d_gates
        b_grad += d_gates.sum(axis=0)
        for total, share in zip(peephole_grads, step[2:], strict=True):
            total += share
    outputs = [x_grad, d_cs, d_h, w_grad, *peephole_grads, b_grad]
    return _as_type(outputs, x)


@kernel("BlockLSTMGrad")
def block_lstm_grad(attrs: Attrs, *inputs: np.ndarray) -> Arrays:
    return _block_grad(attrs, "icfo", inputs)


@kernel("BlockLSTMGradV2")
def block_lstm_grad_v2(attrs: Attrs, *inputs: np.ndarray) -> Arrays:
    return _block_grad(attrs, "ifco", inputs)


@kernel("GRUBlockCell")
def gru_block_cell(attrs: Attrs, *inputs: np.ndarray) -> Arrays:
    _check_sizes("x=bi h_prev=bc w_ru=w2 w_c=wc b_ru=2 b_c=c", inputs)
    x, h_prev, w_ru, w_c, b_ru, b_c = (wide(v) for v in inputs)
    r, u = np.split(
        _sigmoid(
            np.hstack([x, h_prev]) @ w_ru + b_ru,
        ),
        2,
        axis=1,
    )
    c = np.tanh(np.hstack([x, h_prev * r]) @ w_c + b_c)
    return _as_type([r, u, c, u * h_prev + (1 - u) * c], inputs[0])


@kernel("GRUBlockCellGrad")
def gru_block_cell_grad(attrs: Attrs, *inputs: np.ndarray) -> Arrays:
    layout = "x=bi h_prev=bc w_ru=w2 w_c=wc b_ru=2 b_c=c r=bc u=bc c=bc d_h=bc"
    _check_sizes(layout, inputs)
    x, h_prev, w_ru, w_c, _, _, r, u, c, d_h = (wide(v) for v in inputs)
    depth = x.shape[1]
    d_c_bar = d_h * (1 - u) * (1 - c * c)
    d_u_bar = d_h * (h_prev - c) * u * (1 - u)
    d_x_and_hr = d_c_bar @ w_c.T
    d_hr = d_x_and_hr[:, depth:]
    d_r_bar = d_hr * h_prev * r * (1 - r)
    d_r_bar_u_bar = np.hstack([d_r_bar, d_u_bar])
    d_x_and_h = d_r_bar_u_bar @ w_ru.T
    d_x = d_x_and_hr[:, :depth] + d_x_and_h[:, :depth]
    d_h_prev = d_x_and_h[:, depth:] + d_hr * r + d_h * u
    return _as_type([d_x, d_h_prev, d_c_bar, d_r_bar_u_bar], inputs[0])
