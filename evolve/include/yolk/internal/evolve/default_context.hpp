// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "yolk/context.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// From now on Devices that choose for themselves open their device by it: in a program that keeps its devices open.
/// nullptr: by Context::create().
void open_default_context_by(Result<Context> (*open)()) noexcept;

}  // namespace yolk::evolve
