// SPDX-License-Identifier: Apache-2.0
// A page about what was measured: cost by knob, what was chosen and against what, what failed, and how the strategies
// would have fared on it. One file of HTML with its plots inside: it loads nothing and needs no script.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/autotune/inspection.hpp"
#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/autotune/replay.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/runtime/pipeline_report.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// A shape whose space is known here: of a family of Yolk's, on a device that is present.
struct KnownShape {
    TuningSpace space;
    Configuration heuristic;  ///< what an untuned plan takes
};

struct ReportedFailure {
    std::string configuration;
    std::string reason;
    bool quarantined = false;
};

/// What the driver's compiler made of a pipeline of a configuration.
struct ReportedPipeline {
    std::string kernel;
    std::uint32_t subgroup_size = 0;
    PipelineFigures figures{};
};

/// Default, heuristic or tuned: a median and the samples of the finals, where its configuration is known.
struct ReportedTime {
    std::string name;
    std::string configuration{};
    double median = 0.0;
    std::vector<double> samples{};
    std::optional<std::size_t> candidate{};  ///< of the surface
    Configuration values{};                  ///< in the order of the known space's knobs; empty where that is not known
    std::vector<ReportedPipeline> pipelines{};
};

struct StrategyCurve {
    std::string strategy;
    Replay replay;
};

/// One section of the page.
struct ShapeReport {
    std::string title;
    std::string device{};
    std::string driver{};
    std::string unit = "ms";                   ///< of the costs
    std::optional<RecordedSurface> surface{};  ///< what was measured; nothing where nothing worked
    std::size_t measured = 0;                  ///< configurations, failed ones included
    std::string candidates{};                  ///< of how many: words; empty where that is not known
    std::vector<ReportedTime> times{};         ///< default, heuristic, tuned, where there are any
    double spread = 0.0;                       ///< of the choice, as the table has it
    bool pinned = false;
    std::vector<ReportedFailure> failures{};
    std::vector<StrategyCurve> curves{};
    std::size_t replayed_budget = 0;
    std::vector<std::string> notes{};
};

/// Of a key of the table. A configuration's cost is the median of its samples; one that failed in any has failed.
/// `choice` and `known` may be null.
[[nodiscard]] ShapeReport shape_report(const TuningKey& key, const std::vector<TuningSample>& samples,
                                       const std::vector<Quarantined>& quarantined, const TuningChoice* choice,
                                       const KnownShape* known);
/// Makes the plan of a configuration on a device that keeps reports (inspect_plan). Empty: nobody looks.
using PlanInspector =
    std::function<Result<InspectedPlan>(const DeviceInfo&, const oracle::Problem&, const Configuration&)>;
/// Of every key of the table. A shape's space is known where its device is among `devices`; `inspect` is asked about
/// its default, heuristic and tuned configurations where the device has statistics, and what it cannot tell is a note.
[[nodiscard]] Result<std::vector<ShapeReport>> table_reports(const TuningFile& file,
                                                             std::span<const DeviceInfo> devices,
                                                             const PlanInspector& inspect = {});
/// Of a recording.
[[nodiscard]] ShapeReport surface_report(RecordedSurface surface, std::string title);

/// Below so many measured configurations no strategy is replayed: any order finds the best of a handful.
inline constexpr std::size_t kLeastReplayed = 20;

struct ReportReplays {
    std::vector<std::string> strategies{};  ///< empty: all. Random is among them in any case
    std::size_t repeats = 30;
    std::size_t budget = 200;  ///< at most; no more than were measured
    std::uint64_t seed = 1;
    std::size_t threads = 0;
    StrategySettings settings{};
    std::function<bool()> goes_on{};  ///< asked after each repeat, on any thread
};
/// Adds the curves; a note instead where too few were measured. Errors: those of replay().
[[nodiscard]] Result<void> add_curves(ShapeReport& shape, const ReportReplays& replays);

/// The page's content below its heading, and the style of what is in it, for a page that shows other things, too.
[[nodiscard]] std::string report_body(std::span<const ShapeReport> shapes, const ReportReplays& replays);
[[nodiscard]] std::string_view report_style();
/// The page; the same bytes for the same reports.
[[nodiscard]] std::string report_page(std::span<const ShapeReport> shapes, const ReportReplays& replays);

}  // namespace yolk::autotune
