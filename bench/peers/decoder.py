# SPDX-License-Identifier: Apache-2.0
"""A Llama-like decoder beside PyPI's transformers: the same logits and tokens, and tokens per second of one text and of a
population whose query and value matrices have rank-1 perturbations, batched as adapters are in PyTorch.

    pip install torch transformers tokenizers safetensors
    PYTHONPATH=build/release/python/package python bench/peers/decoder.py [FOLDER] [--members 64] [--tokens 32]

Without a folder a model of random weights is made: 8 layers of width 256, 4,096 tokens, 7.3 million values. Both sides remember
keys and values. One JSON object comes out; rates are of the clock and of processor time.
"""
import argparse
import json
import os
import pathlib
import tempfile
import time

import tokenizers
import torch
import transformers
from tokenizers import models, pre_tokenizers, trainers

import yolk

SIGMA = 0.01
PROMPT = "the quick brown fox jumps over the lazy dog and the cat sat on the mat"


def make_model(folder):
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator([PROMPT], trainers.BpeTrainer(show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    used = made.get_vocab_size()
    made.add_tokens([f"<{i}>" for i in range(used, 4096)])
    made.save(str(folder / "tokenizer.json"))
    torch.manual_seed(1)
    config = transformers.LlamaConfig(vocab_size=4096, hidden_size=256, num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=4,
                                      intermediate_size=704, max_position_embeddings=512, tie_word_embeddings=True, eos_token_id=None)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)


class Perturbed(torch.nn.Module):
    """A linear layer whose input is [members, tokens, in]."""
    def __init__(self, layer):
        super().__init__()
        self.layer, self.members = layer, 0

    def draw(self, members):
        self.members = members
        self.a = SIGMA * torch.randn(members, 1, self.layer.out_features)
        self.b = torch.randn(members, self.layer.in_features, 1)

    def forward(self, x):
        return self.layer(x) + torch.bmm(torch.bmm(x, self.b), self.a) if self.members else self.layer(x)


def generate(model, layers, ids, members, tokens):
    for layer in layers:
        layer.draw(members) if members > 1 else setattr(layer, "members", 0)
    with torch.inference_mode():
        given, past, made = torch.tensor([ids] * members), None, []
        for _ in range(tokens):
            out = model(given, past_key_values=past, use_cache=True, logits_to_keep=1)
            past, given = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)
            made.append(given)
        return torch.cat(made, 1).tolist()


def rates(work, count, turns):
    best, least = 1e300, 1e300
    work()
    for _ in range(turns):
        begin, processor = time.perf_counter(), time.process_time()
        work()
        best, least = min(best, time.perf_counter() - begin), min(least, time.process_time() - processor)
    return {"per_second": round(count / best, 2), "per_processor_second": round(count / least, 2)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default=None)
    flags = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory() as made:
        if flags.folder is None:
            make_model(pathlib.Path(made))
        folder = flags.folder or made
        ours = yolk.Decoder(folder, device=flags.device)
        theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    layers = []
    for block in theirs.model.layers:
        for name in ("q_proj", "v_proj"):
            layers.append(Perturbed(getattr(block.self_attn, name)))
            setattr(block.self_attn, name, layers[-1])
    ids = ours.tokens(PROMPT)
    with torch.inference_mode():
        wanted = theirs(torch.tensor([ids])).logits[0].numpy()
    found = ours.logits(ids)
    result = {"device": ours.device, "torch": torch.__version__, "threads": torch.get_num_threads(), "load": os.getloadavg()[0],
              "prompt_tokens": len(ids), "tokens": flags.tokens, "members": flags.members,
              "largest_difference": float(abs(found - wanted).max() / abs(wanted).max()),
              "same_tokens": ours.generate(PROMPT, tokens=flags.tokens).tokens == generate(theirs, layers, ids, 1, flags.tokens)[0]}
    for members in (1, flags.members):
        count = members * flags.tokens
        if members == 1:
            result["yolk_1"] = rates(lambda: ours.generate(PROMPT, tokens=flags.tokens), count, flags.turns)
        else:
            result[f"yolk_{members}"] = rates(
                lambda: ours.generate_members(PROMPT, members, sigma=SIGMA, tokens=flags.tokens), count, flags.turns)
        result[f"torch_{members}"] = rates(lambda: generate(theirs, layers, ids, members, flags.tokens), count, flags.turns)
    print(json.dumps(result))


main()
