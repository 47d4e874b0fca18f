# SPDX-License-Identifier: Apache-2.0
"""The small transformer (two layers, width 64, 4 heads, 64 bytes) in PyTorch beside yolk: 1,024 perturbed members over
one window, by torch.func.vmap, and steps of Adam over 16 windows, beside the Vulkan peers that train, too.

The population is evaluated in two forms: the weights formed for each member, W + sigma A B^T, and x W^T + sigma (x B) A^T
without forming them; with PyTorch's fused attention and with products and a softmax; in chunks of several sizes. Each is
tried once, then the fastest of each form takes turns with yolk. Noise is drawn inside the timed part on all sides.
"""

import argparse
import json
import pathlib
import sys

import turns

MEMBERS, SIGMA, WINDOWS = 1024, 0.05, 16
CHUNKS = (16, 64, 256, 1024)
STEPS = 100  # after which losses are compared; as in bench/transformer_bench.cpp
FORMS = ("formed", "low_rank")
ADAM_SIDES = ("torch", "torch.compile", "computeml", "ferrotensor")


class Population:
    """1,024 members over one window: `run()` gives their losses."""

    def __init__(self, form, fused, chunk):
        import transformer_model as model

        torch = turns.torch_here()
        torch.manual_seed(1)
        self.chunk, self.torch, self.model = chunk, torch, model
        self.weights = {name: model.on_device(array) for name, array in model.weights().items()}
        ids, following = (model.on_device(part[0]) for part in model.windows(1))
        self.ids, self.following = ids, following
        self.attention = model.torch_attention(fused)
        self.member = torch.func.vmap({"formed": self.by_formed, "low_rank": self.by_factors}[form])
        self.formed = form == "formed"

    def loss(self, linear, rows):
        logits = self.model.torch_logits(linear, rows, self.attention)
        return self.torch.nn.functional.cross_entropy(logits, self.following)

    def by_formed(self, weights):
        def rows(name):
            return weights[name][self.ids] if name == "bytes" else weights[name]

        return self.loss(lambda name, x: x @ weights[name].T, rows)

    def by_factors(self, factors):
        def linear(name, x):
            a, b = factors[name]
            return x @ self.weights[name].T + (x @ b) @ a.T

        def rows(name):
            a, b = factors[name]
            ids = self.ids if name == "bytes" else slice(None)
            return self.weights[name][ids] + a[ids] @ b.T

        return self.loss(linear, rows)

    def drawn(self, count):
        """Of each matrix A [count, out, 1], times sigma, and B [count, in, 1]."""
        draw = self.torch.randn
        sizes = {name: weight.shape for name, weight in self.weights.items()}
        return {
            name: (SIGMA * draw(count, rows, 1), draw(count, columns, 1)) for name, (rows, columns) in sizes.items()
        }

    def formed_of(self, factors):
        return {
            name: self.torch.baddbmm(weight.expand(len(factors[name][0]), -1, -1), *self.halves(factors[name]))
            for name, weight in self.weights.items()
        }

    @staticmethod
    def halves(pair):
        return pair[0], pair[1].transpose(1, 2)

    def run(self):
        losses = []
        for _ in range(0, MEMBERS, self.chunk):
            factors = self.drawn(self.chunk)
            losses.append(self.member(self.formed_of(factors) if self.formed else factors))
        turns.torch_waits(self.torch)
        return self.torch.cat(losses)

    def check(self):
        """A member of a chunk has the loss that its formed weights have alone."""
        factors = self.drawn(2)
        got = self.member(self.formed_of(factors) if self.formed else factors)[1]
        alone = self.by_formed({name: weight[1] for name, weight in self.formed_of(factors).items()})
        if not self.torch.allclose(got, alone, rtol=1e-4):
            sys.exit(f"a member of the population has the loss {got:.6f}, alone {alone:.6f}")


def population_turn(form, fused, chunk, seconds):
    torch = turns.torch_here()
    with torch.inference_mode():
        population = Population(form, fused, chunk)
        population.check()
        rate = turns.rate_for(population.run, seconds, MEMBERS, least=1)
        unperturbed = population.by_formed(population.weights).item()
        loss = population.run().mean().item()
    how = f"{form}, {'fused' if fused else 'plain'} attention, chunks of {chunk}, {turns.torch_device_name(torch)}"
    return {"members_per_second": rate, "unperturbed_loss": unperturbed, "loss": loss, "how": how}


def adam_turn(side, seconds):
    import transformer_model as model

    made = {
        "torch": lambda: model.torch_step(WINDOWS, False),
        "torch.compile": lambda: model.torch_step(WINDOWS, True),
        "computeml": lambda: model.computeml_step(WINDOWS),
        "ferrotensor": lambda: model.ferrotensor_step(WINDOWS),
    }
    step, how = made[side]()
    first = step()
    rate = turns.rate_for(step, seconds, least=1)
    row = {"steps_per_second": rate, "loss_before": first, "how": how}
    if side.startswith("torch"):  # the other peers would take minutes for 100 steps
        step, _ = made[side]()
        row["loss"] = [step() for _ in range(STEPS + 1)][-1]
    return row


def yolk_population(options):
    name = f"^transformer/.*{options.driver}.*/population/examples:1/real_time"
    row, peak = turns.yolk_row(options, name, options.seconds)
    return {
        "members_per_second": row["items_per_second"],
        "unperturbed_loss": row["unperturbed_loss"],
        "loss": row["loss"],
        "how": f"{int(row['chunks'])} chunks, {int(row['dispatches'])} dispatches",
        "peak_memory_bytes": peak,
    }


def yolk_adam(options):
    row, peak = turns.yolk_row(options, f"^transformer/.*{options.driver}.*/adam/windows:{WINDOWS}/iterations")
    return {
        "steps_per_second": 1.0 / (row["real_time"] * turns.SECONDS[row["time_unit"]]),
        "loss_before": row["loss_before"],
        "loss": row["loss"],
        "how": f"median of {int(row['steps'])} steps",
        "peak_memory_bytes": peak,
    }


def python_for(side, options):
    return dict(options.python).get(side, sys.executable)


def fastest(form, options):
    """The arguments of a form's fastest turn, each tried once."""
    tried = []
    for fused in ("fused", "plain"):
        for chunk in options.chunks:
            arguments = ["--turn", form, "--attention", fused, "--chunk", str(chunk), "--seconds", "1"]
            try:
                row = turns.own_turn(__file__, arguments, python_for("torch", options))
            except turns.Failed as failure:
                print(f"# {form}, {fused}, {chunk}: {failure}", file=sys.stderr)
                continue
            tried.append((row["members_per_second"], arguments))
            print(f"# {row['how']}: {row['members_per_second']:,.0f} members/s once", file=sys.stderr, flush=True)
    if not tried:
        raise turns.Failed("no form of it ran")
    return max(tried)[1][:-1]


def vmap_side(form, options):
    """A turn of the form's fastest variant; one that raises if none of them ran."""
    try:
        arguments = [*fastest(form, options), str(options.seconds)]
    except turns.Failed as failure:
        why = failure

        def fails():
            raise why

        return fails
    return lambda: turns.own_turn(__file__, arguments, python_for("torch", options))


def compare_population(options):
    sides = {"yolk": lambda: yolk_population(options)}
    for form in FORMS if options.sides else ():
        sides[f"torch vmap, {form}"] = vmap_side(form, options)
    made, failed = turns.in_turns(sides, options.rounds)
    turns.show_sides(made, failed, "members_per_second", options, ("unperturbed_loss", "loss", "how"))


def compare_adam(options):
    sides = {"yolk": lambda: yolk_adam(options)}
    for side in filter(None, options.sides.split(",")):
        arguments = ["--turn", side, "--seconds", str(options.seconds)]
        python = python_for(side, options)
        sides[side] = lambda arguments=arguments, python=python: turns.own_turn(__file__, arguments, python)
    made, failed = turns.in_turns(sides, options.rounds)
    turns.show_sides(made, failed, "steps_per_second", options, ("loss_before", "loss", "how"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(parser)
    parser.add_argument("--only", choices=("population", "adam"), help="one of the two comparisons")
    parser.add_argument("--sides", default=",".join(ADAM_SIDES), help="of Adam's, separated by commas")
    parser.add_argument("--chunks", default=",".join(map(str, CHUNKS)), help="members at once that vmap is tried with")
    parser.add_argument("--turn", choices=(*FORMS, *ADAM_SIDES), help=argparse.SUPPRESS)
    parser.add_argument("--attention", default="fused", choices=("fused", "plain"), help=argparse.SUPPRESS)
    parser.add_argument("--chunk", type=int, default=64, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    if options.turn in FORMS:
        row = population_turn(options.turn, options.attention == "fused", options.chunk, options.seconds)
        return print(json.dumps(row))
    if options.turn:
        return print(json.dumps(adam_turn(options.turn, options.seconds)))
    options.chunks = [int(chunk) for chunk in options.chunks.split(",")]
    turns.prepare(options)
    if options.only != "adam":
        compare_population(options)
    if options.only != "population":
        compare_adam(options)
    return None


if __name__ == "__main__":
    main()
