# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._bytes import with_bytes
from ._devices import Chosen
from ._gymnasium.policy import EnvironmentPolicy
from ._gymnasium.spaces import returns_of
from ._gymnasium.training import EnvironmentRun, train_on
from ._history import History
from ._policy import Policy
from .errors import BadInput

OnGeneration = Callable[[dict[str, Any]], "bool | None"]


def _is_text(task: str) -> bool:
    return "\n" in task


class _Task:
    """A built-in environment's name, or a file of GLSL; a text of GLSL becomes a file, whose folder this keeps."""

    def __init__(self, task: str | os.PathLike[str]) -> None:
        given = os.fspath(task)
        self.file: str | None = None
        self.name = given
        if _is_text(given):
            self._folder = tempfile.TemporaryDirectory(prefix="yolk-environment-")
            self.file = os.path.join(self._folder.name, "environment.glsl")
            with open(self.file, "w", encoding="utf-8") as text:
                text.write(given)
        elif given not in environments() and os.path.exists(given):
            self.file = given

    def load(self) -> _core.Environment | None:
        return None if self.file is None else _core.load_environment(self.file)


class Run:
    """What `yolk.train` came to.

    history               the generations, one dict each (mean_return, best_return, policy_return, seconds, state_hash, ...);
                          `history["mean_return"]` is a column as an array
    policy                the trained `yolk.Policy`
    solved, generations   whether the task counts as solved, and after how many generations training ended
    mean_return           of the unperturbed policy, over `evaluation_episodes` fresh episodes
    state_hash            the same on every device in exact mode, and as the command's `yolk train`
    devices               the names of those that it ran on; `why_device` says why these
    folder                where the run's files are: policy.safetensors, metrics.jsonl, checkpoint.yolk, log.yolk
    """

    def __init__(self, outcome: dict[str, Any], history: History, task: _Task, settings: dict[str, Any],
                 folder: str, owner: tempfile.TemporaryDirectory[str] | None, environment: _core.Environment | None,
                 device: Any) -> None:
        self.history = history
        self.generations: int = outcome["generations"]
        self.resumed_from: int = outcome["resumed_from"]
        self.solved: bool = outcome["solved"]
        self.mean_return: float = outcome["mean_return"]
        self.evaluations_per_second: float = outcome["evaluations_per_second"]
        self.seconds: float = outcome["seconds"]
        self.state_hash: str = outcome["state_hash"]
        self.devices: list[str] = outcome["devices"]
        self.dropped: str = outcome["dropped"]
        self.folder = folder
        self._task, self._settings, self._owner, self._device = task, settings, owner, device
        self._chosen = Chosen(device)
        self.policy = Policy(os.path.join(folder, "policy.safetensors"), task.file)
        self.policy._owners = (owner, task)  # a policy may outlive its run, which may own its file

    @property
    def why_device(self) -> str:
        """Which device, and why: asked for, the only one, or the best one and what the others lack."""
        return str(self._chosen)

    def resume(self, generations: int, **changes: Any) -> Run:
        """Goes on from where this run ended, to `generations` in all, with the same settings but those that may change.

        The new run has the bits of one that was never interrupted. It works in the same folder.
        """
        settings = {**self._settings, **changes, "generations": generations, "resume": True}
        return _run(self._task, settings, self.folder, self._owner, self._device, settings.pop("on_generation", None),
                    settings.pop("progress", None))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Copies the run's files to a folder, which must not exist yet; the command reads them, too."""
        shutil.copytree(self.folder, os.fspath(folder))

    def plot(self, file: str | os.PathLike[str] | None = None) -> str:
        """The returns against generations as SVG; written to `file` where one is given."""
        picture = self.history.svg()
        if file is not None:
            with open(os.fspath(file), "w", encoding="utf-8") as out:
                out.write(picture)
        return picture

    def _repr_svg_(self) -> str:
        return self.history.svg()

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.Run cannot be pickled, as it owns files. Save it (run.save), or its policy.")

    def __repr__(self) -> str:
        end = "solved" if self.solved else "not solved"
        return (f"<yolk.Run {self.policy.task}: {end} after {self.generations} generations and {self.seconds:.1f} s on "
                f"{', '.join(self.devices)}; mean return {self.mean_return:.1f}>")


class _Progress:
    """A line on standard error, where that is a terminal."""

    def __init__(self, shown: bool | None, generations: int) -> None:
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._generations = generations
        self._written = False

    def show(self, report: dict[str, Any]) -> None:
        if not self._shown:
            return
        self._written = True
        print(f"\rgeneration {report['generation'] + 1}/{self._generations}, mean {report['mean_return']:.1f}, best "
              f"{report['best_return']:.1f}, policy {report['policy_return']:.1f}, "
              f"{report['evaluations_per_second']:.3g} evaluations/s ", end="", file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self._written:
            print(file=sys.stderr)


def _run(task: _Task, settings: dict[str, Any], folder: str, owner: tempfile.TemporaryDirectory[str] | None, device: Any,
         on_generation: OnGeneration | None, progress: bool | None) -> Run:
    history = History()
    line = _Progress(progress, settings["generations"])

    def tell(report: dict[str, Any]) -> bool | None:
        # An audit that found a wrong device makes generations again.
        del history[report["generation"] - (history[0]["generation"] if history else report["generation"]):]
        history.append(report)
        line.show(report)
        return None if on_generation is None else on_generation(report)

    environment = task.load()
    given = {**settings, "task": task.name, "out": folder}
    tuning = given.pop("tuning", True)
    try:
        outcome = _core.train(given, environment, device, tuning, tell)
    finally:
        line.finish()
    return Run(outcome, history, task, settings, folder, owner, environment, device)


@with_bytes
def train(task: Any = "cartpole", *, population: int | None = None, generations: int = 100,
          hidden: int | Sequence[int] = (64,), sigma: float = 0.2, learning_rate: float = 0.2, rank: int = 1,
          seed: int = 1, fitness: str = "pair-difference", optimizer: str = "sgd", episodes: int = 1,
          antithetic: bool = True, sigma_decay: float = 1.0, learning_rate_decay: float = 1.0, noise_reuse: int = 1,
          robust: bool = False, group_size: int = 0, beta1: float = 0.9, beta2: float = 0.999,
          freeze: Sequence[str] = (), freeze_vectors: bool = False, determinism: str = "exact", max_steps: int = 0,
          stop_when_solved: bool = True, evaluation_episodes: int = 100, checkpoint_every: int = 0, hash_every: int = 1,
          audit: float = 0.0, hang_seconds: float = 120.0, log: bool = True,
          out: str | os.PathLike[str] | None = None, resume: bool = False, device: Any = None, tuning: bool = True, on_generation: OnGeneration | None = None,
          progress: bool | None = None, overlap: bool = True) -> Any:
    """Trains a policy by EGGROLL (low-rank evolution strategies): whole episodes of the population run on the device.

    task                 a built-in environment (`yolk.environments()`), or one of your own: a GLSL file, or its text; or
                         a vector environment of Gymnasium's (`gymnasium.make_vec`), which the host steps; or "bytes", a
                         language model (docs/bytes.md): `data` is its text, and its settings are its own
    population           members, 2 to 2**20; in pairs of opposite noise, so even, unless `antithetic` is False. None:
                         4096, or the number of lanes of a vector environment
    generations          at most; training ends earlier where the task is solved, unless `stop_when_solved` is False
    hidden               widths of the hidden layers, none to three, each 1 to 256
    sigma, learning_rate of the perturbations and the step; multiplied by their decays, in (0, 1], each generation
    rank                 of a matrix's perturbation, 1 to 32
    fitness              "pair-difference", "pair-sign", "centred-rank", "z-score" or "group-z-score" (with group_size)
    optimizer            "sgd", "momentum" (beta1) or "adam" (beta1, beta2)
    episodes             per member and generation
    noise_reuse          generations that share their noise
    freeze               names of parameters to leave as they are, such as "layer0.weight"; freeze_vectors: all biases
    determinism          "exact": the same bits on every device; "fast": as fast as the device can
    max_steps            of an episode; 0: the environment's
    out                  folder for policy, metrics, checkpoint and log; None: a temporary one, as long as the run object
    resume               goes on from what is in `out`, to the bits of a run that was never interrupted
    audit                share of the members, 0 to 1, that a second device evaluates again
    hang_seconds         a device on which nothing has moved for so long hangs, and is given up
    device               index, UUID or part of the name of a device, a list of them, or "all"; None: the best one
    on_generation        called with each generation's dict; False ends training there, with everything saved
    progress             a line on standard error; None: where that is a terminal
    overlap              if the population exceeds the lanes of a vector environment, make a second copy of it, so that
                         the device computes for one while the host steps the other

    Returns a `yolk.Run`, or a `yolk.EnvironmentRun` of a vector environment. Raises BadInput for settings outside their
    limits and unknown tasks, Unsupported for a device that cannot be exact, Failed where no score is finite. Ctrl-C saves what was learned (in `out`) and raises
    KeyboardInterrupt; resume=True goes on from there.
    """
    settings = {key: value for key, value in locals().items()
                if key not in ("task", "out", "device", "on_generation", "progress", "overlap")}
    settings["hidden"] = list(hidden) if hasattr(hidden, "__iter__") else [hidden]
    settings["freeze"] = [freeze] if isinstance(freeze, str) else list(freeze)
    if not isinstance(task, (str, os.PathLike)):
        lanes = getattr(task[0] if isinstance(task, (list, tuple)) and task else task, "num_envs", 4096)
        settings["population"] = lanes if population is None else population
        return train_on(task, settings, overlap, "" if out is None else os.fspath(out), device, on_generation,
                        _Progress(progress, generations))
    if population is None:
        del settings["population"]  # the library's own
    owner = None
    if out is None:
        if resume:
            raise BadInput("resume=True needs `out`, the folder of the run to go on with.")
        owner = tempfile.TemporaryDirectory(prefix="yolk-run-")
    return _run(_Task(task), settings, owner.name if owner else os.fspath(out), owner, device, on_generation, progress)


def evaluate(policy: Policy | str | os.PathLike[str], environment: Any = None, *, episodes: int = 100, seed: int = 1,
             device: Any = None) -> dict[str, Any]:
    """Runs fresh episodes of a policy, or of a policy's file, and says what they returned.

    environment  None: the policy's own, on the device. A Gymnasium environment's name ("CartPole-v1") or vector environment:
                 there, on the host. For a policy's file that was trained on a GLSL file: that file
    seed         of the episodes' starts

    Returns mean_return, deviation, worst_return, best_return, episodes, not_finite and task.
    """
    own = environment if isinstance(environment, (str, os.PathLike)) and os.path.exists(environment) else None
    loaded = policy if isinstance(policy, Policy) else Policy(policy, own)
    if (environment is None or own is not None) and not isinstance(loaded, EnvironmentPolicy):
        return loaded.evaluate(episodes, seed, device)
    environment = loaded.task if environment is None else environment
    returns = returns_of(loaded, environment, episodes, seed)
    finite = returns[np.isfinite(returns)]
    return {"task": environment if isinstance(environment, str) else str(getattr(environment, "spec", environment)),
            "episodes": episodes, "mean_return": float(returns.mean()), "deviation": float(returns.std()),
            "worst_return": float(finite.min(initial=np.inf)), "best_return": float(finite.max(initial=-np.inf)),
            "not_finite": int(returns.size - finite.size)}


def replay(log: str | os.PathLike[str], generation: int | None = None, out: str | os.PathLike[str] = "",
           on_host: bool = False, device: Any = None) -> dict[str, Any]:
    """Rebuilds the weights after any generation of a run from its log, without evaluating anything.

    log         a log.yolk, or the folder of a run
    generation  to apply: 0 for the first values; None: all
    out         folder for policy.safetensors, checkpoint.yolk and log.yolk of that generation; "": nothing is written
    on_host     by the exact twin, without a device
    """
    return _core.replay(os.fspath(log), generation, os.fspath(out), on_host, device)


def environments() -> dict[str, dict[str, Any]]:
    """The built-in environments by name: observations, actions, max_steps, solved_return, best_return."""
    return {info["name"]: info for info in _core.environments()}
