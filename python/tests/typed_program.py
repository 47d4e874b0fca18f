# SPDX-License-Identifier: Apache-2.0
"""A program that its writer checks strictly; test_types.py does. What is wrong in it is marked, and must be found."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import yolk


def on_generation(report: dict[str, Any]) -> bool | None:
    return False if report["policy_return"] > 400.0 else None


def trained() -> yolk.Policy:
    run = yolk.train("cartpole", population=256, generations=3, on_generation=on_generation)
    assert_type(run, yolk.Run)
    assert_type(run.mean_return, float)
    assert_type(run.resume(6), yolk.Run)
    return run.policy


def trained_on_environments(environments: list[Any]) -> yolk.Policy:
    run = yolk.train(environments, generations=2)
    assert_type(run, yolk.Run)
    return run.policy


def evolved(target: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    run = yolk.Evolution({"w": np.zeros((4, 3), np.float32)}, population=64, sigma=0.1)
    for _ in range(3):
        members = run.ask()
        assert_type(members, yolk.Members)
        run.tell(rewards=[-float(np.square(member["w"] - target).sum()) for member in members])
    found: npt.NDArray[np.float32] = run.parameters["w"]
    return found


@yolk.hyperfunction(yolk.Matrix(4, 2))
def hidden(weight: yolk.Traced, x: yolk.Traced) -> yolk.Traced:
    return yolk.tanh(weight @ x).sum(axis=0, keepdims=True)


def optimized() -> yolk.Outcome:
    system = yolk.System(lambda x: hidden(x))
    found = system.optimize([({"x": [0.0, 1.0]}, 1.0)], yolk.metrics.numeric_distance(), generations=2)
    assert_type(found, yolk.Outcome)
    assert_type(hidden, yolk.Hyperfunction)
    return found


def computed() -> yolk.Array:
    a = yolk.array(np.eye(3))
    b = 1.0 + yolk.ops.softmax(a @ a) / 2.0
    assert_type(b, yolk.Array)
    assert_type(b > 0.5, yolk.Array)
    assert_type(b.shape, tuple[int, ...])
    return b


def listed() -> list[str]:
    try:
        return [device.name for device in yolk.devices() if device.usable]
    except yolk.OutOfMemory as error:
        return [str(error)]


def mistakes(run: yolk.Run, evolution: yolk.Evolution) -> None:
    """Is not called."""
    yolk.train("cartpole", populations=256)  # type: ignore[call-overload]
    yolk.train("cartpole", generations="many")  # type: ignore[call-overload]
    run.polices  # type: ignore[attr-defined]
    evolution.tel([1.0])  # type: ignore[attr-defined]
    hidden.alon()  # type: ignore[attr-defined]
    yolk.ops.softmax(np.eye(3), axes=0)  # type: ignore[call-arg]
    yolk.hyperfunction(yolk.Matrix(4, 2), named="x")  # type: ignore[call-overload]
