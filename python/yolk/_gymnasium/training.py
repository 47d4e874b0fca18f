# SPDX-License-Identifier: Apache-2.0
"""Training on Gymnasium environments: the host steps them, and the device evaluates the population's policies."""

from __future__ import annotations

import numbers
import os
import time
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from .. import _core
from .._devices import Chosen, request_of
from .._history import History
from ..errors import BadInput, Unsupported
from .policy import EnvironmentPolicy
from .spaces import Actions, _module, autoreset_mode, is_vector, observation_count, reset, returns_of

_EVOLUTION = ("population", "sigma", "learning_rate", "rank", "seed", "fitness", "optimizer", "episodes", "antithetic",
              "sigma_decay", "learning_rate_decay", "noise_reuse", "robust", "group_size", "beta1", "beta2", "freeze",
              "freeze_vectors", "determinism")
_ABSENT = {"checkpoint_every": 0, "audit": 0.0, "resume": False}  # not supported here, with their defaults
_STARTS, _POLICY, _JUDGING = 0, 1, 2  # streams of seeds


def _seed(*key: int) -> int:
    return int(np.random.SeedSequence(key).generate_state(1)[0] >> 1)


class _Lanes:
    """A vector environment, and the policies of one member per lane."""
    def __init__(self, envs: Any, run: _core.AskedRun, widths: list[int], actions: Actions, max_steps: int) -> None:
        gymnasium = _module()
        self.envs, self._actions, self._max_steps = envs, actions, max_steps
        self.count: int = envs.num_envs
        self._policies = run.policies(widths, self.count)
        self._mode = autoreset_mode(envs)
        self._seeds_each = isinstance(envs.unwrapped, (gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv))
        self._in_two = isinstance(envs, gymnasium.vector.AsyncVectorEnv)

    def _ask(self, observations: np.ndarray) -> None:
        self._policies.ask(np.ascontiguousarray(observations, dtype=np.float32).reshape(self.count, -1))

    def play(self, first: int, live: int, seed: int) -> Generator[None, None, tuple[np.ndarray, int]]:
        """Plays one episode with each of the members first, ..., first + live - 1. Yields while others compute.

        Returns their returns, float64 [live], and the number of steps. If each lane can be seeded, all lanes begin in
        the same state.
        """
        observations = reset(self.envs, [seed] * self.count if self._seeds_each else seed)
        totals, steps, evaluations = np.zeros(self.count), 0, 0
        running = np.arange(self.count) < live
        self._policies.begin(first)
        self._ask(observations)
        while True:
            yield
            actions = self._actions(self._policies.outputs())
            if self._in_two:
                self.envs.step_async(actions)
                yield
                observations, rewards, terminated, truncated, _ = self.envs.step_wait()
            else:
                observations, rewards, terminated, truncated, _ = self.envs.step(actions)
            totals[running] += np.asarray(rewards, dtype=np.float64)[running]
            evaluations += int(running.sum())
            steps += 1
            ended = np.asarray(terminated) | np.asarray(truncated)
            # Later episodes of a lane do not count.
            running &= ~ended & (steps != self._max_steps)
            if not running.any():
                return totals[:live], evaluations
            if self._mode == "DISABLED" and ended.any():
                observations, _ = self.envs.reset(options={"reset_mask": ended})
            self._ask(observations)


def _play_all(groups: list[_Lanes], population: int, episodes: int, seed_of: Callable[[int],
                                                                                      int]) -> tuple[np.ndarray, int]:
    """The scores of all members, float32 [episodes, population], and the number of steps. The groups take turns,
    so that the device computes for one group while the host steps another."""
    scores = np.zeros((episodes, population), dtype=np.float32)
    waiting = [(episode, first) for episode in range(episodes) for first in range(0, population, groups[0].count)]
    waiting.reverse()
    playing: dict[int, tuple[Generator[None, None, tuple[np.ndarray, int]], int, int]] = {}
    evaluations = 0
    while waiting or playing:
        for index, group in enumerate(groups):
            if index not in playing:
                if not waiting:
                    continue
                episode, first = waiting.pop()
                playing[index] = (group.play(first, min(group.count, population - first),
                                             seed_of(episode)), episode, first)
            game, episode, first = playing[index]
            try:
                next(game)
            except StopIteration as end:
                totals, steps = end.value
                scores[episode, first:first + totals.size] = totals
                evaluations += steps
                del playing[index]
    return scores, evaluations


class EnvironmentRun:
    """The result of `yolk.train` on a vector environment.

    history               the generations, one dict each (mean_return, best_return, policy_return, seconds, state_hash,
                          ...); `history["mean_return"]` is a column as an array
    policy                the trained `yolk.EnvironmentPolicy`
    solved, generations   whether the policy reached the environment's reward threshold, and after how many generations
    mean_return           of the unperturbed policy, over `evaluation_episodes` fresh episodes
    state_hash            of parameters, optimizer state and generation
    devices               the name of the device that it ran on
    """
    def __init__(self, environments: list[Any], settings: dict[str, Any], overlap: bool, device: Any, out: str) -> None:
        self._settings = settings
        self._environments = environments
        first = environments[0]
        self._spec = getattr(first, "spec", None)
        self.task: str = getattr(self._spec, "id", type(first.unwrapped).__name__)
        self._actions = Actions.of_space(first.single_action_space)
        self._widths = [observation_count(first), *settings["hidden"], self._actions.count]
        self._shapes = [
            shape for layer, (columns, rows) in enumerate(zip(self._widths, self._widths[1:]))
            for shape in ((f"layer{layer}.weight", rows, columns, "matrix", 0), (f"layer{layer}.bias", rows, 1,
                                                                                 "vector", 0))
        ]
        self.folder = out
        if out:
            os.makedirs(out, exist_ok=True)
        log = os.path.join(out, "log.yolk") if out and settings["log"] else ""
        request = request_of(device)
        self.why_device = str(Chosen(device))
        self._run = _core.AskedRun.create(self._shapes, _core.initial_parameters(self._shapes, settings["seed"]),
                                          {key: settings[key]
                                           for key in _EVOLUTION}, request, log)
        self._twins = self._made_again() if overlap else []
        self._groups = [
            _Lanes(one, self._run, self._widths, self._actions, settings["max_steps"])
            for one in environments + self._twins
        ]
        self.history = History()
        self.solved, self.seconds, self.mean_return = False, 0.0, float("nan")

    def _made_again(self) -> list[Any]:
        """A second copy of the environments, if there is work for both. Wrappers cannot be copied, so they get none."""
        first = self._environments[0]
        if len(self._environments) > 1 or self._spec is None or first.unwrapped is not first:
            return []
        if self._settings["population"] * self._settings["episodes"] <= first.num_envs:
            return []
        try:
            return [_module().make_vec(self._spec)]
        except Exception:  # an environment that cannot be made twice may raise anything
            return []

    @property
    def generations(self) -> int:
        return self._run.generation

    @property
    def state_hash(self) -> str:
        return self._run.state_hash()

    @property
    def devices(self) -> list[str]:
        return [self._run.device]

    @property
    def policy(self) -> EnvironmentPolicy:
        values, at, parameters = self._run.parameters(), 0, {}
        for name, rows, columns, kind, _ in self._shapes:
            shape = (rows, columns) if kind == "matrix" else (rows, )
            parameters[name] = values[at:at + rows * columns].reshape(shape).copy()
            at += rows * columns
        return EnvironmentPolicy(self.task, list(self._widths), parameters, self._actions, self.generations,
                                 self._settings["seed"])

    def _generation(self) -> dict[str, Any]:
        settings, number = self._settings, self._run.generation
        seed = settings["seed"]
        begin = time.monotonic()
        scores, evaluations = _play_all(self._groups, settings["population"], settings["episodes"],
                                        lambda episode: _seed(seed, _STARTS, number, episode))
        summary = self._run.tell(number, scores.ravel())
        spent = time.monotonic() - begin
        returns = returns_of(self.policy, self._environments[0], self._groups[0].count, _seed(seed, _POLICY, number),
                             settings["max_steps"])
        self.seconds += time.monotonic() - begin
        return {
            "generation": number, "mean_return": summary["mean"], "best_return": summary["best"],
            "policy_return": float(returns.mean()), "evaluations": evaluations,
            "evaluations_per_second": evaluations / max(spent, 1e-9), "seconds": self.seconds,
            "not_finite": summary["not_finite"], "skipped_elements": summary["skipped_elements"],
            "sigma": summary["sigma"], "learning_rate": summary["learning_rate"], "state_hash": self.state_hash
        }

    def _judge(self) -> float:
        settings = self._settings
        returns = returns_of(self.policy, self._environments[0], settings["evaluation_episodes"],
                             _seed(settings["seed"], _JUDGING, self.generations), settings["max_steps"])
        return float(returns.mean())

    def _is_solved(self, report: dict[str, Any]) -> bool:
        """Whether the policy reaches the threshold, first in a few episodes, then in many."""
        threshold = getattr(self._spec, "reward_threshold", None)
        if threshold is None or report["policy_return"] < threshold:
            return False
        self.mean_return = self._judge()
        return self.mean_return >= threshold

    def _go(self, generations: int, on_generation: Any, show: Callable[[dict[str, Any]], None]) -> None:
        self.solved = False
        try:
            while self.generations < generations:
                report = self._generation()
                self.history.append(report)
                show(report)
                self.solved = self._is_solved(report)
                if on_generation is not None and on_generation(report) is False:
                    break
                if self.solved and self._settings["stop_when_solved"]:
                    break
            if not self.solved:
                self.mean_return = self._judge()
        finally:
            if self.folder:
                self.policy.save(os.path.join(self.folder, "policy.safetensors"))

    def resume(self, generations: int, on_generation: Any = None) -> EnvironmentRun:
        """Continues to `generations` in total. The environments must still be open.

        The result has the same bits as an uninterrupted run.
        """
        _check_settings({**self._settings, "generations": generations})
        self._go(generations, on_generation, lambda report: None)
        return self

    def close(self) -> None:
        """Closes the environments that training itself made. It never closes yours."""
        for twin in self._twins:
            twin.close()
        self._groups = self._groups[:len(self._environments)]
        self._twins = []

    def plot(self, file: str | os.PathLike[str] | None = None) -> str:
        """The returns against generations as SVG; written to `file` where one is given."""
        picture = self.history.svg()
        if file is not None:
            with open(file, "w", encoding="utf-8") as out:
                out.write(picture)
        return picture

    def _repr_svg_(self) -> str:
        return self.history.svg()

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.EnvironmentRun cannot be pickled, as it holds a device. Save its policy.")

    def __repr__(self) -> str:
        end = "solved" if self.solved else "not solved"
        return (
            f"<yolk.EnvironmentRun {self.task}: {end} after {self.generations} generations and {self.seconds:.1f} s on "
            f"{', '.join(self.devices)}; mean return {self.mean_return:.1f}>")


def _check_settings(settings: dict[str, Any]) -> None:
    """What the library does not check itself."""
    limits = {"generations": (1, 2**32 - 1), "seed": (0, 2**64 - 1), "max_steps": (0, 2**32 - 1),
              "evaluation_episodes": (1, 2**32 - 1)}
    numbered = {**{name: settings[name] for name in limits}, **{f"hidden[{i}]": one
                                                               for i, one in enumerate(settings["hidden"])}}
    for name, value in numbered.items():
        least, most = limits.get(name, (1, 2**16))
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not least <= value <= most:
            raise BadInput(f"{name} is {value!r}; a whole number from {least} to {most} is needed.")


def _environments_of(task: Any) -> list[Any]:
    environments = list(task) if isinstance(task, (list, tuple)) else [task]
    if not environments or not all(is_vector(one) for one in environments):
        raise BadInput(
            f"{task!r} is no environment's name, GLSL file or vector environment (gymnasium.make_vec makes one), "
            "nor a list of vector environments.")
    first = environments[0]
    for other in environments[1:]:
        if (other.num_envs, other.single_observation_space,
                other.single_action_space) != (first.num_envs, first.single_observation_space,
                                               first.single_action_space):
            raise BadInput("The vector environments differ in num_envs or in their spaces.")
    return environments


def train_on(task: Any, settings: dict[str, Any], overlap: bool, out: str, device: Any, on_generation: Any,
             line: Any) -> EnvironmentRun:
    """yolk.train on one or two vector environments."""
    environments = _environments_of(task)
    if given := [name for name, usual in _ABSENT.items() if settings[name] != usual]:
        raise BadInput(f"{', '.join(given)}: not supported with a vector environment. run.resume() continues a run."
                       "")
    if isinstance(device, (list, tuple)) or device == "all":
        raise Unsupported("Training on a vector environment uses one device. Pass one name or index.")
    _check_settings(settings)
    run = EnvironmentRun(environments, settings, overlap, device, out)
    try:
        run._go(settings["generations"], on_generation, line.show)
    except BaseException:
        run.close()
        raise
    finally:
        line.finish()
    return run
