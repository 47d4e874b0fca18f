# SPDX-License-Identifier: Apache-2.0
import copy
import random

import numpy as np
import op_cases
import pytest

import yolk

ops = yolk.ops


@pytest.mark.parametrize("n", [0, 1, 7, 33, 131])
def test_every_kernel_gives_what_numpy_gives(n):
    wrong = []
    for name, (run, want, tolerance) in op_cases.cases(n).items():
        got, right = np.asarray(run()), np.asarray(want())
        if got.shape != right.shape or not np.allclose(got, right, rtol=tolerance, atol=tolerance):
            wrong.append((name, got.shape, right.shape, got, right))
    assert not wrong, wrong[0]


def test_every_function_has_a_case():
    named = {name.split()[0] for name in (*op_cases.cases(3), *op_cases.random_results(3))}
    others = {"Fitness", "Inverse", "close", "counts", "wait", "cumulative_sum"}
    assert set(ops.__all__) - others <= named, set(ops.__all__) - others - named
    for name in ops.__all__:
        assert getattr(ops, name).__doc__, name


def test_nothing_is_read_before_it_is_asked_for():
    a = yolk.array(op_cases.numbers(64, 64))
    ops.softmax(a @ a + 1.0)  # makes the kernels
    before = ops.counts()
    x = a
    for _ in range(10):
        x = ops.softmax(x @ a + 1.0)
        x = ops.where(x > 0.5, x, a[::-1])
    middle = ops.counts()
    assert middle["bytes_downloaded"] == before["bytes_downloaded"] and x.size == 64 * 64
    assert middle["bytes_uploaded"] - before["bytes_uploaded"] <= 4  # the number that is compared with, once
    assert middle["dispatches"] > before["dispatches"] + 40
    repr(x), x.shape, len(x), x.device, x.dtype
    assert ops.counts()["bytes_downloaded"] == middle["bytes_downloaded"]
    x.numpy()
    assert ops.counts()["bytes_downloaded"] == middle["bytes_downloaded"] + 4 * 64 * 64


def test_a_second_call_makes_no_pipeline():
    x = yolk.array(op_cases.numbers(11, 3))
    ops.softmax(x)
    before = ops.counts()["pipelines_created"]
    for _ in range(5):
        ops.softmax(x)
    assert ops.counts()["pipelines_created"] == before


@pytest.mark.parametrize("layout", ["strided", "fortran", "read-only", "float64", "int64", "big-endian", "list",
                                    "reversed"])
def test_any_host_array_is_taken(layout):
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    given = {"strided": base[::2, ::3], "fortran": np.asfortranarray(base), "float64": base.astype(np.float64),
             "int64": base.astype(np.int64), "big-endian": base.astype(">f4"), "list": base.tolist(),
             "reversed": base[::-1, ::-1], "read-only": base.copy()}[layout]
    if layout == "read-only":
        given.flags.writeable = False
    want = np.asarray(given, dtype=np.float64)
    np.testing.assert_array_equal(yolk.array(given), want)
    np.testing.assert_allclose(ops.matmul(given, want.T), want @ want.T)
    np.testing.assert_array_equal(ops.add(given, given), 2 * want)


def test_dtypes_of_arrays():
    for given, kept in {"float64": "float32", "bool": "float32", "int64": "int32", "uint8": "uint32", "int8": "int8",
                        "float16": "float16", "uint32": "uint32"}.items():
        made = yolk.array(np.array([0, 1, 1], dtype=given))
        assert str(made.dtype) == kept and made.numpy().tolist() == [0, 1, 1]
    halves = yolk.array([1.0, 1 / 3, 65504.0], dtype="bfloat16")
    assert halves.dtype == "bfloat16" and halves.numpy().dtype == np.float32
    np.testing.assert_allclose(halves, [1.0, 1 / 3, 65504.0], rtol=2**-8)
    assert (yolk.array(np.eye(3), dtype="float16") @ np.eye(3, dtype=np.float16)).dtype == np.float16
    assert (yolk.array(np.eye(3), dtype="float16") @ np.eye(3)).dtype == np.float32
    assert yolk.array(3).shape == () and float(yolk.array(3.5)) == 3.5 and int(yolk.array(3)) == 3
    assert yolk.array(np.ones((2, 5), np.int8)).numpy().shape == (2, 5)
    whole = yolk.array([1, 2, 300])
    np.testing.assert_array_equal(whole.astype("float32") + 1, [2, 3, 301])
    assert whole.astype("bfloat16").dtype == "bfloat16" and whole.astype("uint32").numpy().tolist() == [1, 2, 300]
    with pytest.raises(yolk.BadInput, match="-128 to 127"):
        whole.astype("int8")
    assert yolk.array(halves) is halves and yolk.array(halves, dtype="float32").dtype == np.float32


def test_arrays_go_out_as_copies():
    a = yolk.array(np.arange(6.0).reshape(2, 3))
    copy = np.from_dlpack(a)
    copy2 = np.array(a)
    copy2[:] = 0
    np.testing.assert_array_equal(copy, [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(a, [[0, 1, 2], [3, 4, 5]])
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]] and [row.tolist() for row in a] == a.tolist()
    assert a[1, 2].item() == 5 and np.asarray(a, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal(np.ones((2, 3)) + a, [[1, 2, 3], [4, 5, 6]])  # NumPy leaves it to the array
    assert isinstance(np.ones((2, 3)) + a, yolk.Array)
    with pytest.raises(ValueError):
        a.__array__(copy=False)
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(2, 0))


def test_dlpack_and_buffers_come_in():
    class OnlyDlpack:
        def __init__(self, array):
            self._array = array

        def __dlpack__(self, **how):
            return self._array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self._array.__dlpack_device__()

    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(yolk.array(OnlyDlpack(values)), values)
    np.testing.assert_array_equal(yolk.array(memoryview(values)), values)
    np.testing.assert_array_equal(ops.add(OnlyDlpack(values), memoryview(values)), 2 * values)
    a = yolk.array(values)
    assert copy.deepcopy({"a": a})["a"] is a


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    a = ops.matmul(x.t().requires_grad_(), x)
    np.testing.assert_array_equal(torch.from_dlpack(a), x.t() @ x)
    assert isinstance(x.t() @ x + a, yolk.Array) and yolk.array(x.bfloat16()).numpy().shape == (2, 3)


def test_jax_arrays():
    jnp = pytest.importorskip("jax.numpy")
    x = jnp.arange(6.0).reshape(2, 3)
    a = ops.matmul(x.T, x)
    np.testing.assert_array_equal(jnp.from_dlpack(a), x.T @ x)
    assert yolk.array(x.astype(jnp.bfloat16)).dtype == "bfloat16"


def test_not_a_number_and_infinity():
    x = yolk.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(ops.maximum(x, 1.0), np.maximum(x.numpy(), 1.0))
        np.testing.assert_array_equal(ops.sqrt(x), np.sqrt(x.numpy()))
    np.testing.assert_array_equal(x == x, [0, 1, 1, 1, 1])
    np.testing.assert_array_equal(ops.where(x, 1.0, 2.0), [1, 1, 1, 2, 2])
    assert np.isnan(ops.max(x).item()) and ops.argmax(x).item() == 0
    assert np.isnan((yolk.array([[np.nan, 1.0]]) @ np.eye(2)).numpy()).all()
    made = ops.block_inverse([np.eye(2), np.zeros((2, 2)), np.full((2, 2), np.nan), [[1, 0], [0, -1]]])
    assert (made.status.numpy() & 0xFF).tolist() == [0, 3, 4, 2] and not made.inverse.numpy()[1:].any()


def test_indexing_is_numpys():
    base = np.arange(2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)
    a = yolk.array(base)
    for key in (0, -1, (1, 2), (1, 2, 3), slice(1, None), (slice(None), 1), (..., 2), (None, 0), (0, None, ..., -1),
                slice(None, None, -1), (slice(0, 0),), (1, 0, slice(4, 1, -2)), ...,
                [1, 0, 1], np.array([[0], [1]])):
        np.testing.assert_array_equal(a[key], base[key], err_msg=str(key))
    with pytest.raises(IndexError):
        a[2]
    for key in ("x", 1.5, True, (0, 0, 0, 0), base > 3):
        with pytest.raises(yolk.BadInput):
            a[key]
    with pytest.raises(TypeError, match="scatter"):
        a[0] = 1.0


def random_case(rng, shape):
    """One call on an array of this shape, and NumPy's."""
    x = np.random.default_rng(rng.randrange(1000)).normal(size=shape).astype(np.float32)
    a = yolk.array(x)
    axis = rng.randrange(len(shape))
    thin = [1 if rng.random() < 0.4 else extent for extent in shape]
    y = np.random.default_rng(1).normal(size=thin[rng.randrange(len(shape) + 1):]).astype(np.float32)
    order = rng.sample(range(len(shape)), len(shape))
    key = tuple(slice(rng.choice([None, 0, 1, -2, 5]), rng.choice([None, 0, -1, 3]), rng.choice([None, 2, -1, -3]))
                for _ in range(rng.randrange(len(shape) + 1)))
    one = (slice(None),) * axis + (slice(0, 1),)
    return rng.choice([
        lambda: (a[key], x[key]), lambda: (ops.transpose(a, order), x.transpose(order)), lambda: (a + y, x + y),
        lambda: (y - a, y - x), lambda: (ops.sum(a, order[:2]), x.sum(tuple(order[:2]))),
        lambda: (ops.where(a > 0, y, a), np.where(x > 0, y, x)), lambda: (ops.flip(a, axis), np.flip(x, axis)),
        lambda: (ops.concatenate([a, a[one], x], axis), np.concatenate([x, x[one], x], axis))])()


def test_operands_are_repeated_along_any_axes():
    """In one kernel where they lie in up to five ways, which is without a copy."""
    rng = np.random.default_rng(3)
    for left, right in (((2, 1, 3, 1, 2), (4, 1, 5, 1)), ((2, 1, 3, 1, 2), (1, 4, 1, 5, 2)), ((3, 1), (1, 4)), ((), (2, 1)),
                        ((2,) * 12, (2,) * 5), ((1,) * 17 + (3,), (2, 3)), ((2, 1, 2, 1, 2), (2, 3, 1, 3, 1))):
        x, y = (rng.normal(size=shape).astype(np.float32) for shape in (left, right))
        np.testing.assert_array_equal(yolk.array(x) * y, x * y, err_msg=f"{left} {right}")
        np.testing.assert_array_equal(ops.where(yolk.array(x) > 0, y, 2.0), np.where(x > 0, y, np.float32(2)))


def test_numbers_are_no_arrays():
    x = np.array([-2.0, -0.0, 0.5, 3.0], np.float32)
    a = yolk.array(x)
    for number in (0.5, -3, 0.0, -0.0, True, np.float32(1.5), np.int64(7), 2.0**-120, 1e20, 1e40, np.inf):
        with np.errstate(all="ignore"):
            single = np.float32(0.0 if 0 < abs(number) < 2.0**-100 else number)  # sums and products flush
            np.testing.assert_array_equal(a + number, x + single, err_msg=str(number))
            np.testing.assert_array_equal(number - a, single - x, err_msg=str(number))
            np.testing.assert_array_equal(a < number, x < np.float32(number), err_msg=str(number))
            if single != 0:
                np.testing.assert_array_equal(a / number, x / single, err_msg=str(number))
    np.testing.assert_array_equal(ops.where(a, 1.5, -2.0), [1.5, -2, 1.5, 1.5])
    np.testing.assert_array_equal(ops.power(a, 2), x * x)


def test_random_shapes():
    rng = random.Random(7)
    for _ in range(400):
        shape = tuple(rng.choice([0, 1, 1, 2, 3, 5, 9]) for _ in range(rng.randrange(1, 5)))
        got, want = random_case(rng, shape)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=str(shape))


@pytest.mark.parametrize("call, words", [
    (lambda x: x @ np.ones((4, 2)), "5 columns of a, 4 rows"),
    (lambda x: x + np.ones(4), "do not fit"),
    (lambda x: ops.matmul(x, x.T, determinism="loose"), "exact, fast"),
    (lambda x: ops.matmul(x, x.T, activation="swish"), "relu"),
    (lambda x: ops.matmul(x, x.T, bias=np.ones(2)), "bias"),
    (lambda x: ops.softmax(x, axis=2), "2 axes"),
    (lambda x: ops.sum(x, axis="rows"), "whole number"),
    (lambda x: ops.max(np.zeros((3, 0)), axis=1), "no elements"),
    (lambda x: ops.reshape(x, (4, 4)), "15 elements"),
    (lambda x: ops.transpose(x, (0, 0)), "named once"),
    (lambda x: ops.gather(x, [3]), "the axis has 3"),
    (lambda x: ops.gather(x, [0.5]), "whole numbers"),
    (lambda x: ops.gather(x, x), "whole numbers"),
    (lambda x: ops.concatenate([]), "at least one"),
    (lambda x: ops.concatenate([x, np.ones((3, 4))]), "do not fit"),
    (lambda x: ops.split(x, [1, 1], axis=1), "add up to 2"),
    (lambda x: ops.block_inverse(x), "square"),
    (lambda x: ops.block_inverse(np.eye(3), mode="lu"), "symmetric"),
    (lambda x: ops.block_inverse(np.eye(3), damping=np.nan), "finite"),
    (lambda x: ops.block_inverse(np.zeros((1, 1025, 1025), np.float32)), "1024"),
    (lambda x: ops.layer_norm(x, np.ones(3)), "5 columns"),
    (lambda x: ops.layer_norm(x, epsilon=-1.0), "epsilon"),
    (lambda x: ops.exp(x.astype("float16")), "float16"),
    (lambda x: ops.exp("text"), "Operand|x has the dtype"),
    (lambda x: ops.exp(None), "dtype object"),
    (lambda x: ops.exp(np.ones(2) * 1j), "complex"),
    (lambda x: ops.exp([[1, 2], [3]]), "no array"),
    (lambda x: ops.matmul(np.float32(1), x), "no axes"),
    (lambda x: ops.matmul_i8(x, x), "int8"),
    (lambda x: ops.max_pool(x, [4]), "reaches over 4 elements"),
    (lambda x: ops.patches(x, [2], stride=[0]), "stride 0"),
    (lambda x: ops.mean_pool(x, [2], padding=[2]), "padding 2"),
    (lambda x: ops.patches(x, [2, 2]), r"window of 2 axes does not fit an array of the shape \(3, 5\)"),
    (lambda x: ops.convolution(np.ones((2, 9)), x, [2]), "10 columns of a, 9 rows"),
    (lambda x: ops.noise((3, -1), 1), "-1"),
    (lambda x: ops.noise(3, -1), "seed"),
    (lambda x: ops.perturbed_linear(x, np.ones((2, 4)), members=2, seed=1, sigma=.1), "weight"),
    (lambda x: ops.perturbed_linear(x, np.ones((2, 5)), members=2, seed=1, sigma=.1, rank=33), "rank"),
    (lambda x: yolk.array(x, dtype="float64"), "float32"),
    (lambda x: yolk.array(x, dtype="int8"), "not whole"),
    (lambda x: yolk.array([1, 2]) + 1, "astype"),
    (lambda x: yolk.array([300], dtype="int8"), "outside of int8"),
    (lambda x: yolk.array([2**40]), "outside of int32"),
    (lambda x: yolk.array([0.5], dtype="int32"), "not whole"),
    (lambda x: yolk.array(1.0, device="no such device"), "no such device"),
])
def test_bad_input_is_refused_with_a_reason(call, words):
    with pytest.raises(yolk.BadInput, match=words):
        call(yolk.array(op_cases.numbers(3, 5)))


def test_fast_products_are_close():
    a, b = op_cases.numbers(65, 130), op_cases.numbers(130, 67)
    exact, fast = ops.matmul(a, b), ops.matmul(a, b, determinism="fast")
    np.testing.assert_allclose(fast, exact, rtol=1e-4, atol=1e-4)


def test_a_pair_of_members_is_opposite():
    x, w = op_cases.numbers(3, 8), op_cases.numbers(4, 8)
    made = ops.perturbed_linear(x, w, members=4, seed=1, sigma=0.1).numpy()
    np.testing.assert_allclose((made[0::2] + made[1::2]) / 2, np.broadcast_to(x @ w.T, (2, 3, 4)), atol=1e-5)
    assert np.abs(made[0] - made[1]).max() > 0.01
    noise = ops.noise((500, 200), 3).numpy()
    assert abs(noise.mean()) < 0.01 and noise.std() == pytest.approx(1.0, abs=0.01)
    first = noise.ravel()[:50]
    assert (ops.noise(50, 3).numpy() == first).all() and (ops.noise(50, 4).numpy() != first).any()


def test_traced_values_are_refused():
    system = yolk.System(lambda x: ops.exp(x))
    with pytest.raises(yolk.BadInput, match="yolk.operations"):
        system.evaluate([({"x": [1.0]}, [1.0])], yolk.metrics.numeric_distance)
