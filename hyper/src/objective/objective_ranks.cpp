// SPDX-License-Identifier: Apache-2.0
// An objective that several ranks share: who evaluates what, and what they agree on.
#include <fmt/format.h>

#include <algorithm>

#include "objective.hpp"
#include "yolk/internal/core/bytes.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
std::string hash_of(std::span<const Example> examples) {
    Hasher hasher;
    const auto add = [&](const std::string& text) {
        hasher.add(std::as_bytes(std::span(text)));
        hasher.add(std::as_bytes(std::span("", 1)));  // ends of texts count
    };
    for (const Example& example : examples) {
        for (const auto& [name, value] : example.inputs) {
            add(name);
            add(to_line(to_json(value)));
        }
        add(to_line(to_json(example.expected)));
    }
    return hasher.hex();
}

bool SystemObjective::is_first_rank() const noexcept {
    return system_->devices().exchange() == nullptr || system_->devices().exchange()->rank() == 0;
}

Result<void> SystemObjective::compare_ranks() const {
    if (!system_->devices().has_other_ranks()) return {};
    const evolve::DevicePool* const devices = system_->devices().pool();
    evolve::NamedValues values = settings_;
    values.emplace_back("generations", fmt::format("{}", options_.generations));
    values.emplace_back("budget of metric calls", fmt::format("{}", options_.metric_budget));
    values.emplace_back("audit", fmt::format("{}", devices == nullptr ? 0.0 : devices->options().audit));
    values.emplace_back("resume", fmt::format("{}", options_.resume));
    return evolve::compare_settings(*system_->devices().exchange(), values);
}

/// Rank 0's.
Result<std::optional<SearchCheckpoint>> SystemObjective::shared_checkpoint() const {
    if (!system_->devices().has_other_ranks()) return read_checkpoint();
    using Shared = Result<std::optional<SearchCheckpoint>>;
    const auto read = [&]() -> Result<ByteVector> {
        YOLK_TRY(const std::optional<SearchCheckpoint> own, read_checkpoint());
        return own ? encode_checkpoint(*own) : Result<ByteVector>(ByteVector());
    };
    YOLK_TRY(const ByteVector bytes, evolve::share_from(*system_->devices().exchange(), 0,
                                                        is_first_rank() ? read() : Result<ByteVector>(ByteVector())));
    if (bytes.empty()) return Shared(std::nullopt);
    YOLK_TRY(SearchCheckpoint checkpoint, decode_checkpoint(bytes, "The checkpoint that rank 0 sent"));
    return Shared(std::move(checkpoint));
}

Result<void> SystemObjective::agree(const Result<void>& mine) const {
    // An error that all have needs no other word.
    if (!system_->devices().has_other_ranks() || system_->devices().exchange()->ends_together()) return mine;
    return evolve::agree(*system_->devices().exchange(), mine);
}

Result<bool> SystemObjective::agree_on_any(bool mine) const {
    if (!system_->devices().has_other_ranks()) return mine;
    YOLK_TRY(const std::vector<ByteVector> all,
             evolve::gather_results(*system_->devices().exchange(), ByteVector{static_cast<std::byte>(mine)}));
    return std::ranges::any_of(all, [](const ByteVector& bytes) { return bytes == ByteVector{std::byte{1}}; });
}

Result<std::vector<double>> SystemObjective::from_all_ranks(std::uint32_t count, const EvaluateRange& evaluate) {
    if (!system_->devices().has_other_ranks()) return evaluate({.first = 0, .count = count});
    const std::uint64_t ranks = system_->devices().exchange()->ranks();
    const auto begin_of = [&](std::uint64_t rank) {
        return static_cast<std::uint32_t>(ceil_div(std::uint64_t{count} * rank, ranks));
    };
    const std::uint32_t begin = begin_of(system_->devices().exchange()->rank());
    const evolve::MemberRange part{.first = begin,
                                   .count = begin_of(system_->devices().exchange()->rank() + 1) - begin};
    const Result<std::vector<double>> mine = part.count == 0 ? std::vector<double>() : evaluate(part);
    YOLK_TRY(const std::vector<ByteVector> all,
             evolve::gather_results(*system_->devices().exchange(), mine ? Result<ByteVector>(bytes_of_values(*mine))
                                                                         : Result<ByteVector>(mine.error())));
    std::vector<double> rewards;
    for (const ByteVector& bytes : all) {
        const std::vector<double> more = values_in<double>(bytes);
        rewards.insert(rewards.end(), more.begin(), more.end());
    }
    if (rewards.size() != count)
        return failed_work("The ranks are not in step: they gave {} rewards of {} candidates.", rewards.size(), count);
    YOLK_TRY_VOID(share_costs());
    return rewards;
}

void SystemObjective::count_costs(const RankCosts& costs) {
    outcome_.cost.metric_calls += costs.metric_calls;
    outcome_.cost.host_calls += costs.host_calls;
    outcome_.cost.dispatches += costs.dispatches;
    unshared_.metric_calls += costs.metric_calls;
    unshared_.host_calls += costs.host_calls;
    unshared_.dispatches += costs.dispatches;
}

Result<void> SystemObjective::share_costs() {
    const RankCosts mine = std::exchange(unshared_, {});
    if (!system_->devices().has_other_ranks()) return {};
    YOLK_TRY(const std::vector<ByteVector> all,
             evolve::gather_results(*system_->devices().exchange(), bytes_of_values(std::span(&mine, 1))));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const std::vector<RankCosts> theirs = values_in<RankCosts>(all[rank]);
        if (rank == system_->devices().exchange()->rank() || theirs.empty()) continue;
        outcome_.cost.metric_calls += theirs.front().metric_calls;
        outcome_.cost.host_calls += theirs.front().host_calls;
        outcome_.cost.dispatches += theirs.front().dispatches;
        failed_in_generation_ += static_cast<std::uint32_t>(theirs.front().failed);
    }
    return {};
}

/// Rank 0 evaluates the means, and so knows the best.
Result<void> SystemObjective::share_result() {
    if (!system_->devices().has_other_ranks()) return {};
    ByteVector mine = bytes_of_values(std::span(&outcome_.best_reward, 1));
    if (best_) {
        const ByteVector coordinates = bytes_of_values(*best_);
        mine.insert(mine.end(), coordinates.begin(), coordinates.end());
    }
    YOLK_TRY(const ByteVector shared, evolve::share_from(*system_->devices().exchange(), 0, mine));
    outcome_.best_reward = values_in<double>(std::span(shared).first(sizeof(double))).front();
    best_.reset();
    if (shared.size() > sizeof(double)) best_ = values_in<float>(std::span(shared).subspan(sizeof(double)));
    return {};
}

void SystemObjective::count_ranks(const GenerationReport& report) {
    outcome_.ranks.resize(report.ranks.size());
    for (std::size_t i = 0; i < report.ranks.size(); ++i) {
        outcome_.ranks[i].members += report.ranks[i].members;
        outcome_.ranks[i].seconds += report.ranks[i].seconds;
    }
    outcome_.traffic = outcome_.traffic + report.traffic;
}

}  // namespace yolk::hyper
