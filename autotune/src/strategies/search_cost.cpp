// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/search_cost.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "posterior_search.hpp"
#include "yolk/internal/autotune/random.hpp"
#include "yolk/internal/autotune/tuner.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kLastSteps = 11;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

StepCost cost_of(std::vector<double> times) {
    if (times.empty()) return {};
    std::ranges::sort(times);
    return {.median = times[times.size() / 2], .largest = times.back()};
}

}  // namespace

MadeUpSurface made_up_surface(std::size_t candidates) {
    std::vector<Parameter> parameters;
    std::size_t left = std::max<std::size_t>(candidates, 2);
    while (left > 1) {
        const std::size_t count = std::min<std::size_t>(left, parameters.size() < 3 ? 5 : 6);
        std::vector<Value> values;
        for (std::size_t v = 0; v < count; ++v) values.emplace_back(static_cast<double>(v + 1));
        parameters.push_back(Parameter::of("p" + std::to_string(parameters.size()), std::move(values)));
        left = (left + count - 1) / count;
    }
    Space space = Space::create(std::move(parameters)).value();
    CandidateSet set = CandidateSet::of(std::move(space), std::size_t{1} << 30U, 1).value();
    MadeUpSurface surface;
    for (std::size_t c = 0; c < set.size(); ++c) {
        const ChoiceView choice = set[c];
        double value = 0.0;
        for (std::size_t p = 0; p < set.dimensions(); ++p) {
            value += 0.1 * std::abs(choice[p] - 2.0);
            if (p > 0) value += 0.05 * std::abs(double{1} * choice[p] - choice[p - 1]);
        }
        const double hash = std::sin(12.9898 * static_cast<double>(c + 1)) * 43758.5453;
        surface.costs.push_back(std::exp(value + 0.3 * (hash - std::floor(hash))));
    }
    surface.candidates = std::make_shared<const CandidateSet>(std::move(set));
    return surface;
}

StepCost step_cost(std::size_t candidates, std::size_t measurements, std::size_t steps, DeviceAlgebra* algebra) {
    const MadeUpSurface surface = made_up_surface(candidates);
    const std::size_t size = surface.costs.size();
    History history(size);
    PosteriorSearch search(*surface.candidates, history, {},
                           algebra == nullptr ? host_linear_algebra() : algebra->make());
    Random random(1);
    double best = std::numeric_limits<double>::infinity();
    const auto tell = [&](std::size_t candidate) {
        const double value = std::log(surface.costs[candidate]);
        history.add(candidate, surface.costs[candidate]);
        best = std::min(best, value);
        search.add(candidate, value);
    };
    while (history.size() < std::min(measurements, size / 2)) {
        const std::size_t candidate = random.below(size);
        if (!history.known(candidate)) tell(candidate);
    }
    std::vector<double> times;
    std::optional<std::size_t> next = search.most_promising(best);  // what a regression costs to begin is no step's
    for (std::size_t step = 0; step < steps && next; ++step) {
        const auto begin = Clock::now();
        tell(*next);
        next = search.most_promising(best);
        times.push_back(milliseconds_since(begin));
    }
    return cost_of(std::move(times));
}

Result<SearchCost> search_cost(const std::shared_ptr<const CandidateSet>& candidates, std::span<const double> costs,
                               std::size_t measurements, const std::shared_ptr<DeviceAlgebra>& algebra) {
    TunerOptions options{.strategy = "natural", .budget = measurements + 1, .seed = 1};
    if (algebra != nullptr) options.settings.linear_algebra = on_device(algebra);
    YOLK_TRY(Tuner tuner, Tuner::create(candidates, std::move(options)));
    SearchCost cost;
    std::vector<double> times;
    std::optional<std::size_t> next = tuner.ask();
    while (next && times.size() < measurements) {
        const auto begin = Clock::now();
        YOLK_TRY_VOID(tuner.tell(*next, costs[*next]));
        next = tuner.ask();
        times.push_back(milliseconds_since(begin));
        cost.seconds += 1e-3 * times.back();
        if (times.back() > cost.largest) {
            cost.largest = times.back();
            cost.largest_at = times.size();
        }
    }
    const std::size_t last = std::min(kLastSteps, times.size());
    cost.last = cost_of({times.end() - static_cast<std::ptrdiff_t>(last), times.end()});
    if (const std::optional<Best> best = tuner.best()) cost.best = best->cost;
    return cost;
}

}  // namespace yolk::autotune
