// SPDX-License-Identifier: Apache-2.0
// `yolk tune --report FILE`: a page about what the table holds, or about a recording.
#pragma once

#include <string>

#include "options.hpp"
#include "tune_surface.hpp"

namespace yolk::cli {

struct ReportFlags {
    std::string file;
    const Option* strategy = nullptr;  ///< given or not: they are SurfaceFlags'
    const Option* repeats = nullptr;
};

void add_report_flags(App& app, ReportFlags& flags);

/// Of all shapes in the table; with --surface of that recording. Errors: no table, no such strategy, no place for the
/// file.
[[nodiscard]] Result<int> tune_report(const ReportFlags& report, const SurfaceFlags& surface,
                                      const CommonFlags& common);

}  // namespace yolk::cli
