// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::tasks {

/// Where a set that has a name is on this machine.
struct NamedSource {
    std::string inputs{}, labels{};  ///< files
    std::string member{};            ///< of `inputs`, where that is an archive
    std::vector<std::uint32_t> shape{};
    std::vector<std::string> names{};  ///< of the labels, which are numbers in the file
};

/// digits and fashion-mnist; nothing for another name. `is_test`: its test set, nothing where it has none. Error: it is
/// not on this machine, with the places that were looked at and what to install.
[[nodiscard]] Result<std::optional<NamedSource>> named_source(const std::string& name, bool is_test);

}  // namespace yolk::tasks
