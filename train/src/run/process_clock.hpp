// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace yolk::train {

/// Seconds since the static initialization of this program, a few milliseconds after it was started.
[[nodiscard]] double process_seconds();

}  // namespace yolk::train
