// SPDX-License-Identifier: Apache-2.0
// Who takes part in an update that the devices of a pool share, and on which threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "update_trial.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/shared_update.hpp"

namespace yolk::evolve {

/// The devices in use that can make a share.
[[nodiscard]] std::vector<std::size_t> sharing_workers(const DevicePool& pool, const UpdateTrial& trial);

/// Makes each share on the pool's thread of its worker; by position in `workers`. Both must outlive it.
[[nodiscard]] OnEachDevice on_pool_threads(DevicePool& pool, const std::vector<std::size_t>& workers);

}  // namespace yolk::evolve
