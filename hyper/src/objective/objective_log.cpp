// SPDX-License-Identifier: Apache-2.0
// The log of a search: its settings, its generations, and what its hyperfunctions did.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "objective.hpp"
#include "yolk/internal/context/run_place.hpp"
#include "yolk/json.hpp"

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

Json shares_json(std::span<const evolve::WorkerShare> shares) {
    Json list = Json::array();
    for (const evolve::WorkerShare& share : shares) {
        list.push_back({{"device", share.name},
                        {"dropped", share.dropped},
                        {"candidates", share.members},
                        {"audited", share.audited},
                        {"chunks", share.chunks},
                        {"busy_seconds", share.busy_seconds},
                        {"candidates_per_second", std::max(share.rate, 0.0)}});
    }
    return list;
}

Json ranks_json(std::span<const evolve::RankShare> ranks) {
    Json list = Json::array();
    for (const evolve::RankShare& share : ranks)
        list.push_back({{"candidates", share.members}, {"seconds", share.seconds}});
    return list;
}

}  // namespace

Result<void> SystemObjective::log_begin(const Search& search) {
    if (options_.log.empty()) return {};
    const std::uint64_t kept_bytes = kept_log_bytes();
    YOLK_TRY(log_, LineLog::create(options_.log, kept_bytes));
    if (outcome_.resumed_from > 0 && kept_bytes > options_.kept_log_bytes) return {};
    Json first{{"system", system_->name()},
               {"optimizer", search.name()},
               {"generations", options_.generations},
               {"examples_per_generation", options_.examples_per_generation},
               {"population", options_.evolution.population},
               {"seed", options_.evolution.seed},
               {"numbers", space_.table.element_count()},
               {"fallbacks", outcome_.fallbacks}};
    if (has_device()) {
        YOLK_TRY(const std::vector<Device> devices, all_devices().handles());
        add_run_place(first, devices);
    }
    return log_line(first);
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

Json to_json(const GenerationReport& report) {
    Json json{{"generation", report.generation},
              {"mean", report.mean},
              {"best", report.best},
              {"unperturbed", report.unperturbed},
              {"metric_calls", report.metric_calls},
              {"failed", report.failed},
              {"sigma", report.sigma},
              {"learning_rate", report.learning_rate},
              {"seconds", report.seconds}};
    if (report.held_out) json["held_out"] = *report.held_out;
    for (const auto& [name, value] : report.looked) json[name] = value;
    if (report.skipped_elements > 0) json["skipped_elements"] = report.skipped_elements;
    if (report.model_calls > 0) {
        json["model_calls"] = report.model_calls;
        json["tokens"] = report.tokens;
        json["cost"] = report.cost;
    }
    if (!report.shares.empty()) json["devices"] = shares_json(report.shares);
    if (report.ranks.empty()) return json;
    json["ranks"] = ranks_json(report.ranks);
    json["sent_bytes"] = report.traffic.sent_bytes;
    json["received_bytes"] = report.traffic.received_bytes;
    return json;
}

Json to_json(const TextRound& round) {
    Json json{{"start_mean", round.start_mean},
              {"best_mean", round.best_mean},
              {"iterations", round.iterations},
              {"stopped_by", round.stopped_by}};
    json.update(to_json(round.cost));
    return json;
}

Json places_json(const OptimizeOutcome& outcome) {
    Json json = Json::object();
    if (!outcome.shares.empty()) {
        json["devices"] = shares_json(outcome.shares);
        json["depends_on_placement"] = outcome.depends_on_placement;
    }
    if (!outcome.ranks.empty()) {
        const std::uint64_t steps = std::max(1U, outcome.generations);
        json["ranks"] = ranks_json(outcome.ranks);
        json["sent_bytes_per_generation"] = outcome.traffic.sent_bytes / steps;
        json["received_bytes_per_generation"] = outcome.traffic.received_bytes / steps;
    }
    if (!outcome.notes.empty()) json["notes"] = outcome.notes;
    return json;
}

Json to_json(const OptimizeOutcome& outcome) {
    Json json{{"start_reward", outcome.start_reward},  {"best_reward", outcome.best_reward},
              {"generations", outcome.generations},    {"resumed_from", outcome.resumed_from},
              {"stopped_by", outcome.stopped_by},      {"metric_calls", outcome.cost.metric_calls},
              {"host_calls", outcome.cost.host_calls}, {"dispatches", outcome.cost.dispatches},
              {"numbers", outcome.cost.numbers},       {"failed_candidates", outcome.failed_candidates}};
    if (outcome.cost.model_calls > 0) {
        json["model_calls"] = outcome.cost.model_calls;
        json["tokens"] = outcome.cost.tokens;
        json["cost"] = outcome.cost.cost;
    }
    if (outcome.skipped_generations > 0) json["skipped_generations"] = outcome.skipped_generations;
    if (outcome.skipped_elements > 0) json["skipped_elements"] = outcome.skipped_elements;
    if (outcome.text_forecast) json["text_forecast"] = to_json(*outcome.text_forecast);
    for (const TextRound& round : outcome.text_rounds) json["text_rounds"].push_back(to_json(round));
    if (outcome.held_out_start) json["held_out_start"] = *outcome.held_out_start;
    if (outcome.held_out_best) json["held_out_best"] = *outcome.held_out_best;
    json.update(places_json(outcome));
    if (!outcome.state_hash.empty()) json["state_hash"] = outcome.state_hash;
    return json;
}

}  // namespace yolk::hyper
