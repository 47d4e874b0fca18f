// SPDX-License-Identifier: Apache-2.0
// An objective over several devices: what each did, and going back where one computed wrongly.
#include <fmt/format.h>

#include <algorithm>

#include "eggroll_steps.hpp"
#include "objective.hpp"
#include "system_impl.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"

namespace yolk::hyper {
namespace {

void add_shares(std::vector<evolve::WorkerShare>& sums, std::span<const evolve::WorkerShare> more) {
    if (sums.empty()) return sums.assign(more.begin(), more.end());
    for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i].dropped = more[i].dropped;
        sums[i].members += more[i].members;
        sums[i].audited += more[i].audited;
        sums[i].chunks += more[i].chunks;
        sums[i].busy_seconds += more[i].busy_seconds;
        sums[i].rate = more[i].rate;
    }
}

}  // namespace

Result<void> SystemObjective::check_devices() const {
    const evolve::DevicePool* devices = system_->devices();
    if (devices == nullptr || devices->options().determinism == options_.evolution.determinism ||
        options_.evolution.determinism == Determinism::Fast)
        return {};
    return bad_input(
        "The devices were taken together in fast mode, in which their bits may differ; the search is in exact mode. "
        "Give DevicePoolOptions::determinism Exact, or the search Fast.");
}

Result<void> SystemObjective::find_device() {
    YOLK_TRY(MaybeDevice device, device_of(*system_));
    dispatcher_ = device.dispatcher;
    no_device_ = std::move(device.why);
    const bool own_search = options_.search != nullptr || options_.gradient || has_other_ranks(options_);
    if (no_device_ && (own_search || !is_integer_rule(options_.evolution.fitness))) return *no_device_;
    if (no_device_)
        outcome_.notes.push_back(
            fmt::format("No device was opened, and the search ran on the host. {}", no_device_->message));
    return {};
}

evolve::DevicePool* SystemObjective::devices() noexcept {
    return training_.evaluator->is_pooled() ? system_->devices() : nullptr;
}

Dispatcher& SystemObjective::dispatcher() noexcept {
    if (evolve::DevicePool* const several = devices()) {
        if (const Result<std::size_t> lead = several->lead()) return several->dispatcher(*lead);
    }
    return *dispatcher_;
}

void SystemObjective::count_shares(const PooledEvaluation& pooled) {
    if (pooled.devices.shares.empty()) return;
    add_shares(step_shares_, pooled.devices.shares);
    add_shares(outcome_.shares, pooled.devices.shares);
    next_evaluation_ = pooled.evaluation + 1;
    if (pooled.suspect_since) distrust(*pooled.suspect_since);
}

void SystemObjective::distrust(std::uint32_t evaluation) {
    spoilt_since_ = std::min(evaluation, spoilt_since_.value_or(UINT32_MAX));
}

SearchMark SystemObjective::mark() const {
    return {.evaluation = next_evaluation_,
            .steps = outcome_.steps,
            .failed_candidates = outcome_.failed_candidates,
            .best_reward = outcome_.best_reward,
            .best_held_out = best_held_out_,
            .best = best_};
}

Result<void> SystemObjective::go_back(const SearchMark& mark) {
    YOLK_TRY(const bool start_too, agree_on_any(spoilt_since_ && *spoilt_since_ < start_evaluation_));
    spoilt_since_.reset();
    const std::string sentence = fmt::format(
        "The search went back from step {} to step {}: what the dropped device evaluated since then may be "
        "wrong.",
        outcome_.steps, mark.steps);
    log_warning(sentence);
    outcome_.notes.push_back(sentence);
    YOLK_TRY_VOID(log_line(Json{{"goes_back_to_step", mark.steps}}));
    outcome_.steps = mark.steps;
    outcome_.history.resize(mark.steps - outcome_.resumed_from);
    outcome_.failed_candidates = mark.failed_candidates;
    failed_in_step_ = 0;
    outcome_.best_reward = mark.best_reward;
    best_held_out_ = mark.best_held_out;
    best_ = mark.best;
    unshared_.failed = 0;
    return start_too ? agree(score_start()) : Result<void>();
}

Result<void> SystemObjective::check_spoilt(const Search& search) const {
    if (!spoilt_since_) return {};
    return failed_work(
        "Rewards that the search '{}' worked with may be wrong, and it has not gone back to before them. {} Run it "
        "again without that device.",
        search.name(), system_->devices()->losses());
}

void SystemObjective::note_devices() {
    evolve::DevicePool* const several = devices();
    if (several == nullptr) return;
    if (const std::string lost = several->losses(); !lost.empty()) outcome_.notes.push_back(lost);
    outcome_.depends_on_placement = several->options().determinism == Determinism::Fast;
    if (outcome_.depends_on_placement) {
        outcome_.notes.emplace_back(
            "In fast mode the last bits of rewards may depend on which device evaluated a candidate.");
    }
}

}  // namespace yolk::hyper
