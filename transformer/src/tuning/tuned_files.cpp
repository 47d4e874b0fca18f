// SPDX-License-Identifier: Apache-2.0
#include "tuned_files.hpp"

#include <fmt/format.h>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/safetensors.hpp"
#include "yolk/log.hpp"

namespace yolk::transformer {
namespace {

constexpr std::size_t kMostSmallBytes = std::size_t{64} << 20U;

Result<void> copy_json(const std::filesystem::path& from, const std::filesystem::path& to) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(from, kMostSmallBytes));
    return write_file_atomically(to, bytes);
}

/// Configuration and tokenizer, and what the folders of further steps have.
Result<void> copy_small_files(const std::filesystem::path& model, const std::filesystem::path& out) {
    std::error_code code;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(model, code)) {
        const std::filesystem::path name = entry.path().filename();
        if (entry.is_regular_file(code) && name.extension() == ".json")
            YOLK_TRY_VOID(copy_json(entry.path(), out / name));
        const std::filesystem::path inside = entry.path() / "config.json";
        if (!entry.is_directory(code) || !std::filesystem::exists(inside, code)) continue;
        YOLK_TRY_VOID(create_folders(out / name));
        YOLK_TRY_VOID(copy_json(inside, out / name / "config.json"));
    }
    return {};
}

}  // namespace

Result<TuningFiles> take_tuning_files(const std::filesystem::path& model, const FinetuneOptions& options) {
    TuningFiles files;
    if (options.out.empty()) return files;
    YOLK_TRY(files.folder, train::RunFolder::take(options.out));
    if (!options.resume) {
        YOLK_TRY(files.previous, files.folder->set_aside());
        if (!files.previous.empty())
            log_info(
                fmt::format("The run that was in '{}' is now in '{}'.", shown(options.out), shown(files.previous)));
    }
    std::error_code code;
    const std::filesystem::path whole = std::filesystem::absolute(model, code).lexically_normal();
    YOLK_TRY_VOID(write_adapter_config(
        options.out, {.model = whole.string(), .rank = options.adapter_rank, .modules = {"query", "value"}}));
    return files;
}

Result<void> write_merged(const std::filesystem::path& model, const std::filesystem::path& out,
                          const hyper::ParameterSet& parameters) {
    if (std::error_code code; std::filesystem::equivalent(model, out, code))
        return bad_input("The merged model would replace '{}', which it is made from; name another folder.",
                         shown(model));
    TensorFile file{.metadata = {{"format", "pt"}}, .tensors = {}};
    for (const hyper::ParameterGroup& group : parameters.groups()) {
        StoredTensor& tensor = file.tensors.emplace_back();
        tensor.name = group.spec.name;
        for (std::size_t d = 0; d < group.values.shape().rank(); ++d) tensor.shape.push_back(group.values.shape()[d]);
        tensor.values.assign(group.values.values().begin(), group.values.values().end());
    }
    YOLK_TRY(const std::vector<std::byte> bytes, encode_safetensors(file));
    YOLK_TRY_VOID(create_folders(out));
    YOLK_TRY_VOID(copy_small_files(model, out));
    return write_file_atomically(out / "model.safetensors", bytes);
}

}  // namespace yolk::transformer
