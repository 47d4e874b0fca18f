// SPDX-License-Identifier: Apache-2.0
// A part of a grid by itself, so that a proof can run the workgroups of a kernel in another order.
#pragma once

#include <cstddef>
#include <span>

#include "yolk/internal/runtime/recorder.hpp"

namespace yolk {

/// Records the workgroups from `first` on, `groups` along each dimension. gl_WorkGroupID and gl_GlobalInvocationID are
/// those of the whole grid; gl_NumWorkGroups is `groups`. A zero extent records nothing.
void dispatch_part(Recorder& recorder, const Binding& binding, std::span<const std::byte> params, GroupCount first,
                   GroupCount groups) noexcept;

}  // namespace yolk
