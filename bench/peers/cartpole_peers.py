# SPDX-License-Identifier: Apache-2.0
"""CartPole by evolution strategies from Python: Yolk beside EvoX, evosax, EvoTorch and plain PyTorch.

Each side trains the same network (4-64-2, tanh) on the same task (episodes of at most 500 steps that end where
Gymnasium's do, one start per generation for all members), on the same cores, in the form that its own examples take for speed:
evosax jits a whole generation, EvoX and PyTorch compile a step, EvoTorch evaluates vectorized. Rates are steps of policies that
were still alive. Time to 475 is from the first generation's beginning, compilation included, until the unperturbed policy has a mean return
of 475 over 100 fresh episodes. The others are asked after each generation. Yolk ends by its own rule, which looks at the
unperturbed policy after each generation, and is then asked once. The asking counts.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

import turns

STEPS, HIDDEN, SIZE = 500, 64, 4 * 64 + 64 + 64 * 2 + 2
JUDGED = 100  # episodes of the unperturbed policy
FORCE, GRAVITY, LENGTH, POLE, TOTAL, TAU = 10.0, 9.8, 0.5, 0.1, 1.1, 0.02
WIDEST, STEEPEST = 2.4, 12.0 * 2.0 * math.pi / 360.0


class Torch:
    """Plain PyTorch: a roll-out of [members, values], one step compiled; OpenAI's strategy with Adam by hand."""

    def __init__(self, population, seed, threads):
        torch = turns.torch_here()
        torch.set_num_threads(threads)
        torch.manual_seed(seed)
        self.torch, self.population = torch, population
        self.alive_steps = 0
        self.step_once = torch.compile(self.eager_step, dynamic=False)
        self.mean = torch.zeros(SIZE)
        self.optimizer = torch.optim.Adam([self.mean], lr=0.05)

    def eager_step(self, state, alive, weights):
        torch = self.torch
        w1, b1, w2, b2 = weights
        # Products and sums fuse into one kernel; torch.bmm of such small matrices took six times as long.
        inner = torch.tanh((state.unsqueeze(2) * w1).sum(1) + b1)
        outputs = (inner.unsqueeze(2) * w2).sum(1) + b2
        place, speed, angle, spin = state.unbind(1)
        force = torch.where(outputs[:, 1] > outputs[:, 0], FORCE, -FORCE)
        cosine, sine = torch.cos(angle), torch.sin(angle)
        push = (force + POLE * LENGTH * spin * spin * sine) / TOTAL
        turn = (GRAVITY * sine - cosine * push) / (LENGTH * (4.0 / 3.0 - POLE * cosine * cosine / TOTAL))
        pull = push - POLE * LENGTH * turn * cosine / TOTAL
        after = torch.stack((place + TAU * speed, speed + TAU * pull, angle + TAU * spin, spin + TAU * turn), 1)
        ended = (after[:, 0].abs() > WIDEST) | (after[:, 2].abs() > STEEPEST)
        return after, alive & ~ended

    def returns(self, members, starts):
        """Returns [members] of whole episodes."""
        torch = self.torch
        count = members.shape[0]
        parts = torch.split(members, [4 * HIDDEN, HIDDEN, 2 * HIDDEN, 2], 1)
        weights = (parts[0].view(count, 4, HIDDEN), parts[1], parts[2].view(count, HIDDEN, 2), parts[3])
        alive = torch.ones(count, dtype=torch.bool)
        total = torch.zeros(count)
        state = starts.expand(count, 4).contiguous()
        for step in range(STEPS):
            total += alive
            state, alive = self.step_once(state, alive, weights)
            if step % 25 == 24 and not alive.any():
                break
        self.alive_steps += int(total.sum())
        return total

    def start(self, count):
        return self.torch.rand(count, 4) * 0.1 - 0.05

    def generation(self):
        torch = self.torch
        noise = torch.randn(self.population // 2, SIZE)
        noise = torch.cat((noise, -noise))
        ranks = self.returns(self.mean + 0.2 * noise, self.start(1)).argsort().argsort().float()
        weights = ranks / (self.population - 1) - 0.5
        self.mean.grad = -(noise.T @ weights) / (self.population * 0.2)
        self.optimizer.step()

    def judge(self):
        kept = self.alive_steps
        found = float(self.returns(self.mean.expand(JUDGED, SIZE), self.start(JUDGED)).mean())
        self.alive_steps = kept
        return found


class EvoX(Torch):
    """EvoX 1.4's OpenES in its StdWorkflow; its virtual strategies take supervised losses only, no roll-outs."""

    def __init__(self, population, seed, threads):
        super().__init__(population, seed, threads)
        from evox.algorithms import OpenES
        from evox.core import Problem
        from evox.workflows import StdWorkflow

        side = self

        class CartPole(Problem):
            def evaluate(self, pop):
                found = side.returns(pop, side.start(1))
                return found.argsort().argsort().float() / (population - 1) - 0.5

        self.algorithm = OpenES(population, self.torch.zeros(SIZE), 0.05, 0.2, optimizer="adam")
        self.workflow = StdWorkflow(self.algorithm, CartPole(), opt_direction="max")

    def generation(self):
        self.workflow.step()
        self.mean = self.algorithm.center


class EvoTorch(Torch):
    """EvoTorch 0.6's PGPE over a vectorized problem."""

    def __init__(self, population, seed, threads):
        super().__init__(population, seed, threads)
        from evotorch import Problem
        from evotorch.algorithms import PGPE
        from evotorch.tools import set_default_logger_config

        set_default_logger_config(override=True)
        problem = Problem("max", lambda members: self.returns(members, self.start(1)), solution_length=SIZE, initial_bounds=(0, 0),
                          vectorized=True, seed=seed, device=str(self.torch.get_default_device()))
        self.searcher = PGPE(problem, popsize=population, center_learning_rate=0.5, stdev_learning_rate=0.1, stdev_init=0.2,
                             center_init=self.torch.zeros(SIZE))

    def generation(self):
        self.searcher.step()
        self.mean = self.torch.as_tensor(self.searcher.status["center"])


class Evosax:
    """evosax 0.3's Open_ES; one jitted function makes a whole generation."""

    def __init__(self, population, seed, threads):
        import jax
        import jax.numpy as jnp
        import optax
        from evosax.algorithms import Open_ES

        self.jax, self.jnp = jax, jnp
        self.key = jax.random.key(seed)
        self.alive_steps = 0
        strategy = Open_ES(population, jnp.zeros(SIZE), optimizer=optax.adam(0.05), std_schedule=optax.constant_schedule(0.2))
        params = strategy.default_params
        self.state = strategy.init(self.key, jnp.zeros(SIZE), params)

        def returns(members, starts):
            count = members.shape[0]
            w1 = members[:, :4 * HIDDEN].reshape(count, 4, HIDDEN)
            b1 = members[:, 4 * HIDDEN:5 * HIDDEN]
            w2 = members[:, 5 * HIDDEN:7 * HIDDEN].reshape(count, HIDDEN, 2)
            b2 = members[:, 7 * HIDDEN:]

            def step(carry):
                state, alive, total, steps = carry
                inner = jnp.tanh(jnp.einsum("mi,mih->mh", state, w1) + b1)
                outputs = jnp.einsum("mh,mho->mo", inner, w2) + b2
                place, speed, angle, spin = state.T
                force = jnp.where(outputs[:, 1] > outputs[:, 0], FORCE, -FORCE)
                cosine, sine = jnp.cos(angle), jnp.sin(angle)
                push = (force + POLE * LENGTH * spin * spin * sine) / TOTAL
                turn = (GRAVITY * sine - cosine * push) / (LENGTH * (4.0 / 3.0 - POLE * cosine * cosine / TOTAL))
                pull = push - POLE * LENGTH * turn * cosine / TOTAL
                after = jnp.stack((place + TAU * speed, speed + TAU * pull, angle + TAU * spin, spin + TAU * turn), 1)
                ended = (jnp.abs(after[:, 0]) > WIDEST) | (jnp.abs(after[:, 2]) > STEEPEST)
                return after, alive & ~ended, total + alive, steps + 1

            first = (jnp.broadcast_to(starts, (count, 4)), jnp.ones(count, bool), jnp.zeros(count), 0)
            return jax.lax.while_loop(lambda carry: carry[1].any() & (carry[3] < STEPS), step, first)[2]

        def start(key, count):
            return jax.random.uniform(key, (count, 4), minval=-0.05, maxval=0.05)

        @jax.jit
        def generation(key, state):
            asked, begun, told = jax.random.split(key, 3)
            members, state = strategy.ask(asked, state, params)
            found = returns(members, start(begun, 1))
            state, _ = strategy.tell(told, members, -found, state, params)
            return state, found.sum()

        self.make = generation
        self.judged = jax.jit(lambda key, mean: returns(jnp.broadcast_to(mean, (JUDGED, SIZE)), start(key, JUDGED)).mean())
        self.strategy = strategy

    def generation(self):
        self.key, now = self.jax.random.split(self.key)
        self.state, steps = self.make(now, self.state)
        self.alive_steps += int(steps)

    def judge(self):
        self.key, now = self.jax.random.split(self.key)
        return float(self.judged(now, self.strategy.get_mean(self.state)))


def train_peer(side, seconds, most):
    begun = time.perf_counter()
    reached, generations = None, 0
    side.generation()
    first = time.perf_counter() - begun
    while generations < most:
        generations += 1
        if side.judge() >= 475.0:
            reached = time.perf_counter() - begun
            break
        side.generation()
    side.alive_steps, timed, begun = 0, 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        side.generation()
        timed += 1
    wall = time.perf_counter() - begun
    return {"rate": side.alive_steps / wall, "to_475": reached, "generations": generations, "first": first,
            "seconds_per_generation": wall / timed}


def train_yolk(population, seed, seconds, most):
    import yolk

    begun = time.perf_counter()
    run = yolk.train("cartpole", population=population, seed=seed, generations=most, sigma=0.2, learning_rate=0.2)
    reached = time.perf_counter() - begun if run.mean_return >= 475.0 else None
    times = []
    stop = time.perf_counter() + seconds

    def tell(report):
        times.append((report["evaluations_per_second"], report["seconds"]))
        return time.perf_counter() < stop

    yolk.train("cartpole", population=population, seed=seed, generations=100000, stop_when_solved=False, sigma=0.2,
               learning_rate=0.2, on_generation=tell)
    return {"rate": statistics.median(rate for rate, _ in times[len(times) // 2:]), "to_475": reached,
            "generations": run.generations, "first": run.history[0]["seconds"], "device": run.devices[0]}


PEERS = {"torch": Torch, "evox": EvoX, "evotorch": EvoTorch, "evosax": Evosax}


def serve(options):
    threads = len(os.sched_getaffinity(0))
    if options.serve == "yolk":
        row = train_yolk(options.population, options.seed, options.seconds, options.most)
    else:
        row = train_peer(PEERS[options.serve](options.population, options.seed, threads), options.seconds, options.most)
    import resource

    row["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(row))


def row_of(options, peer, population, seed):
    python = options.yolk_python if peer == "yolk" else dict(options.python).get(peer, sys.executable)
    environment = dict(os.environ)
    if peer == "yolk":
        environment["PYTHONPATH"] = options.yolk_package
    ran = subprocess.run([python, __file__, "--serve", peer, "--population", str(population), "--seed", str(seed), "--seconds",
                          str(options.seconds), "--most", str(options.most)],
                         capture_output=True, text=True, env=environment, timeout=options.limit)
    if ran.returncode != 0:
        raise turns.Failed(turns.last_words(ran.stderr))
    return json.loads(ran.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(parser, rounds=3, seconds=5.0)
    root = turns.REPOSITORY
    parser.add_argument("--populations", default="4096,65536")
    parser.add_argument("--peers", default="yolk,evosax,evox,evotorch,torch")
    parser.add_argument("--yolk-python", default=str(root / "build/python-venv/bin/python"))
    parser.add_argument("--yolk-package", default=str(root / "build/python/python/package"), help="the folder that has yolk/")
    parser.add_argument("--most", type=int, default=100, help="generations until 475 is given up")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that one run may take")
    for name in ("--serve", "--population", "--seed"):
        parser.add_argument(name, type=str if name == "--serve" else int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options)
    turns.prepare(options)
    for population in map(int, options.populations.split(",")):
        rows = {peer: [] for peer in options.peers.split(",")}
        failed = {}
        for turn in range(options.rounds):
            for peer in rows:
                try:
                    rows[peer].append(row_of(options, peer, population, turn + 1))
                except (turns.Failed, subprocess.TimeoutExpired) as reason:
                    print(f"{peer}, population {population}: {reason}", file=sys.stderr)
                    failed[peer] = str(reason) if isinstance(reason, turns.Failed) else f"still ran after {options.limit} s"
        for peer, found in rows.items():
            if not found:
                if options.json:
                    print(json.dumps({"peer": peer, "population": population, "failed": failed[peer]}))
                continue
            median = {name: statistics.median(row[name] for row in found) for name in ("rate", "first", "peak_bytes")}
            reached = sorted(row["to_475"] for row in found if row["to_475"] is not None)
            if options.json:
                rate, lowest, highest = turns.spread(found, "rate")
                print(json.dumps({"peer": peer, "population": population, "evaluations_per_second": rate, "lowest": lowest,
                                  "highest": highest, "runs": found}))
                continue
            to_475 = f"{statistics.median(reached):.2f} s ({len(reached)} of {len(found)})" if reached else f"0 of {len(found)}"
            print(f"{population:6} {peer:9} {median['rate'] / 1e6:8.3f} M evaluations/s   475 after {to_475:18} "
                  f"first generation {median['first']:.2f} s   {median['peak_bytes'] / 2**20:.0f} MiB")


if __name__ == "__main__":
    sys.exit(main())
