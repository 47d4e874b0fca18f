// SPDX-License-Identifier: Apache-2.0
#include "representation_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "yolk/internal/core/file.hpp"

namespace yolk::cli {
namespace {

/// Letters, digits and single underscores: drivers name forms "NIR Shader(s)".
std::string file_words(std::string_view text) {
    constexpr std::string_view kKept = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::string words;
    for (const char c : text) {
        if (kKept.find(c) != std::string_view::npos) {
            words += c;
        } else if (!words.empty() && words.back() != '_') {
            words += '_';
        }
    }
    while (words.ends_with('_')) words.pop_back();
    return words;
}

}  // namespace

Result<RepresentationFiles> RepresentationFiles::in(std::filesystem::path folder) {
    YOLK_TRY_VOID(create_folders(folder));
    return RepresentationFiles(std::move(folder));
}

Result<void> RepresentationFiles::write(InspectedRow& row) {
    for (const InternalRepresentation& form : std::exchange(row.executable.representations, {})) {
        std::string name = fmt::format("{}-{:04}-{}", row.pipeline.kernel, row.of.number, file_words(form.name));
        if (const int times = ++used_[name]; times > 1) name += fmt::format("-{}", times);
        name += form.is_text ? ".txt" : ".bin";
        YOLK_TRY_VOID(write_file_atomically(folder_ / name, std::string_view(form.contents)));
        row.files.push_back(std::move(name));
    }
    return {};
}

}  // namespace yolk::cli
