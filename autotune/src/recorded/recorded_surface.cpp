// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/recorded_surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "gzip.hpp"
#include "recorded_formats.hpp"
#include "yolk/autotune/surface.hpp"
#include "yolk/core/file.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/printable.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kLimitBytes = std::size_t{1} << 30U;

Result<Space> recorded_space(const Records& records, std::string_view name) {
    std::vector<Parameter> parameters;
    for (std::size_t p = 0; p < records.names.size(); ++p) {
        std::vector<Value> values;
        if (p < records.domains.size()) values = records.domains[p];
        for (const std::vector<Value>& row : records.rows) values.push_back(row[p]);
        parameters.push_back(Parameter::of(records.names[p], std::move(values)));
    }
    Result<Space> space = Space::create(std::move(parameters));
    if (!space) return std::move(space).error().while_doing(fmt::format("reading {}", name));
    return space;
}

/// Rows in the order of the space, whatever the order in the file, so that a seed means the same search in each format.
Result<RecordedSurface> named_surface(const Records& records, std::string_view name) {
    if (records.rows.empty()) return bad_input("{} contains no configuration; it is empty or cut off.", name);
    YOLK_TRY(Space space, recorded_space(records, name));
    std::map<std::uint64_t, std::pair<Choice, double>> ordered;
    for (std::size_t row = 0; row < records.rows.size(); ++row) {
        Choice choice;
        for (std::size_t p = 0; p < records.names.size(); ++p) {
            const auto& values = space.parameters()[p].values;
            const auto at = std::ranges::find(values, records.rows[row][p]);
            choice.push_back(static_cast<std::uint16_t>(at - values.begin()));
        }
        const std::uint64_t key = space.key(choice);
        const double cost = records.costs[row];
        const auto [place, is_new] = ordered.emplace(key, std::pair(choice, cost));
        if (!is_new && place->second.second != cost) {
            return bad_input("{} has the configuration {} twice, with different costs; keep one of them.", name,
                             space.text(choice));
        }
    }
    std::vector<std::uint16_t> choices;
    std::vector<double> costs;
    for (const auto& [key, entry] : ordered) {
        choices.insert(choices.end(), entry.first.begin(), entry.first.end());
        costs.push_back(entry.second);
    }
    YOLK_TRY(CandidateSet candidates, CandidateSet::of(std::move(space), std::move(choices)));
    auto surface = RecordedSurface::of(std::move(candidates), std::move(costs), records.device, records.kernel);
    if (!surface) return std::move(surface).error().while_doing(fmt::format("reading {}", name));
    return surface;
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

Result<RecordedSurface> RecordedSurface::parse(std::string_view text, std::string_view name) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return bad_input("{} is empty; a recorded surface is expected.", name);
    const bool json = text[first] == '{' || text[first] == '[';
    YOLK_TRY(const Records records, json ? parse_json_records(text, name) : parse_csv_records(text, name));
    return named_surface(records, name);
}

Result<RecordedSurface> RecordedSurface::read(const std::filesystem::path& path) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLimitBytes));
    const std::string name = fmt::format("'{}'", shown(path));
    if (is_gzip(bytes)) {
        YOLK_TRY(const std::string text, gunzip(bytes, kLimitBytes, name));
        return parse(text, name);
    }
    std::string text(bytes.size(), '\0');
    std::ranges::transform(bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    return parse(text, name);
}

}  // namespace yolk::autotune
