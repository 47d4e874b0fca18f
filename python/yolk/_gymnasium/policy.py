# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .._policy import Policy
from ..errors import BadInput, FileError
from .spaces import Actions

_KIND = "yolk environment policy"


class EnvironmentPolicy(Policy):
    """A policy trained on Gymnasium environments: a multi-layer perceptron with tanh between its layers.

    `policy(observation)` is an action that the environment takes: an int of a Discrete space, or an array within the
    bounds of a Box. `save` writes a safetensors file, and `EnvironmentPolicy.load` reads it.
    """
    def __init__(self, task: str, widths: list[int], parameters: dict[str, np.ndarray], actions: Actions,
                 generations: int, seed: int) -> None:
        self.task, self.widths, self.parameters = task, widths, parameters
        self.generations, self.seed, self.actions = generations, seed, actions

    def __call__(self, observation: Any) -> Any:
        """The action for one observation, or the actions for a batch [..., observations]."""
        actions = self.actions(self.outputs(observation))
        return int(actions) if self.actions.is_discrete and np.ndim(actions) == 0 else actions

    def evaluate(self, episodes: int = 100, seed: int = 1, device: Any = None) -> dict[str, Any]:
        """Runs new episodes of its environment, which Gymnasium makes by name. Returns what yolk.evaluate returns."""
        from .._training import evaluate
        return evaluate(self, self.task, episodes=episodes, seed=seed)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the policy as safetensors."""
        header: dict[str, Any] = {
            "__metadata__": {
                "kind": _KIND, "task": self.task, "widths": json.dumps(self.widths),
                "actions": json.dumps(self.actions.told), "generations": str(self.generations), "seed": str(self.seed)
            }
        }
        blocks, at = [], 0
        for name, value in self.parameters.items():
            blocks.append(np.ascontiguousarray(value, dtype="<f4").tobytes())
            header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + len(blocks[-1])]}
            at += len(blocks[-1])
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(file, "wb") as out:
            out.write(len(text).to_bytes(8, "little") + text + b"".join(blocks))

    @staticmethod
    def load(file: str | os.PathLike[str]) -> EnvironmentPolicy:
        """Reads a file that `save` wrote. Raises BadInput for a damaged or other file, FileError if it is unreadable."""
        try:
            with open(file, "rb") as source:
                data = source.read()
        except OSError as reason:
            raise FileError(f"'{os.fspath(file)}' cannot be read: {reason.strerror}.") from reason
        try:
            length = int.from_bytes(data[:8], "little")
            header = json.loads(data[8:8 + length])
            told = header.pop("__metadata__")
            if told["kind"] != _KIND:
                raise ValueError(f"its kind is {told['kind']!r}")
            block = data[8 + length:]
            parameters = {}
            for name, one in header.items():
                first, last = one["data_offsets"]
                parameters[name] = np.frombuffer(block[first:last], dtype="<f4").reshape(one["shape"]).copy()
            widths = [int(width) for width in json.loads(told["widths"])]
            for layer, (columns, rows) in enumerate(zip(widths, widths[1:])):
                if parameters[f"layer{layer}.weight"].shape != (
                        rows, columns) or parameters[f"layer{layer}.bias"].shape != (rows, ):
                    raise ValueError(f"layer {layer} has other shapes than the widths say")
            return EnvironmentPolicy(told["task"], widths, parameters, Actions(json.loads(told["actions"])),
                                     int(told["generations"]), int(told["seed"]))
        except (ValueError, KeyError, TypeError, AttributeError) as reason:
            raise BadInput(f"'{os.fspath(file)}' is not a policy file of a Gymnasium environment: {reason}") from reason

    def __repr__(self) -> str:
        widths = "-".join(str(width) for width in self.widths)
        return f"<yolk.EnvironmentPolicy {self.task}, {widths}, {self.generations} generations, seed {self.seed}>"
