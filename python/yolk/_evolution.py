# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _core
from ._devices import Chosen, OnDevice, request_of
from ._history import History
from ._trees import Tree, as_float32
from .errors import BadInput


class Members:
    """The population of one generation, to be scored. `len(members)` is the population.

    members[i]            the parameters of member i, as the parameters were given
    members.arrays        all of them at once: the same with one more axis in front, [population, ...]
    members.factors(name) of a matrix: (A [population, rows, rank], B [population, columns, rank], scale), so that member
                          m is M + scale * A[m] @ B[m].T, without forming any of these matrices
    """

    def __init__(self, run: _core.AskedRun, tree: Tree, population: int) -> None:
        self._run, self._tree, self._population = run, tree, population
        self.generation: int = run.generation
        self._arrays: Any = None

    def _values(self, first: int, count: int) -> np.ndarray:
        if self._run.generation != self.generation:
            raise BadInput(f"These are the members of generation {self.generation}; the run is at generation "
                           f"{self._run.generation}. Ask again.")
        return self._run.members(first, count)

    @property
    def arrays(self) -> Any:
        if self._arrays is None:
            self._arrays = self._tree.nest(self._values(0, self._population))
        return self._arrays

    def factors(self, name: str) -> tuple[np.ndarray, np.ndarray, float]:
        if name not in self._tree.names:
            raise BadInput(f"There is no parameter '{name}'; there are {', '.join(self._tree.names)}.")
        if self._run.generation != self.generation:
            self._values(0, 0)
        return self._run.factors(self._tree.names.index(name))

    def __len__(self) -> int:
        return self._population

    def __getitem__(self, member: int) -> Any:
        index = member + self._population if member < 0 else member
        if not 0 <= index < self._population:
            raise IndexError(f"member {member} of {self._population}")
        return self._tree.nest(self._values(index, 1)[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[member] for member in range(self._population))


class Evolution(OnDevice):
    """EGGROLL over parameters of any shape, whose members you score.

        run = yolk.Evolution({"w": np.zeros((8, 4)), "b": np.zeros(8)}, population=256, maximize=True)
        for _ in range(100):
            members = run.ask()
            run.tell([score(member) for member in members])
        best = run.parameters

    Matrices, and arrays of more axes (the first one against all others), get low-rank noise; vectors and numbers full
    noise. The update runs on the device, and gives the bits of the C++ library's.
    """

    def __init__(self, parameters: Any, *, maximize: bool | None = None, population: int = 32, sigma: float = 0.05,
                 learning_rate: float = 0.1, rank: int = 1, seed: int = 1, fitness: str = "pair-difference",
                 optimizer: str = "sgd", episodes: int = 1, antithetic: bool = True, sigma_decay: float = 1.0,
                 learning_rate_decay: float = 1.0, noise_reuse: int = 1, robust: bool = False, group_size: int = 0,
                 beta1: float = 0.9, beta2: float = 0.999, freeze: Sequence[str] = (), freeze_vectors: bool = False,
                 determinism: str = "exact", log: str | os.PathLike[str] = "", device: Any = None) -> None:
        """parameters  an array, or a dict, list or tuple of arrays (also nested): NumPy, JAX, torch on the CPU, DLPack
        maximize    True: scores are better when higher; False: when lower. None: tell() must be given rewards= or losses=
        population  members, 2 to 2**20; even, unless `antithetic` is False
        episodes    scores of each member, which are averaged
        log         a file that gets each generation, from which `replay` rebuilds any state; "": none
        The other settings are those of `yolk.train`.

        Raises BadInput for settings outside their limits, arrays that are empty or not finite, names that appear twice.
        """
        settings = {key: value for key, value in locals().items()
                    if key not in ("self", "parameters", "maximize", "log", "device", "__class__")}
        settings["freeze"] = [freeze] if isinstance(freeze, str) else list(freeze)
        self._tree = Tree(parameters)
        self._maximize = maximize
        shapes = []
        for name, shape in zip(self._tree.names, self._tree.shapes):
            size = int(np.prod(shape, dtype=np.int64))
            is_matrix = len(shape) >= 2
            rows = shape[0] if is_matrix else size
            shapes.append((name, rows, size // rows, "matrix" if is_matrix else "vector", 0))
        self._chosen = Chosen(device)
        self._run = _core.AskedRun.create(shapes, self._tree.flat(), settings, request_of(device), os.fspath(log))
        self.population: int = self._run.settings()["population"]
        self.episodes: int = self._run.settings()["episodes"]
        self.history = History()
        self._asked = -1

    def ask(self) -> Members:
        """The members of the next generation. Asking twice gives the same ones."""
        members = Members(self._run, self._tree, self.population)
        self._asked = members.generation
        return members

    def tell(self, scores: Any = None, *, rewards: Any = None, losses: Any = None) -> dict[str, Any]:
        """Takes the scores of the members that were asked for, [population] or [episodes, population], and makes the update.

        rewards are better when higher, losses when lower; `scores` as the run's `maximize` says. A score that is not
        finite counts as the worst one. Returns the generation's mean, best and worst reward, and what was skipped.
        Raises BadInput before ask(), for another number of scores, or where nothing says which way round they are.
        """
        given = [value for value in (scores, rewards, losses) if value is not None]
        if len(given) != 1:
            raise BadInput("tell() takes one of scores, rewards= and losses=.")
        if scores is not None and self._maximize is None:
            raise BadInput("Nothing says whether these scores are better when higher or lower: give them as rewards= or as "
                           "losses=, or make the run with maximize=True or maximize=False.")
        if self._asked != self._run.generation:
            raise BadInput(f"tell() before ask(): generation {self._run.generation} has not been asked for.")
        values = as_float32(given[0], "scores")
        wanted = (self.episodes, self.population)
        if values.shape != wanted and not (values.shape == (self.population,) and self.episodes == 1):
            raise BadInput(f"The scores have the shape {values.shape}; {wanted if self.episodes > 1 else wanted[1:]} is "
                           "needed, one for each member" + (" and episode." if self.episodes > 1 else "."))
        is_loss = losses is not None or (scores is not None and not self._maximize)
        summary = self._run.tell(self._asked, np.ascontiguousarray(-values if is_loss else values).ravel())
        self.history.append(summary)
        return summary

    @property
    def parameters(self) -> Any:
        """The unperturbed parameters, as they were given; copies."""
        return self._tree.nest(self._run.parameters())

    @parameters.setter
    def parameters(self, values: Any) -> None:
        tree = Tree(values)
        if tree.names != self._tree.names or tree.shapes != self._tree.shapes:
            raise BadInput("These parameters have other names or shapes than the run's.")
        self._run.set_parameters(tree.flat())

    @property
    def generation(self) -> int:
        """Generations done so far."""
        return self._run.generation

    @property
    def state_hash(self) -> str:
        """XXH3-128 of parameters, optimizer state and generation: in exact mode the same on every device."""
        return self._run.state_hash()

    @property
    def device(self) -> str:
        """The name of the device that makes the updates."""
        return self._run.device

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes all that the next generation depends on as one safetensors file, whole or not at all."""
        self._run.save(os.fspath(file))

    def load(self, file: str | os.PathLike[str]) -> None:
        """Goes on from a saved state, to the bits of a run that was never interrupted.

        The run has to be made as the saved one was: the same names and shapes, and the same settings. A `log` of the
        same run goes on, too. Raises BadInput for the state of another run, or a file that is damaged.
        """
        self._run.load(os.fspath(file))
        self._asked = -1

    def replay(self, log: str | os.PathLike[str], generation: int | None = None) -> int:
        """Applies the generations of a log of a run with the same settings and first values; nothing is scored.

        Returns the generations done. Raises BadInput for a log of another run, or one that is damaged.
        """
        return self._run.replay(os.fspath(log), generation)

    def __reduce__(self) -> Any:
        raise TypeError("A yolk.Evolution cannot be pickled, as it holds a device. Save its state (run.save).")

    def __repr__(self) -> str:
        return (f"<yolk.Evolution of {self._tree.size} values, population {self.population}, generation "
                f"{self.generation}, on {self.device}>")
