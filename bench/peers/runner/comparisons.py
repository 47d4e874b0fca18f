# SPDX-License-Identifier: Apache-2.0
"""Every comparison: its peers with their environments, the command, and who reads what it prints.

`small` sizes only show that all of it runs. `command` gets a Setting and gives the words after the interpreter; several
lists of words run one after the other, `rounds` times.
"""

import pathlib
from collections.abc import Callable
from dataclasses import dataclass, field

from runner import rows

ROOT = pathlib.Path(__file__).resolve().parents[3]
BENCH = ROOT / "bench"


@dataclass
class Setting:
    """What a comparison runs with."""

    options: object  # of the command
    machine: object
    pythons: dict  # of the peers that are installed, by side
    yolk_python: str = ""  # that has what Yolk's package needs

    @property
    def small(self):
        return self.options.small

    @property
    def busy(self):
        return ["--busy"] if self.options.busy else []

    def sides(self, flag):
        """The option that names the sides to run, and an interpreter for each."""
        words = [word for side, python in self.pythons.items() for word in ("--python", f"{side}={python}")]
        return [flag, ",".join(self.pythons), *words]

    def bench(self, rounds, seconds):
        """Options of turns.add_options."""
        turns = ["--rounds", 1 if self.small else rounds, "--seconds", 0.2 if self.small else seconds]
        return [*turns, "--yolk-bench", self.options.yolk_bench, "--driver", self.machine.driver, "--json", *self.busy]


@dataclass
class Comparison:
    name: str
    topic: str  # of bench/figures
    what: str
    unit: str
    peers: dict  # side: environment
    command: Callable
    read: Callable
    needs: tuple = ()  # of the command's options: yolk, yolk_bench, package, model, data, encoder_bench
    package_apart: bool = False  # Yolk's package runs in the environment `yolk`
    runs_in: str = ""  # the environment whose Python runs the program; "": this Python, "-": it is a program
    rounds: int = field(default=1)


def program(name):
    return str(BENCH / name)


def same(*names):
    return {name: name for name in names}


def matmul(at):
    sizes = ["--sizes", "128"] if at.small else ["--sizes", "512,1024"]
    rounds = ["--rounds", 1, "--seconds", 0.05] if at.small else ["--rounds", 5]
    return [program("peers/matmul_peers.py"), *sizes, *rounds, "--yolk", at.options.yolk, "--json", *at.busy, *at.sides("--peers")]


def rollout(at):
    sizes = ["--populations", "256", "--rounds", 1, "--form", "eager", "--generations", 1] if at.small else [
        "--populations", "4096,65536", "--rounds", 5]  # fmt: skip
    device = ["--torch-device", "cuda"] if at.machine.cuda else []
    return [program("pytorch/compare.py"), *sizes, *device, "--yolk", at.options.yolk, "--json", *at.busy]


def cartpole(population, rounds):
    def command(at):
        size = ["--populations", 256 if at.small else population, *(["--most", 1] if at.small else [])]
        sides = at.sides("--peers")
        sides[1] = f"yolk,{sides[1]}".removesuffix(",")
        yolk = ["--yolk-python", at.yolk_python, "--yolk-package", at.options.package]
        return [program("peers/cartpole_peers.py"), *size, *at.bench(rounds, 5), *yolk, *sides]

    return command


def gymnasium(task):
    def command(at):
        size = ["--seeds", 1, "--generations", 1] if at.small else []
        return [program("peers/gymnasium_peers.py"), "--task", task, *size, "--json", *at.busy]

    return command


def population(side):
    def command(at):
        words = at.sides("--sides") if side in at.pythons else ["--sides", side]
        return [program("peers/hyperfunc_population.py"), *at.bench(4, 2), *words]

    return command


def adam(at):
    return [program("peers/adam_peers.py"), *at.bench(3, 3), *at.sides("--sides")]


def transformer_adam(at):
    return [program("peers/transformer_torch.py"), "--only", "adam", *at.bench(3, 3), *at.sides("--sides")]


def transformer_population(at):
    chunks = ["--chunks", "64"] if at.small else []
    python = ["--python", f"torch={at.pythons['vmap']}"]
    return [program("peers/transformer_torch.py"), "--only", "population", *chunks, *at.bench(3, 3), *python]


def hyperfunc_programs(at):
    programs = ["--programs", "temperature"] if at.small else []
    return [program("peers/hyperfunc_programs.py"), *programs, *at.bench(3, 3)]


def gepa(at):
    return [program("peers/gepa_prompts.py"), *(["--seeds", 2, "--budgets", 100] if at.small else []), "--json"]


def encoder(at):
    return [program("peers/encoder.py"), at.options.model, *(["--texts", 8, "--repeats", 1] if at.small else [])]


def encoder_population(at):
    sizes = [4, 1, 8, 1] if at.small else []
    torch = [at.pythons["torch"], program("peers/encoder_population.py"), at.options.model, *sizes]
    return [[at.options.encoder_bench, at.options.model, *sizes], torch]


def decoder(at):
    model = [at.options.decoder] if at.options.decoder else []
    return [program("peers/decoder.py"), *model, *(["--members", 2, "--tokens", 2, "--turns", 1] if at.small else [])]


def tuners(at):
    size = ["--repeats", 2, "--kernel-tuner-repeats", 1] if at.small else []
    out = at.options.folder / "tuners"
    return [program("tuners/compare.py"), "--data", at.options.data, "--out", out, "--yolk", at.options.yolk, "--json", *size]


def kernel_rates(at):
    name = "^kernel_rates/.*" + at.machine.driver
    least = ["--benchmark_min_time=0.01"] if at.small else []
    return [*at.options.yolk_bench.split(), f"--benchmark_filter={name}", "--benchmark_format=json", *least]


CARTPOLE = same("torch", "evox", "evotorch", "evosax")
RATE = "evaluations/s"
COMPARISONS = [
    Comparison("rollout", "training", "the roll-out of CartPole alone,", RATE, same("torch"), rollout, rows.read_rollout,
               ("yolk",), runs_in="torch"),
    Comparison("cartpole", "training", "CartPole from Python, population 4,096", RATE, CARTPOLE, cartpole(4096, 3),
               rows.read_cartpole, ("package",), package_apart=True),
    Comparison("cartpole-large", "training", "CartPole from Python, population 65,536", RATE, CARTPOLE, cartpole(65536, 1),
               rows.read_cartpole, ("package",), package_apart=True),
    *(Comparison(f"gymnasium-{name}", "training", f"Gymnasium's {task}", "steps/s", {"evosax": "gymnasium"}, gymnasium(task),
                 rows.read_gymnasium, ("package",), runs_in="gymnasium")
      for name, task in (("pendulum", "InvertedPendulum-v5"), ("lander", "LunarLander-v3"), ("swimmer", "Swimmer-v5"))),
    Comparison("matmul", "kernels", "products of fp32 matrices of", "G operations/s",
               same("kompute", "taichi", "wgpu", "numba-vulkan"), matmul, rows.read_matmul, ("yolk",)),
    Comparison("kernel-rates", "kernels", "beside a loop on two threads of the host", "elements/s", {}, kernel_rates,
               rows.read_kernel_rates, ("yolk_bench",), runs_in="-"),
    Comparison("population-hyperfunc", "systems", "a population of 4,096 candidates of", "candidates/s", same("hyperfunc"),
               population("hyperfunc"), rows.read_population, ("yolk_bench",)),
    Comparison("population-vmap", "systems", "a population of 4,096 candidates of", "candidates/s", {"vmap": "torch"},
               population("vmap"), rows.read_population, ("yolk_bench",)),
    Comparison("hyperfunc-programs", "systems", "hyperfunc's quick start", RATE, same("hyperfunc"), hyperfunc_programs,
               rows.read_programs, ("package",), runs_in="hyperfunc"),
    Comparison("adam", "systems", "steps of Adam on 32-64-64-8 with 64 examples", "steps/s",
               {"torch": "torch", "torch.compile": "torch", "computeml": "computeml", "ferrotensor": "ferrotensor"}, adam,
               rows.read_sides, ("yolk_bench",)),
    Comparison("transformer-adam", "systems", "steps of Adam on the small transformer, 16 windows of 64 bytes", "steps/s",
               {"torch": "torch", "torch.compile": "torch", "computeml": "computeml", "ferrotensor": "ferrotensor"},
               transformer_adam, rows.read_sides, ("yolk_bench",)),
    Comparison("transformer-population", "systems", "the small transformer's forward pass for 1,024 members", "members/s",
               {"vmap": "torch"}, transformer_population, rows.read_vmap,
               ("yolk_bench",)),
    Comparison("gepa", "text", "calls of the metric until a prompt is perfect", "calls", same("gepa"), gepa, rows.read_gepa,
               ("package",), runs_in="gepa"),
    Comparison("encoder", "text", "embeddings of an encoder", "texts/s", {"sentence-transformers": "encoder"}, encoder,
               rows.read_encoder, ("package", "model"), runs_in="encoder"),
    Comparison("encoder-population", "text", "texts of a population of an encoder", "texts/s", {"torch": "encoder"},
               encoder_population, rows.read_encoder_population, ("encoder_bench", "model"), runs_in="-", rounds=3),
    Comparison("decoder", "text", "tokens of a decoder", "tokens/s", {"transformers": "encoder"}, decoder, rows.read_decoder,
               ("package",), runs_in="encoder"),
    Comparison("tuner", "tuning", "fraction of the optimum over six recordings", "of the optimum",
               same("kernel-tuner"), tuners, rows.read_tuners, ("yolk", "data"), runs_in="kernel-tuner"),
]  # fmt: skip
