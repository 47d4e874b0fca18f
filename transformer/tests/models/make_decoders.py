# SPDX-License-Identifier: Apache-2.0
"""Makes the small decoders of the tests, and what PyPI's transformers and tokenizers say about them.

    pip install torch transformers tokenizers safetensors && python make_decoders.py      # into the folder of this file

llama   random weights in fp32, tied; a tokenizer with Llama 3's splitting
qwen2   random weights in bf16, in two files, with biases; a tokenizer with GPT-2's splitting
decoders.json   by case: the model, changes of its config.json, tokens, logits in double precision of every 7th word of the
                vocabulary, and the tokens that the largest logits give after them
bpe.json        odd texts, and their ids by both tokenizers, and by the first with Qwen's splitting
"""
import json
import pathlib
import shutil

import safetensors.torch
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
EVERY = 7
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CORPUS = ["the cat sat on the mat and the other cat sat there, too", "evolution strategies train kernels on the GPU",
          "it's what they're saying: we'll see, don't we?", "1234 5678 2024 100000", "naïve café ÜBER über 中文 中文 中文",
          "    indented\n\n\n  text\t\ttabs   ", "for (int i = 0; i < n; ++i) { a[i] += b[i]; }"] * 4
TEXTS = [
    "The cat sat on the mat.", "", " ", "  ", "   a", "a   ", "\n", "\n\n\n", " \n \n x", "\r\n\r\ny", "tab\t\tx", "it's IT'S It'S they'RE we'Ll",
    "'s't're've'm'll'd", "'x ''s", "\u2019s it\u2019s", "'ſ 'K", "1", "12", "123", "1234", "1234567 89", "x1y22z333", "½ ² ٣٤٥ Ⅷ①", "a.b,c;d!?",
    "...!!!\n\n", " ...\r\n x", "hello   world", "hello \t world", "中文字 and 日本語", "🙂 train 👍🏽 model👨‍👩‍👧", "e\u0301 o\u0308 n\u0303 Å", "हिन्दी தமிழ் ไทย עִבְרִית",
    "\u00a0nbsp\u00a0\u00a0x", "\u3000\u3000x", "\u200bzero\u200dwidth\ufeff", "x\u0085y\u2028z", "\u0000nul\u0007", "a" * 200, "ab " * 60, "the cat " * 20,
    "<|end|>", "x<|end|>y<|begin|> the <|end", "\ue000 \U000f0000 \ufffd", "İstanbul ıſK ß ẞ ﬁ ǅ", "__init__(self): # x != y", "-1.5e-10", "a\n b\n  c\n", "don't 'tis 'Twas",
    "한국어 조선 \u1112\u1161\u11ab", "\u0301 \u0301a", "a\u0301\u0302b", "¿qué? «oui» “so” … — – ‽",
]
SPECIAL = ["<|begin|>", "<|end|>"]


def make_tokenizer(splitter, puts_begin, ignore_merges, normalizer=None):
    made = tokenizers.Tokenizer(models.BPE(ignore_merges=ignore_merges))
    made.pre_tokenizer = splitter
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    made.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=310, show_progress=False,
                                                         initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    made.add_special_tokens(SPECIAL)
    if puts_begin:
        begin = [("<|begin|>", made.token_to_id("<|begin|>"))]
        template = processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B", special_tokens=begin)
        made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    else:
        made.post_processor = processors.ByteLevel(trim_offsets=False)
    return made


def by_regex(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated", invert=False),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def random_weights(model, seed):
    torch.manual_seed(seed)
    for name, value in model.named_parameters():  # large enough that each part counts
        value.data = torch.randn_like(value) * 0.3 + (1.0 if name.endswith("norm.weight") else 0.0)
    return model.eval()


def write(path, value, indent=None):
    path.write_text(json.dumps(value, indent=indent) + "\n")


KEYS = ("model_type", "hidden_act", "hidden_size", "intermediate_size", "rms_norm_eps", "max_position_embeddings", "num_attention_heads",
        "num_key_value_heads", "num_hidden_layers", "vocab_size", "tie_word_embeddings", "eos_token_id")


def save(model, folder, tokenizer, dtype, parts, theta):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    tensors = {name: value.to(dtype).contiguous() for name, value in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        tensors.pop("lm_head.weight")
    names = list(tensors)
    files = ["model.safetensors"] if parts == 1 else [f"model-{i + 1:05}-of-{parts:05}.safetensors" for i in range(parts)]
    where = {name: files[i * parts // len(names)] for i, name in enumerate(names)}
    for file in files:
        safetensors.torch.save_file({name: tensors[name] for name in names if where[name] == file}, folder / file, {"format": "pt"})
    if parts > 1:
        write(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": where}, 1)
    write(folder / "config.json", {**{key: getattr(model.config, key) for key in KEYS}, "rope_theta": theta}, 1)
    return {name: value.double() for name, value in tensors.items()}


def run(config_class, folder, tensors, changes, tokens, more):
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    config.pop("model_type")
    made = config_class(**config, attn_implementation="eager")
    model = transformers.AutoModelForCausalLM.from_config(made).double().eval()
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
    model.tie_weights()
    ids = list(tokens)
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
        greedy = []
        for _ in range(more):
            last = model(torch.tensor([ids + greedy])).logits[0, -1]
            best = last.topk(2).values
            assert best[0] - best[1] > 1e-3, "nearly equal: choose other weights"
            greedy.append(int(last.argmax()))
    return {"changes": changes, "tokens": ids, "logits": [[round(float(x), 7) for x in row[::EVERY]] for row in logits], "greedy": greedy}


def main():
    llama3 = make_tokenizer(by_regex(LLAMA3), True, True)
    gpt2 = make_tokenizer(pre_tokenizers.ByteLevel(add_prefix_space=False), False, False)
    qwen = make_tokenizer(by_regex(QWEN), False, False, normalizers.NFC())
    common = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 40,
              "max_position_embeddings": 96, "attn_implementation": "eager"}
    llama = random_weights(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=llama3.get_vocab_size(), tie_word_embeddings=True, eos_token_id=llama3.token_to_id("<|end|>"), **common)), 1)
    qwen2 = random_weights(transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
        vocab_size=gpt2.get_vocab_size() + 8, tie_word_embeddings=False, eos_token_id=gpt2.token_to_id("<|end|>"), **common)), 2)
    llama_tensors = save(llama, HERE / "llama", llama3, torch.float32, 1, 10000.0)
    qwen2_tensors = save(qwen2, HERE / "qwen2", gpt2, torch.bfloat16, 2, 1000000.0)
    text = llama3.encode("The cat sat on the mat, 1234").ids
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
    cases = {
        "llama": run(transformers.LlamaConfig, HERE / "llama", llama_tensors, {}, text, 24),
        "one token": run(transformers.LlamaConfig, HERE / "llama", llama_tensors, {}, text[:1], 4),
        "llama3 positions": run(transformers.LlamaConfig, HERE / "llama", llama_tensors, {"rope_scaling": scaling, "rope_theta": 500000.0}, text[:8], 8),
        "mistral": run(transformers.MistralConfig, HERE / "llama", llama_tensors, {"model_type": "mistral", "sliding_window": 64}, text[:6], 8),
        "qwen2": run(transformers.Qwen2Config, HERE / "qwen2", qwen2_tensors, {}, gpt2.encode("evolution strategies").ids, 16),
    }
    for name, case in cases.items():
        case["model"] = "qwen2" if name == "qwen2" else "llama"
    write(HERE / "decoders.json", cases)
    qwen.save(str(HERE / "qwen-tokenizer.json"))
    kinds = {"llama": llama3, "qwen2": gpt2, "qwen": qwen}
    write(HERE / "bpe.json", {name: [{"text": one, "ids": made.encode(one).ids} for one in TEXTS] for name, made in kinds.items()})


main()
