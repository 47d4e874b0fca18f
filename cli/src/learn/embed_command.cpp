// SPDX-License-Identifier: Apache-2.0
#include "embed_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "text_lines.hpp"
#include "yolk/encoder.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

struct EmbedFlags {
    std::filesystem::path model, input, out;
    transformer::EncoderOptions options;
    CommonFlags common;
};

/// NumPy's format, version 1.0: fp32 [rows, columns], row by row.
std::vector<std::byte> npy_of(std::span<const float> values, std::size_t rows, std::size_t columns) {
    constexpr std::size_t kBefore = 10, kAlignment = 64;
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
    header.resize((kBefore + header.size() + kAlignment) / kAlignment * kAlignment - kBefore - 1, ' ');
    header += '\n';
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(header.size() & 255U);
    file += static_cast<char>(header.size() >> 8U);
    file += header;
    const auto text = std::as_bytes(std::span(file));
    const auto data = std::as_bytes(values);
    std::vector<std::byte> bytes(text.begin(), text.end());
    bytes.insert(bytes.end(), data.begin(), data.end());
    return bytes;
}

void print_embeddings(std::span<const float> values, std::size_t width, bool as_json) {
    for (std::size_t row = 0; row * width < values.size(); ++row) {
        const std::span<const float> one = values.subspan(row * width, width);
        if (!as_json) {
            print_line("{}", fmt::join(one, " "));
            continue;
        }
        Json embedding = Json::array();
        for (const float value : one) embedding.push_back(shortest(value));
        print_json({{"text", row}, {"embedding", std::move(embedding)}});
    }
}

Result<int> run_embed(const EmbedFlags& flags) {
    YOLK_TRY(const std::vector<std::string> texts, read_text_lines(flags.input));
    YOLK_TRY(const Context context, open_context(flags.common));
    const InterruptGuard interrupt(InterruptGuard::Early::GivesUp);
    YOLK_TRY(transformer::Encoder encoder, transformer::Encoder::open(flags.model, context, flags.options));
    const auto begin = std::chrono::steady_clock::now();
    YOLK_TRY(const std::vector<float> values, encoder.embed(texts));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::size_t width = encoder.config().width;
    if (flags.out.empty()) {
        print_embeddings(values, width, flags.common.json);
        return 0;
    }
    YOLK_TRY_VOID(write_file_atomically(flags.out, npy_of(values, texts.size(), width)));
    const std::string device = context.device().info().name;
    return print_outcome(flags.common.json,
                         {{"device", device},
                          {"texts", texts.size()},
                          {"width", width},
                          {"seconds", seconds},
                          {"out", flags.out.string()}},
                         fmt::format("saved {}: {} embeddings of {} numbers, made on {} in {:.2f} s", shown(flags.out),
                                     texts.size(), width, device, seconds));
}

}  // namespace

Command add_embed_command(App& app) {
    const auto flags = std::make_shared<EmbedFlags>();
    App* const command = app.add_subcommand("embed", "Embeddings of texts, by an encoder in Hugging Face's layout");
    command
        ->add_option("model", flags->model,
                     "A folder with config.json, model.safetensors and tokenizer.json of a BERT-like encoder")
        ->required()
        ->type_name("FOLDER");
    command->add_option("--input", flags->input, "One text a line; without it they come from standard input")
        ->type_name("FILE");
    command->add_option("--out", flags->out, "Writes the embeddings as a .npy file, and prints none")
        ->type_name("FILE");
    add_number(*command, "--batch", flags->options.batch, "Texts that are evaluated together, 1 to 1,024")
        ->default_str("32");
    add_parsed(*command, "--determinism", flags->options.determinism,
               "exact: the same bits on every device; fast: within a tolerance", &parse_determinism)
        ->type_name("MODE")
        ->default_str("fast");
    add_device_flag(*command, flags->common);
    command->add_flag("--json", flags->common.json, "JSON lines");
    return {command, [flags] { return run_embed(*flags); }};
}

}  // namespace yolk::cli
