# SPDX-License-Identifier: Apache-2.0
"""The program's side of Yolk's protocol for environments on the host (docs/host_environments.md). Copy this file beside
your own; it needs NumPy, and Gymnasium for serve_gymnasium()."""
import json
import os
import struct
import sys
import traceback

import numpy as np

END, LANES, RESET, STEP, ERROR, HELLO = 0, 1, 2, 3, 4, 0x564E4559


def serve(hello, make):
    """Serves one batch of environments until Yolk ends it.

    hello: {"name", "observations", "actions": n or "low" and "high": lists, "max_steps", "solved_return"}
    make: make(lanes) returns an object with reset(seeds) -> observations [lanes, observations] and
          step(actions [lanes, values], live [lanes]) -> observations, rewards [lanes], terminated, truncated"""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed does not disturb the messages
    values = len(hello["low"]) if "low" in hello else 1
    lanes, environments = 0, None

    def send(kind, payload):
        sink.write(struct.pack("<II", kind, len(payload)) + payload)
        sink.flush()

    def flat(array, kind):
        return np.ascontiguousarray(array, dtype=kind).tobytes()

    def answer(kind, payload):
        nonlocal lanes, environments
        if kind == LANES:
            lanes = struct.unpack("<I", payload)[0]
            environments = make(lanes)
            return b""
        if kind == RESET:
            return flat(environments.reset([int(seed) for seed in np.frombuffer(payload, "<u4")]), "<f4")
        actions = np.frombuffer(payload, "<f4", lanes * values).reshape(lanes, values)
        live = np.frombuffer(payload, "<u4", lanes, 4 * lanes * values).astype(bool)
        observations, rewards, terminated, truncated = environments.step(actions, live)
        flags = np.asarray(terminated, dtype=bool) + 2 * np.asarray(truncated, dtype=bool)
        return flat(observations, "<f4") + flat(rewards, "<f4") + flat(flags, "<u4")

    send(HELLO, json.dumps({"protocol": 1, **hello}).encode())
    while True:
        header = source.read(8)
        kind, size = struct.unpack("<II", header) if len(header) == 8 else (END, 0)
        if kind == END:
            return
        try:
            payload = answer(kind, source.read(size))
        except Exception:
            send(ERROR, traceback.format_exc().encode())
        else:
            send(kind, payload)


def serve_gymnasium(name, **settings):
    """Serves a Gymnasium environment by its name; settings are those of gymnasium.make."""
    import gymnasium
    one = gymnasium.make(name, **settings)
    space, actions, spec = one.observation_space, one.action_space, one.spec
    is_discrete = isinstance(actions, gymnasium.spaces.Discrete)
    hello = {"name": name, "observations": int(np.prod(space.shape)), "max_steps": spec.max_episode_steps or 0}
    if is_discrete:
        hello["actions"] = int(actions.n)
    else:  # a bound that is not finite is null
        hello.update({side: [float(value) if np.isfinite(value) else None for value in getattr(actions, side).ravel()]
                      for side in ("low", "high")})
    if spec.reward_threshold is not None:
        hello["solved_return"] = spec.reward_threshold

    class Batch:
        def __init__(self, lanes):
            self.all = [one] + [gymnasium.make(name, **settings) for _ in range(lanes - 1)]
            self.last = np.zeros((lanes, hello["observations"]))

        def reset(self, seeds):
            for lane, (environment, seed) in enumerate(zip(self.all, seeds)):
                self.last[lane] = environment.reset(seed=seed)[0].ravel()
            return self.last

        def step(self, given, live):
            rewards, terminated, truncated = np.zeros(len(live)), np.zeros(len(live), bool), np.zeros(len(live), bool)
            for lane in np.flatnonzero(live):
                action = int(given[lane, 0]) + int(actions.start) if is_discrete else given[lane].reshape(
                    actions.shape).astype(actions.dtype)
                observation, rewards[lane], terminated[lane], truncated[lane], _ = self.all[lane].step(action)
                self.last[lane] = np.asarray(observation).ravel()
            return self.last, rewards, terminated, truncated

    serve(hello, Batch)


if __name__ == "__main__":  # yolk train --program 'python3 yolk_environment.py CartPole-v1'
    serve_gymnasium(sys.argv[1])
