# SPDX-License-Identifier: Apache-2.0
"""An adapter of `yolk finetune` read by PyPI's `peft`: the embeddings by both beside one another.

    pip install torch transformers peft
    PYTHONPATH=build/release/python/package python bench/peers/finetuned_peft.py FOLDER ADAPTER [--device NAME]

It fails if a number of a vector differs by more than 1e-5 from Yolk's (docs/transformers.md states that tolerance), or
if the adapter changes nothing. One JSON object comes out.
"""
import argparse
import json

import numpy
import peft
import torch
import transformers

import yolk

TEXTS = ["the cat sat on the mat", "evolution strategies", "a vector kernel on a gpu", "play"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("adapter")
    parser.add_argument("--device", default=None)
    flags = parser.parse_args()
    base = transformers.BertModel.from_pretrained(flags.model, add_pooling_layer=False)
    tuned = peft.PeftModel.from_pretrained(base, flags.adapter).eval()
    tokenizer = yolk.Encoder(flags.model, device=flags.device)
    ours = yolk.Encoder(flags.model, device=flags.device, adapter=flags.adapter)(TEXTS)
    theirs = []
    for text in TEXTS:
        with torch.inference_mode():
            last = tuned(input_ids=torch.tensor([tokenizer.tokens(text)])).last_hidden_state[0].double()
        mean = last.mean(0)
        theirs.append((mean / mean.norm()).numpy())
    difference = float(numpy.abs(ours - numpy.array(theirs)).max())
    moved = float(numpy.abs(ours - tokenizer(TEXTS)).max())
    modules = sum(isinstance(module, peft.tuners.lora.Linear) for module in tuned.modules())
    print(json.dumps({"modules": modules, "largest_difference": difference, "moved_by_the_adapter": moved,
                      "peft": peft.__version__, "transformers": transformers.__version__}))
    assert difference < 1e-5 and moved > 1e-4 and modules == 2 * tokenizer.config["layers"]


main()
