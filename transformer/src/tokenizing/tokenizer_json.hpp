// SPDX-License-Identifier: Apache-2.0
// Reading tokenizer.json, as Hugging Face's tokenizers write it: what is missing is null.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "yolk/json.hpp"
#include "yolk/result.hpp"

namespace yolk::transformer {

[[nodiscard]] const Json& member(const Json& object, const char* name);
/// Empty where it is no text.
[[nodiscard]] std::string text_of(const Json& value);
/// Into `flag`, unless it is missing. `what`: the file.
[[nodiscard]] Result<void> read_flag(const Json& object, const char* name, bool& flag, std::string_view what);
/// A part of another kind than `supported`.
[[nodiscard]] Error other_kind(std::string_view part, const Json& given, std::string_view what,
                               std::string_view supported);
[[nodiscard]] Result<Json> read_tokenizer_json(const std::filesystem::path& path, const std::string& what);

}  // namespace yolk::transformer
