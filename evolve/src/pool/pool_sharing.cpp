// SPDX-License-Identifier: Apache-2.0
// Updates that all devices of a pool make together.
#include "pool_sharing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "pool_evolution.hpp"
#include "yolk/log.hpp"

namespace yolk::evolve {
namespace {

/// In proportion to what they evaluate, until the first update has shown what they take for it.
std::vector<double> rates_of(const DevicePool& pool, const std::vector<std::size_t>& workers) {
    double least = 0.0;
    for (const std::size_t worker : workers) {
        const double rate = pool.rate(worker);
        if (rate > 0.0) least = least > 0.0 ? std::min(least, rate) : rate;
    }
    std::vector<double> rates;
    for (const std::size_t worker : workers)
        rates.push_back(pool.rate(worker) > 0.0 ? pool.rate(worker) : std::max(least, 1.0));
    return rates;
}

/// A device whose memory or features do not suffice for a share still evaluates; others are gone.
void part_with(const FailedShare& failed, std::size_t worker, DevicePool& pool, UpdateTrial& trial) {
    if (failed.error.kind == ErrorKind::OutOfMemory || failed.error.kind == ErrorKind::Unsupported) {
        log_warning(fmt::format("{} takes no part in shared updates: {}", pool.name(worker), failed.error.message));
        return trial.leave_out(worker);
    }
    pool.drop(worker, failed.error.message);
}

/// Goes on without those that failed. Error: one that is not a device's.
Result<void> part_with_all(std::span<const FailedShare> failed, const std::vector<std::size_t>& workers,
                           DevicePool& pool, UpdateTrial& trial) {
    for (const FailedShare& each : failed) {
        if (!is_of_device(each.error)) return each.error;
    }
    for (const FailedShare& each : failed) part_with(each, workers[each.device], pool, trial);
    return {};
}

}  // namespace

std::vector<std::size_t> sharing_workers(const DevicePool& pool, const UpdateTrial& trial) {
    std::vector<std::size_t> workers;
    for (std::size_t i = 0; i < pool.device_count(); ++i) {
        if (pool.is_used(i) && trial.takes_part(i)) workers.push_back(i);
    }
    return workers;
}

OnEachDevice on_pool_threads(DevicePool& pool, const std::vector<std::size_t>& workers) {
    return [&pool, &workers](const std::function<void(std::size_t)>& make_share) {
        pool.on_each([&](std::size_t worker) {
            const auto found = std::ranges::find(workers, worker);
            if (found != workers.end()) make_share(static_cast<std::size_t>(found - workers.begin()));
        });
    };
}

/// Not where audits are on: docs/adr/0022-shares-of-an-update-are-exact.md. Ranks compare their states, which floats
/// that are summed in shares would make different.
bool PoolEvolution::can_share() const {
    const bool has_stages = parts.stages.update || parts.stages.optimize;
    const bool has_one_result = is_integer_rule(options.fitness) || !team;
    return !has_stages && !history && has_one_result && sharing_workers(*pool, trial).size() > 1;
}

/// Where devices have gone it is made anew with the others; with fewer than two left there is none.
Result<void> PoolEvolution::make_sharing() {
    while (true) {
        std::vector<std::size_t> workers = sharing_workers(*pool, trial);
        if (sharing && sharing->workers == workers) return {};
        sharing.reset();
        if (workers.size() < 2) return {};
        std::vector<UpdateDevice> devices;
        for (const std::size_t i : workers) {
            devices.push_back(
                {.device = &pool->device(i), .dispatcher = &pool->dispatcher(i), .config = parts.config.es_update});
        }
        std::vector<FailedShare> failed;
        Result<SharedUpdate> update = SharedUpdate::create(std::move(devices), parts.parameters, options, {}, &failed);
        if (update) {
            std::vector<double> rates = rates_of(*pool, workers);
            sharing.emplace(
                Sharing{.update = std::move(update).value(), .workers = std::move(workers), .rates = std::move(rates)});
            return {};
        }
        if (failed.empty()) return std::move(update).error();
        YOLK_TRY_VOID(part_with_all(failed, workers, *pool, trial));
    }
}

/// What each took of its share says how much of the next one it should get.
void PoolEvolution::follow_times() {
    const std::span<const double> next = sharing->update.next_rates();
    sharing->rates.assign(next.begin(), next.end());
}

/// Devices that fail at it are dropped. The lead then makes this update alone, or another lead where it is among them.
Result<GenerationSummary> PoolEvolution::update_together(const ShapedGeneration& given) {
    YOLK_TRY_VOID(make_sharing());
    std::vector<float> gradient;
    if (sharing) {
        gradient.resize(parts.parameters.element_count());
        const Result<void> done =
            sharing->update.gradient(given, now(), sharing->rates, gradient, on_pool_threads(*pool, sharing->workers));
        if (done) {
            follow_times();
        } else {
            gradient.clear();
            if (sharing->update.failed().empty()) return done.error();
            YOLK_TRY_VOID(part_with_all(sharing->update.failed(), sharing->workers, *pool, trial));
            sharing.reset();
        }
    }
    if (!pool->is_used(lead_index))
        return Error{.kind = ErrorKind::DeviceLost, .message = "The lead failed at a shared update."};
    return lead->apply(given, gradient);
}

Result<GenerationSummary> PoolEvolution::timed_update(const ShapedGeneration& given, std::span<const float> gradient) {
    if (!gradient.empty() || !can_share()) return update_on_lead(given, gradient);
    const auto start = std::chrono::steady_clock::now();
    Result<GenerationSummary> summary = trial.shares() ? update_together(given) : update_on_lead(given, {});
    if (summary) trial.took(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return summary;
}

}  // namespace yolk::evolve
