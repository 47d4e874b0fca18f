// SPDX-License-Identifier: Apache-2.0
#include "objective.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "graph_queries.hpp"
#include "learnable.hpp"
#include "placement.hpp"
#include "scored_example.hpp"
#include "valid_graph.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper {
namespace {

std::uint64_t count_placed(std::span<const PlacedEquation> placed, Placement where) {
    return static_cast<std::uint64_t>(std::ranges::count(placed, where, &PlacedEquation::placement));
}

}  // namespace

std::vector<std::string> optimized_groups(const ParameterSet& set) {
    std::vector<std::string> names;
    for (const ParameterGroup& group : set.groups()) {
        if (group.spec.optimize) names.push_back(group.spec.name);
    }
    return names;
}

Result<ParameterSet> working_set(const ParameterSet& set, const evolve::EvolutionOptions& options) {
    ParameterSet working = set;
    for (const std::string& name : options.freeze) YOLK_TRY_VOID(working.set_optimized(name, false));
    std::vector<std::string> texts;
    for (const ParameterGroup& group : set.groups()) {
        const bool is_vector = !group.spec.is_matrix() && group.spec.fields.empty() && !group.spec.is_text;
        if (group.spec.is_text && group.spec.optimize) texts.push_back(group.spec.name);
        if (group.spec.is_text || (options.freeze_vectors && is_vector))
            YOLK_TRY_VOID(working.set_optimized(group.spec.name, false));
    }
    if (!optimized_groups(working).empty()) return working;
    if (!texts.empty() && optimized_groups(set).size() == texts.size()) {
        return bad_input(
            "Of the system only texts are optimized ({}), which a search of numbers leaves as they are, so there is "
            "nothing to search. Give a prompt search, or make a hyperfunction with numbers optimized.",
            fmt::join(texts, ", "));
    }
    return bad_input(options.freeze.empty() && !options.freeze_vectors
                         ? "No hyperfunction of the system is optimized, so there is nothing to search. Make one with "
                           "the option 'optimize', or call ParameterSet::set_optimized."
                         : "Every optimized hyperfunction is frozen, so there is nothing to search. Freeze fewer.");
}

std::vector<evolve::ElementBounds> bounds_of(const ParameterSet& set, const ParameterTable& table) {
    std::vector<evolve::ElementBounds> all;
    std::uint32_t id = 0;
    for (const ParameterGroup& group : set.groups()) {
        if (!group.spec.optimize || group.values.values().empty()) continue;  // those have no row
        std::uint32_t element = table.offset(ParameterId{id++});
        for (const auto& [lower, upper] : coordinate_bounds(group.spec.fields))
            all.push_back({.element = element++, .lower = lower, .upper = upper});
    }
    return all;
}

Result<void> SystemObjective::plan(Prepared& prepared) {
    const PopulationEvaluator::Resources resources{.devices = all_devices(), .pool = &system_->pool()};
    PopulationOptions options = options_.population_options;
    options.examples_change |= draws() && &prepared == &training_;
    // Nothing but scores is made of them.
    options.mean_outputs = metric_->on_device;
    options.plain_outputs = !metric_->on_device;
    const evolve::DevicePool* const several = system_->devices().pool();
    if (several == nullptr || several->options().determinism == Determinism::Fast) {
        if (options_.evolution.determinism == Determinism::Fast) options.determinism = Determinism::Fast;
    }
    auto evaluator = PopulationEvaluator::create(resources, prepared.traced, set_, options);
    if (!evaluator) return no_device_ ? *no_device_ : std::move(evaluator).error();
    prepared.evaluator = std::make_unique<PopulationEvaluator>(*std::move(evaluator));
    return {};
}

Result<std::unique_ptr<SystemObjective>> SystemObjective::create(System& system, std::span<const Example> examples,
                                                                 const Metric& metric, const OptimizeOptions& options) {
    std::unique_ptr<SystemObjective> made(new SystemObjective(system, metric, options));
    if (!made->is_first_rank()) {
        made->options_.held_out = {};
        made->options_.log.clear();
        made->options_.run_log.clear();
    }
    if (system.devices().has_other_ranks() || !options.checkpoint.empty() || !options.run_log.empty())
        made->examples_hash_ = hash_of(examples);
    YOLK_TRY_VOID(options.examples_per_generation > 0 ? made->trace_training(examples)
                                                      : made->prepare(examples, made->training_));
    if (!made->options_.held_out.empty()) YOLK_TRY_VOID(made->prepare(options.held_out, made->held_out_.emplace()));
    // Now that tracing has registered every hyperfunction.
    YOLK_TRY(made->set_, working_set(system.parameters(), options.evolution));
    YOLK_TRY_VOID(check_learnable(system.name(), made->draws() ? made->drawn_->traces() : made->training_.traced,
                                  optimized_groups(made->set_)));
    YOLK_TRY(made->space_, search_space(made->set_));
    YOLK_TRY_VOID(made->find_device());
    YOLK_TRY_VOID(made->check_devices());
    YOLK_TRY_VOID(made->draws() ? made->draw_generation(0) : made->plan(made->training_));
    if (made->held_out_) YOLK_TRY_VOID(made->plan(*made->held_out_));
    made->find_host_rows();
    made->bounds_ = bounds_of(made->set_, made->space_.table);
    made->outcome_.cost.numbers = made->space_.table.element_count();
    made->outcome_.fallbacks = made->training_.evaluator->fallbacks();
    return made;
}

void SystemObjective::find_host_rows() {
    std::set<std::uint32_t> rows;
    for (const Prepared* prepared : {&training_, held_out_ ? &*held_out_ : nullptr}) {
        if (prepared == nullptr) continue;
        for (const ParameterId row : prepared->evaluator->host_rows()) rows.insert(row.value);
    }
    // Those with bounds, even where no example uses them.
    for (std::uint32_t id = 0; id < space_.table.parameters().size(); ++id) {
        const ParameterGroup* group = set_.find(space_.table.parameters()[id].name);
        // Other structures than the first generation's may need others.
        const bool all = draws() && drawn_->structures() > 1;
        if (all || (group != nullptr && !group->spec.fields.empty())) rows.insert(id);
    }
    for (const std::uint32_t row : rows) host_rows_.emplace_back(row);
}

void SystemObjective::count_models() {
    const ModelCounts now = counts_in_force();
    const ModelCounts made = now - std::exchange(models_seen_, now);
    outcome_.cost.model_calls += made.calls;
    outcome_.cost.tokens += made.prompt_tokens + made.completion_tokens;
    outcome_.cost.cost = std::round((outcome_.cost.cost + made.cost) * 1e9) / 1e9;  // without the sums' roundings
}

template <class HeldOut>
bool SystemObjective::tell(const GenerationReport& report, HeldOut held_out) {
    GenerationReport told = report;
    told.metric_calls = outcome_.cost.metric_calls;
    count_models();
    told.model_calls = outcome_.cost.model_calls;
    told.tokens = outcome_.cost.tokens;
    told.cost = outcome_.cost.cost;
    told.failed = std::exchange(failed_in_generation_, 0);
    told.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    outcome_.failed_candidates += told.failed;
    told.skipped_elements = std::exchange(skipped_in_generation_, 0);
    ++outcome_.generations;
    const auto log = [&]() -> Result<void> {
        // Where generations draw examples, the mean has been scored when it was evaluated.
        if (scored_) {
            told.held_out = *scored_;
        } else if (held_out_due(told.generation)) {
            YOLK_TRY(told.held_out, held_out());
        }
        scored_.reset();
        told.looked = std::exchange(looked_, {});
        told.shares = std::exchange(generation_shares_, {});
        count_ranks(told);
        if (outcome_.history.size() == 2 * kLeastHistory)
            outcome_.history.erase(outcome_.history.begin(), std::prev(outcome_.history.end(), kLeastHistory));
        outcome_.history.push_back(told);
        return log_line(to_json(told));
    };
    if (const Result<void> done = log(); !done) report_error_ = done.error();
    const bool goes_on = !report_error_ && (!options_.on_generation || options_.on_generation(told));
    const Result<bool> stops = agree_on_any(!goes_on);
    if (!stops) report_error_ = stops.error();
    stopped_by_caller_ = !report_error_ && *stops;
    return !report_error_ && !*stops;
}

bool SystemObjective::report(const GenerationReport& report, std::span<const float> mean) {
    return tell(report, [&] { return held_out_reward(mean); });
}
bool SystemObjective::report(const GenerationReport& report, const Perturbations& around) {
    return tell(report, [&] { return held_out_reward(around); });
}

Result<OptimizeOutcome> SystemObjective::expected(const Search& search) const {
    const std::vector<std::string> groups = optimized_groups(set_);
    std::uint64_t host_functions = 0;
    std::uint64_t device_equations = 0;
    std::uint64_t model_equations = 0;
    std::vector<std::string> structures;
    for (const TracedExample& example : training_.traced) {
        const std::vector<PlacedEquation> placed = placed_equations(example.graph, groups);
        for (std::size_t i = 0; i < placed.size(); ++i)
            host_functions += placed[i].placement == Placement::Host && example.graph.equations[i].host ? 1U : 0U;
        model_equations += model_calls_in(example.graph);
        std::string structure = signature_of(example.graph);
        if (std::ranges::find(structures, structure) != structures.end()) continue;
        structures.push_back(std::move(structure));
        device_equations += count_placed(placed, Placement::Device);
    }
    const std::uint64_t samples = options_.samples_per_example;
    const std::uint64_t per_generation = search.candidates_per_generation(options_);
    const std::uint64_t candidates = per_generation * options_.generations + 2;
    YOLK_TRY(const std::uint64_t per_chunk, training_.evaluator->candidates_per_chunk());
    const std::uint64_t chunks = options_.generations * ceil_div(per_generation, per_chunk) + 2;
    OptimizeOutcome outcome = outcome_;
    outcome.stopped_by = "dry run";
    outcome.cost = {.metric_calls = samples * candidates,
                    .host_calls = samples * candidates * host_functions,
                    .dispatches = samples * chunks * device_equations,
                    .numbers = space_.table.element_count(),
                    .model_calls = samples * candidates * model_equations};
    return outcome;
}

Result<void> SystemObjective::score_start() {
    outcome_.best_reward = -std::numeric_limits<double>::infinity();
    YOLK_TRY(const std::vector<double> start, evaluate(space_.mean, 1));
    if (start.empty()) {
        return bad_input("The budget of {} metric calls does not even score the start, which takes {}.",
                         options_.metric_budget, options_.samples_per_example);
    }
    best_.reset();
    outcome_.start_reward = start.front();
    YOLK_TRY(outcome_.held_out_start, scored_ ? Result<std::optional<double>>(*scored_) : held_out_reward(space_.mean));
    scored_.reset();
    is_spoilt_ = false;  // what an audit found to be wrong has been made again, and nothing came before
    return {};
}

Result<void> SystemObjective::score_start_again() {
    YOLK_TRY_VOID(draw_generation(0));
    YOLK_TRY(const std::vector<double> start, rewards_of(1, [&]() -> Result<PopulationOutputs> {
                 YOLK_TRY(const std::vector<Candidate> candidates, candidates_at(space_.mean, 1));
                 return training_.evaluator->evaluate(candidates);
             }));
    outcome_.start_reward = start.front();
    YOLK_TRY(outcome_.held_out_start, held_out_reward(space_.mean));
    return {};
}

Result<void> SystemObjective::search_by(Search& search) {
    Objective face(*this);
    const Result<void> searched = search.run(face);
    const Result<void> settled = settle();  // a search that failed may not have
    YOLK_TRY_VOID(searched);
    YOLK_TRY_VOID(settled);
    if (report_error_) return *report_error_;
    outcome_.failed_candidates += std::exchange(failed_in_generation_, 0);
    return fetch_best();
}

Result<void> SystemObjective::finish(const Search& search) {
    if (!std::isfinite(outcome_.best_reward)) {
        return failed_work(
            "Neither the start nor any mean of the search has a finite reward, so there is nothing to keep. Evaluate "
            "the system to see why.");
    }
    outcome_.stopped_by = stopped_by_caller_                                              ? "caller"
                          : out_of_budget_ && outcome_.generations < options_.generations ? "budget"
                                                                                          : "generations";
    const std::vector<float>& kept = best_ ? *best_ : space_.mean;
    YOLK_TRY(outcome_.state_hash, evolve::state_hash(kept, {}, outcome_.generations));
    YOLK_TRY(outcome_.held_out_best, held_out_reward(kept));
    YOLK_TRY_VOID(check_spoilt(search));
    count_models();
    note_devices();
    return log_end();
}

Result<OptimizeOutcome> SystemObjective::run(Search& search) {
    YOLK_TRY_VOID(agree(begin(search)));
    YOLK_TRY_VOID(agree(log_begin(search)));
    YOLK_TRY_VOID(agree(open_run_log()));
    if (!first_) YOLK_TRY_VOID(agree(score_start()));
    YOLK_TRY_VOID(agree(search_by(search)));
    YOLK_TRY_VOID(share_result());
    YOLK_TRY_VOID(agree(finish(search)));
    return outcome_;
}

}  // namespace yolk::hyper
