// SPDX-License-Identifier: Apache-2.0
#include "yolk/ablate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models_in_force.hpp"
#include "system_impl.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

constexpr std::array<std::string_view, 4> kAblationNames{"zero", "reset", "freeze", "perturb"};

/// Puts the values of all groups back when it goes out of scope.
class Restored {
   public:
    explicit Restored(System& system) : system_(&system), before_(system.parameters()) {}
    ~Restored() {
        for (const ParameterGroup& group : before_.groups())
            static_cast<void>(system_->parameters().set_value(group.spec.name, group.value()));
    }
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;

   private:
    System* system_;
    ParameterSet before_;
};

Result<std::vector<std::string>> chosen_groups(const ParameterSet& set, const AblateOptions& options) {
    std::vector<std::string> possible;
    const bool moves_numbers = options.how == Ablation::Freeze || options.how == Ablation::Perturb;
    for (const ParameterGroup& group : set.groups()) {
        const bool has_any = moves_numbers ? !group.values.values().empty() : group.spec.has_parameters();
        if (has_any && (options.how != Ablation::Freeze || group.spec.optimize)) possible.push_back(group.spec.name);
    }
    for (const std::string& name : options.groups) {
        if (std::ranges::find(possible, name) != possible.end()) continue;
        if (const ParameterGroup* group = set.find(name); group != nullptr && group->spec.is_text) {
            return bad_input(
                "'{}' is a text, so there is no way to {} it: that is for numbers, which have noise and are searched. "
                "Zero it (the empty text) or reset it.",
                name, to_string(options.how));
        }
        return bad_input("There is no group '{}' to {}; there are {}.", name, to_string(options.how),
                         possible.empty() ? "none" : fmt::format("{}", fmt::join(possible, ", ")));
    }
    return options.groups.empty() ? possible : options.groups;
}

double mean_of(std::span<const double> values) {
    double sum = 0.0;
    for (const double value : values) sum += value / static_cast<double>(values.size());
    return sum;
}

double deviation_of(std::span<const double> values) {
    if (values.size() < 2) return 0.0;
    const double mean = mean_of(values);
    double squares = 0.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

/// As near to zero as each field's bounds allow; the empty text.
Value zeroed(const ParameterGroup& group) {
    if (group.spec.is_text) return "";
    std::vector<float> values(group.values.values().size(), 0.0F);
    for (std::size_t i = 0; i < group.spec.fields.size(); ++i) {
        const Field& field = group.spec.fields[i];
        if (field.kind == FieldKind::Real || field.kind == FieldKind::Integer)
            values[i] = static_cast<float>(std::clamp(0.0, field.lower, field.upper));
    }
    return *Tensor::create(group.values.shape(), std::move(values));
}

/// Rewards of both systems over the same examples, drawn again with replacement.
Result<double> resampled_spread(const Evaluation& base, const Evaluation& ablated, std::span<const Example> examples,
                                const Metric& metric, const AblateOptions& options) {
    std::vector<double> changes;
    for (std::uint32_t draw = 0; draw < options.draws; ++draw) {
        std::vector<Value> expected, before, after;
        for (std::uint32_t i = 0; i < examples.size(); ++i) {
            const std::uint32_t word = philox4x32(
                {i, draw, 0, 0},
                {static_cast<std::uint32_t>(options.seed), static_cast<std::uint32_t>(options.seed >> 32U)})[0];
            const auto at = static_cast<std::size_t>((std::uint64_t{word} * examples.size()) >> 32U);
            expected.push_back(examples[at].expected);
            before.push_back(base.predictions[at]);
            after.push_back(ablated.predictions[at]);
        }
        YOLK_TRY(const Scores without, score(metric, before, expected));
        YOLK_TRY(const Scores with, score(metric, after, expected));
        changes.push_back(with.reward - without.reward);
    }
    return deviation_of(changes);
}

Result<AblationRow> replace(System& system, const std::string& name, const Evaluation& base,
                            std::span<const Example> examples, const Metric& metric, const AblateOptions& options) {
    const ParameterGroup& group = *system.parameters().find(name);
    const Value value = options.how == Ablation::Zero ? zeroed(group) : group.initial_value();
    Evaluation ablated;
    {
        const Restored restored(system);
        YOLK_TRY_VOID(system.parameters().set_value(name, value));
        YOLK_TRY(ablated, system.evaluate(examples, metric));
    }
    AblationRow row{
        .group = name, .base = base.reward, .reward = ablated.reward, .change = ablated.reward - base.reward};
    YOLK_TRY(row.spread, resampled_spread(base, ablated, examples, metric, options));
    return row;
}

/// A copy in which this group alone is searched, so that this group alone is perturbed.
Result<ParameterSet> alone(const ParameterSet& set, const std::string& name) {
    ParameterSet copy = set;
    for (const ParameterGroup& group : set.groups())
        YOLK_TRY_VOID(copy.set_optimized(group.spec.name, group.spec.name == name));
    return copy;
}

Result<AblationRow> perturb(System& system, const std::string& name, std::span<const TracedExample> traced,
                            std::span<const Value> expected, const Metric& metric, const AblateOptions& options) {
    YOLK_TRY(const ParameterSet set, alone(system.parameters(), name));
    YOLK_TRY(const SearchSpace space, search_space(set));
    YOLK_TRY(const MaybeDevice device, device_of(system));
    PopulationOptions population_options = options.population_options;
    population_options.plain_outputs = true;  // nothing but scores is made of them
    auto evaluator = PopulationEvaluator::create({.devices = device.devices, .pool = &system.pool()}, traced, set,
                                                 population_options);
    if (!evaluator) return device.why ? *device.why : std::move(evaluator).error();
    const Perturbations candidates{.table = space.table,
                                   .mean = space.mean,
                                   .when = {.seed = options.seed, .sigma = options.sigma},
                                   .first_member = -1,
                                   .members = options.draws + 1};
    YOLK_TRY(PopulationOutputs outputs, evaluator->evaluate(candidates));
    YOLK_TRY(const PopulationEvaluation scored, score_population(std::move(outputs), expected, metric));
    for (std::size_t i = 0; i < scored.rewards.size(); ++i) {
        if (std::isfinite(scored.rewards[i])) continue;
        if (i < scored.errors.size() && scored.errors[i]) return *scored.errors[i];
        return bad_input("With the group '{}' perturbed the reward is not finite.", name);
    }
    const std::span<const double> drawn = std::span(scored.rewards).subspan(1);
    const double mean = mean_of(drawn);
    return AblationRow{.group = name,
                       .base = scored.rewards.front(),
                       .reward = mean,
                       .change = mean - scored.rewards.front(),
                       .spread = deviation_of(drawn)};
}

Result<double> optimized_reward(System& system, std::span<const Example> examples, const Metric& metric,
                                const OptimizeOptions& options) {
    const Restored restored(system);
    YOLK_TRY(const OptimizeOutcome outcome, system.optimize(examples, metric, options));
    return outcome.best_reward;
}

Result<AblationRow> freeze(System& system, const std::string& name, std::span<const Example> examples,
                           const Metric& metric, const AblateOptions& options) {
    std::vector<double> with, without, changes;
    for (std::uint32_t i = 0; i < options.seeds; ++i) {
        OptimizeOptions optimize = options.optimize;
        optimize.evolution.seed += i;
        YOLK_TRY(with.emplace_back(), optimized_reward(system, examples, metric, optimize));
        const auto optimized = std::ranges::count_if(system.parameters().groups(), [](const ParameterGroup& group) {
            return group.spec.optimize && !group.values.values().empty();
        });
        if (optimized <= static_cast<std::ptrdiff_t>(optimize.evolution.freeze.size()) + 1) {
            // Nothing else to search: without it the system stays as it is.
            YOLK_TRY(const Evaluation as_it_is, system.evaluate(examples, metric));
            without.push_back(as_it_is.reward);
        } else {
            optimize.evolution.freeze.push_back(name);
            YOLK_TRY(without.emplace_back(), optimized_reward(system, examples, metric, optimize));
        }
        changes.push_back(without.back() - with.back());
    }
    return AblationRow{.group = name,
                       .base = mean_of(with),
                       .reward = mean_of(without),
                       .change = mean_of(changes),
                       .spread = deviation_of(changes)};
}

}  // namespace

std::string_view to_string(Ablation ablation) noexcept { return kAblationNames[static_cast<std::size_t>(ablation)]; }

Result<Ablation> parse_ablation(std::string_view name) {
    for (std::size_t i = 0; i < kAblationNames.size(); ++i) {
        if (kAblationNames[i] == name) return static_cast<Ablation>(i);
    }
    return bad_input("There is no ablation '{}'; there are {}.", name, fmt::join(kAblationNames, ", "));
}

Json to_json(const AblationRow& row) {
    return {{"group", row.group},
            {"base", row.base},
            {"reward", row.reward},
            {"change", row.change},
            {"spread", row.spread}};
}

Result<std::vector<AblationRow>> ablate(System& system, std::span<const Example> examples, const Metric& metric,
                                        const AblateOptions& options) {
    if (options.draws < 2 || options.draws % 2 != 0)
        return bad_input("The draws are {}; they must be an even number of at least 2.", options.draws);
    if (options.seeds < 1) return bad_input("The number of seeds is 0; it must be at least 1.");
    const ModelScope models(in_force_with(system.models()));
    YOLK_TRY(const std::vector<TracedExample> traced, system.trace_all(examples));
    YOLK_TRY(const std::vector<std::string> groups, chosen_groups(system.parameters(), options));
    std::vector<Value> expected;
    for (const Example& example : examples) expected.push_back(example.expected);
    YOLK_TRY(const Evaluation base, system.evaluate(examples, metric));
    std::vector<AblationRow> rows;
    for (const std::string& name : groups) {
        if (options.how == Ablation::Perturb) {
            YOLK_TRY(rows.emplace_back(), perturb(system, name, traced, expected, metric, options));
        } else if (options.how == Ablation::Freeze) {
            YOLK_TRY(rows.emplace_back(), freeze(system, name, examples, metric, options));
        } else {
            YOLK_TRY(rows.emplace_back(), replace(system, name, base, examples, metric, options));
        }
    }
    return rows;
}

}  // namespace yolk::hyper
