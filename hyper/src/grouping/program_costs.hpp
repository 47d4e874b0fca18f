// SPDX-License-Identifier: Apache-2.0
// What one kernel may be made of, so that drivers compile it in tens of milliseconds and it computes little twice.
#pragma once

#include <cstddef>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/row_program.hpp"

namespace yolk::hyper::population {

/// Whether several operations may be one kernel.
[[nodiscard]] bool is_worth_joining(const ElementwiseDesc& desc);
/// `free`, by step: it may be computed again in each pass. A value that varies along the row is kept nowhere, so each
/// pass over the row, one for a reduction and one for the result, computes what it is made of.
[[nodiscard]] bool is_worth_joining(const RowProgramDesc& desc, const std::vector<bool>& free);

}  // namespace yolk::hyper::population
