# SPDX-License-Identifier: Apache-2.0
"""Calls every public function and method with odd arguments; none may crash the interpreter, hang, or raise an
exception that does not answer bad input. tools/check runs it.

    python fuzz.py [--calls 10000] [--seed 1]
"""

import argparse
import asyncio
import collections
import faulthandler
import inspect
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading

import numpy as np

import yolk
from yolk import gepa, models
from yolk.compat import hyperfunc

SECONDS = 20  # a call that takes longer gets Ctrl-C, and has as long again to end
# What a call may raise: Yolk's own words, Python's for arguments of the wrong kind, and files that are not there.
ANSWERS = (yolk.Error, TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError, OSError, ZeroDivisionError,
           MemoryError, KeyboardInterrupt, NotImplementedError, StopIteration, Fine := type("Fine", (Exception,), {}))
# Those that start long work are given little of it.
LIGHT = {"generations": 1, "population": 8, "max_steps": 5, "evaluation_episodes": 2, "episodes": 2, "hidden": (4,),
         "progress": False, "budget": 2, "max_metric_calls": 20, "metric_calls": 20, "trials": 1, "steps": 1, "pop_size": 4}
LEFT_OUT = {"devices"}  # nothing can be given
MODELS = pathlib.Path(__file__).parents[2] / "transformer" / "tests" / "models"


class Strange:
    """An object that raises wherever it is looked at."""

    def _raise(self, *_args, **_more):
        raise Fine("strange")

    __len__ = __iter__ = __getitem__ = __float__ = __int__ = __index__ = __bool__ = __array__ = __call__ = __str__ = _raise
    __hash__ = object.__hash__
    __repr__ = object.__repr__


def odd_values(rng, folder):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    read_only = array.copy()
    read_only.flags.writeable = False
    return [
        None, True, False, 0, -1, 1, 2, 7, 2**31, 2**63, -2**70, 0.0, -0.0, 0.5, 1e308, float("nan"), float("inf"), 1j, "", "x",
        "cartpole", "llvmpipe", "\0", "\ud800", "a" * 70000, b"bytes", [], (), {}, set(), [1.0, 2.0], [[1.0], [1.0, 2.0]],
        [None], {"w": array}, {"w": {"w": []}}, {1: 2}, {"x": [1.0]}, [({"x": [1.0, 2.0]}, 1.0)], [({"x": 1.0}, None)],
        array, array.T, array[:, ::2], array[::-1], read_only, array.astype(np.float64), array.astype(np.int8),
        array.astype(np.complex64), array.astype("U4"), np.float32(1.5), np.zeros(0, np.float32), np.zeros((0, 3), np.float32),
        np.full((2, 2), np.nan, np.float32), np.array(None), np.zeros((1,) * 20, np.float32), object(), Strange(), Strange, len,
        lambda *a, **k: 1.0, lambda: None, lambda x: x, lambda x, y: float("nan"), print, np, rng, range(3), slice(1, 2), ...,
        (np.ones((4, 6, 5), np.float32), ["a", "b"] * 2), ["2x3p1"], "max2", MODELS / "bert", [hyperfunc.Example({"x": [1.0, 2.0]}, 1.0)],
        type, NotImplemented, Exception("e"), folder, os.path.join(folder, "none"), "/dev/null", "/", memoryview(b"abcd"),
    ]


def live_objects(folder):
    """One of each class, as a user has them."""

    @yolk.hyperfunction(yolk.Matrix(2, 2))
    def layer(weight, x):
        return yolk.tanh(weight @ x)

    @yolk.host_function
    def host(x):
        return x

    system = yolk.System(lambda x: host(layer(x)))
    system(x=[1.0, 2.0])
    evolution = yolk.Evolution({"w": np.zeros((3, 2))}, population=4, maximize=True)
    light = {"population": 8, "generations": 1, "hidden": 4}
    steps = {"max_steps": 5, "evaluation_episodes": 2, **light}
    run = yolk.train("cartpole", out=folder + "/run", **steps)
    remembering = yolk.train("cartpole", recurrent=3, normalize=True, **steps)
    rows, images = np.eye(12, 4, dtype=np.float32), np.ones((12, 6, 5), np.float32)
    labels = ["a", "b"] * 6
    learned = yolk.train(data=(rows, labels), **light)
    seeing = yolk.train(data=(images, labels), conv=["2x3p1", "max2"], **light)
    graph = yolk.trace(lambda x: yolk.tanh(x), np.ones(2, np.float32))
    return [yolk.array(np.ones((2, 3))), yolk.array([1, 2]), layer, host, system, evolution, evolution.ask(), run, run.policy,
            run.history, yolk.metrics.exact_match(), remembering, remembering.policy, learned, learned.model, seeing.model,
            graph, yolk.Memo(), yolk.Encoder(MODELS / "bert"), hyperfunc_system()]


def hyperfunc_system():
    @hyperfunc.hyperfunction(hp_type=hyperfunc.LoRAWeight.create(out_dim=1, in_dim=2, noise_rank=1), optimize_hparams=True)
    async def layer(x, hp):
        return hyperfunc.torch.tanh(x @ hp.weight.T)

    class One(hyperfunc.HyperSystem):
        async def run(self, x):
            return float((await layer(x)).squeeze())

    return One(system_optimizer=hyperfunc.ESHybridSystemOptimizer(steps=1, pop_size=4))


def targets(objects):
    """(name, callable) of all that is public: functions and classes of the package and its modules, methods of the objects."""
    found = {}
    modules = [yolk, gepa, models, hyperfunc] + [module for name, module in inspect.getmembers(yolk, inspect.ismodule)
                                                 if module.__name__.startswith("yolk.") and not name.startswith("_")]
    for module in modules:
        for name in getattr(module, "__all__", dir(module)):
            thing = getattr(module, name, None)
            if name.startswith("_") or name in LEFT_OUT or not callable(thing):
                continue
            if inspect.isclass(thing) and issubclass(thing, BaseException):
                continue
            found[f"{module.__name__}.{name}"] = thing
    for one in objects:
        for name in dir(type(one)):
            special = name in ("__call__", "__getitem__", "__len__", "__iter__", "__eq__", "__repr__", "__contains__")
            if (special or not name.startswith("_")) and not hasattr(list, name):
                thing = getattr(one, name, None)
                if callable(thing):
                    found[f"{type(one).__name__}.{name}"] = thing
    return sorted(found.items())


def arguments(rng, function, values):
    try:
        names = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [rng.choice(values) for _ in range(rng.randrange(4))], {}
    positional, named = [], {}
    for one in names:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        if one.kind == one.KEYWORD_ONLY:
            if one.name in LIGHT and rng.random() < 0.8:
                named[one.name] = LIGHT[one.name]
            elif one.default is one.empty or rng.random() < 0.3:
                named[one.name] = rng.choice(values)
        else:
            positional.append(rng.choice(values))
    if rng.random() < 0.1:
        positional = positional[:-1] if rng.random() < 0.5 else positional + [rng.choice(values)]
    for name in set(LIGHT) & {one.name for one in names if one.kind == one.KEYWORD_ONLY}:
        named.setdefault(name, LIGHT[name])
    return positional, named


class Watch:
    """Ctrl-C for calls that take long; the end of the process, with every thread's traceback, for those that do not heed it."""

    def __enter__(self):
        faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
        self._timer = threading.Timer(SECONDS, lambda: os.kill(os.getpid(), signal.SIGINT))
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, *_):
        self._timer.cancel()
        faulthandler.cancel_dump_traceback_later()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="names each call before it is made")
    given = parser.parse_args()
    faulthandler.enable()
    rng = random.Random(given.seed)
    came = collections.Counter()
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        values = odd_values(rng, folder)
        objects = live_objects(folder)
        known = targets(objects)
        for call in range(given.calls):
            name, function = rng.choice(known)
            positional, named = arguments(rng, function, values)
            said = f"call {call}: {name}(*{positional!r:.300}, **{named!r:.300})".encode("utf-8", "replace").decode()
            if given.verbose:
                print(said, file=sys.stderr, flush=True)
            try:
                with Watch():
                    answer = function(*positional, **named)
                    if inspect.iscoroutine(answer):
                        asyncio.run(answer)
                came["returned"] += 1
            except ANSWERS as answer:
                came[type(answer).__name__] += 1
            except BaseException as wrong:
                bad.append(f"{said}\n    raised {type(wrong).__name__}: {wrong!s:.300}")
        os.chdir("/")
    for line in bad[:40]:
        print(line)
    print(f"{given.calls} calls of {len(known)} functions: " + ", ".join(f"{n} {what}" for what, n in came.most_common()))
    print(f"{len(bad)} wrong answers")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
