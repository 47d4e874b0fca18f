// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace yolk::train {

/// Seconds since this process started, loading included: from the kernel's record of the start (resolution 10 ms).
/// Where that cannot be read, since static initialization.
[[nodiscard]] double process_seconds();

}  // namespace yolk::train
