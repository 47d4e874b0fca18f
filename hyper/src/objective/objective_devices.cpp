// SPDX-License-Identifier: Apache-2.0
// An objective over several devices, and what each did.
#include <fmt/format.h>

#include <algorithm>

#include "objective.hpp"
#include "system_impl.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper {
namespace {

void add_to(std::vector<evolve::WorkerShare>& sums, std::span<const evolve::WorkerShare> more) {
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
    const evolve::DevicePool* devices = system_->devices().pool();
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
    const bool own_search = options_.search != nullptr || options_.gradient || system_->devices().has_other_ranks();
    if (no_device_ && (own_search || !is_integer_rule(options_.evolution.fitness))) return *no_device_;
    if (no_device_)
        outcome_.notes.push_back(
            fmt::format("No device was opened, and the search ran on the host. {}", no_device_->message));
    return {};
}

evolve::DevicePool* SystemObjective::devices() noexcept {
    return training_.evaluator->is_pooled() ? system_->devices().pool() : nullptr;
}

Dispatcher& SystemObjective::dispatcher() noexcept {
    if (evolve::DevicePool* const several = devices()) {
        if (const Result<std::size_t> lead = several->lead()) return several->dispatcher(*lead);
    }
    return *dispatcher_;
}

void SystemObjective::add_shares(std::span<const evolve::WorkerShare> shares) {
    if (shares.empty()) return;
    add_to(generation_shares_, shares);
    add_to(outcome_.shares, shares);
}

void SystemObjective::count_shares(const PooledEvaluation& pooled) {
    add_shares(pooled.devices.shares);
    is_spoilt_ = is_spoilt_ || pooled.suspect_since.has_value();
}

Result<void> SystemObjective::check_spoilt(const Search& search) const {
    if (!is_spoilt_) return {};
    return failed_work(
        "Rewards that the search '{}' worked with may be wrong, and it has not gone back to before them. {} Run it "
        "again without that device.",
        search.name(), system_->devices().pool()->losses());
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
