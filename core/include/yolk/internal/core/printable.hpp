// SPDX-License-Identifier: Apache-2.0
// Text of others for a terminal: what would steer it, hide something or begin a line is written as an escape, so that a
// name cannot pass for a message. JSON needs none of this; it has escapes of its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace yolk {

/// A name in one line. Control characters (newlines, tabs and those of C1 too), characters that turn the direction of
/// text, and bytes that are not UTF-8 become \n, \t, \r, \x1b, \u202e.
[[nodiscard]] std::string shown(std::string_view name);
[[nodiscard]] std::string shown(const std::filesystem::path& path);
[[nodiscard]] std::string shown(const std::string& name);
[[nodiscard]] std::string shown(const char* name);

/// Text of several lines, in which newlines and tabs stay. What prints text calls it.
[[nodiscard]] std::string printable(std::string_view text);

/// A whole message, whose further lines are indented, so that none of them passes for another message. What prints
/// messages calls it (log(), the command's errors).
[[nodiscard]] std::string printable_message(std::string_view message);

}  // namespace yolk
