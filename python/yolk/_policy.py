# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np

from . import _core
from .errors import BadInput


class Policy:
    """A trained policy: a multi-layer perceptron with tanh between its layers.

    `policy(observation)` is the action: the index of the largest output, or, where the environment's actions are
    continuous, a float32 array inside their bounds. `parameters` has the weights by name
    (`layer0.weight` float32 [out, in], `layer0.bias` float32 [out], ...); they are copies.
    """

    def __init__(self, file: str | os.PathLike[str], environment: str | os.PathLike[str] | None = None) -> None:
        """Reads a policy.safetensors. `environment`: the GLSL file that it was trained on, if it is no built-in one.

        Raises BadInput for a file that is damaged or foreign, FileError for one that cannot be read.
        """
        self.file = os.fspath(file)
        self._owners: tuple[Any, ...] = ()
        self._environment = None if environment is None else _core.load_environment(os.fspath(environment))
        found = _core.load_policy(self.file, self._environment)
        self.task: str = found["task"]
        self.widths: list[int] = found["widths"]
        self.generations: int = found["generations"]
        self.seed: int = found["seed"]
        self.parameters: dict[str, np.ndarray] = found["parameters"]
        #: Whether the outputs are numbers of an action, scaled to action_low and action_high: by tanh where `squashed`,
        #: else clipped to [-1, 1].
        self.continuous: bool = found["continuous"]
        self.squashed: bool = found.get("squashed", False)
        self.action_low = np.array(found.get("action_low", ()), dtype=np.float32)
        self.action_high = np.array(found.get("action_high", ()), dtype=np.float32)
        self.on_host: bool = found["on_host"]
        """Whether the host steps its environment."""

    def outputs(self, observation: Any) -> np.ndarray:
        """The network's outputs, float32 [..., actions], for observations [..., observations].

        They are within rounding of what the device computes.
        """
        values = np.asarray(observation, dtype=np.float32)
        if values.ndim == 0 or values.shape[-1] != self.widths[0]:
            raise BadInput(
                f"The observation has the shape {values.shape}; the policy takes [..., {self.widths[0]}].")
        layers = len(self.widths) - 1
        for layer in range(layers):
            weight, bias = self.parameters[f"layer{layer}.weight"], self.parameters[f"layer{layer}.bias"]
            values = values @ weight.T + bias
            if layer + 1 < layers:
                values = np.tanh(values)
        return values

    def __call__(self, observation: Any) -> Any:
        """The action for an observation [observations], as an int; for a batch [..., observations] an int array [...].

        Continuous actions: float32 [..., actions]. Without two finite bounds an output is clipped to the one that it has.
        """
        outputs = self.outputs(observation)
        if self.continuous:
            low, high = self.action_low, self.action_high
            bounded = np.isfinite(low) & np.isfinite(high)
            share = np.tanh(outputs) if self.squashed else np.clip(outputs, -1, 1)
            least, most = np.where(bounded, low, 0), np.where(bounded, high, 0)
            scaled = least + (most - least) * np.float32(0.5) * (share + 1)
            return np.clip(np.where(bounded, scaled, outputs), low, high).astype(np.float32)
        actions = np.argmax(outputs, axis=-1)
        return int(actions) if actions.ndim == 0 else actions

    def evaluate(self, episodes: int = 100, seed: int = 1, device: Any = None) -> dict[str, Any]:
        """Runs fresh episodes, in the environment it was trained on: what yolk.evaluate returns.

        Gymnasium's environments are made by their name.
        """
        if self.on_host:
            from ._training import evaluate
            return evaluate(self, episodes=episodes, seed=seed, device=device)
        return _core.evaluate(self.file, self._environment, [], episodes, seed, 0, device, "")

    def save(self, file: str | os.PathLike[str]) -> None:
        """Copies the policy's file, which is safetensors with the network's shape in its metadata."""
        shutil.copyfile(self.file, os.fspath(file))

    def __repr__(self) -> str:
        widths = "-".join(str(width) for width in self.widths)
        return f"<yolk.Policy {self.task}, {widths}, {self.generations} generations, seed {self.seed}>"
