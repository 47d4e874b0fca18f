// SPDX-License-Identifier: Apache-2.0
// From what a table or a recording holds to what a page shows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "yolk/internal/autotune/race.hpp"
#include "yolk/internal/autotune/report.hpp"
#include "yolk/internal/autotune/surface.hpp"

namespace yolk::autotune {
namespace {

constexpr std::uint64_t kCountedInReport = 1U
                                           << 17U;  // spaces beyond are not listed only to count what is legal in them

/// A configuration with its samples, under its values in the order of the names.
struct ReportRow {
    std::vector<double> all{};
    std::vector<double> finals{};
    std::string reason{};
    bool failed = false;
};
using Rows = std::map<std::vector<std::uint32_t>, ReportRow>;

/// With the list of its values where they are not integers from 0 on, which the page counts by their order.
std::string name_with_values(const std::string& name, const std::vector<TuningSample>& samples) {
    std::vector<KnobValue> values;
    for (const TuningSample& sample : samples) {
        const auto at = std::ranges::find(sample.configuration, name, &StoredConfiguration::value_type::first);
        if (at != sample.configuration.end()) values.push_back(at->second);
    }
    if (std::ranges::all_of(values, [](const KnobValue& value) { return value.plain().has_value(); })) return name;
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return listed_name(name, values);
}

std::vector<std::string> names_of(const std::vector<TuningSample>& samples, const KnownShape* known) {
    std::vector<std::string> names;
    if (known != nullptr) {
        for (const TuningKnob& knob : known->space.knobs()) names.push_back(knob.name);
    } else if (!samples.empty()) {
        for (const auto& [name, value] : samples.front().configuration)
            names.push_back(name_with_values(name, samples));
    }
    return names;
}

/// Nothing where the names are not these: knobs of another version.
std::optional<std::vector<std::uint32_t>> values_of(const StoredConfiguration& configuration,
                                                    const std::vector<std::string>& names) {
    if (configuration.size() != names.size()) return std::nullopt;
    std::vector<std::uint32_t> values;
    for (const std::string& wanted : names) {
        const KnobMeaning knob = meaning_of(wanted);
        const auto at = std::ranges::find(configuration, knob.name, &StoredConfiguration::value_type::first);
        const auto value = at == configuration.end() ? std::nullopt : counted(knob, at->second);
        if (!value) return std::nullopt;
        values.push_back(*value);
    }
    return values;
}

std::string text_of(const std::vector<std::string>& names, const std::vector<std::uint32_t>& values) {
    std::string text;
    for (std::size_t k = 0; k < names.size(); ++k) {
        const KnobMeaning knob = meaning_of(names[k]);
        text += fmt::format("{}{} {}", k == 0 ? "" : ", ", knob.name, counted_text(knob, values[k]));
    }
    return text;
}

Rows rows_of(const std::vector<TuningSample>& samples, const std::vector<std::string>& names) {
    Rows rows;
    for (const TuningSample& sample : samples) {
        const auto values = values_of(sample.configuration, names);
        if (!values) continue;
        ReportRow& row = rows[*values];
        if (!std::isfinite(sample.milliseconds)) {
            row.failed = true;
            row.reason = sample.reason;
            continue;
        }
        row.all.push_back(sample.milliseconds);
        if (sample.stage == SampleStage::Final) row.finals.push_back(sample.milliseconds);
    }
    return rows;
}

/// Candidates in the order of the rows.
std::optional<RecordedSurface> surface_of(const Rows& rows, const std::vector<std::string>& names) {
    if (names.empty() || rows.empty()) return std::nullopt;
    std::vector<Parameter> parameters;
    for (std::size_t p = 0; p < names.size(); ++p) {
        std::vector<Value> values;
        for (const auto& [configuration, row] : rows) values.emplace_back(static_cast<double>(configuration[p]));
        parameters.push_back(Parameter::of(names[p], std::move(values)));
    }
    Result<Space> space = Space::create(std::move(parameters));
    if (!space) return std::nullopt;
    std::vector<std::uint16_t> choices;
    std::vector<double> costs;
    for (const auto& [configuration, row] : rows) {
        for (std::size_t p = 0; p < names.size(); ++p) {
            const std::vector<Value>& values = space->parameters()[p].values;
            const auto at = std::ranges::find(values, Value(static_cast<double>(configuration[p])));
            choices.push_back(static_cast<std::uint16_t>(at - values.begin()));
        }
        costs.push_back(row.failed || row.all.empty() ? kInvalidCost : median_of(row.all));
    }
    Result<CandidateSet> candidates = CandidateSet::of(*std::move(space), std::move(choices));
    if (!candidates) return std::nullopt;
    Result<RecordedSurface> surface = RecordedSurface::of(*std::move(candidates), std::move(costs));
    return surface ? std::optional(*std::move(surface)) : std::nullopt;
}

ReportedTime reported_time(const Rows& rows, const std::vector<std::string>& names, std::string name, double median,
                           const std::optional<std::vector<std::uint32_t>>& values) {
    ReportedTime time{.name = std::move(name), .median = median};
    if (!values) return time;
    time.values = *values;
    time.configuration = text_of(names, *values);
    const auto found = rows.find(*values);
    if (found == rows.end()) return time;
    time.samples = found->second.finals;
    time.candidate = static_cast<std::size_t>(std::distance(rows.begin(), found));
    return time;
}

void add_times(ShapeReport& report, const Rows& rows, const std::vector<std::string>& names, const TuningChoice& choice,
               const KnownShape* known) {
    std::optional<std::vector<std::uint32_t>> heuristic;
    std::optional<std::vector<std::uint32_t>> plain;
    if (known != nullptr) {
        heuristic = known->heuristic;
        if (known->space.plain().size() == names.size()) plain = known->space.plain();
    }
    if (choice.plain_milliseconds > 0.0)
        report.times.push_back(reported_time(rows, names, "default", choice.plain_milliseconds, plain));
    if (choice.heuristic_milliseconds > 0.0)
        report.times.push_back(reported_time(rows, names, "heuristic", choice.heuristic_milliseconds, heuristic));
    ReportedTime tuned =
        reported_time(rows, names, "tuned", choice.milliseconds, values_of(choice.configuration, names));
    tuned.configuration = values_text(choice.configuration);
    report.times.push_back(std::move(tuned));
    report.spread = choice.spread;
    report.pinned = choice.pinned;
}

void add_failures(ShapeReport& report, const Rows& rows, const std::vector<std::string>& names, const TuningKey& key,
                  const std::vector<Quarantined>& quarantined) {
    std::map<std::string, ReportedFailure> failures;
    for (const auto& [values, row] : rows) {
        if (!row.failed) continue;
        const std::string text = text_of(names, values);
        failures[text] = {.configuration = text, .reason = row.reason};
    }
    for (const Quarantined& entry : quarantined) {
        if (entry.key != key) continue;
        const auto values = values_of(entry.configuration, names);
        const std::string text = values ? text_of(names, *values) : values_text(entry.configuration);
        failures[text] = {.configuration = text, .reason = entry.reason, .quarantined = true};
    }
    for (auto& [text, failure] : failures) report.failures.push_back(std::move(failure));
    std::ranges::stable_sort(report.failures, std::greater(), &ReportedFailure::quarantined);
}

std::string candidates_text(const TuningSpace& space) {
    if (space.combinations() > kCountedInReport)
        return fmt::format("a space of {} combinations of values, legal or not", space.combinations());
    const std::size_t legal = space.all().size();
    return fmt::format("{} legal configuration{}", legal, legal == 1 ? "" : "s");
}

}  // namespace

ShapeReport shape_report(const TuningKey& key, const std::vector<TuningSample>& samples,
                         const std::vector<Quarantined>& quarantined, const TuningChoice* choice,
                         const KnownShape* known) {
    ShapeReport report{
        .title = shape_text(key.family, key.shape), .device = key.device.device, .driver = key.device.driver};
    const std::vector<std::string> names = names_of(samples, known);
    const Rows rows = rows_of(samples, names);
    report.measured = rows.size();
    report.surface = surface_of(rows, names);
    if (known != nullptr) {
        report.candidates = candidates_text(known->space);
    } else {
        report.notes.emplace_back(
            "How many configurations there are is not known here: the device is not present, or its kernel's problem "
            "cannot be made from the shape.");
    }
    if (key.kernels != kernel_hash(key.family))
        report.notes.emplace_back("Measured with other SPIR-V than this program's: plans do not take it.");
    if (choice != nullptr) add_times(report, rows, names, *choice, known);
    if (choice == nullptr) report.notes.emplace_back("There is no choice for this shape yet.");
    add_failures(report, rows, names, key, quarantined);
    return report;
}

ShapeReport surface_report(RecordedSurface surface, std::string title) {
    ShapeReport report{.title = std::move(title), .device = surface.device(), .driver = surface.kernel(), .unit = ""};
    report.measured = surface.candidates().size();
    const std::size_t failed = surface.candidates().size() - surface.valid_count();
    if (failed > 0) report.notes.push_back(fmt::format("{} of the configurations failed.", failed));
    report.surface = std::move(surface);
    return report;
}

Result<void> add_curves(ShapeReport& shape, const ReportReplays& replays) {
    if (!shape.surface || shape.measured < kLeastReplayed) {
        shape.notes.push_back(fmt::format(
            "The strategies are not replayed: {} configurations were measured, and {} are the least that tell them "
            "apart.",
            shape.measured, kLeastReplayed));
        return {};
    }
    std::vector<std::string> strategies = replays.strategies;
    if (strategies.empty()) strategies.assign(strategy_names().begin(), strategy_names().end());
    if (std::ranges::find(strategies, "random") == strategies.end()) strategies.emplace_back("random");
    shape.replayed_budget = std::min(replays.budget, shape.measured);
    for (const std::string& strategy : strategies) {
        ReplayOptions options{.tuner = {.strategy = strategy,
                                        .budget = shape.replayed_budget,
                                        .seed = replays.seed,
                                        .settings = replays.settings},
                              .repeats = replays.repeats,
                              .threads = replays.threads};
        options.progress = [&](std::size_t) { return !replays.goes_on || replays.goes_on(); };
        YOLK_TRY(Replay replayed, replay(*shape.surface, options));
        if (replayed.interrupted) {
            shape.notes.emplace_back("The replays were interrupted.");
            return {};
        }
        shape.curves.push_back({strategy, std::move(replayed)});
    }
    return {};
}

}  // namespace yolk::autotune
