# SPDX-License-Identifier: Apache-2.0
"""The small transformer of examples/10_transformer.cpp for other libraries: its sizes, the weights and windows that
bench/transformer_bench.cpp draws, and a step of Adam in PyTorch, computeml and ferrotensor."""

import numpy as np

import turns
from eggroll_formulas import philox

WIDTH, HEADS, BYTES, CONTEXT, LAYERS = 64, 4, 256, 64, 2
RATE = 3e-3
EPSILON = 1e-5  # of rms_norm
SEED = 42
# Name, [out, in], stream.
SHAPES = {"bytes": (BYTES, WIDTH, 0), "places": (CONTEXT, WIDTH, 1), "logits": (BYTES, WIDTH, 2)}
for _block in range(LAYERS):
    _first = 10 * (_block + 1)
    SHAPES[f"mix{_block}"] = (3 * WIDTH, WIDTH, _first)
    SHAPES[f"project{_block}"] = (WIDTH, WIDTH, _first + 1)
    SHAPES[f"up{_block}"] = (4 * WIDTH, WIDTH, _first + 2)
    SHAPES[f"down{_block}"] = (WIDTH, 4 * WIDTH, _first + 3)


def first_words(numbers, stream, key):
    counter = np.asarray(numbers, dtype=np.uint64)
    zero = np.zeros_like(counter)
    return philox((counter, zero + np.uint64(stream), zero, zero), key)[0]


def weights():
    """Arrays [out, in], fp32, uniform within +-sqrt(3 / in)."""
    made = {}
    for name, (rows, columns, stream) in SHAPES.items():
        words = first_words(np.arange(rows * columns), stream, (SEED, 1)) >> np.uint64(8)
        unit = words.astype(np.float32) * np.float32(2.0**-23) - np.float32(1.0)
        made[name] = (np.sqrt(np.float32(3.0 / columns)) * unit).reshape(rows, columns)
    return made


def windows(count):
    """Bytes [count, CONTEXT], and those that follow them."""
    rows = []
    for window in range(count):
        choice = first_words(np.arange(CONTEXT), window, (SEED, 0)) % np.uint64(4)
        row = [17 * window % BYTES]
        for extra in choice:
            row.append((5 * row[-1] + int(extra)) % BYTES)
        rows.append(row)
    rows = np.array(rows)
    return rows[:, :-1], rows[:, 1:]


def torch_heads(x):
    return x.reshape(*x.shape[:-1], HEADS, WIDTH // HEADS).transpose(-3, -2)


def torch_logits(linear, rows, attention):
    """Of bytes [..., CONTEXT]: `linear(name, x)` is x W^T, `rows(name)` the embedded bytes or places."""
    import torch.nn.functional as F

    def norm(x):
        return F.rms_norm(x, (WIDTH,), eps=EPSILON)

    x = rows("bytes") + rows("places")
    for block in range(LAYERS):
        q, k, v = (torch_heads(part) for part in linear(f"mix{block}", norm(x)).split(WIDTH, dim=-1))
        seen = attention(q, k, v).transpose(-3, -2)
        y = x + linear(f"project{block}", seen.reshape(x.shape))
        x = y + linear(f"down{block}", F.gelu(linear(f"up{block}", norm(y)), approximate="tanh"))
    return linear("logits", norm(x))


def torch_attention(fused):
    """PyTorch's own fused form, or products and a softmax."""
    import torch
    import torch.nn.functional as F

    if fused:
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    hidden = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).triu(1)

    def attention(q, k, v):
        scores = (q @ k.transpose(-1, -2)) * (WIDTH // HEADS) ** -0.5
        return torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1) @ v

    return attention


def on_device(array):
    """A tensor on PyTorch's default device."""
    import torch

    return torch.from_numpy(array).to(torch.get_default_device())


def torch_step(count, compiled):
    import torch.nn.functional as F

    torch = turns.torch_here()
    ids, following = (on_device(part) for part in windows(count))
    parameters = {name: on_device(array).requires_grad_() for name, array in weights().items()}
    optimizer = torch.optim.Adam(parameters.values(), lr=RATE, fused=True)

    def loss_of(parameters, ids, following):
        def rows(name):
            return F.embedding(ids, parameters[name]) if name == "bytes" else parameters[name]

        logits = torch_logits(lambda name, x: x @ parameters[name].T, rows, torch_attention(True))
        return F.cross_entropy(logits.reshape(-1, BYTES), following.reshape(-1))

    if compiled:
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad()
        loss = loss_of(parameters, ids, following)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, turns.torch_device_name(torch)


def computeml_step(count):
    """Products and a softmax, since ops.attention takes one window; three matrices for the mix, since there is no slice.
    Two mistakes of 0.4.0 (lavapipe): rms_norm's backward overwrites the heap, so layer_norm stands in for it;
    cross_entropy's value, not its derivative, is wrong beyond 8 classes, so losses are no check of this side."""
    import computeml
    from computeml import ops

    context = computeml.Context()
    ids, following = windows(count)
    parameters = {}
    for name, array in weights().items():
        parts = {name: array}
        if name.startswith("mix"):
            parts = {f"{name}{part}": array[WIDTH * part : WIDTH * (part + 1)] for part in range(3)}
        parameters |= {part: context.asarray(values).requires_grad_() for part, values in parts.items()}
    optimizer = computeml.optim.AdamW(parameters.values(), lr=RATE, weight_decay=0.0)
    bytes_in, targets = context.asarray(ids.reshape(-1)), context.asarray(following.reshape(-1))
    places = context.asarray(np.tile(np.arange(CONTEXT), count))
    ones, zeros = context.ones((WIDTH,)), context.zeros((WIDTH,))
    head = WIDTH // HEADS
    hidden = np.triu(np.full((CONTEXT, CONTEXT), -1e9, dtype=np.float32), 1)
    mask = context.asarray(np.tile(hidden, (count * HEADS, 1, 1)))

    def linear(name, x):
        return ops.matmul(x, parameters[name], transpose_b=True)

    def norm(x):
        return ops.layer_norm(x, ones, zeros, eps=EPSILON)

    def heads(x, dims, shape):
        return ops.permute(x.reshape(count, CONTEXT, HEADS, head), dims).reshape(*shape)

    def attention(q, k, v):
        q = heads(q, (0, 2, 1, 3), (count * HEADS, CONTEXT, head))
        k = heads(k, (0, 2, 3, 1), (count * HEADS, head, CONTEXT))
        v = heads(v, (0, 2, 1, 3), (count * HEADS, CONTEXT, head))
        seen = ops.matmul_batched(ops.softmax(ops.matmul_batched(q, k) * head**-0.5 + mask), v)
        joined = ops.permute(seen.reshape(count, HEADS, CONTEXT, head), (0, 2, 1, 3))
        return joined.reshape(count * CONTEXT, WIDTH)

    def loss_of():
        x = ops.embedding(bytes_in, parameters["bytes"]) + ops.embedding(places, parameters["places"])
        for block in range(LAYERS):
            normed = norm(x)
            y = x + linear(f"project{block}", attention(*(linear(f"mix{block}{part}", normed) for part in range(3))))
            up = ops.gelu(linear(f"up{block}", norm(y)))
            x = y + linear(f"down{block}", up)
        return ops.cross_entropy(linear("logits", norm(x)), targets)

    def step():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        value = float(loss)
        context.clear_tape()
        return value

    return step, f"computeml {computeml.version('computeml')}, layer_norm for rms_norm, its loss is wrong on lavapipe"


def ferrotensor_step(count):
    import ferrotensor
    from ferrotensor import optim
    from ferrotensor.nn import functional as F

    ids, following = windows(count)
    device = "gpu"
    parameters = {  # embeddings as they are, the others [in, out], as its products take them
        name: ferrotensor.tensor(
            (array if name in ("bytes", "places") else array.T).tolist(), device=device, requires_grad=True
        )
        for name, array in weights().items()
    }
    optimizer = optim.AdamW(list(parameters.values()), lr=RATE, weight_decay=0.0)
    bytes_in = ferrotensor.tensor(ids.reshape(-1).tolist(), device=device)
    targets = ferrotensor.tensor(following.reshape(-1).tolist(), device=device)

    def heads(x):
        return x.reshape(count, CONTEXT, HEADS, WIDTH // HEADS).permute(0, 2, 1, 3)

    def norm(x):
        return F.rms_norm(x, None, EPSILON)

    def loss_of():
        x = parameters["bytes"].index_select(0, bytes_in).reshape(count, CONTEXT, WIDTH) + parameters["places"]
        for block in range(LAYERS):
            q, k, v = (heads(part) for part in (norm(x) @ parameters[f"mix{block}"]).split(WIDTH, -1))
            seen = F.scaled_dot_product_attention(q, k, v, True).permute(0, 2, 1, 3)
            y = x + seen.reshape(count, CONTEXT, WIDTH) @ parameters[f"project{block}"]
            x = y + (norm(y) @ parameters[f"up{block}"]).gelu() @ parameters[f"down{block}"]
        logits = norm(x) @ parameters["logits"]
        return F.cross_entropy(logits.reshape(count * CONTEXT, BYTES), targets)

    def step():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, f"ferrotensor {ferrotensor.__version__} on its gpu"
