// SPDX-License-Identifier: Apache-2.0
// A small language model as a system: two layers of attention, width 64, over windows of 64 bytes of English. Its first
// argument is a text, or a folder of texts; Debian's package `fortunes` has 2.5 MB of them. The others are those of
// every system:
//
//     10_transformer /usr/share/games/fortunes optimize --gradient adam --gradient-lr 0.003
//         --examples-per-generation 16
//     10_transformer /usr/share/games/fortunes optimize --population 256 --sigma 0.02 --lr 0.002 --lr-decay 0.9998
//         --optimizer adam --examples-per-generation 1 --generations 3000
//
// Rewards are in nats per byte, below zero; docs/language_model.md says what to expect, beside unigrams and bigrams.
#include <cstdio>
#include <utility>

#include "10_transformer_text.hpp"
#include "yolk/run_system.hpp"
#include "yolk/system.hpp"

using namespace yolk::hyper;

namespace {

constexpr std::uint32_t kWidth = 64, kHeads = 4, kBytes = 256, kContext = 64, kLayers = 2;

Hyperfunction<MatrixWeight> layer(const std::string& name, std::uint32_t out, std::uint32_t in) {
    return hyperfunction(name, MatrixWeight{.out = out, .in = in},
                         [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
}

/// Rows of a table.
Hyperfunction<MatrixWeight> table(const std::string& name, std::uint32_t rows) {
    return hyperfunction(name, MatrixWeight{.out = rows, .in = kWidth},
                         [](const Traced& w, const Traced& ids) { return embedding(w, ids); }, {.optimize = true});
}

/// [context, width] to [heads, context, width / heads].
Traced heads(const Traced& x) { return permute(reshape(x, {kContext, kHeads, kWidth / kHeads}), {1, 0, 2}); }

struct Block {
    Hyperfunction<MatrixWeight> mix, project, up, down;
    explicit Block(const std::string& name)
        : mix(layer(name + " mix", 3 * kWidth, kWidth)),
          project(layer(name + " project", kWidth, kWidth)),
          up(layer(name + " up", 4 * kWidth, kWidth)),
          down(layer(name + " down", kWidth, 4 * kWidth)) {}
    Traced operator()(const Traced& x) const {
        const auto qkv = split(mix(rms_norm(x)), {kWidth, kWidth, kWidth}, -1);
        const Traced seen = attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), true);
        const Traced y = x + project(reshape(permute(seen, {1, 0, 2}), {kContext, kWidth}));
        return y + down(gelu(up(rms_norm(y))));
    }
};

}  // namespace

int main(int argc, char** argv) {
    const auto text = argc < 2 ? std::nullopt : transformer_example::read_windows(argv[1], kContext);
    if (!text) return std::fprintf(stderr, "The first argument is a text, or a folder of texts.\n"), 2;
    std::fprintf(stderr, "held out: unigrams %.3f, bigrams %.3f nats per byte\n", text->unigrams, text->bigrams);

    const auto bytes = table("bytes", kBytes), places = table("places", kContext);
    const auto logits = layer("logits", kBytes, kWidth);
    std::vector<Block> blocks;
    for (std::uint32_t i = 0; i < kLayers; ++i) blocks.emplace_back("block " + std::to_string(i));
    std::vector<float> numbers(kContext);
    for (std::uint32_t i = 0; i < kContext; ++i) numbers[i] = static_cast<float>(i);

    System system("transformer", [&](const Inputs& in) {
        Traced x = bytes(in["bytes"]) + places(Tensor::vector(numbers));
        for (const Block& block : blocks) x = block(x);
        return logits(rms_norm(x));
    });
    return yolk::cli::run_system(argc - 1, argv + 1, system, text->training, sequence_cross_entropy(), text->held_out);
}
