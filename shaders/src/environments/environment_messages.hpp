// SPDX-License-Identifier: Apache-2.0
// From what the shader compiler says to what the author of an environment's file can act on.
#pragma once

#include <string>
#include <string_view>

#include "yolk/result.hpp"

namespace yolk {

/// The names under which the compiler sees the sources that are no shared header.
inline constexpr std::string_view kEnvironmentSource = "environment.glsl";
inline constexpr std::string_view kFactsSource = "environment_facts.comp";

/// The error for a compilation that failed with these messages ("name:line: error: text", one a line). Lines of the
/// environment's own become "file_name:line: text"; a line of environment_facts.comp becomes the part of the interface
/// that it stands for; one of the kernel's sources a clash of names.
[[nodiscard]] Error environment_error(std::string_view messages, std::string_view source, std::string_view file_name);

}  // namespace yolk
