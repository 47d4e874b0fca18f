// SPDX-License-Identifier: Apache-2.0
// yolk.toml: a run of training as one file, over a data set or over an environment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/learn.hpp"
#include "yolk/result.hpp"
#include "yolk/train.hpp"

namespace yolk::tasks {

enum class RunKind { Data, Environment };

struct Configuration {
    RunKind kind = RunKind::Data;
    LearnOptions learn{};         ///< of a data set
    train::TrainOptions train{};  ///< of an environment; its network's ends are those of the environment
    /// A built-in environment's name, or a GLSL file.
    std::string environment = "cartpole";
    std::vector<std::uint32_t> hidden{64};  ///< of an environment's policy
};

/// A setting that is given beside the file: "search.lr" or, where that is clear, "lr", and a value as TOML writes it; a
/// text needs no quotation marks, and a list no brackets. `from` is what errors call it: "--lr", "--set lr=0.1".
struct Override {
    std::string key{}, value{}, from{};
};

/// The version of the schema that is read and written.
inline constexpr std::int64_t kConfigurationVersion = 1;

/// `name` is what errors call the text. Errors, with name and line: no TOML; another version; a table or a key that is
/// unknown, with the nearest one, or of the other kind of run; a value of another type or outside its limits. Nothing
/// is opened.
[[nodiscard]] Result<Configuration> parse_configuration(std::string_view text, const std::string& name,
                                                        std::span<const Override> overrides = {});
[[nodiscard]] Result<Configuration> read_configuration(const std::filesystem::path& path,
                                                       std::span<const Override> overrides = {});
[[nodiscard]] Result<void> apply(Configuration& configuration, std::span<const Override> overrides);
/// Whether there is such a key; what `apply` takes.
[[nodiscard]] bool is_key(std::string_view key);

/// All settings of a run, each with a comment; parse_configuration() reads it back to the same.
[[nodiscard]] std::string to_toml(const Configuration& configuration);

}  // namespace yolk::tasks
