# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._bytes import with_bytes
from ._devices import Chosen, OnDevice, devices
from ._folders import Folder
from ._gymnasium.environment import VectorTask
from ._history import History, plotted
from ._learning import LearnedRun, is_learned, learn
from ._policy import Policy
from ._report import report
from ._signatures import by_task
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
            self._folder = Folder("yolk-environment-")
            self.file = os.path.join(self._folder.name, "environment.glsl")
            with open(self.file, "w", encoding="utf-8") as text:
                text.write(given)
        elif given not in environments() and os.path.exists(given):
            self.file = given

    def load(self) -> _core.Environment | None:
        return None if self.file is None else _core.load_environment(self.file)

    def environments(self, wanted: int = 1) -> list[Any]:
        """None that Python steps."""
        return []

    def close(self) -> None:
        pass


class Run(OnDevice):
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

    def __init__(self, outcome: dict[str, Any], history: History, task: _Task | VectorTask, settings: dict[str, Any],
                 folder: str, owner: Folder | None, environment: _core.Environment | None,
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
        return plotted(self._repr_svg_(), file)

    def report(self, out: str | os.PathLike[str] = "report.html") -> dict[str, Any]:
        """A page about this run, as `yolk.report` writes it."""
        return report(self, out)

    def _repr_svg_(self) -> str:
        return self.history.svg(self.policy.task)

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

    def show_loss(self, report: dict[str, Any]) -> None:
        if not self._shown:
            return
        self._written = True
        print(f"\rgeneration {report['generation'] + 1}, loss {-report['unperturbed']:.4f} ", end="", file=sys.stderr,
              flush=True)

    def finish(self) -> None:
        if self._written:
            print(file=sys.stderr)


_PROGRAM = ("program", "processes", "lanes", "program_seconds")


def _stepped(given: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """The settings of a program that steps the environment, where there is one."""
    if given["program"]:
        return {name: given[name] for name in _PROGRAM}
    usual = inspect.signature(function).parameters
    for name in _PROGRAM:
        if given[name] != usual[name].default:
            raise BadInput(f"{name} is of a program that steps the environment, and none is given (program=).")
    return {}


def _count(device: Any) -> int:
    """Devices that are asked for."""
    if device == "all":
        return max(1, sum(one.usable for one in devices()))
    return len(device) if isinstance(device, (list, tuple)) else 1


def _run(task: _Task | VectorTask, settings: dict[str, Any], folder: str, owner: Folder | None, device: Any,
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
    given = {**settings, "out": folder}
    if isinstance(task, _Task):
        given["task"] = task.name
    tuning, overlap = given.pop("tuning", True), given.pop("overlap")
    in_turns = 2 if overlap and isinstance(task, VectorTask) and settings["population"] > task.lanes else 1
    try:
        outcome = _core.train(given, environment, task.environments(in_turns * _count(device)), device, tuning, tell)
    finally:
        line.finish()
        task.close()
    return Run(outcome, history, task, settings, folder, owner, environment, device)


# What is left out has the defaults of the kind of run.
_OF_THE_KIND = ("generations", "sigma", "learning_rate", "learning_rate_decay", "optimizer", "checkpoint_every")
# Of runs over a data set alone.
_OF_DATA = ("label", "labels", "header", "test", "held_out", "held_out_every", "batch", "balance", "standardize",
            "conv", "activation", "gradient", "gradient_lr")


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """What differs from the signature's defaults, which are those of both kinds."""
    usual = inspect.signature(train).parameters
    return {key: value for key, value in settings.items()
            if value is not None and (key not in usual or value != usual[key].default)}


# Not settings of the library's.
_OF_CALL = ("task", "out", "device", "on_generation", "progress", "data", "set")


def _train_on_data(all_given: dict[str, Any]) -> LearnedRun:
    given = _given({key: value for key, value in all_given.items() if key not in (*_OF_CALL, *_PROGRAM)})
    for name in ("hang_seconds", "evaluation_episodes", "overlap"):
        if name in given:
            raise BadInput(f"{name} is of runs over an environment, and this one is over a data set.")
    resume, audit, tuning = (given.pop(name, usual) for name, usual in (("resume", False), ("audit", 0.0),
                                                                        ("tuning", True)))
    return learn(all_given["task"], all_given["data"], given, all_given["set"], all_given["out"], resume, audit,
                 all_given["device"], tuning, all_given["on_generation"], _Progress(all_given["progress"], 0))


def _listed(given: Any, kind: type) -> list[Any]:
    """Of one thing, or of several."""
    return [given] if isinstance(given, kind) or not hasattr(given, "__iter__") else list(given)


def _train_policy(all_given: dict[str, Any]) -> Run:
    settings = {key: value for key, value in all_given.items() if key not in (*_OF_CALL, *_PROGRAM)}
    for name in _OF_DATA:
        if settings.pop(name) is not None or all_given["set"]:
            raise BadInput(f"{'set' if all_given['set'] else name} is of runs over a data set, and this one is over an "
                           "environment.")
    usual = _core.train_defaults()
    settings.update({name: usual[name] for name in _OF_THE_KIND if settings[name] is None})
    settings.update(_stepped(all_given, train))
    settings["hidden"], settings["freeze"] = _listed(settings["hidden"], int), _listed(settings["freeze"], str)
    task, out = all_given["task"], all_given["out"]
    found = _Task(task) if isinstance(task, (str, os.PathLike)) else VectorTask(task)
    if settings["population"] is None:
        del settings["population"]  # the library's own
        if isinstance(found, VectorTask):
            settings["population"] = found.lanes
    owner = None
    if out is None:
        if settings["resume"]:
            raise BadInput("resume=True needs `out`, the folder of the run to go on with.")
        owner = Folder("yolk-run-")
        out = owner.name
    return _run(found, settings, os.fspath(out), owner, all_given["device"], all_given["on_generation"],
                all_given["progress"])


@with_bytes
@by_task
def train(task: Any = "cartpole", *, population: int | None = None, generations: int | None = None,
          hidden: int | Sequence[int] = (64,), recurrent: int = 0, normalize: bool = False, sigma: float | None = None,
          learning_rate: float | None = None, rank: int = 1, seed: int = 1, fitness: str = "pair-difference",
          optimizer: str | None = None, episodes: int = 1, antithetic: bool = True, sigma_decay: float = 1.0,
          learning_rate_decay: float | None = None, noise_reuse: int = 1, robust: bool = False, group_size: int = 0,
          beta1: float = 0.9, beta2: float = 0.999, freeze: Sequence[str] = (), freeze_vectors: bool = False,
          determinism: str = "exact", max_steps: int = 0, stop_when_solved: bool = True, evaluation_episodes: int = 100,
          checkpoint_every: int | None = None, hash_every: int = 1, audit: float = 0.0, hang_seconds: float = 120.0,
          log: bool = True, out: str | os.PathLike[str] | None = None, resume: bool = False, device: Any = None,
          tuning: bool = True, on_generation: OnGeneration | None = None, progress: bool | None = None,
          overlap: bool = True, program: str = "", processes: int = 2, lanes: int = 0, program_seconds: float = 60.0,
          data: Any = None, label: str | None = None, labels: str | os.PathLike[str] | None = None,
          header: bool | None = None, test: float | str | os.PathLike[str] | None = None, held_out: float | None = None,
          held_out_every: int | None = None, batch: int | None = None, balance: bool | None = None,
          standardize: bool | None = None, conv: str | Sequence[str] | None = None, activation: str | None = None,
          gradient: str | None = None, gradient_lr: float | None = None,
          set: dict[str, Any] | None = None) -> Run | LearnedRun:
    """Trains by EGGROLL (low-rank evolution strategies): a policy, whole episodes of the population on the device; or a
    network for a data set, whose rows are in batches (docs/data.md).

    task                 a built-in environment (`yolk.environments()`); your own one, as a GLSL file or its text; a vector
                         environment of Gymnasium's (`gymnasium.make_vec`), which the host steps; a data set: "digits",
                         "fashion-mnist", a file or a folder as `yolk.read_data` takes it; a yolk.toml that describes a run
                         over one; or "bytes", a language model (docs/bytes.md): `data` is its text, and its settings are
                         its own
    data                 (x, y) in place of a task: rows of inputs [rows, ...], and a label for each
    population           members, 2 to 2**20; in pairs of opposite noise, so even, unless `antithetic` is False. None:
                         4096, or the number of lanes of a vector environment; of a data set 256
    generations          at most (100; of data 300); training ends where the task is solved, unless stop_when_solved=False
    hidden               widths of the hidden layers, none to three, each 1 to 256
    recurrent            units of a gated recurrent layer before them, a memory of the episode; 0: none
    normalize            observations by their mean and deviation over all steps of all members (docs/environments.md)
    sigma, learning_rate of the perturbations and the step (.2; of a data set .05 and .02); multiplied by their decays, in
                         (0, 1], each generation
    fitness              "pair-difference", "pair-sign", "centred-rank", "z-score" or "group-z-score" (with group_size)
    optimizer            "sgd", "momentum" (beta1) or "adam" (beta1, beta2)
    episodes, max_steps  per member and generation, and of an episode (0: the environment's)
    rank, noise_reuse    of a matrix's perturbation, 1 to 32; generations that share their noise
    freeze               names of parameters to leave as they are, such as "layer0.weight"; freeze_vectors: all biases
    determinism          "exact": the same bits on every device; "fast": as fast as the device can
    out                  folder for policy, metrics, checkpoint and log; None: a temporary one, as long as the run object
    resume               goes on from what is in `out`, to the bits of a run that was never interrupted
    audit                share of the members, 0 to 1, that a second device evaluates again
    hang_seconds         a device on which nothing has moved for so long hangs, and is given up
    device               index, UUID or part of the name of a device, a list of them, or "all"; None: the best one
    on_generation        called with each generation's dict; False ends training there, with everything saved
    progress             a line on standard error; None: where that is a terminal
    overlap              if the population exceeds the lanes of a vector environment, make a second copy of it, so that
                         the device computes for one while the host steps the other
    program              a command that steps environments, in place of `task` (docs/host_environments.md): `processes` of
                         it per device, `lanes` each (0: enough for all members), `program_seconds` for each answer
    label, labels, header, test, held_out, held_out_every, batch, balance, standardize, conv, activation, gradient,
    gradient_lr          of a data set (docs/data.md); set: settings of yolk.toml by name, such as {"search.lr": 0.1}

    Returns a `yolk.Run`, or a `yolk.LearnedRun` of a data set. Raises BadInput for settings outside their limits and
    unknown tasks, Unsupported for a device that cannot be exact, Failed where no score is finite. Ctrl-C saves what was
    learned (in `out`) and raises KeyboardInterrupt; resume=True goes on from there.
    """
    given = dict(locals())
    return _train_on_data(given) if is_learned(task, data) else _train_policy(given)


_LANES = 16  # environments that are stepped together where they are made here


def evaluate(policy: Policy | str | os.PathLike[str], environment: Any = None, *, episodes: int = 100, seed: int = 1,
             max_steps: int = 0, device: Any = None, tuning: bool = True, program: str = "", processes: int = 2,
             lanes: int = 0, program_seconds: float = 60.0) -> dict[str, Any]:
    """Runs fresh episodes of a policy, or of a policy's file, and says what they returned.

    environment  None: the policy's own. A Gymnasium environment's name ("CartPole-v1") or vector environment: there, on
                 the host. For a policy's file that was trained on a GLSL file: that file
    seed         of the episodes' starts
    max_steps    of an episode on the host; 0: the environment's
    device       as yolk.train takes it, and tuning
    program      a command that steps the environment, in place of it (docs/host_environments.md): `processes` of it,
                 `lanes` each (0: enough for all episodes), `program_seconds` for each answer

    Returns mean_return, deviation, worst_return, best_return, episodes, not_finite and task.
    """
    stepped = _stepped(dict(locals()), evaluate)
    settings: dict[str, Any] = {"episodes": episodes, "seed": seed, "max_steps": max_steps, **stepped}
    own = environment if isinstance(environment, (str, os.PathLike)) and os.path.exists(environment) else None
    loaded = policy if isinstance(policy, Policy) else Policy(policy, own)
    if program:
        return _core.evaluate(loaded.file, None, [], settings, device, tuning)
    if own is not None or (environment is None and not loaded.on_host):
        del settings["max_steps"]
        return _core.evaluate(loaded.file, loaded._environment, [], settings, device, tuning)
    named = loaded.task if environment is None else environment
    task = VectorTask.named(named, max(1, min(episodes, _LANES))) if isinstance(named, str) else VectorTask(named)
    try:
        return _core.evaluate(loaded.file, None, task.environments(), settings, device, tuning)
    finally:
        task.close()


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
    """The built-in environments by name: observations, actions, max_steps, solved_return, best_return, continuous.

    Where actions are continuous: squashed (by tanh; else clipped), action_low and action_high.
    """
    return {info["name"]: info for info in _core.environments()}
