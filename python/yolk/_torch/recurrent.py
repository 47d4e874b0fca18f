# SPDX-License-Identifier: Apache-2.0
"""torch's recurrent cells and layers over traced values; a layer's time steps are unrolled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import operations as ops
from .layers import linear
from .tensors import chunk
from .values import extents, reshape


class Weights(NamedTuple):
    input: Any
    state: Any
    input_bias: Any
    state_bias: Any


def gru_step(x: Any, h: Any, w: Weights) -> Any:
    reset_x, update_x, new_x = chunk(linear(x, w.input, w.input_bias), 3, -1)
    reset_h, update_h, new_h = chunk(linear(h, w.state, w.state_bias), 3, -1)
    update = ops.sigmoid(update_x + update_h)
    new = ops.tanh(new_x + ops.sigmoid(reset_x + reset_h) * new_h)
    return new + update * (h - new)


def lstm_step(x: Any, h: Any, c: Any, w: Weights) -> tuple:
    keep_in, forget, new, show = chunk(linear(x, w.input, w.input_bias) + linear(h, w.state, w.state_bias), 4, -1)
    c = ops.sigmoid(forget) * c + ops.sigmoid(keep_in) * ops.tanh(new)
    return ops.sigmoid(show) * ops.tanh(c), c


def rnn_step(x: Any, h: Any, w: Weights, nonlinearity: str) -> Any:
    total = linear(x, w.input, w.input_bias) + linear(h, w.state, w.state_bias)
    return ops.tanh(total) if nonlinearity == "tanh" else ops.relu(total)


def _zeros(x: Any, width: int) -> Any:
    return np.zeros((*extents(x)[:-1], width), np.float32)


def cell(net: Any, module: Any, x: Any, h: Any = None) -> Any:
    """GRUCell, LSTMCell, RNNCell."""
    w = Weights(*(net.parameter(one) for one in (module.weight_ih, module.weight_hh, module.bias_ih, module.bias_hh)))
    kind = type(module).__name__
    if kind == "LSTMCell":
        h, c = (_zeros(x, module.hidden_size), _zeros(x, module.hidden_size)) if h is None else h
        return lstm_step(x, h, c, w)
    h = _zeros(x, module.hidden_size) if h is None else h
    return gru_step(x, h, w) if kind == "GRUCell" else rnn_step(x, h, w, module.nonlinearity)


def _direction(module: Any, steps: list, w: Weights, h: Any, c: Any) -> tuple:
    shown = []
    for x in steps:
        if module.mode == "LSTM":
            h, c = lstm_step(x, h, c, w)
        else:
            h = gru_step(x, h, w) if module.mode == "GRU" else rnn_step(x, h, w, module.nonlinearity)
        shown.append(h)
    return shown, h, c


def layer(net: Any, module: Any, x: Any, h: Any = None) -> Any:
    """GRU, LSTM and RNN: [time, batch, in], or [time, in]; batch_first swaps the first two. Gives (outputs, states)."""
    batched = len(extents(x)) == 3
    axis = 1 if module.batch_first and batched else 0
    ways = 2 if module.bidirectional else 1
    steps = [x[(slice(None), ) * axis + (index, )] for index in range(extents(x)[axis])]
    if not batched:  # an index of [time, in] leaves [in]
        steps = [reshape(step, [module.input_size]) for step in steps]
    first_h, first_c = h if isinstance(h, tuple) else (h, None)
    last_h, last_c = [], []
    for number in range(module.num_layers):
        shown = []
        for way in range(ways):
            ends = f"_l{number}" + ("_reverse" if way else "")
            names = [f"{kind}{ends}" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            w = Weights(*(net.parameter(getattr(module, name, None)) for name in names))
            at = number * ways + way
            start_h = _zeros(steps[0], module.hidden_size) if first_h is None else first_h[at]
            start_c = _zeros(steps[0], module.hidden_size) if first_c is None else first_c[at]
            outputs, end_h, end_c = _direction(module, steps[::-1] if way else steps, w, start_h, start_c)
            shown.append(outputs[::-1] if way else outputs)
            last_h.append(end_h)
            last_c.append(end_c)
        steps = [ops.concatenate(list(both), -1) for both in zip(*shown)] if ways == 2 else shown[0]
    outputs = ops.stack(steps, axis)
    if module.mode != "LSTM":
        return outputs, ops.stack(last_h, 0)
    return outputs, (ops.stack(last_h, 0), ops.stack(last_c, 0))


def refuse_layer(module: Any) -> str | None:
    return "proj_size is not supported" if getattr(module, "proj_size", 0) else None
