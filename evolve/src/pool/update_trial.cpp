// SPDX-License-Identifier: Apache-2.0
#include "update_trial.hpp"

#include <algorithm>

namespace yolk::evolve {
namespace {

constexpr std::uint32_t kTries = 3;              // of each way at first, the warm-up among them
constexpr double kWorthTrying = 0.002;           // seconds on the lead: less than this sharing cannot gain
constexpr std::uint32_t kLongInARow = 8;         // since a short one: a machine may stand still for a moment
constexpr std::uint32_t kUpdatesPerTrial = 256;  // of the faster way, then two of the slower one

}  // namespace

bool UpdateTrial::faster_shares() const noexcept {
    return lead_.seconds && shared_.seconds && *shared_.seconds < *lead_.seconds;
}

bool UpdateTrial::shares() const noexcept {
    if (by_ != UpdateBy::Measured) return by_ == UpdateBy::All;
    if (lead_.count < kTries) return false;
    if (lead_.seconds.value_or(0.0) < kWorthTrying) return false;
    // Plans on all devices are made for the first try.
    if (shared_.count == 0 && has_had_short_one_ && long_in_a_row_ < kLongInARow) return false;
    if (shared_.count < kTries) return true;
    const bool is_trial = since_trial_ >= kUpdatesPerTrial;
    return faster_shares() != is_trial;
}

void UpdateTrial::leave_out(std::size_t worker) { left_out_.push_back(worker); }

bool UpdateTrial::takes_part(std::size_t worker) const noexcept {
    return std::ranges::find(left_out_, worker) == left_out_.end();
}

void UpdateTrial::took(double seconds) noexcept {
    Way& way = shares() ? shared_ : lead_;
    if (&way == &lead_) {
        const bool is_short = seconds < kWorthTrying;
        has_had_short_one_ = has_had_short_one_ || is_short;
        long_in_a_row_ = is_short ? 0 : long_in_a_row_ + 1;
    }
    ++way.count;
    if (way.count == 1) return;
    way.seconds = way.seconds && way.count <= kTries ? std::min(*way.seconds, seconds) : seconds;
    if (++since_trial_ > kUpdatesPerTrial + 1) since_trial_ = 0;
}

}  // namespace yolk::evolve
