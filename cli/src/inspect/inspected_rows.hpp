// SPDX-License-Identifier: Apache-2.0
// What `yolk inspect` says of a pipeline, as a row of a table and as a line of JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/autotune/inspection.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/runtime/pipeline_report.hpp"
#include "yolk/json.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// A configuration of a shape, as its rows name it.
struct InspectedCandidate {
    std::size_t number = 0;  ///< counted over the whole command, from 0
    std::string kernel{};    ///< the family
    std::string shape{};
    Json configuration{};  ///< value by knob
    std::string text{};    ///< "tile_m 8, tile_n 4"
    bool is_default = false;
};

/// Without its number.
[[nodiscard]] InspectedCandidate candidate_of(const DeviceInfo& info, const oracle::Problem& problem,
                                              const Configuration& configuration);

/// A pipeline's executable; a pipeline without one, where the driver has no statistics or refused it; or, without a
/// kernel's name, a plan that was refused before any pipeline.
struct InspectedRow {
    InspectedCandidate of;
    PipelineReport pipeline{};        ///< without its executables
    PipelineExecutable executable{};  ///< without its representations; without a name where nothing was compiled
    PipelineFigures figures{};
    std::vector<std::string> files{};  ///< names of its representations in the folder of --ir
    [[nodiscard]] bool refused() const noexcept { return !pipeline.refused.empty(); }
};

/// None where the plan needs no pipeline, because there is nothing to do.
[[nodiscard]] std::vector<InspectedRow> rows_of(const DeviceInfo& info, const InspectedCandidate& candidate,
                                                autotune::InspectedPlan plan);

/// The contract of --json (docs/cli.md): figures that a driver does not report are null.
[[nodiscard]] Json row_json(const InspectedRow& row);

/// A name of --sort: a column's, or one of the driver's own statistics. Error (BadInput): no row of these has such.
[[nodiscard]] Result<void> check_sort_column(std::string_view name, std::span<const InspectedRow> rows);
/// The best first (most waves, least of all else); rows without the figure last, otherwise in their order.
void sort_rows(std::string_view name, std::vector<InspectedRow>& rows);
/// The columns by name, for help and messages.
[[nodiscard]] std::string sort_columns_text();

/// "the driver also reports Copies 45, Branches 20": its statistics that are in no column, in its own words; empty
/// where it has none.
[[nodiscard]] std::string other_statistics_text(const InspectedRow& row);

/// A line for each row, with the columns of which any row has a figure. `with_configuration`: which one, last.
[[nodiscard]] std::string rows_table(std::span<const InspectedRow> rows, bool with_configuration);

}  // namespace yolk::cli
