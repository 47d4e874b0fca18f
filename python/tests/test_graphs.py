# SPDX-License-Identifier: Apache-2.0
import asyncio
import dataclasses
import threading

import numpy as np
import pytest

import yolk

pytestmark = pytest.mark.once  # of no device

X = np.array([1.0, -2.0, 3.0], np.float32)
W = np.arange(6, dtype=np.float32).reshape(2, 3) / 10


def layer(x, w):
    return np.tanh(w @ x)


def cubic(x):
    return x * x * x, x + 2.0


def brackets(x):
    return yolk.format("[{}]", x), yolk.format("<{}>", x)


def test_a_graph_computes_what_its_function_does():
    graph = yolk.trace(layer, X, W)
    np.testing.assert_allclose(graph(X, W), np.tanh(W @ X), rtol=1e-5)
    np.testing.assert_array_equal(graph(w=W.tolist(), x=X.astype(np.float64)), graph(X, W))
    assert [port.name for port in graph.inputs] == ["x", "w"] and graph.inputs[1].type == "tensor [2, 3]"
    assert graph.outputs[0].type == "tensor [2]" and len(graph) == 2 and graph.stages() == [0, 1]
    assert "tanh" in str(graph) and "test_graphs.py" in str(graph) and graph.to_dot().startswith("digraph")
    assert graph._repr_svg_().startswith("<svg") and "x: tensor [3]" in repr(graph)
    assert [equation.operation for equation in graph.equations] == ["linear", "tanh"]
    assert graph.equations[0].line[0] == __file__ and graph.signature() == yolk.trace(layer, X, W).signature()


def test_inputs_and_outputs_of_all_kinds():
    def mixed(number, word, truth, fields, scale=2.0):
        return {"sum": number * scale + fields["a"], "text": yolk.format("{}!", word), "chosen": yolk.select(truth, 1.0, 2.0)}

    graph = yolk.trace(mixed, 1.0, "a", True, {"a": 1.0})
    assert graph(3, "hi", False, {"a": 4}) == {"sum": 10.0, "text": "hi!", "chosen": 2.0}
    assert yolk.trace(mixed, 1.0, "a", True, {"a": 1.0}, scale=5.0)(3, "hi", True, {"a": 4.0}, 10.0)["sum"] == 34.0
    assert yolk.trace(lambda x: [x, 7.0], 1.0)(np.float32(2.5)) == (2.5, 7.0)


def test_hyperfunctions_bring_their_parameters():
    hidden = yolk.hyperfunction(yolk.Matrix(4, 3), name="hidden")(lambda w, x: np.tanh(w @ x))
    output = yolk.hyperfunction(yolk.Vector(4, values=np.ones(4)), name="output")(lambda v, x: np.sum(v * x))
    graph = yolk.trace(lambda x: output(hidden(x)), X)
    system = yolk.System(lambda x: output(hidden(x)))
    np.testing.assert_array_equal(graph(X), system(x=X))
    np.testing.assert_array_equal(graph.parameters["hidden"], system.parameters["hidden"])
    other = graph.with_parameters({"hidden": np.zeros((4, 3))})
    assert other(X) == 0.0 and graph(X) != 0.0
    np.testing.assert_array_equal(yolk.trace(hidden, X)(X), hidden.alone(graph.parameters["hidden"], X))
    value, *moved = yolk.pullback(graph, inputs=[])(X, [1.0])
    np.testing.assert_allclose(moved[1], np.tanh(graph.parameters["hidden"] @ X), rtol=1e-5)
    with pytest.raises(yolk.BadInput, match="no parameter 'other'; it has"):
        graph.with_parameters({"other": 1.0})
    with pytest.raises(yolk.BadInput, match=r"'hidden' is a tensor \[4, 3\]; a tensor \[2\]"):
        graph.with_parameters({"hidden": [1.0, 2.0]})(X)


@dataclasses.dataclass
class Knobs:
    scale: float = yolk.knob(0.7, 0.0, 2.0)
    shift: float = yolk.knob(1.0, -2.0, 2.0)


def test_a_system_s_graph_is_a_graph():
    @yolk.hyperfunction(Knobs)
    def affine(knobs, x):
        return x * knobs.scale + knobs.shift

    system = yolk.System(lambda x: affine(x), name="affine")
    graph = system.graph({"x": X})
    np.testing.assert_allclose(graph(X), 0.7 * X + 1.0, rtol=1e-6)
    np.testing.assert_allclose(graph.with_parameters({"affine": Knobs(2.0, 0.0)})(X), 2 * X, rtol=1e-6)
    assert "device" in str(graph) and graph._repr_svg_().startswith("<svg")
    batched = yolk.batch(graph, 2)(np.stack([X, -X]))
    np.testing.assert_allclose(batched, np.stack([0.7 * X + 1, -0.7 * X + 1]), rtol=1e-6)


def test_derivatives_of_derivatives():
    graph = yolk.trace(cubic, 0.0)
    assert yolk.pushforward(graph)(3.0, 1.0) == (27.0, 5.0, 27.0, 1.0)  # 3 x^2, 1
    assert yolk.pullback(graph)(3.0, 1.0, 10.0) == (27.0, 5.0, 37.0)  # 3 x^2 + 10
    twice = yolk.pushforward(yolk.pushforward(graph))
    assert [port.name for port in twice.inputs] == ["x", "d x", "d x'", "d d x"]
    assert twice(3.0, 1.0, 1.0, 0.0)[6] == 18.0  # 6 x
    assert yolk.pullback(yolk.pullback(graph))(3.0, 1.0, 10.0, 0.0, 0.0, 1.0)[3:] == (18.0, 27.0, 1.0)
    lean = yolk.dce(twice, [6])
    assert len(lean) < len(twice) and lean(3.0, 1.0, 1.0, 0.0) == (18.0,)


def test_gradients_are_those_of_closed_forms():
    rng = np.random.default_rng(0)
    logits, target = rng.normal(size=5).astype(np.float32), np.eye(5, dtype=np.float32)[2]
    graph = yolk.trace(lambda z, t: -np.sum(t * yolk.log_softmax(z)), logits, target)
    soft = np.exp(logits) / np.exp(logits).sum()
    loss, gradient = yolk.pullback(graph, inputs=["z"])(logits, target, [1.0])
    assert loss == pytest.approx(-np.log(soft[2]), rel=1e-5)
    np.testing.assert_allclose(gradient, soft - target, atol=1e-6)
    a, b = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(4, 2)).astype(np.float32)
    product = yolk.pullback(yolk.trace(lambda a, b: np.matmul(a, b), a, b))
    seed = rng.normal(size=(3, 2)).astype(np.float32)
    _, da, db = product(a, b, seed)
    np.testing.assert_allclose(da, seed @ b.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(db, a.T @ seed, rtol=1e-5, atol=1e-6)
    assert yolk.pullback(yolk.trace(lambda x: x * yolk.stop_gradient(x), 2.0))(3.0, 1.0) == (9.0, 3.0)


def test_a_batch_of_pullbacks_is_not_a_pullback_of_a_batch():
    graph = yolk.trace(lambda x, w: w * x * x, [1.0], [1.0])
    xs, w, given = [[2.0], [3.0]], [5.0], [[1.0], [10.0]]
    each = yolk.batch(yolk.pullback(graph), 2, in_axes={"w": None})(xs, w, given)
    assert [value.ravel().tolist() for value in each] == [[20, 45], [20, 300], [4, 90]]  # w is one's own: x^2 d
    together = yolk.pullback(yolk.batch(graph, 2, in_axes=(0, None)))(xs, w, given)
    assert [value.ravel().tolist() for value in together] == [[20, 45], [20, 300], [94]]  # 4 + 90
    hessians = yolk.batch(yolk.pushforward(yolk.pullback(graph)), 2, (0, None, 0, 0, None, 0))
    assert hessians(xs, w, given, [[1.0], [1.0]], [0.0], [[0.0], [0.0]])[4].ravel().tolist() == [10, 100]  # 2 w d


def test_batches_of_arrays_are_numpy_s():
    xs = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    graph = yolk.trace(layer, X, W)
    expected = np.tanh(xs @ W.T)
    np.testing.assert_allclose(yolk.batch(graph, 5, in_axes=(0, None))(xs, W), expected, rtol=1e-5)
    for axis in (1, -1):
        np.testing.assert_allclose(yolk.batch(graph, 5, in_axes=(axis, None))(xs.T, W), expected, rtol=1e-5)
    np.testing.assert_array_equal(yolk.batch(graph, 2, in_axes=(True, False))(xs[:2], W), graph_rows(graph, xs[:2]))
    numbers = yolk.batch(yolk.trace(lambda x, truth: yolk.select(truth, x * 2.0, x), 1.0, True), 3)
    np.testing.assert_array_equal(numbers([1.0, 2.0, 3.0], [True, False, True]), [2.0, 2.0, 6.0])


def graph_rows(graph, xs):
    return np.stack([graph(x, W) for x in xs])


def test_texts_in_batches_edits_and_feedback():
    graph = yolk.trace(brackets, "")
    each = yolk.batch(graph, 3)
    assert each(["A", "B", "C"]) == (["[A]", "[B]", "[C]"], ["<A>", "<B>", "<C>"])
    two = yolk.trace(lambda x, y: (yolk.format("[{}]", x), yolk.format("<{}>", y)), "", "")
    assert yolk.batch(two, 2, (True, False))(["A", "B"], "S") == (["[A]", "[B]"], ["<S>", "<S>"])
    assert yolk.batch(each, 2)([list("ABC"), list("DEF")])[1] == [["<A>", "<B>", "<C>"], ["<D>", "<E>", "<F>"]]
    assert yolk.pushforward(graph)("p", "t") == ("[p]", "<p>", "[t]", "<t>")
    assert yolk.pullback(graph)("p", "g1", "g2") == ("[p]", "<p>", "g1g2")
    joined = yolk.trace(lambda x, y: yolk.concatenate([x, y]), "", "")
    assert yolk.pushforward(joined)("Hello", " World", "dx", "dy") == ("Hello World", "dxdy")
    assert yolk.pullback(joined)("Hello", " World", "feedback") == ("Hello World", "feedback", "feedback")
    shared = yolk.trace(lambda x, y: yolk.format("{} {}", x, y), "", "")
    own = yolk.batch(yolk.pullback(shared), 2, in_axes={"y": None})
    assert own(["A", "B"], "S", ["g1", "g2"]) == (["A S", "B S"], ["g1", "g2"], ["g1", "g2"])
    pooled = yolk.pullback(yolk.batch(shared, 2, in_axes=(0, None)))
    assert pooled(["A", "B"], "S", ["g1", "g2"]) == (["A S", "B S"], ["g1", "g2"], "g1g2")


def test_branches_and_loops_in_every_transform():
    root = yolk.trace(lambda x: yolk.while_loop(1.0, lambda y: abs(y * y - x) > 1e-9, lambda y: (y + x / y) * 0.5, 50), 2.0)
    assert root(9.0) == pytest.approx(3.0) and yolk.pushforward(root)(9.0, 1.0)[1] == pytest.approx(1 / 6, rel=1e-5)
    np.testing.assert_allclose(yolk.batch(root, 3)([4.0, 9.0, 16.0]), [2.0, 3.0, 4.0], rtol=1e-6)
    moves = yolk.trace(lambda key, x: yolk.switch_on(key, {"walk": lambda: x + 1.0, "run": lambda: x * 3.0}), "walk", 0.0)
    assert moves("walk", 5.0) == 6.0 and yolk.pullback(moves, inputs=["x"])("run", 5.0, 1.0) == (15.0, 3.0)
    chosen = yolk.trace(lambda x: yolk.switch_on(x > 0.0, [lambda: (x, 0.0), lambda: (-x, 1.0)]), 0.0)
    assert chosen(2.0) == (-2.0, 1.0) and chosen(-2.0) == (-2.0, 0.0)
    sums = yolk.trace(lambda c, xs: yolk.scan(c, xs, lambda c, x: (c + x, c * x)), [0.0], X)
    last, each = sums([1.0], X)
    np.testing.assert_allclose(last, [3.0])
    np.testing.assert_allclose(each.ravel(), X * (1 + np.concatenate([[0], np.cumsum(X)[:-1]])))
    counted = yolk.trace(lambda c: yolk.scan((c, 0.0), None, lambda c, _: ((c[0] * 2.0, c[1] + 1.0), None), length=4)[0], 1.0)
    assert counted(3.0) == (48.0, 4.0)
    with pytest.raises(yolk.Error, match="limit|50"):
        root(-1.0)


def test_weights_of_paths():
    def path(x, a, b):
        yolk.factor(a)
        yolk.factor(b)
        return x * 2.0

    graph = yolk.trace(path, 1.0, 1.0, 1.0)
    assert graph(3.0, 0.5, 4.0) == 6.0 and yolk.weighted(graph)(3.0, 0.5, 4.0) == (6.0, 2.0)
    each = yolk.batch(yolk.weighted(graph), 3)([1.0, 2.0, 3.0], [0.5, 2.0, 1.0], [4.0, 1.0, 0.25])
    np.testing.assert_array_equal(each, [[2, 4, 6], [2, 2, 0.25]])
    assert yolk.weighted(yolk.batch(graph, 3))([1.0, 2.0, 3.0], [0.5, 2.0, 1.0], [4.0, 1.0, 0.25])[1] == 1.0
    with pytest.raises(yolk.Error, match="factor.*-0.5"):
        yolk.weighted(graph)(3.0, -0.5, 4.0)
    with pytest.raises(yolk.Unsupported, match="weighted"):
        yolk.pullback(yolk.weighted(graph))


def test_named_values_static_inputs_and_folding():
    def named(x, n):
        a = yolk.checkpoint(x * 2.0, "double", "debug")
        b = yolk.checkpoint(a + n, "next", "debug")
        return {"y": b * 10.0 + yolk.checkpoint(a, "double", "debug")}

    graph = yolk.trace(named, 1.0, 1.0)
    collected, keys = yolk.collect(graph, "debug")
    assert keys == ["double", "next", "double"]
    assert collected(3.0, 1.0) == {"y": 76.0, "double": 6.0, "next": 7.0, "double'": 6.0}
    assert yolk.inject(graph, [("double", 1.0), ("double", 100.0)], "debug")(3.0, 1.0)["y"] == 120.0
    fixed = yolk.with_static_inputs(graph, {"n": 4})
    assert fixed(3.0) == {"y": 106.0} and [port.name for port in fixed.inputs] == ["x"]
    known = yolk.with_static_inputs(yolk.trace(cubic, 0.0), {"x": 3.0})
    assert len(yolk.fold(known)) == 0 and yolk.folded_outputs(known) == (27.0, 5.0)
    for wrong in (lambda: yolk.inject(graph, {"triple": 1.0}), lambda: yolk.with_static_inputs(graph, {"m": 1.0}),
                  lambda: yolk.with_static_inputs(graph, {"n": "text"}), lambda: yolk.folded_outputs(graph)):
        with pytest.raises(yolk.BadInput):
            wrong()


def test_custom_functions_have_rules_of_their_own():
    @yolk.custom
    def shout(x):
        return yolk.format("{}!", x)

    graph = yolk.trace(lambda x: shout(x), "")
    assert yolk.pushforward(graph)("p", "t") == ("p!", "t!")
    with_rules = {"shout": lambda operands, tangents, results: yolk.format("loud {}", *tangents)}
    assert yolk.pushforward(graph, rules=with_rules)("p", "t") == ("p!", "loud t")

    @yolk.custom
    def clipped(x):
        return np.clip(x, -1.0, 1.0)

    @clipped.set_pullback
    def straight_through(operands, results, cotangents):
        return cotangents

    through = yolk.trace(lambda x: np.sum(clipped(x) * 3.0), X)
    _, gradient = yolk.pullback(through)(X, [1.0])
    np.testing.assert_array_equal(gradient, [3.0, 3.0, 3.0])
    np.testing.assert_array_equal(yolk.pullback(yolk.inline_calls(through))(X, [1.0])[1], [3.0, 0.0, 0.0])


def test_host_functions_take_rules_and_memos():
    calls = []

    @yolk.host_function(stand_in=0.0)
    def square(x):
        calls.append(x)
        return x * x

    graph = yolk.trace(lambda x: square(x) + square(x * 1.0), 1.0)
    assert graph(3.0) == 18.0 and len(calls) == 2
    with pytest.raises(yolk.Unsupported, match="square"):
        yolk.pullback(graph)
    square.set_pullback(lambda operands, results, cotangents: 2.0 * operands[0] * cotangents[0])
    square.set_pushforward(lambda operands, tangents, results: 2.0 * operands[0] * tangents[0])
    assert yolk.pullback(graph)(3.0, 1.0) == (18.0, 12.0) and yolk.pushforward(graph)(3.0, 0.5) == (18.0, 6.0)
    calls.clear()
    memo = yolk.memoize(graph)
    assert [memo(3.0), memo(3.0), memo(2.0)] == [18.0, 18.0, 8.0] and calls == [3.0, 2.0]
    assert memo.memo.hits > 0 and yolk.memoize(graph, memo.memo)(3.0) == 18.0 and len(calls) == 2


def test_stages_of_host_functions_overlap():
    barrier = threading.Barrier(4, timeout=60)

    @yolk.host_function(stand_in=0.0)
    def meeting(x):
        barrier.wait()
        return x * 0.25

    def rounds(x):
        for _ in range(2):
            x = sum((meeting(x + float(i)) for i in range(4)), start=0.0)
        return x

    staged = yolk.sched(yolk.trace(rounds, 1.0))
    assert [equation.operation for equation in staged.equations].count("parallel") == 2
    assert asyncio.run(staged.call_async(2.0)) == pytest.approx(5.0)


def test_predicates_see_equations_and_tags():
    def four(x):
        with yolk.tag("left"):
            a = x * 2.0
        return a + x * 3.0, yolk.relu(x)

    graph = yolk.trace(four, 1.0)
    assert graph.equations[0].tags == ["left"] and 'tag "left"' in str(graph)
    staged = yolk.sched(graph, lambda equation: equation.operation == "multiply")
    assert [equation.operation for equation in staged.equations] == ["parallel", "relu", "add"]
    assert [equation.operation for equation in staged.equations[0].bodies[0].equations] == ["multiply", "multiply"]
    assert staged(2.0) == (10.0, 2.0) and yolk.pullback(staged)(2.0, 1.0, 1.0) == (10.0, 2.0, 6.0)
    tag = yolk.tag("once")
    with tag, pytest.raises(yolk.BadInput, match="in force"):
        tag.__enter__()
    with pytest.raises(yolk.BadInput, match="another order"):
        tag.__exit__(None, None, None)


def test_walks_go_step_by_step():
    walk = yolk.trace(cubic, 0.0).walk(3.0)
    assert walk.next.operation == "multiply" and walk.operands() == [3.0, 3.0] and walk.step() == [9.0]
    walk.skip([100.0])
    with pytest.raises(yolk.BadInput):
        walk.outputs()
    assert [equation.operation for equation, _ in walk] == ["add"] and walk.outputs() == (100.0, 5.0)
    with pytest.raises(yolk.BadInput, match="at its end"):
        walk.step()


def test_threads_share_a_graph():
    gradient = yolk.batch(yolk.pullback(yolk.trace(layer, X, W)), 4)
    inputs = [(np.full((4, 3), k, np.float32), np.stack([W] * 4), np.ones((4, 2))) for k in range(8)]
    expected = [gradient(*one) for one in inputs]
    found = [None] * 8

    def run(k):
        for _ in range(20):
            found[k] = gradient(*inputs[k])
            yolk.trace(layer, X, W)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, wanted in zip(found, expected):
        for a, b in zip(got, wanted):
            np.testing.assert_array_equal(a, b)
