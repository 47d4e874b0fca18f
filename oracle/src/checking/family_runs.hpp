// SPDX-License-Identifier: Apache-2.0
// Which configurations meet which cases. Pure functions of plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/runtime/device_info.hpp"

namespace yolk::oracle {

/// Runs of one case, one after the other. Their configurations are neighbours in the space, so that they share
/// pipelines (of a family with several kernels, say, all but one).
struct Batch {
    std::size_t problem = 0;
    bool is_default = false;  ///< it is the case's default configuration alone
    std::vector<Configuration> configurations;
};

/// Cases that compute something, or where none does, that move something. What does neither proves nothing.
[[nodiscard]] std::vector<bool> cases_with_work(const Problems& problems);

/// The batches of all parts: cases in their order, each with its default first. Of drawn
/// configurations on a CPU driver, what plans of the problems and of `shapes` take on GPUs is among them.
[[nodiscard]] std::vector<Batch> choose_batches(const DeviceInfo& info, const CheckContext& context,
                                                const Family& family, const Problems& problems,
                                                const Problems& shapes = {});
/// Every parts-th batch from the part-th (1 ... parts) on, in the same order.
[[nodiscard]] std::vector<Batch> part_of(std::span<const Batch> batches, std::uint32_t part, std::uint32_t parts);

[[nodiscard]] std::uint64_t runs_of(std::span<const Batch> batches) noexcept;
/// How many different configurations.
[[nodiscard]] std::uint64_t different_configurations(std::span<const Batch> batches);

}  // namespace yolk::oracle
