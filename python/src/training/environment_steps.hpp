// SPDX-License-Identifier: Apache-2.0
// Built-in environments step by step on the host, from the source that the kernels are made of: what a comparison with
// other implementations needs.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

namespace yolk::python {

/// The state, a list of numbers, that four random words give. Raises BadInput for an unknown name.
[[nodiscard]] nanobind::dict environment_start(const std::string& name, const std::vector<std::uint32_t>& words);

/// One step: the next state, the observation of it, reward, terminated. `action`: the index alone, or the numbers of a
/// continuous action. Raises BadInput for lists of other lengths.
[[nodiscard]] nanobind::dict environment_step(const std::string& name, const std::vector<float>& state,
                                              const std::vector<float>& action);

}  // namespace yolk::python
