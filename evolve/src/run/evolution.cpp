// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolution.hpp"

#include "device_evolution.hpp"
#include "evolution_checks.hpp"
#include "evolution_engine.hpp"
#include "host_evolution.hpp"
#include "pool_evolution.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"

namespace yolk::evolve {

Result<Evolution> Evolution::create(const Device& device, Dispatcher& dispatcher, EvolutionParts parts,
                                    const EvolutionOptions& options) {
    YOLK_TRY_VOID(validate(options));
    YOLK_TRY_VOID(check_parts(parts, options));
    YOLK_TRY_VOID(probe_device(device, options.determinism));
    note_useless_rank(parts.parameters, options.rank);
    const NotFiniteWatch watch(parts.changing_examples);
    YOLK_TRY(std::unique_ptr<EvolutionEngine> engine,
             DeviceEvolution::create(device, dispatcher, std::move(parts), options));
    return Evolution(std::move(engine), watch);
}

namespace {

/// A run that a single device can make alone.
Result<EvolutionParts> single_parts(const Device& device, PoolParts parts) {
    EvolutionParts single{.parameters = std::move(parts.parameters),
                          .initial = std::move(parts.initial),
                          .evaluator = {},
                          .policy_evaluator = {},
                          .config = parts.config,
                          .host_elements = std::move(parts.host_elements),
                          .bounds = std::move(parts.bounds),
                          .digest = parts.digest,
                          .keep_weights = parts.keep_weights,
                          .optimizer_state = std::move(parts.optimizer_state),
                          .generation = parts.generation,
                          .changing_examples = parts.changing_examples};
    YOLK_TRY(single.evaluator, parts.single(device));
    if (parts.policy) {
        YOLK_TRY(single.policy_evaluator, parts.policy(device));
    }
    return single;
}

}  // namespace

namespace {

/// An engine's device, or the one that is chosen, is a pool of one.
Result<DevicePool> pool_of(const Devices& devices, const EvolutionOptions& options) {
    if (const DevicePool* const pool = devices.pool()) return *pool;
    YOLK_TRY(const Dispatcher* const only, devices.dispatcher());
    return DevicePool::create(std::span(&only->device(), 1),
                              {.determinism = options.determinism, .seed = options.seed});
}

}  // namespace

Result<Evolution> Evolution::create(const Devices& devices, PoolParts parts, const EvolutionOptions& options) {
    if (devices.is_none()) {
        const NotFiniteWatch watch(parts.changing_examples);
        YOLK_TRY(std::unique_ptr<EvolutionEngine> engine,
                 HostEvolution::create(std::move(parts), options, devices.has_other_ranks()));
        return Evolution(std::move(engine), watch);
    }
    YOLK_TRY(DevicePool pool, pool_of(devices, options));
    const bool is_allowed = pool.options().determinism == Determinism::Exact && parts.exact_members;
    if (pool.options().determinism != options.determinism && !is_allowed) {
        return bad_input("The run's determinism is {}, and its pool was made for {}. Make both for the same one.",
                         to_string(options.determinism), to_string(pool.options().determinism));
    }
    if (parts.host_policy) {
        return bad_input("PoolParts::host_policy is of runs on the host (Devices::none()); give PoolParts::policy.");
    }
    const bool has_stages = parts.stages.shape || parts.stages.update || parts.stages.optimize;
    const bool is_audited = pool.options().audit > 0.0;  // a pool says where nobody is left to do it
    const bool counts = parts.counts.words > 0;
    if (pool.in_use() == 1 && parts.single && !counts && !has_stages && !devices.has_other_ranks() && !is_audited) {
        YOLK_TRY(const std::size_t only, pool.lead());
        YOLK_TRY(EvolutionParts single, single_parts(pool.device(only), std::move(parts)));
        YOLK_TRY(Evolution run, create(pool.device(only), pool.dispatcher(only), std::move(single), options));
        run.pool_ = std::move(pool);
        return run;
    }
    YOLK_TRY_VOID(validate(options));
    if (!parts.members) return bad_input("A run over a pool needs PoolParts::members, which makes its evaluators.");
    note_useless_rank(parts.parameters, options.rank);
    const NotFiniteWatch watch(parts.changing_examples);
    YOLK_TRY(std::unique_ptr<EvolutionEngine> engine,
             PoolEvolution::create(pool, devices.exchange(), std::move(parts), options));
    return Evolution(std::move(engine), watch);
}

Result<GenerationSummary> Evolution::step() {
    YOLK_TRY(const GenerationSummary summary, engine_->step());
    YOLK_TRY_VOID(watch_.take(summary));
    return summary;
}
Result<GenerationSummary> Evolution::apply(const ShapedGeneration& shaped, std::span<const float> gradient) {
    return engine_->apply(shaped, gradient);
}
Result<ShapedGeneration> Evolution::shaped() const { return engine_->shaped(); }

Result<bool> EvolutionEngine::score_mean() {
    return bad_input("This evolution has no scores of the mean; ask for them in PoolParts::mean_scores.");
}
Result<bool> Evolution::score_mean() { return engine_->score_mean(); }
MeanScores Evolution::mean() const noexcept { return engine_->mean(); }
std::uint32_t Evolution::settled() const noexcept { return engine_->settled(); }

std::uint32_t Evolution::generations() const noexcept { return engine_->generations(); }
const ParameterTable& Evolution::table() const noexcept { return engine_->table(); }
std::span<const float> Evolution::parameters() const noexcept { return engine_->parameters(); }
std::span<const float> Evolution::optimizer_state() const noexcept { return engine_->optimizer_state(); }
BufferView Evolution::device_parameters() const noexcept { return engine_->device_parameters(); }
Result<std::vector<float>> Evolution::scores() const { return engine_->scores(); }
Result<void> Evolution::set_parameters(std::span<const float> values) { return engine_->set_parameters(values); }
Result<void> Evolution::set_elements(std::uint32_t first, std::span<const float> values) {
    return engine_->set_elements(first, values);
}
Result<void> Evolution::refresh() { return engine_->refresh(); }
Result<std::string> Evolution::state_hash() const {
    return evolve::state_hash(parameters(), optimizer_state(), generations());
}
std::span<const WorkerShare> Evolution::shares() const noexcept { return engine_->shares(); }
std::span<const RankShare> Evolution::rank_shares() const noexcept { return engine_->rank_shares(); }
Result<std::string> Evolution::state_digest() const { return engine_->state_digest(); }

}  // namespace yolk::evolve
