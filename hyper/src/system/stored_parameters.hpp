// SPDX-License-Identifier: Apache-2.0
// The parameters of a system within a state file: tensors by the names of groups, texts as "text of <group>", and in
// "groups" what each group is.
#pragma once

#include <string_view>

#include "yolk/internal/core/state_file.hpp"
#include "yolk/internal/hyper/parameters.hpp"

namespace yolk::hyper {

/// Error: a value that is not finite.
[[nodiscard]] Result<void> store_parameters(const ParameterSet& set, StateFile& file);
/// Errors: a file at odds with itself; all that does not fit the set, in one message. Then nothing is changed.
[[nodiscard]] Result<void> restore_parameters(ParameterSet& set, const StateFile& file, const StateKind& kind,
                                              std::string_view what);

}  // namespace yolk::hyper
