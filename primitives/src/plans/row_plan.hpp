// SPDX-License-Identifier: Apache-2.0
// What the plans of kernels on rows (shaders/lib/rows.glsl) share: the tuning space, sizes, loops, grids. `family` is
// the bare name ("softmax"), `plan` the label in messages ("[softmax]").
#pragma once

#include <cstdint>
#include <vector>

#include "streaming_default.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/row_config.hpp"
#include "yolk/internal/primitives/row_vector.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// The same for every shape and device. `of_programs`: with those that only programs of rows have.
[[nodiscard]] std::vector<Knob<RowConfig>> row_knobs(bool of_programs);
/// rows_per_workgroup of more than 8 is for a row per invocation, lanes_per_row of more than 32 for rows that are
/// shared.
[[nodiscard]] Result<void> check_row_config(const RowConfig& config);

/// default_row_config, but: on CPU drivers rows are shared where they are so long that one invocation's loops over them
/// may not be allowed; on GPUs more invocations share a row where rows are too few to keep the device busy, and short
/// rows, of which there are many, share a workgroup or are an invocation's.
[[nodiscard]] RowConfig heuristic_row_config(const DeviceInfo& info, std::uint64_t rows,
                                             std::uint32_t columns) noexcept;
[[nodiscard]] constexpr std::uint32_t row_workgroup_size(const RowConfig& config) noexcept {
    return config.row_per_invocation != 0 ? config.rows_per_workgroup
                                          : config.rows_per_workgroup * config.lanes_per_row;
}

/// How often a kernel goes over its row: ROW_SUM and ROW_MAX, and ROW_WRITE.
struct RowPasses {
    std::uint64_t reductions = 0;
    std::uint64_t writes = 0;
};
/// Unsupported where the loops over so many columns pass the device's budget (docs/quirks.md).
[[nodiscard]] Result<void> check_row_loops(const Device& device, const char* plan, std::uint32_t columns,
                                           const RowPasses& passes, const RowConfig& config);

/// [columns], [members, columns], or nothing.
[[nodiscard]] ViewShape row_vector_view(RowVector vector, std::uint32_t members, std::uint32_t columns);

/// The grid of `rows` rows of `columns` elements, each of which costs about `cost_per_element` multiply-adds.
[[nodiscard]] LinearGrid row_grid(std::uint64_t rows, std::uint64_t columns, std::uint64_t cost_per_element,
                                  const RowConfig& config) noexcept;

}  // namespace yolk
