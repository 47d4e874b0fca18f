// SPDX-License-Identifier: Apache-2.0
// A run that a new one follows in its folder: set aside whole, before the new one writes anything (docs/adr/0041).
#pragma once

#include <filesystem>
#include <string>

#include "yolk/result.hpp"

namespace yolk::train {

/// Moves the files of a run into a folder of their own in `folder`, "previous-<n>", whose name is new; empty where
/// there are none, or only what a run leaves that was cut off within its first generation. The files are renamed one by
/// one into a folder that gets its name by one rename at the end, so that a process that is killed leaves either the
/// run as it was set aside or what put_back() undoes. On an error they are where they were, as far as the file system
/// lets them. The caller holds the folder's lock. Error: Io.
[[nodiscard]] Result<std::filesystem::path> set_aside(const std::filesystem::path& folder);

/// Undoes a set_aside() that was cut off before its end. The caller holds the folder's lock. Error: Io.
[[nodiscard]] Result<void> put_back(const std::filesystem::path& folder);

/// " A run before it is in 'out/previous-2'.", or nothing: where somebody looks for a run in vain.
[[nodiscard]] std::string note_of_previous(const std::filesystem::path& folder);

}  // namespace yolk::train
