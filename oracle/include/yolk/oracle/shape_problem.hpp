// SPDX-License-Identifier: Apache-2.0
// Problems from the shapes that a tuning table knows: what a run has asked about, to be tuned after it.
#pragma once

#include <memory>
#include <string_view>

#include "yolk/core/result.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/runtime/device_info.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk::oracle {

/// A problem whose space has this family and shape on this device. What a shape leaves open (the order of parameters,
/// the parts of a concatenation, damping, how long episodes last) is chosen, as nothing of it moves the choice of a
/// configuration far.
/// Error (Unsupported): there is none; says why.
[[nodiscard]] Result<std::unique_ptr<Problem>> make_shape_problem(const DeviceInfo& info, std::string_view family,
                                                                  const TuningShape& shape);

}  // namespace yolk::oracle
