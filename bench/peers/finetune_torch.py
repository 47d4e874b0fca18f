# SPDX-License-Identifier: Apache-2.0
"""Adam beside `yolk finetune`: the same model, matrices (query and value), pairs and parts, on a surrogate that has a
gradient: InfoNCE over the batch's documents (van den Oord, Li, Vinyals 2018, arXiv:1807.03748).

    python bench/peers/finetune_torch.py FOLDER pairs.tsv [--steps 100] [--batch 32] [--lr 1e-4] [--temperature 0.05]

NDCG@10 of the test's queries, before and after, is that of `yolk finetune` with the same --seed, --test and --held-out:
the parts are dealt by the same shuffle. One JSON object comes out.
"""
import argparse
import json
import math
import os
import time

import torch
import transformers


def philox(counter, key):
    """Philox4x32-10 (Salmon et al. 2011)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def parts_of(queries, seed, test, held_out):
    """The queries of the test and those held out, as finetune() deals them."""
    order = list(range(queries))
    for i in range(queries - 1, 0, -1):
        words = philox([i, 1 | 5 << 24, 0, 0], [seed & 0xFFFFFFFF, seed >> 32])
        j = (words[0] << 32 | words[1]) % (i + 1)
        order[i], order[j] = order[j], order[i]
    tested = math.floor(test * queries + 0.5)
    spared = math.floor((held_out + test) * queries + 0.5)
    return set(order[:tested]), set(order[tested:spared])


def ndcg(queries, documents):
    """NDCG@10 where query i has document i alone."""
    scores = torch.nn.functional.normalize(queries, dim=1) @ torch.nn.functional.normalize(documents, dim=1).T
    place = (scores >= scores.diag()[:, None]).sum(1)  # from 1; equal ones come first
    return float(torch.where(place <= 10, 1.0 / torch.log2(place + 1.0), 0.0).mean())


class Embedder:
    def __init__(self, folder, lengths):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
        self.lengths = lengths
        self.tuned = []
        for name, value in self.model.named_parameters():
            value.requires_grad = name.endswith(("attention.self.query.weight", "attention.self.value.weight"))
            if value.requires_grad:
                self.tuned.append(value)

    def __call__(self, texts, kind):
        batch = self.tokenizer(texts, padding=True, truncation=True, max_length=self.lengths[kind], return_tensors="pt")
        last = self.model(**batch).last_hidden_state
        seen = batch["attention_mask"][..., None]
        return torch.nn.functional.normalize((last * seen).sum(1) / seen.sum(1), dim=1)

    def score(self, pairs):
        with torch.inference_mode():
            made = [torch.cat([self(column[i:i + 32], kind) for i in range(0, len(column), 32)])
                    for kind, column in enumerate(map(list, zip(*pairs)))]
        return ndcg(*made)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("pairs")
    for name, default in (("steps", 100), ("batch", 32), ("seed", 1), ("query-tokens", 32), ("document-tokens", 128)):
        parser.add_argument("--" + name, type=int, default=default)
    for name, default in (("lr", 1e-4), ("temperature", 0.05), ("test", 0.2), ("held-out", 0.1)):
        parser.add_argument("--" + name, type=float, default=default)
    flags = parser.parse_args()
    torch.manual_seed(flags.seed)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    with open(flags.pairs, encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    assert len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs}) == len(pairs), "one document each"
    tested, held_out = parts_of(len(pairs), flags.seed, flags.test, flags.held_out)
    test = [pair for i, pair in enumerate(pairs) if i in tested]
    training = [pair for i, pair in enumerate(pairs) if i not in tested and i not in held_out]
    embed = Embedder(flags.model, (flags.query_tokens, flags.document_tokens))
    start = [value.detach().clone() for value in embed.tuned]
    before = embed.score(test)
    optimizer = torch.optim.Adam(embed.tuned, lr=flags.lr)
    begin, processor, losses = time.perf_counter(), time.process_time(), []
    for step in range(flags.steps):
        drawn = [training[i] for i in torch.randperm(len(training))[:flags.batch]]
        queries, documents = (embed(list(column), kind) for kind, column in enumerate(zip(*drawn)))
        loss = torch.nn.functional.cross_entropy(queries @ documents.T / flags.temperature, torch.arange(len(drawn)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    change = math.sqrt(sum(float((now - was).square().sum()) for now, was in zip(embed.tuned, start)))
    norm = math.sqrt(sum(float(was.square().sum()) for was in start))
    print(json.dumps({"test_pairs": len(test), "training_pairs": len(training), "steps": flags.steps, "lr": flags.lr,
                      "before": before, "after": embed.score(test), "update_norm": change / norm,
                      "first_losses": sum(losses[:10]) / len(losses[:10]),
                      "last_losses": sum(losses[-10:]) / len(losses[-10:]), "seconds": round(seconds, 1),
                      "processor_seconds": round(processor, 1), "torch": torch.__version__,
                      "load": os.getloadavg()[0]}))


main()
