// SPDX-License-Identifier: Apache-2.0
// What proving a problem takes, before any of it is made: shapes come from users, and inputs, expectations and the
// copies that are compared lie on the host.
#pragma once

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk::oracle {

/// Bytes that a ProblemProof and one run of it take, without the plan's scratch.
struct ProofBytes {
    double host = 0.0;    ///< inputs, the oracle's and the twin's arrays, and copies of what came back
    double device = 0.0;  ///< buffers to time and, beside them, those between guard bands
};
[[nodiscard]] ProofBytes proof_bytes(const Problem& problem);

/// Error (OutOfMemory) where proof_bytes are more than there is: of host memory (which a CPU driver's buffers are in,
/// too), or of the device's largest heap. Makes nothing; what is let through may still fail where it is made.
[[nodiscard]] Result<void> check_memory(const Problem& problem, const DeviceInfo& info);

}  // namespace yolk::oracle
