// SPDX-License-Identifier: Apache-2.0
// A shape that somebody asks the tuning table about, and what each source of an answer says.
#pragma once

#include <string>

#include "options.hpp"
#include "yolk/autotune/tuning_file.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk::cli {

/// The default table. Errors: BadInput where there is no place for one.
[[nodiscard]] Result<autotune::TuningFile> open_table();

/// A shape on the chosen device, with its space and key.
struct ExplainRequest {
    Device device;
    TuningSpace space;
    autotune::TuningKey key;
    Configuration heuristic;
};

/// Whether a table's text means kernels of the user's own.
[[nodiscard]] bool is_own(const std::string& text);
/// Errors (BadInput): no such shape; a kernel of the user's own, for which no plan asks.
[[nodiscard]] Result<ExplainRequest> ask(const std::string& text, const CommonFlags& common);

/// `yolk tune --explain`. `prior_path`: --prior; empty: the one beside the table, if any.
[[nodiscard]] Result<int> explain(const std::string& text, const std::string& prior_path, const CommonFlags& common);

}  // namespace yolk::cli
