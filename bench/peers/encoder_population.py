# SPDX-License-Identifier: Apache-2.0
"""A population of a BERT-like encoder in PyTorch, as yolk_encoder_bench (bench/encoder) has it: members whose query and
value matrices have a rank-1 perturbation, batched as adapters are, x W^T + (x B) A^T, so that the weights are shared.

    python bench/peers/encoder_population.py FOLDER [MEMBERS] [TEXTS] [LENGTH] [TURNS]      one JSON object

Members are evaluated in chunks, and the fastest size of a chunk counts. Noise is drawn inside the timed part.
"""
import json
import os
import resource
import sys
import time

import torch
import transformers

SIGMA = 0.01


class Perturbed(torch.nn.Module):
    """A linear layer whose input is [members * texts, length, in]."""
    def __init__(self, layer):
        super().__init__()
        self.layer, self.members = layer, 1

    def forward(self, x):
        a = SIGMA * torch.randn(self.members, 1, self.layer.out_features)
        b = torch.randn(self.members, self.layer.in_features, 1)
        rows = x.reshape(self.members, -1, x.shape[-1])
        return self.layer(x) + torch.bmm(torch.bmm(rows, b), a).reshape(*x.shape[:-1], -1)


def main():
    folder, *numbers = sys.argv[1:]
    members, texts, length, turns = (int(one) for one in numbers + ["64", "4", "32", "3"][len(numbers):])
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    layers = []
    for block in model.encoder.layer:
        for name in ("query", "value"):
            layers.append(Perturbed(getattr(block.attention.self, name)))
            setattr(block.attention.self, name, layers[-1])
    ids = torch.randint(1000, 20000, (texts, length))
    mask = (torch.arange(length) < 8).long().expand(texts, length)  # as short as the texts of yolk_encoder_bench
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def evaluate(chunk):
        for layer in layers:
            layer.members = chunk
        for _ in range(0, members, chunk):
            last = model(ids.repeat(chunk, 1), attention_mask=mask.repeat(chunk, 1)).last_hidden_state
            seen = mask.repeat(chunk, 1)[..., None]
            torch.nn.functional.normalize((last * seen).sum(1) / seen.sum(1), dim=-1)

    times, busy = {}, {}
    with torch.inference_mode():
        for chunk in sorted({1, min(4, members), min(16, members), members}):
            evaluate(chunk)
            for _ in range(turns):
                begin, processor = time.perf_counter(), time.process_time()
                evaluate(chunk)
                busy[chunk] = min(busy.get(chunk, 1e300), time.process_time() - processor)
                times[chunk] = min(times.get(chunk, 1e300), time.perf_counter() - begin)
    chunk = min(times, key=times.get)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"members": members, "texts": texts, "length": length, "chunk": chunk, "torch": torch.__version__,
                      "per_second": round(members * texts / times[chunk], 3),
                      "per_processor_second": round(members * texts / busy[chunk], 3), "peak_mib": peak // 1024,
                      "of_population_mib": (peak - before) // 1024, "load": os.getloadavg()[0]}))


main()
