#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a policy that Yolk trained in Gymnasium's own CartPole-v1, whose physics is in double precision and shares no code with Yolk's.

usage: run_policy.py POLICY.safetensors [--episodes 100] [--seed 0]
Prints one JSON object; exits with 1 where the mean return is below 475, at which CartPole-v1 counts as solved."""
import argparse
import json
import sys

import gymnasium
import numpy
import safetensors.numpy

SOLVED_RETURN = 475.0


def load_layers(path):
    """[(weight [out, in], bias [out])] in order; float32."""
    tensors = safetensors.numpy.load_file(path)
    if any(name.startswith("recurrent.") for name in tensors):
        sys.exit(f"{path} is a recurrent policy, which this example does not run; yolk.evaluate does.")
    count = sum(name.endswith(".weight") for name in tensors)
    return [(tensors[f"layer{i}.weight"], tensors[f"layer{i}.bias"]) for i in range(count)]


def choose_action(layers, observation):
    """tanh between layers, linear outputs; the largest output wins, the lower index on a tie."""
    units = observation.astype(numpy.float32)
    for i, (weight, bias) in enumerate(layers):
        units = weight @ units + bias
        if i + 1 < len(layers):
            units = numpy.tanh(units)
    return int(numpy.argmax(units))


def run_episode(environment, layers, seed):
    observation, _ = environment.reset(seed=seed)
    total = 0.0
    ended = False
    while not ended:
        observation, reward, terminated, truncated, _ = environment.step(choose_action(layers, observation))
        total += float(reward)
        ended = terminated or truncated
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first episode; the next ones count up")
    arguments = parser.parse_args()
    layers = load_layers(arguments.policy)
    environment = gymnasium.make("CartPole-v1")
    returns = [run_episode(environment, layers, arguments.seed + i) for i in range(arguments.episodes)]
    mean = sum(returns) / len(returns)
    print(json.dumps({"policy": arguments.policy, "gymnasium": gymnasium.__version__, "episodes": len(returns),
                      "mean_return": mean, "worst_return": min(returns), "best_return": max(returns)}))
    return 0 if mean >= SOLVED_RETURN else 1


if __name__ == "__main__":
    sys.exit(main())
