# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np

from . import _core
from ._folders import Folder
from ._trees import as_float32
from .errors import BadInput


class Policy:
    """A trained policy: a multi-layer perceptron with tanh between its layers, perhaps with a recurrent layer before them.

    `policy(observation)` is the action: the index of the largest output, or, where the environment's actions are
    continuous, a float32 array inside their bounds. A recurrent policy (`recurrent` units, 0: none) has a memory of the
    episode, which goes in and comes out: `memory = policy.start()` where an episode begins, then
    `action, memory = policy(observation, memory)`. `parameters` has the weights by name
    (`layer0.weight` float32 [out, in], `layer0.bias` float32 [out], ...); they are copies. Where the run normalized its
    observations, `observation.shift` and `observation.scale` are what the policy normalizes by.
    """

    def __init__(self, file: str | os.PathLike[str], environment: str | os.PathLike[str] | None = None) -> None:
        """Reads a policy.safetensors. `environment`: the GLSL file that it was trained on, if it is no built-in one.

        Raises BadInput for a file that is damaged or foreign, FileError for one that cannot be read.
        """
        self.file = os.fspath(file)
        self._owners: tuple[Any, ...] = ()
        self._source = environment
        self._environment = None if environment is None else _core.load_environment(os.fspath(environment))
        found = _core.load_policy(self.file, self._environment)
        self.task: str = found["task"]
        self.widths: list[int] = found["widths"]
        self.recurrent: int = found["recurrent"]
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

    def start(self, shape: tuple[int, ...] = ()) -> np.ndarray:
        """The memory of a recurrent policy where an episode begins: zeros, float32 [*shape, recurrent] for a batch."""
        if self.recurrent == 0:
            raise BadInput("The policy is not recurrent, so it has no memory to start with: call policy(observation).")
        return np.zeros((*shape, self.recurrent), dtype=np.float32)

    def _memory(self, memory: Any, batch: tuple[int, ...]) -> np.ndarray:
        if memory is None:
            raise BadInput("The policy is recurrent: it needs the memory of the episode. Call memory = policy.start() where "
                           "an episode begins, and then action, memory = policy(observation, memory).")
        values = as_float32(memory, "The memory")
        if values.shape != (*batch, self.recurrent):
            raise BadInput(f"The memory has the shape {values.shape}; for these observations it is "
                           f"{(*batch, self.recurrent)}, such as policy.start({batch or ''}) gives it.")
        return values

    def _dense(self, values: np.ndarray, name: str) -> np.ndarray:
        return values @ self.parameters[f"{name}.weight"].T + self.parameters[f"{name}.bias"]

    def _remember(self, values: np.ndarray, memory: np.ndarray) -> np.ndarray:
        """The next memory: that of a minimal gated unit."""
        half = np.float32(0.5)
        gate = half + half * np.tanh(half * self._dense(np.concatenate([values, memory], axis=-1), "recurrent.gate"))
        candidate = np.tanh(self._dense(np.concatenate([values, gate * memory], axis=-1), "recurrent.candidate"))
        return memory + gate * (candidate - memory)

    def outputs(self, observation: Any, memory: Any = None) -> Any:
        """The network's outputs, float32 [..., actions], for observations [..., observations].

        Of a recurrent policy: the outputs and the next memory, for observations and a memory [..., recurrent]. They are
        within rounding of what the device computes.
        """
        values = as_float32(observation, "The observation", truths=True)
        if values.ndim == 0 or values.shape[-1] != self.widths[0]:
            raise BadInput(
                f"The observation has the shape {values.shape}; the policy takes [..., {self.widths[0]}].")
        if "observation.shift" in self.parameters:
            shift, scale = self.parameters["observation.shift"], self.parameters["observation.scale"]
            bounded = np.where(np.isfinite(values), np.clip(values, -32768, 32768), shift)
            values = np.clip((bounded - shift) * scale, -10, 10)
        if self.recurrent:
            values = memory = self._remember(values, self._memory(memory, values.shape[:-1]))
        elif memory is not None:
            raise BadInput("The policy is not recurrent, so it takes no memory: call policy(observation).")
        layers = len(self.widths) - 1
        for layer in range(layers):
            values = self._dense(values, f"layer{layer}")
            if layer + 1 < layers:
                values = np.tanh(values)
        return (values, memory) if self.recurrent else values

    def __call__(self, observation: Any, memory: Any = None) -> Any:
        """The action for an observation [observations], as an int; for a batch [..., observations] an int array [...].

        Continuous actions: float32 [..., actions]. Without two finite bounds an output is clipped to the one that it has.
        Of a recurrent policy: the action and the next memory.
        """
        if self.recurrent:
            outputs, memory = self.outputs(observation, memory)
            return self._action(outputs), memory
        return self._action(self.outputs(observation, memory))

    def _action(self, outputs: np.ndarray) -> Any:
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
        from ._training import evaluate
        return evaluate(self, episodes=episodes, seed=seed, device=device)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Copies the policy's file, which is safetensors with the network's shape in its metadata."""
        shutil.copyfile(self.file, os.fspath(file))

    def __reduce__(self) -> Any:
        with open(self.file, "rb") as file:
            policy = file.read()
        source = None
        if self._source is not None:
            with open(self._source, encoding="utf-8") as text:
                source = text.read()
        return _unpickled, (policy, source)

    def __repr__(self) -> str:
        widths = "-".join(str(width) for width in self.widths)
        widths += f", {self.recurrent} recurrent units" if self.recurrent else ""
        return f"<yolk.Policy {self.task}, {widths}, {self.generations} generations, seed {self.seed}>"


def _unpickled(policy: bytes, source: str | None) -> Policy:
    owner = Folder("yolk-policy-")
    file, environment = os.path.join(owner.name, "policy.safetensors"), os.path.join(owner.name, "environment.glsl")
    with open(file, "wb") as written:
        written.write(policy)
    if source is not None:
        with open(environment, "w", encoding="utf-8") as text:
            text.write(source)
    made = Policy(file, None if source is None else environment)
    made._owners = (owner,)
    return made
