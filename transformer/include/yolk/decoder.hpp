// SPDX-License-Identifier: Apache-2.0
// Decoders of the Llama family that somebody else trained, from a folder in Hugging Face's layout: logits and generated
// text on the device, and the same network as a system whose parameters a search can move (docs/transformers.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/devices.hpp"
#include "yolk/internal/core/owned.hpp"
#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/result.hpp"
#include "yolk/system.hpp"

namespace yolk::transformer {

/// How the angles of rotary positions are stretched for texts that are longer than those a model began with.
struct RopeScaling {
    bool is_llama3 = false;
    double factor = 8.0;
    double low = 1.0, high = 4.0;  ///< "low_freq_factor", "high_freq_factor"
    double original = 8192.0;      ///< "original_max_position_embeddings"
};

/// What config.json and, where it is there, generation_config.json say.
struct DecoderConfig {
    std::uint32_t vocabulary = 0;  ///< rows of the table of tokens
    std::uint32_t width = 0;
    std::uint32_t layers = 0;
    std::uint32_t heads = 0;       ///< of queries
    std::uint32_t key_heads = 0;   ///< of keys and values; divides `heads`
    std::uint32_t head_width = 0;  ///< even
    std::uint32_t inner = 0;       ///< width inside the feed-forward part
    double epsilon = 1e-6;         ///< of the norms
    double rope_theta = 10000.0;
    RopeScaling rope_scaling{};
    bool attention_bias = false;        ///< of queries, keys and values
    bool output_bias = false;           ///< behind attention
    bool inner_bias = false;            ///< of the feed-forward part
    bool tied = false;                  ///< the table of tokens is the output matrix
    std::uint32_t most_tokens = 0;      ///< of a prompt and what follows it
    std::vector<std::uint32_t> ends{};  ///< tokens that end a text
};

struct GenerateOptions {
    std::uint32_t tokens = 64;  ///< at most, behind each prompt; fewer where one of config().ends comes
    double temperature = 0.0;   ///< 0: always the likeliest token
    std::uint32_t top_k = 0;    ///< drawn from so many of the likeliest; 0: from all
    double top_p = 1.0;         ///< drawn from the fewest of the likeliest whose probabilities sum to it
    std::uint64_t seed = 0;     ///< of the draws: each prompt or member has its own
};

struct Generated {
    std::vector<std::uint32_t> tokens;  ///< behind the prompt, without the one that ended it
    std::string text;                   ///< without special tokens
    bool ended = false;                 ///< by one of config().ends
};

/// Members of a population: rank-r perturbations of some matrices, which share one copy of the weights, as in a search.
struct DecoderPopulation {
    std::uint32_t members = 2;
    float sigma = 0.01F;
    std::uint32_t rank = 1;
    std::uint64_t seed = 0;  ///< of the perturbations
    std::uint32_t generation = 0;
    std::string perturbed = "q_proj.weight,v_proj.weight";  ///< ends of names of tensors, with commas between them
};

struct DecoderOptions {
    /// Fast: within the tolerance that docs/transformers.md states. Exact: the same bits on every device.
    Determinism determinism = Determinism::Fast;
};

/// One thread at a time. Movable.
class Decoder {
   public:
    /// Reads config.json ("llama", "mistral" or "qwen2"), model.safetensors or its parts (fp32, fp16 or bf16; computed
    /// in fp32) and tokenizer.json. Of several devices the first is used. Errors: a model or a tokenizer of another
    /// kind; a tensor that is missing, unknown, or of another shape or dtype than config.json implies; a value that is
    /// not finite; a tokenizer of another model. They name file and tensor.
    [[nodiscard]] static Result<Decoder> open(const std::filesystem::path& folder, const evolve::Devices& devices = {},
                                              const DecoderOptions& options = {});

    [[nodiscard]] const DecoderConfig& config() const noexcept;
    /// Tensors of the files that the network does not need.
    [[nodiscard]] std::span<const std::string> left_out() const noexcept;

    /// The ids of a text, with what the tokenizer puts around it. Error: not UTF-8.
    [[nodiscard]] Result<std::vector<std::uint32_t>> tokens(std::string_view text) const;
    /// The text of tokens, without special ones. What is no UTF-8, such as half a character, becomes U+FFFD.
    [[nodiscard]] std::string text(std::span<const std::uint32_t> tokens) const;
    /// [tokens, vocabulary]: what each token says of the next one. Errors: example()'s, the driver's.
    [[nodiscard]] Result<std::vector<float>> logits(std::span<const std::uint32_t> tokens);
    /// Continues each prompt; all of them are evaluated together. Keys and values of what was read stay on the device,
    /// so that a token costs one token's work. Errors: an option out of range; a prompt that is empty, not UTF-8, or
    /// longer than config().most_tokens with what is to follow, named by its index; logits that are not finite; an end
    /// that was asked for (stop.hpp).
    [[nodiscard]] Result<std::vector<Generated>> generate(std::span<const std::string> prompts,
                                                          const GenerateOptions& options = {});
    /// Each member continues the prompt. Errors: generate()'s, a name that no matrix ends with, no pairs of members.
    [[nodiscard]] Result<std::vector<Generated>> generate(std::string_view prompt, const DecoderPopulation& population,
                                                          const GenerateOptions& options = {});

    /// The network as a system: input "ids" [length]; output [length, vocabulary]. Its groups are the file's tensors by
    /// name, and all of them may be searched: System::parameters().set_optimized() keeps one as it is.
    [[nodiscard]] Result<hyper::System> system() const;
    /// Tokens as inputs of the system, padded to `length`; 0 is their own. No token sees what comes after it, so that
    /// padding changes none of their rows. Errors: no tokens, a token that the vocabulary lacks, a length below theirs
    /// or above config().most_tokens.
    [[nodiscard]] Result<hyper::Example> example(std::span<const std::uint32_t> tokens, std::uint32_t length = 0) const;

   private:
    struct Impl;
    explicit Decoder(Owned<Impl> impl);
    Owned<Impl> impl_;
};

}  // namespace yolk::transformer
