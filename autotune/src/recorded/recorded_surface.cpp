// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/recorded_surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>

#include "recorded_formats.hpp"
#include "yolk/internal/autotune/inflate.hpp"
#include "yolk/internal/autotune/race.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

/// Also of what is unpacked. 100,000 configurations, each with 32 times, are 92 MiB.
constexpr std::size_t kLimitBytes = std::size_t{256} << 20U;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Result<Space> recorded_space(const Records& records, std::string_view name) {
    std::vector<Parameter> parameters;
    for (std::size_t p = 0; p < records.names.size(); ++p) {
        std::vector<Value> values;
        if (p < records.domains.size()) values = records.domains[p];
        for (const std::vector<Value>& row : records.rows) values.push_back(row[p]);
        parameters.push_back(Parameter::of(records.names[p], std::move(values)));
    }
    Result<Space> space = Space::listed(std::move(parameters));
    if (!space) return std::move(space).error().while_doing(fmt::format("reading {}", name));
    return space;
}

/// Rows in the order of the space, whatever the order in the file, so that a seed means the same search in each format.
Result<RecordedSurface> named_surface(const Records& records, std::string_view name) {
    if (records.rows.empty()) return bad_input("{} contains no configuration; it is empty or cut off.", name);
    YOLK_TRY(Space space, recorded_space(records, name));
    std::vector<std::map<Value, std::uint16_t>> places;
    for (const Parameter& parameter : space.parameters()) {
        std::map<Value, std::uint16_t>& place = places.emplace_back();
        for (const Value& value : parameter.values) place.emplace(value, static_cast<std::uint16_t>(place.size()));
    }
    std::map<Choice, std::vector<double>> ordered;
    for (std::size_t row = 0; row < records.rows.size(); ++row) {
        Choice choice;
        for (std::size_t p = 0; p < records.names.size(); ++p) choice.push_back(places[p].at(records.rows[row][p]));
        ordered[choice].push_back(records.costs[row]);
    }
    std::vector<std::uint16_t> choices;
    std::vector<double> costs;
    for (const auto& [choice, measured] : ordered) {
        choices.insert(choices.end(), choice.begin(), choice.end());
        const bool failed = std::ranges::find(measured, kInvalidCost) != measured.end();
        costs.push_back(failed ? kInvalidCost : median_of(measured));
    }
    if (costs.size() < records.rows.size()) {
        log_info(
            fmt::format("{} has {} rows of {} configurations; one that was measured more than once has the median.",
                        name, records.rows.size(), costs.size()));
    }
    YOLK_TRY(CandidateSet candidates, CandidateSet::of(std::move(space), std::move(choices)));
    auto surface = RecordedSurface::of(std::move(candidates), std::move(costs), records.device, records.kernel);
    if (!surface) return std::move(surface).error().while_doing(fmt::format("reading {}", name));
    return surface;
}

/// Throws std::bad_alloc.
Result<RecordedSurface> read_surface(const std::filesystem::path& path, const RecordingOptions& options) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLimitBytes));
    const std::string name = fmt::format("'{}'", shown(path));
    if (is_gzip(bytes)) {
        YOLK_TRY(const std::string text, inflate(bytes, Packing::Gzip, kLimitBytes, name));
        return RecordedSurface::parse(text, name, options);
    }
    return RecordedSurface::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name, options);
}

}  // namespace

Result<RecordedSurface> RecordedSurface::of(CandidateSet candidates, std::vector<double> costs, std::string device,
                                            std::string kernel) {
    if (candidates.size() != costs.size()) {
        return bad_input("{} costs for {} configurations; one for each is needed.", costs.size(), candidates.size());
    }
    RecordedSurface surface(std::move(candidates), std::move(costs));
    surface.optimum_ = kInvalidCost;
    for (double& cost : surface.costs_) {
        cost = cost_of(cost);
        if (cost != kInvalidCost) ++surface.valid_count_;
        surface.optimum_ = std::min(surface.optimum_, cost);
    }
    if (surface.valid_count_ == 0) {
        return bad_input(
            "No configuration on the surface worked ({} failed), so there is no optimum to compare a search with. "
            "Record one in which at least one has a time.",
            surface.costs_.size());
    }
    surface.device_ = std::move(device);
    surface.kernel_ = std::move(kernel);
    return surface;
}

Result<RecordedSurface> RecordedSurface::parse(std::string_view text, std::string_view name,
                                               const RecordingOptions& options) {
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        return bad_input("{} is UTF-16. Save it as UTF-8.", name);
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return bad_input("{} is empty; a recorded surface is expected.", name);
    const bool json = text[first] == '{' || text[first] == '[';
    YOLK_TRY(const Records records,
             json ? parse_json_records(text, name, options) : parse_csv_records(text, name, options));
    return named_surface(records, name);
}

Result<RecordedSurface> RecordedSurface::read(const std::filesystem::path& path, const RecordingOptions& options) {
    try {
        return read_surface(path, options);
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::OutOfMemory,
                     fmt::format("There is not enough memory to read the recording '{}'.", shown(path))};
    }
}

}  // namespace yolk::autotune
