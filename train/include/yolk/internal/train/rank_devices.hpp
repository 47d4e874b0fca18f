// SPDX-License-Identifier: Apache-2.0
// Which devices belong to which rank, where ranks share a machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::train {

/// Places in a list of `count` devices that rank `local_rank` of the `local_ranks` of a machine takes, where all give
/// the same list: every local_ranks-th one; where there are more ranks than devices, one that it shares.
[[nodiscard]] std::vector<std::size_t> dealt_devices(std::size_t count, std::uint32_t local_rank,
                                                     std::uint32_t local_ranks);

/// A device that a rank has opened.
struct DeviceClaim {
    std::uint32_t rank = 0;
    std::uint32_t machine = 0;  ///< Processes::machine()
    std::string uuid{};
    std::string name{};
    bool is_cpu = false;  ///< a CPU driver: each process has its own
};
/// Errors: a GPU of one machine that two ranks have.
[[nodiscard]] Result<void> check_claims(std::span<const DeviceClaim> claims);

}  // namespace yolk::train
