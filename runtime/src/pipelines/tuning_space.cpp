// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/tuning_space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "yolk/internal/core/check.hpp"
#include "yolk/internal/core/philox.hpp"

namespace yolk {
namespace {

/// Beyond so many combinations a draw does not list the space first but tries at random.
constexpr std::uint64_t kListable = 1U << 16U;

/// A word pair as an index below `count`; the bias is below count / 2^64.
std::uint64_t index_below(std::uint64_t count, std::uint32_t draw, const PhiloxKey& key) {
    const auto words = philox4x32({draw, 0, 0, 0}, key);
    return ((std::uint64_t{words[0]} << 32U) | words[1]) % count;
}

}  // namespace

TuningSpace::TuningSpace(std::string family, std::vector<TuningKnob> knobs, Legality legality, TuningShape shape,
                         Configuration plain)
    : family_(std::move(family)),
      knobs_(std::move(knobs)),
      legality_(std::move(legality)),
      shape_(std::move(shape)),
      plain_(std::move(plain)) {
    for (const TuningKnob& knob : knobs_) {
        YOLK_ASSERT(!knob.values.empty());
        YOLK_ASSERT(std::ranges::adjacent_find(knob.values, std::greater_equal<>()) == knob.values.end());
    }
}

std::uint64_t TuningSpace::combinations() const noexcept {
    std::uint64_t product = 1;
    for (const TuningKnob& knob : knobs_) product *= knob.values.size();
    return product;
}

Configuration TuningSpace::combination(std::uint64_t index) const {
    Configuration values(knobs_.size());
    for (std::size_t i = knobs_.size(); i-- > 0;) {
        const auto& domain = knobs_[i].values;
        values[i] = domain[index % domain.size()];
        index /= domain.size();
    }
    return values;
}

Result<void> TuningSpace::check(const Configuration& configuration) const {
    if (configuration.size() != knobs_.size()) {
        return bad_input("A configuration of [{}] has {} values; the space has {} knobs.", family_,
                         configuration.size(), knobs_.size());
    }
    for (std::size_t i = 0; i < knobs_.size(); ++i) {
        if (std::ranges::binary_search(knobs_[i].values, configuration[i])) continue;
        return bad_input("{} of [{}] is {}; it may be {}.", knobs_[i].name, family_, configuration[i],
                         fmt::join(knobs_[i].values, ", "));
    }
    if (!legality_) return {};
    if (Result<void> legal = legality_(configuration); !legal) {
        Error error = std::move(legal).error();
        error.message = fmt::format("The configuration {} is outside the space of [{}]: {}", text(configuration),
                                    family_, error.message);
        return error;
    }
    return {};
}

std::vector<Configuration> TuningSpace::all() const {
    std::vector<Configuration> legal;
    std::vector<std::size_t> at(knobs_.size(), 0);  // indices into the domains; counts up, the last one fastest
    Configuration candidate = combination(0);
    while (true) {
        if (!legality_ || legality_(candidate)) legal.push_back(candidate);
        std::size_t knob = knobs_.size();
        while (knob > 0 && at[knob - 1] + 1 == knobs_[knob - 1].values.size()) {
            --knob;
            at[knob] = 0;
            candidate[knob] = knobs_[knob].values[0];
        }
        if (knob == 0) return legal;
        candidate[knob - 1] = knobs_[knob - 1].values[++at[knob - 1]];
    }
}

std::vector<Configuration> TuningSpace::draw(std::size_t count, std::uint64_t seed) const {
    const PhiloxKey key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
    if (combinations() <= kListable) {
        // The first `count` places of a Fisher-Yates shuffle.
        std::vector<Configuration> legal = all();
        const std::size_t taken = std::min(count, legal.size());
        for (std::size_t i = 0; i < taken; ++i) {
            const std::uint64_t offset = index_below(legal.size() - i, static_cast<std::uint32_t>(i), key);
            std::swap(legal[i], legal[i + offset]);
        }
        legal.resize(taken);
        return legal;
    }
    std::vector<Configuration> drawn;
    std::set<std::uint64_t> tried;
    for (std::uint32_t i = 0; drawn.size() < count && i < 1000 * (count + 1); ++i) {
        const std::uint64_t index = index_below(combinations(), i, key);
        if (!tried.insert(index).second) continue;
        Configuration candidate = combination(index);
        if (!legality_ || legality_(candidate)) drawn.push_back(std::move(candidate));
    }
    return drawn;
}

std::string TuningSpace::text(const Configuration& configuration) const {
    std::string line;
    for (std::size_t i = 0; i < std::min(knobs_.size(), configuration.size()); ++i) {
        line += fmt::format("{}{} {}", line.empty() ? "" : ", ", knobs_[i].name, configuration[i]);
    }
    return line.empty() ? "without knobs" : line;
}

}  // namespace yolk
