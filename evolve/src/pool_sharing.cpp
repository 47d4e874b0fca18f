// SPDX-License-Identifier: Apache-2.0
// Updates that all devices of a pool make together.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "pool_evolution.hpp"
#include "yolk/core/log.hpp"

namespace yolk::evolve {

bool PoolEvolution::can_share() const {
    const bool has_stages = parts.stages.update || parts.stages.optimize;
    std::size_t devices = 0;
    for (std::size_t i = 0; i < pool->device_count(); ++i) devices += pool->is_used(i) ? 1U : 0U;
    return !has_stages && !history && devices > 1 && is_integer_rule(options.fitness);
}

/// Anew where devices were dropped.
Result<void> PoolEvolution::make_sharing() {
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < pool->device_count(); ++i) {
        if (pool->is_used(i)) used.push_back(i);
    }
    if (sharing && sharing->workers == used) return {};
    sharing.reset();
    std::vector<UpdateDevice> devices;
    std::vector<double> rates;
    for (const std::size_t i : used) {
        devices.push_back({.device = &pool->device(i), .dispatcher = &pool->dispatcher(i)});
        rates.push_back(std::max(1e-3, pool->rate(i)));
    }
    YOLK_TRY(SharedUpdate update, SharedUpdate::create(std::move(devices), parts.parameters, options));
    sharing.emplace(Sharing{.update = std::move(update), .workers = std::move(used), .rates = std::move(rates)});
    return {};
}

/// What each took of its share says how much of the next one it should get. Half of it at a time: times vary.
void PoolEvolution::follow_times() {
    const std::span<const double> seconds = sharing->update.seconds();
    double longest = 0.0;
    for (const double each : seconds) longest = std::max(longest, each);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        if (seconds[i] > 0.0) sharing->rates[i] *= 0.5 + 0.5 * longest / seconds[i];
    }
    const double largest = *std::ranges::max_element(sharing->rates);
    for (double& rate : sharing->rates) rate /= largest;
}

/// A device that fails at it is dropped; the lead then makes this update alone.
Result<GenerationSummary> PoolEvolution::update_together(const ShapedGeneration& given) {
    if (const Result<void> made = make_sharing(); !made) {
        log_info(fmt::format("Updates are left to one device: {}", made.error().message));
        trial.give_up();
        return lead->apply(given, {});
    }
    std::vector<float> gradient(parts.parameters.element_count());
    const Result<void> done = sharing->update.gradient(given, now(), sharing->rates, gradient);
    if (done) {
        follow_times();
        return lead->apply(given, gradient);
    }
    if (!is_of_device(done.error())) return done.error();
    const bool lead_failed = std::ranges::any_of(
        sharing->update.failed(), [this](std::size_t position) { return sharing->workers[position] == lead_index; });
    for (const std::size_t position : sharing->update.failed())
        pool->drop(sharing->workers[position], done.error().message);
    sharing.reset();
    if (lead_failed) return done.error();
    return lead->apply(given, {});
}

Result<GenerationSummary> PoolEvolution::timed_update(const ShapedGeneration& given, std::span<const float> gradient) {
    if (!gradient.empty() || !can_share()) return update_on_lead(given, gradient);
    const auto start = std::chrono::steady_clock::now();
    Result<GenerationSummary> summary = trial.shares() ? update_together(given) : update_on_lead(given, {});
    if (summary) trial.took(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return summary;
}

}  // namespace yolk::evolve
