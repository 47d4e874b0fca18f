# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions on traced values, and errors at the line that made them."""
import threading
import time
import traceback

import numpy as np
import pytest

import yolk

pytestmark = pytest.mark.once  # of no device

A = np.random.default_rng(4).normal(size=(3, 4)).astype(np.float32)
P = np.abs(A) + 0.5


def run(function, *values):
    return yolk.trace(function, *values)(*values)


@pytest.mark.parametrize("function", [
    np.tanh, np.exp, np.sin, np.cos, np.floor, np.ceil, np.rint, np.absolute, np.negative, np.square, np.sign, np.positive,
    np.logical_not, np.ravel, np.transpose, np.zeros_like, np.ones_like, np.round, np.fabs,
    lambda x: np.sqrt(x * x + 1.0), lambda x: np.log(np.abs(x) + 1.0), lambda x: np.reciprocal(x + 9.0),
    lambda x: np.full_like(x, 3.0), lambda x: np.round(x, 1),
    lambda x: P + x, lambda x: P * x - P / (x + 9.0), lambda x: np.float32(2.0) * x, lambda x: P > x, lambda x: P @ x.T,
    lambda x: np.maximum(x, 0.0), lambda x: np.minimum(P, x), lambda x: np.power(P, x), lambda x: P**x,
    lambda x: np.less_equal(x, 0.2), lambda x: np.not_equal(x, x), lambda x: np.logical_and(x > 0.0, x < 1.0),
    lambda x: np.logical_or(x > 1.0, x < 0.0), lambda x: np.add(x, 1), lambda x: np.divide(1.0, x + 9.0),
    lambda x: np.sum(x, axis=0), lambda x: np.sum(x, axis=(0, 1), keepdims=True), lambda x: np.mean(x, axis=-1),
    lambda x: np.max(x, axis=1, keepdims=True), lambda x: np.min(x, 0), lambda x: np.var(x, axis=0),
    lambda x: np.std(x, axis=1, ddof=1), lambda x: np.argmax(x, axis=1), lambda x: np.argmin(x, axis=0),
    lambda x: np.cumsum(x, axis=0), lambda x: np.add.reduce(x), lambda x: np.maximum.reduce(x, axis=1),
    lambda x: np.where(x > 0.0, x, -1.0), lambda x: np.clip(x, -0.5, 0.5), lambda x: np.clip(x, None, 0.1),
    lambda x: np.concatenate([x, P], axis=1), lambda x: np.stack([P, x], axis=-1), lambda x: np.vstack([x, P]),
    lambda x: np.hstack([x, x]), lambda x: np.split(x, 2, axis=1)[1], lambda x: np.split(x, [1, 2])[2],
    lambda x: np.reshape(x, (2, -1)), lambda x: np.swapaxes(x, 0, 1), lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.expand_dims(x, -1), lambda x: np.squeeze(np.expand_dims(x, 0), 0), lambda x: np.broadcast_to(x, (2, 3, 4)),
    lambda x: np.dot(x, P.T), lambda x: np.matmul(P.T, x), lambda x: np.inner(x, P), lambda x: np.outer(x[0], x[1]),
    lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=7.0), lambda x: np.take(x, [2, 0], axis=1),
    lambda x: x.reshape(4, 3).sum(axis=1).reshape(2, 2), lambda x: x.mean(axis=0).clip(-0.1, 0.1), lambda x: x.T.max(axis=0),
    lambda x: np.asarray(np.ones(4)) * x / np.float64(x.size) + x.ndim + np.size(x) + len(np.shape(x)),
])
def test_numpy_s_functions_are_traced(function):
    np.testing.assert_allclose(run(function, A), np.asarray(function(A), dtype=np.float32), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("function", [lambda x: np.sum(x), lambda x: x.std(), lambda x: np.argmax(x), lambda x: np.vdot(x, P)])
def test_over_everything_there_is_one_element(function):
    np.testing.assert_allclose(run(function, A), [function(A)], rtol=1e-5)


def test_scatters_write_and_add_at_their_ids():
    """A cache gets a token's row; of ids that repeat the last stays, or all are added."""
    ids = np.array([2, 0, 2])
    written, added = A.copy(), A.copy()
    written[ids] = P
    np.add.at(added, ids, P)
    np.testing.assert_array_equal(run(lambda x: yolk.scatter(x, ids, P), A), written)
    np.testing.assert_allclose(run(lambda x: yolk.scatter_add(x, ids, P), A), added, rtol=1e-6)
    np.testing.assert_array_equal(run(lambda x: yolk.scatter(x, [1], P[:, :1], axis=1), A)[:, 1], P[:, 0])


def test_what_is_made_of_plain_values_is_plain():
    assert float(yolk.sqrt(4.0)) == 2.0 and bool(yolk.less(1.0, 2.0)) and f"{yolk.add(1.5, 2.0):.1f}" == "3.5"
    np.testing.assert_array_equal(np.asarray(yolk.tanh(np.zeros(3))), np.zeros(3))
    assert run(lambda x: x * float(yolk.exp(0.0)), 3.0) == 3.0


def ends_in(error, source):
    """The line that the innermost frame of the traceback stands at."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return frame.filename == __file__ and source in frame.line


def test_an_error_is_raised_at_its_line():
    def wrong(x):
        y = x * 2.0
        z = y + np.ones(7)
        return z * 3.0

    for call in (lambda: yolk.trace(wrong, np.zeros(3)), lambda: yolk.System(wrong)(x=np.zeros(3))):
        with pytest.raises(yolk.BadInput, match=r"test_tracing\.py:\d+.*tensor \[3\], tensor \[7\]") as caught:
            call()
        assert ends_in(caught.value, "z = y + np.ones(7)")


@pytest.mark.parametrize("operation, source", [
    (lambda x: yolk.concatenate([x, x], axis=4), "axis=4"),
    (lambda x: yolk.reshape(x, [7]), "reshape(x, [7])"),
    (lambda x: x[5], "x[5]"),
    (lambda x: yolk.max_pool(x, [2, 2]), "max_pool(x, [2, 2])"),
    (lambda x: x[{}], "x[{}]"),
    (lambda x: x + None, "x + None"),
    (lambda x: yolk.matmul(x, np.ones((2, 2))), "np.ones((2, 2))"),
    (lambda x: yolk.word_index(x, ["a"]), "word_index"),
    (lambda x: yolk.item(x, 0), "item"),
    (lambda x: yolk.scan(x, None, lambda c, _: (c, None)), "lambda c, _"),
    (lambda x: yolk.while_loop(x, lambda c: c + np.ones(9), lambda c: c, 3), "np.ones(9)"),
    (lambda x: yolk.while_loop(x, lambda c: 1.0, lambda c: (c, c), 3), "(c, c)"),
    (lambda x: yolk.switch_on(x, []), "switch_on(x, [])"),
])
def test_every_operation_raises_at_once(operation, source):
    body = yolk.hyperfunction(None, name="body")(lambda x: operation(x))
    for call in (lambda: yolk.trace(lambda x: body(x) * 2.0, np.zeros(3)), lambda: yolk.System(lambda x: body(x))(x=np.zeros(3))):
        with pytest.raises(yolk.Error, match=r"test_tracing\.py:\d+|traced value|None") as caught:
            call()
        assert ends_in(caught.value, source)


def test_an_exception_of_a_body_comes_out_as_it_was_raised():
    class Mine(Exception):
        pass

    def fail(*_):
        raise Mine("here")

    body = yolk.hyperfunction(None, name="body")(lambda x: fail(x))
    for call in (lambda x: body(x), lambda x: yolk.while_loop(x, lambda c: c < 1.0, fail, 3),
                 lambda x: yolk.switch_on(x, [fail]), lambda x: yolk.scan(x, None, fail, length=2),
                 lambda x: yolk.custom_call("f", [x], fail), fail):
        with pytest.raises(Mine, match="here") as caught:
            yolk.trace(lambda x: call(x), 1.0)
        assert ends_in(caught.value, 'raise Mine("here")')


def test_a_caught_error_leaves_the_trace_as_it_was():
    @yolk.hyperfunction
    def forgiving(x):
        try:
            return x @ np.ones((4, 4))
        except yolk.BadInput:
            return x * 2.0

    np.testing.assert_array_equal(yolk.System(lambda x: forgiving(x))(x=[1.0, 2.0]), [2.0, 4.0])
    assert len(yolk.trace(lambda x: forgiving(x), [1.0, 2.0])) == 1


def test_errors_of_hyperfunction_calls_are_raised_at_once():
    one = yolk.hyperfunction(None, name="one")(lambda x: x)
    other = yolk.hyperfunction(None, name="one")(lambda x: x * 2.0)
    for function, words in ((lambda x: one(x, x), "2 operands"), (lambda x: one(x) + other(x), "one")):
        with pytest.raises(yolk.BadInput, match=words):
            yolk.trace(function, 1.0)
        with pytest.raises(yolk.BadInput, match=words):
            yolk.System(function)(x=1.0)
    with pytest.raises(yolk.BadInput, match="outside"):
        one(1.0)


def test_a_result_that_is_waited_for_while_tracing():
    # Its shape is known only when the host function, which needs the interpreter's lock, has come back.
    @yolk.host_function
    def tool(x):
        time.sleep(0.01)
        return [float(x[0]), 2.0, 3.0]

    def function(x):
        y = tool(x)
        return y[0] + len(y) + y[1]

    assert yolk.System(function)(x=[1.0]) == [6.0]


def test_calls_that_do_not_need_each_other_still_overlap():
    barrier = threading.Barrier(3, timeout=60)

    @yolk.host_function
    def meeting(x):
        barrier.wait()
        return x

    def function(x):
        calls = [meeting(x), meeting(x + 1.0), meeting(x + 2.0)]
        return calls[0] + calls[1] + calls[2]

    assert yolk.System(function)(x=1.0) == 6.0


def test_a_thousand_operations_are_traced_within_a_tenth_of_a_second():
    def long(x):
        for _ in range(500):
            x = x * 1.01 + 0.5
        return x

    def seconds():
        begin = time.perf_counter()
        assert len(yolk.trace(long, np.zeros(8))) == 1000
        return time.perf_counter() - begin

    assert min(seconds() for _ in range(5)) < 0.1


def test_what_a_graph_cannot_be_called_with():
    graph = yolk.trace(lambda x, n: x * n, np.zeros(3), 1.0)
    texts = yolk.batch(yolk.trace(lambda t: yolk.format("{}!", t), ""), 2)
    for call, words in (
            (lambda: graph(A, 1.0), r"'x' is a tensor \[3\]; a tensor \[3, 4\]"), (lambda: graph("a", 1.0), "a text was given"),
            (lambda: graph([1, 2, 3], "a"), "'n' is a number; a text"), (lambda: graph([1, 2, 3]), "n is missing"),
            (lambda: graph([1, 2, 3], 1.0, 2.0), "takes 2 inputs"), (lambda: graph([1, 2, 3], m=1.0), "none of them"),
            (lambda: graph([1, 2, 3], 1.0, x=2.0), "'x' twice"), (lambda: graph(None, 1.0), "None"),
            (lambda: graph(object(), 1.0), "real numbers"), (lambda: texts("ab"), "a list of 2"),
            (lambda: texts(["a"]), "1 were given"),
            (lambda: texts([1.0, "a"]), "a number was given"),
            (lambda: yolk.trace(lambda x: graph(x, 1.0), np.zeros(3)), "graphs run on values")):
        with pytest.raises(yolk.BadInput, match=words):
            call()
    np.testing.assert_array_equal(graph(np.ones((1, 3))[0, ::-1], 2), [2.0, 2.0, 2.0])


def test_what_cannot_be_traced_as_a_graph():
    async def later(x):
        return x

    for call, words in (
            (lambda: yolk.trace(3, 1.0), "no function"), (lambda: yolk.trace(later, 1.0), "no function"),
            (lambda: yolk.trace(lambda x: None, 1.0), "returned None"), (lambda: yolk.trace(lambda x: (), 1.0), "empty"),
            (lambda: yolk.trace(lambda *x: x[0], 1.0), "variable number"), (lambda: yolk.trace(lambda x: x), "example value"),
            (lambda: yolk.trace(lambda x: x, object()), "real numbers"),
            (lambda: yolk.trace(lambda x: object(), 1.0), "real numbers"),
            (lambda: yolk.trace(yolk.System(lambda x: x), 1.0), "system.graph"), (lambda: yolk.pullback("graph"), "yolk.trace")):
        with pytest.raises(yolk.BadInput, match=words):
            call()
    kept = []
    yolk.trace(lambda x: kept.append(x) or x, 1.0)
    for _ in range(2):
        for call in (lambda: kept[0] + 1.0, lambda: 1.0 - kept[0], lambda: yolk.tanh(kept[0]), lambda: np.sum(kept[0]),
                     lambda: yolk.trace(lambda x: x + kept[0], 1.0), lambda: yolk.System(lambda x: kept[0])(x=1.0)):
            with pytest.raises(yolk.BadInput, match="outside of it|another trace"):
                call()
    assert yolk.trace(lambda x: x + 1.0, 1.0)(1.0) == 2.0


def test_transforms_that_are_refused():
    tool = yolk.host_function(stand_in=0.0, name="tool")(lambda x: x * 2.0)
    graph = yolk.trace(lambda x: tool(x), 1.0)
    plain = yolk.trace(lambda x, y: (x * y, yolk.floor(x)), 1.0, 2.0)
    for call, words in (
            (lambda: yolk.pushforward(graph), "tool"), (lambda: yolk.pullback(graph), "tool"),
            (lambda: yolk.pullback(plain, inputs=["z"]), "no input 'z'"), (lambda: yolk.pullback(plain, parameters=["z"]), "'z'"),
            (lambda: yolk.batch(plain, 0), "size is 0"), (lambda: yolk.batch(plain, 2, (0,)), "1 in_axes for 2"),
            (lambda: yolk.batch(plain, 2, {"z": 0}), "'z'"), (lambda: yolk.batch(plain, 2, 3), "from 0 to 0"),
            (lambda: yolk.batch(plain, 2, -2), "from -1 to 0"), (lambda: yolk.batch(plain, 2, "x"), "whole number"),
            (lambda: yolk.dce(plain, [True]), "1 flags"), (lambda: yolk.dce(plain, [2]), "no output 2"),
            (lambda: yolk.sched(plain, 3), "function"), (lambda: yolk.memoize(plain, 3), "Memo"),
            (lambda: yolk.pullback(plain, rules={"f": 3}), "functions by the names"), (lambda: yolk.inject(plain, [1]), "pairs")):
        with pytest.raises(yolk.Error, match=words):
            call()
    with pytest.raises(ZeroDivisionError):
        yolk.sched(plain, lambda equation: 1 / 0)


@pytest.mark.parametrize("rule, error, words", [
    (lambda *_: 1 / 0, ZeroDivisionError, "division"),
    (lambda *_: np.ones(2), yolk.BadInput, r"tensor \[2\]; a tensor \[3\] is needed"),
    (lambda *_: "text", yolk.BadInput, "text"),
    (lambda *_: (1.0, 2.0), yolk.BadInput, "2 values; 1 are needed"),
    (lambda operands, *_: operands[0] + np.ones(7), yolk.BadInput, "test_tracing"),
    (lambda: 1.0, TypeError, "positional"),
    (lambda *_: with_parameters(1.0), yolk.BadInput, "'weights', which has parameters"),
])
def test_rules_that_go_wrong(rule, error, words):
    inner = yolk.custom(lambda x: x * x, name="inner")
    graph = yolk.trace(lambda x: inner(x), np.zeros(3))
    for transform in (yolk.pushforward, yolk.pullback):
        with pytest.raises(error, match=words):
            transform(graph, rules={"inner": rule})
    nothing = yolk.pullback(graph, rules={"inner": lambda *_: None})
    np.testing.assert_array_equal(nothing([1, 2, 3], [1, 1, 1])[1], np.zeros(3))
    np.testing.assert_array_equal(yolk.pullback(graph, rules={"inner": lambda *_: 2})([1, 2, 3], [1, 1, 1])[1], [2, 2, 2])


with_parameters = yolk.hyperfunction(yolk.Vector(1), name="weights")(lambda v, x: v * x)


def test_host_functions_that_raise_in_a_graph():
    def fails(x):
        raise LookupError("mine")

    graph = yolk.trace(yolk.host_function(stand_in=0.0, name="fails")(fails), 1.0)
    for call in (graph, yolk.memoize(graph), lambda x: graph.walk(x).step()):
        with pytest.raises(LookupError, match="mine") as caught:
            call(1.0)
        assert ends_in(caught.value, 'raise LookupError("mine")')


def test_threads_get_their_own_exceptions():
    def fails(x):
        time.sleep(0.001)
        raise LookupError(x)

    graph = yolk.trace(yolk.host_function(stand_in=0.0, name="fails")(fails), 1.0)
    found = {}

    def work(number):
        for _ in range(20):
            with pytest.raises(LookupError) as caught:
                graph(number)
            found.setdefault(number, set()).add(caught.value.args[0])

    threads = [threading.Thread(target=work, args=(float(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {float(number): {float(number)} for number in range(6)}


def test_ctrl_c_ends_a_loop(python):
    done = python("""
import os, signal, threading, yolk
graph = yolk.trace(lambda x: yolk.while_loop(x, lambda c: c < 1e12, lambda c: c + 1.0, 10**9), 0.0)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    graph(0.0)
except KeyboardInterrupt:
    print("ended", yolk.trace(lambda x: x + 1.0, 1.0)(2.0))
""", timeout=60)
    assert done.stdout == "ended 3.0\n", done.stderr
