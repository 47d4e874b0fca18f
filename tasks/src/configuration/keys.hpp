// SPDX-License-Identifier: Apache-2.0
// The schema of yolk.toml: one list, from which reading, writing, overriding and comments follow.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "yolk/configuration.hpp"

namespace yolk::tasks {

/// What TOML has for a key: a list is of texts, numbers in the form that they were written in.
using TomlValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

struct SettingKey {
    std::string_view table, name;
    std::optional<RunKind> kind{};  ///< nothing: of both
    std::string_view comment;
    std::function<Result<void>(Configuration&, const TomlValue&)> read;
    /// As TOML; empty: it is not set, and written as a comment.
    std::function<std::string(const Configuration&)> write;
};
[[nodiscard]] std::span<const SettingKey> setting_keys();
/// "search.lr", or "lr".
[[nodiscard]] const SettingKey* find_key(std::string_view name);

}  // namespace yolk::tasks
