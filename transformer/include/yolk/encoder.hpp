// SPDX-License-Identifier: Apache-2.0
// Encoders of the BERT family that somebody else trained, from a folder in Hugging Face's layout: texts to vectors on
// the device, and the same network as a system whose parameters a search can move (docs/transformers.md).
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

/// Gelu is the exact one, with the error function; GeluTanh its usual approximation.
enum class EncoderActivation { Gelu, GeluTanh, Relu };

/// What config.json, and the files of sentence-transformers beside it, say.
struct EncoderConfig {
    std::uint32_t vocabulary = 0;  ///< rows of the table of words
    std::uint32_t width = 0;       ///< of an embedding
    std::uint32_t layers = 0;
    std::uint32_t heads = 0;
    std::uint32_t inner = 0;      ///< width inside the feed-forward part
    std::uint32_t positions = 0;  ///< rows of the table of positions
    std::uint32_t token_types = 0;
    double epsilon = 1e-12;  ///< of the layer norms
    EncoderActivation activation = EncoderActivation::Gelu;
    std::uint32_t most_tokens = 0;  ///< of a text, with those that the model puts around it; the rest is cut off
    bool normalize = true;          ///< embeddings have the length 1
};

struct EncoderOptions {
    /// Fast: within the tolerance that docs/transformers.md states. Exact: the same bits on every device.
    Determinism determinism = Determinism::Fast;
    std::uint32_t batch = 32;  ///< texts that are evaluated together, 1 to 1,024
    /// Folder of a LORA adapter as PyPI's `peft` saves it, and finetune(): it is added to the weights. Empty: none.
    std::filesystem::path adapter{};
};

/// One thread at a time. Movable.
class Encoder {
   public:
    /// Reads config.json, model.safetensors (fp32, fp16 or bf16; computed in fp32) and tokenizer.json. Of several
    /// devices the first is used. Errors: a model or a tokenizer of another kind; a tensor that is missing, unknown, or
    /// of another shape or dtype than config.json implies; a value that is not finite; a tokenizer of another model.
    /// They name file and tensor. Of an adapter: another kind, or one of another model.
    [[nodiscard]] static Result<Encoder> open(const std::filesystem::path& folder, const evolve::Devices& devices = {},
                                              const EncoderOptions& options = {});

    [[nodiscard]] const EncoderConfig& config() const noexcept;
    /// Tensors of the file that an embedding does not need, such as those of a pooler.
    [[nodiscard]] std::span<const std::string> left_out() const noexcept;

    /// The ids of a text, those that the model puts around it included; at most config().most_tokens, or `most` where
    /// that is smaller and not 0. Errors: not UTF-8, no room for a token.
    [[nodiscard]] Result<std::vector<std::uint32_t>> tokens(std::string_view text, std::uint32_t most = 0) const;
    /// [texts, width]: the mean of the last layer over a text's tokens. Any texts, the empty one included. Errors: a
    /// text that is not UTF-8, named by its index; an end that was asked for (stop.hpp); the driver's.
    [[nodiscard]] Result<std::vector<float>> embed(std::span<const std::string> texts);

    /// The network as a system: inputs "ids" and "seen", [length] each; output [width]. Its groups are the file's
    /// tensors by name, and all of them may be searched: System::parameters().set_optimized() keeps one as it is.
    [[nodiscard]] Result<hyper::System> system() const;
    /// The network over several texts of an example, such as a query and a document: inputs "NAME.ids" and "NAME.seen"
    /// for each name; output [names * width], their embeddings in this order.
    [[nodiscard]] Result<hyper::System> system(std::span<const std::string> names) const;
    /// A text as inputs of the system, padded to `length`; 0 is the text's own. Errors: tokens(), a length that is
    /// below the text's or above config().positions.
    [[nodiscard]] Result<hyper::Example> example(std::string_view text, std::uint32_t length = 0) const;

   private:
    struct Impl;
    explicit Encoder(Owned<Impl> impl);
    Owned<Impl> impl_;
};

}  // namespace yolk::transformer
