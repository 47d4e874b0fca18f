// SPDX-License-Identifier: Apache-2.0
// Where memory or threads run out in a place that did not ask beforehand: an error, not an abort.
#pragma once

#include <functional>

#include "yolk/result.hpp"

namespace yolk::cli {

/// What `work` gives; before it begins, threads are made to share one heap where address space is limited, and large
/// blocks to go back to the system when they are freed. Error
/// (OutOfMemory) where it throws std::bad_alloc, std::length_error or std::system_error (no thread): what is left, and
/// what to do. Nothing of ours throws on purpose; the standard library does.
[[nodiscard]] Result<int> with_last_defence(const std::function<Result<int>()>& work);

}  // namespace yolk::cli
