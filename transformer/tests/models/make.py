# SPDX-License-Identifier: Apache-2.0
"""Makes the small models of the tests, and what PyPI's transformers and tokenizers say about them.

    pip install torch transformers tokenizers safetensors && python make.py      # into the folder of this file

bert, bert-bf16   random weights, in fp32 and in bf16; config.json, tokenizer.json and the files of sentence-transformers
texts.json        texts, and their ids by that tokenizer, cut off at 24
embeddings.json   by model: embeddings of those texts, the mean over the tokens with the length 1, in double precision
words.json        odd texts: normalized and split into words, under several rules
"""
import json
import pathlib
import string

import numpy
import safetensors.torch
import tokenizers
import torch
import transformers
from tokenizers import models, normalizers, pre_tokenizers, processors

HERE = pathlib.Path(__file__).parent
MOST_TOKENS = 24
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "the cat sat on a mat play un able train model kernel gpu vector evolution strateg fast 中 文 é ü ß ï".split()
PIECES = "##s ##ing ##ed ##able ##ies ##el ##ne ##ution ##ß ##é ##ı".split()

TEXTS = [
    "The cat sat on the mat.", "", " ", "playing, played; unplayable!", "evolution strategies train GPU kernels",
    "a b c d e f g", "A" * 101, "a" * 100, "the " * 60, "x\u0000y\ufffdz\u0007w", "tab\tnew\nline\r\nnbsp\u00a0thin\u2009end",
    "Él café naïve ÜBER", "e\u0301 o\u0308 n\u0303", "中文 and 中文字", "㐀𠀀豈", "🙂 train 👍🏽 model", "don't-stop (now) $5 a+b=c",
    "[SEP] the [MASK] cat[CLS]", "[sep] [UNK][PAD]", "İstanbul ısı ß ẞ ﬁ", "\u200bzero\u200dwidth\u00adsoft\ufeff", "한국어 조선",
    "the\u3000cat\u2028sat\u0085on\u000bthe\u000cmat", "¿qué? «oui» “so” … — – ‽ ※ 。、", "x²½①Ⅷ ǅ ŉ", "हिन्दी தமிழ் ไทย עִבְרִית",
    "\ue000private \U000f0000use", "µ Ω Å K", "__init__ a_b `c` ~d~ ^e^ |f|",
]
RULES = [
    {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": False},
    {"clean_text": True, "handle_chinese_chars": False, "strip_accents": True, "lowercase": False},
    {"clean_text": False, "handle_chinese_chars": True, "strip_accents": False, "lowercase": True},
]


def make_tokenizer(path):
    letters = list(string.ascii_lowercase + string.digits + string.punctuation)
    words = list(dict.fromkeys(SPECIAL + letters + WORDS + PIECES + ["##" + c for c in string.ascii_lowercase]))
    made = tokenizers.Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(SPECIAL)
    ids = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                        special_tokens=ids)
    made.save(str(path))
    made.enable_truncation(MOST_TOKENS)
    return made


def make_model(words):
    torch.manual_seed(1)
    config = transformers.BertConfig(vocab_size=words, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                                     intermediate_size=48, max_position_embeddings=40, layer_norm_eps=1e-12)
    model = transformers.BertModel(config, add_pooling_layer=True).eval()
    for name, value in model.named_parameters():  # large enough that each part counts
        value.data = torch.randn_like(value) * 0.3 + (1.0 if name.endswith("LayerNorm.weight") else 0.0)
    return model


def save(model, folder, dtype):
    folder.mkdir(exist_ok=True)
    tensors = {name: value.to(dtype).contiguous() for name, value in model.state_dict().items()}
    tensors["embeddings.position_ids"] = torch.arange(model.config.max_position_embeddings)[None]
    safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = {key: getattr(model.config, key) for key in (
        "model_type", "hidden_act", "hidden_size", "intermediate_size", "layer_norm_eps", "max_position_embeddings",
        "num_attention_heads", "num_hidden_layers", "type_vocab_size", "vocab_size")}
    write(folder / "config.json", config, 1)
    write(folder / "sentence_bert_config.json", {"max_seq_length": MOST_TOKENS}, 1)
    steps = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    write(folder / "modules.json", [{"idx": i, "path": path, "type": f"sentence_transformers.models.{name}"}
                                    for i, (path, name) in enumerate(steps)], 1)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, 1)


def write(path, value, indent=None):
    path.write_text(json.dumps(value, indent=indent) + "\n")


def embed(model, ids):
    with torch.no_grad():
        last = model(torch.tensor([ids])).last_hidden_state[0]
    mean = last.mean(0)
    return (mean / mean.norm().clamp(min=1e-12)).numpy()


def main():
    tokenizer = make_tokenizer(HERE / "tokenizer.json")
    ids = [tokenizer.encode(text).ids for text in TEXTS]
    write(HERE / "texts.json", [{"text": text, "ids": one} for text, one in zip(TEXTS, ids)], None)
    model = make_model(tokenizer.get_vocab_size())
    found = {}
    for name, dtype in (("bert", torch.float32), ("bert-bf16", torch.bfloat16)):
        save(model, HERE / name, dtype)
        (HERE / name / "tokenizer.json").write_bytes((HERE / "tokenizer.json").read_bytes())
        stored = {key: value.double() for key, value in safetensors.torch.load_file(HERE / name / "model.safetensors").items()
                  if key != "embeddings.position_ids"}
        exact = transformers.BertModel(model.config).double().eval()
        exact.load_state_dict(stored)
        found[name] = [[float(numpy.format_float_positional(v, 9)) for v in embed(exact, one)] for one in ids]
    write(HERE / "embeddings.json", found)
    (HERE / "tokenizer.json").unlink()
    cases = []
    for rules in RULES:
        normalizer, splitter = normalizers.BertNormalizer(**rules), pre_tokenizers.BertPreTokenizer()
        for text in TEXTS:
            plain = normalizer.normalize_str(text)
            cases.append({"rules": rules, "text": text, "normalized": plain,
                          "words": [word for word, _ in splitter.pre_tokenize_str(plain)]})
    write(HERE / "words.json", cases)


main()
