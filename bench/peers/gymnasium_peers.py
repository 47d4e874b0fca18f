# SPDX-License-Identifier: Apache-2.0
"""Gymnasium's tasks by evolution strategies: yolk.train beside evosax's Open_ES, with the same network (tanh, normalized
observations), population, environments and number of episodes.

Both sides step one vector environment of Gymnasium's in one thread, all members beginning an episode alike, and count the
steps of live members. The mark counts as reached in the generation whose unperturbed policy has a mean return of that
much: Yolk's history has it, and the peer plays it over JUDGED episodes that do not count. The last policy is judged over
100 fresh episodes. OpenAI's strategy takes Adam and centred ranks; its rate and deviation were the best of a few tried.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import turns

JUDGED, VERIFIED = 8, 100
TASKS = {
    "InvertedPendulum-v5": {"mark": 950, "hidden": [], "population": 128, "generations": 60,
                            "yolk": {"sigma": 0.3, "learning_rate": 0.3}, "evosax": {"rate": 0.1, "sigma": 0.3}},
    "LunarLander-v3": {"mark": 200, "hidden": [16], "population": 128, "generations": 150, "episodes": 2,
                       "yolk": {"sigma": 0.3, "learning_rate": 0.3, "fitness": "centred-rank", "learning_rate_decay": 0.99},
                       "evosax": {"rate": 0.1, "sigma": 0.3}},
    "Swimmer-v5": {"mark": 300, "hidden": [], "population": 32, "generations": 100,
                   "yolk": {"sigma": 0.5, "learning_rate": 0.5, "fitness": "centred-rank"},
                   "evosax": {"rate": 0.1, "sigma": 0.5}},
}


def verify(name, act):
    """The mean return of `act(observation)` over fresh episodes."""
    import gymnasium

    environment = gymnasium.make(name)
    total = 0.0
    for episode in range(VERIFIED):
        observation, _ = environment.reset(seed=1_000_000 + episode)
        ended = False
        while not ended:
            observation, reward, terminated, truncated, _ = environment.step(act(observation))
            total += float(reward)
            ended = terminated or truncated
    return total / VERIFIED


def train_yolk(name, task, seed):
    import gymnasium
    import yolk

    environments = gymnasium.make_vec(name, num_envs=task["population"], vectorization_mode="sync")
    begun = time.perf_counter()
    run = yolk.train(environments, population=task["population"], hidden=task["hidden"], normalize=True, seed=seed,
                     generations=task["generations"], episodes=task.get("episodes", 1), stop_when_solved=False,
                     progress=False, **task["yolk"])
    seconds = time.perf_counter() - begun
    steps, returns = [], []
    for row in run.history:
        steps.append(row["evaluations"])
        returns.append(row["policy_return"])
    return returns, steps, seconds, verify(name, run.policy)


class Batch:
    """A vector environment, and the members' policies over normalized observations, by NumPy."""

    def __init__(self, name, task, lanes):
        import gymnasium
        import numpy as np

        self.np, self.lanes = np, lanes
        self.environments = gymnasium.make_vec(name, num_envs=lanes, vectorization_mode="sync")
        space = self.environments.single_action_space
        self.discrete = hasattr(space, "n")
        inputs = int(np.prod(self.environments.single_observation_space.shape))
        outputs = int(space.n) if self.discrete else int(np.prod(space.shape))
        if not self.discrete:
            self.low, self.high = space.low, space.high
        self.widths = [inputs, *task["hidden"], outputs]
        self.size = sum(a * b + b for a, b in zip(self.widths, self.widths[1:]))
        self.count, self.mean, self.squares = 0, np.zeros(inputs), np.zeros(inputs)

    def act(self, members, observations):
        np, at = self.np, 0
        deviation = np.sqrt(self.squares / self.count) if self.count else np.ones_like(self.mean)
        hidden = (observations - self.mean) / np.maximum(deviation, 1e-4)
        for layer, (wide, out) in enumerate(zip(self.widths, self.widths[1:])):
            weights = members[:, at:at + wide * out].reshape(-1, wide, out)
            at += wide * out
            hidden = (hidden[:, None, :] @ weights)[:, 0] + members[:, at:at + out]
            at += out
            if layer + 2 < len(self.widths):
                hidden = np.tanh(hidden)
        if self.discrete:
            return hidden.argmax(1)
        return (self.low + (np.clip(hidden, -1, 1) + 1) / 2 * (self.high - self.low)).astype(np.float32)

    def count_in(self, observations):
        batch = len(observations)
        if batch == 0:
            return
        mean = observations.mean(0)
        squares = ((observations - mean) ** 2).sum(0)
        total, apart = self.count + batch, mean - self.mean
        self.squares += squares + apart**2 * self.count * batch / total
        self.mean += apart * batch / total
        self.count = total

    def returns(self, members, seeds, seen=None):
        """Returns and steps of one episode each; `seen` collects the live members' observations."""
        np = self.np
        observations, _ = self.environments.reset(seed=seeds)
        alive, total, steps = np.ones(self.lanes, bool), np.zeros(self.lanes), 0
        while alive.any():
            if seen is not None:
                seen.append(observations[alive])
            steps += int(alive.sum())
            observations, rewards, terminated, truncated, _ = self.environments.step(self.act(members, observations))
            total += rewards * alive
            alive &= ~(terminated | truncated)
        return total, steps


def train_evosax(name, task, seed):
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    from evosax.algorithms import Open_ES

    population, episodes = task["population"], task.get("episodes", 1)
    batch, judge = Batch(name, task, population), Batch(name, task, JUDGED)
    strategy = Open_ES(population, jnp.zeros(batch.size), optimizer=optax.adam(task["evosax"]["rate"]),
                       std_schedule=optax.constant_schedule(task["evosax"]["sigma"]))
    key = jax.random.key(seed)
    params = strategy.default_params
    state = strategy.init(key, jnp.zeros(batch.size), params)
    ask, tell = jax.jit(strategy.ask), jax.jit(strategy.tell)
    returns, steps, begun, judging = [], [], time.perf_counter(), 0.0
    for generation in range(task["generations"]):
        key, asked, told = jax.random.split(key, 3)
        members, state = ask(asked, state, params)
        found, counted, seen = np.zeros(population), 0, []
        for episode in range(episodes):
            start = [seed * 1_000_003 + generation * episodes + episode] * population
            got, taken = batch.returns(np.asarray(members), start, seen)
            found, counted = found + got / episodes, counted + taken
        for observations in seen:
            batch.count_in(observations)
        state, _ = tell(told, members, jnp.asarray(-found), state, params)
        pause = time.perf_counter()
        judge.count, judge.mean, judge.squares = batch.count, batch.mean, batch.squares
        center = np.asarray(strategy.get_mean(state))
        alike = np.broadcast_to(center, (JUDGED, batch.size))
        returns.append(float(judge.returns(alike, [7_000_000 + generation * JUDGED + e for e in range(JUDGED)])[0].mean()))
        steps.append(counted)
        judging += time.perf_counter() - pause
    seconds = time.perf_counter() - begun - judging
    act = lambda observation: judge.act(center[None], np.asarray(observation)[None])[0]
    return returns, steps, seconds, verify(name, act)


SIDES = {"yolk": train_yolk, "evosax": train_evosax}


def train_here(options):
    """One side, one seed: the row as JSON."""
    task = TASKS[options.task] | ({"generations": options.generations} if options.generations else {})
    returns, steps, seconds, verified = SIDES[options.side](options.task, task, options.seed)
    reached = next((g for g, found in enumerate(returns) if found >= task["mark"]), None)
    print(json.dumps({"side": options.side, "task": options.task, "seed": options.seed, "verified": verified,
                      "generations_to_mark": None if reached is None else reached + 1,
                      "steps_to_mark": None if reached is None else sum(steps[:reached + 1]),
                      "steps_per_second": sum(steps) / seconds, "seconds": seconds, "returns": returns, "steps": steps}))


class Kept:
    """Lines of finished runs in a file: ten seeds take hours."""

    def __init__(self, path, task):
        self.path, self.lines = path, {}
        for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []:
            row = json.loads(line)
            if row["task"] == task:
                self.lines[row["side"], row["seed"]] = line

    def line(self, side, seed):
        return self.lines.get((side, seed))

    def add(self, line):
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, default="InvertedPendulum-v5")
    parser.add_argument("--side", choices=SIDES, help="only this one, in this process, as JSON")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=10, help="1 to this many (default: 10)")
    parser.add_argument("--generations", type=int, help="default: the task's")
    parser.add_argument("--kept", type=pathlib.Path, help="a file to which each run is added; those in it are not run again")
    turns.add_options(parser)
    options = parser.parse_args()
    if options.side:
        return train_here(options)
    turns.prepare(options)
    pythons, failed = dict(options.python), {}
    rows = {side: [] for side in SIDES}
    kept = Kept(options.kept, options.task)
    for seed in range(1, options.seeds + 1):
        for side in SIDES:
            if (line := kept.line(side, seed)) is not None:
                rows[side].append(json.loads(line))
                if options.json:
                    print(line, flush=True)
                continue
            command = [pythons.get(side, sys.executable), __file__, "--side", side, "--task", options.task, "--seed", str(seed)]
            command += ["--generations", str(options.generations)] if options.generations else []
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
            if done.returncode != 0:
                failed[side] = turns.last_words(done.stderr)
                print(f"{side}, seed {seed}: {failed[side]}", file=sys.stderr)
                continue
            line = done.stdout.splitlines()[-1]
            kept.add(line)
            rows[side].append(json.loads(line))
            if options.json:
                print(line, flush=True)
    for side, found in rows.items():
        if options.json and side in failed:
            print(json.dumps({"side": side, "task": options.task, "failed": failed[side]}), flush=True)
        if options.json or not found:
            continue
        at = [row["steps_to_mark"] for row in found if row["steps_to_mark"] is not None]
        print(f"{side:8} {len(at)} of {len(found)} seeds reach {TASKS[options.task]['mark']}, after "
              f"{statistics.median(at) if at else float('nan'):,.0f} steps (median); verified "
              f"{', '.join(format(row['verified'], '.1f') for row in found)}; "
              f"{statistics.median(row['steps_per_second'] for row in found):,.0f} steps/s")


if __name__ == "__main__":
    main()
