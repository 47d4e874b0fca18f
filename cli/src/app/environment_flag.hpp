// SPDX-License-Identifier: Apache-2.0
// One word for an environment on the command line: the name of a built-in one, or a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "yolk/environment.hpp"

namespace yolk::cli {

struct ChosenEnvironment {
    EnvironmentInfo info;
    std::shared_ptr<const LoadedEnvironment> own{};  ///< null: built in
};

/// A value that ends in .glsl or has a '/' is a file. Errors: an unknown name (lists the known ones),
/// load_environment's.
[[nodiscard]] Result<ChosenEnvironment> choose_environment(std::string_view value);

inline constexpr const char* kEnvironmentHelp =
    "Environment: the name of a built-in one, or a file such as my_env.glsl, compiled now (docs/environments.md)";

}  // namespace yolk::cli
