// SPDX-License-Identifier: Apache-2.0
// The log of a search: its settings, its steps, and what its hyperfunctions did.
#include <map>
#include <set>
#include <utility>

#include "objective.hpp"
#include "yolk/core/json.hpp"

namespace yolk::hyper {
namespace {

/// Calls that one candidate makes of each hyperfunction whose body is equations, over all examples.
std::map<std::string, std::uint64_t> tensor_calls(std::span<const TracedExample> examples) {
    std::map<std::string, std::uint64_t> calls;
    for (const TracedExample& example : examples) {
        std::set<std::pair<std::string, std::uint32_t>> distinct;
        for (const Equation& equation : example.graph.equations) {
            if (equation.host == nullptr && !equation.hyperfunction.empty())
                distinct.emplace(equation.hyperfunction, equation.call);
        }
        for (const auto& [name, call] : distinct) ++calls[name];
    }
    return calls;
}

}  // namespace

Result<void> SystemObjective::log_begin(const Search& search) {
    if (options_.log.empty()) return {};
    const std::uint64_t kept_bytes = kept_log_bytes();
    YOLK_TRY(log_, LineLog::create(options_.log, kept_bytes));
    if (outcome_.resumed_from > 0 && kept_bytes > options_.kept_log_bytes) return {};
    return log_line(Json{{"system", system_->name()},
                         {"optimizer", search.name()},
                         {"steps", options_.steps},
                         {"examples_per_step", options_.examples_per_step},
                         {"population", options_.evolution.population},
                         {"seed", options_.evolution.seed},
                         {"numbers", space_.table.element_count()},
                         {"fallbacks", outcome_.fallbacks}});
}

Result<void> SystemObjective::log_line(const Json& line) { return log_ ? log_->append(to_line(line)) : Result<void>(); }

Result<void> SystemObjective::log_end() {
    if (!log_) return {};
    Json functions = Json::array();
    for (const HostStatistics& statistics : system_->pool().statistics()) functions.push_back(to_json(statistics));
    // These run by whole populations, so a single call has no latency.
    for (const auto& [name, calls] : tensor_calls(training_.traced))
        functions.push_back({{"function", name}, {"calls", calls * outcome_.cost.metric_calls}, {"batched", true}});
    Json end = to_json(outcome_);
    end["hyperfunctions"] = std::move(functions);
    return log_line(end);
}

}  // namespace yolk::hyper
