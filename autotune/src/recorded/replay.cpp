// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/replay.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

#include "yolk/internal/autotune/surface.hpp"

namespace yolk::autotune {
namespace {

Result<std::vector<double>> one_curve(const RecordedSurface& surface,
                                      const std::shared_ptr<const CandidateSet>& candidates, TunerOptions options) {
    const std::size_t budget = options.budget;
    YOLK_TRY(Tuner tuner, Tuner::create(candidates, std::move(options)));
    std::vector<double> curve;
    curve.reserve(budget);
    double best = kInvalidCost;
    while (const std::optional<std::size_t> candidate = tuner.ask()) {
        const double cost = surface.costs()[*candidate];
        YOLK_TRY_VOID(tuner.tell(*candidate, cost));
        best = std::min(best, cost);
        curve.push_back(surface.optimum() / best);
    }
    curve.resize(budget, curve.back());
    return curve;
}

/// What the threads share.
struct ReplayQueue {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> stopped = false;
    std::mutex mutex;
    std::size_t done = 0;
    std::optional<Error> error;
};

}  // namespace

std::vector<std::size_t> reported_budgets(std::size_t budget) {
    std::vector<std::size_t> budgets;
    for (const std::size_t reported : kReportedBudgets) {
        if (reported <= budget) budgets.push_back(reported);
    }
    if (budgets.empty()) budgets.push_back(budget);
    return budgets;
}

double Replay::mean(std::size_t budget) const {
    double sum = 0.0;
    for (const auto& curve : curves) sum += curve[budget - 1];
    return sum / static_cast<double>(curves.size());
}

double Replay::percentile(std::size_t budget, double share) const {
    std::vector<double> values;
    for (const auto& curve : curves) values.push_back(curve[budget - 1]);
    std::ranges::sort(values);
    const double at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double Replay::standard_error(std::size_t budget) const {
    if (curves.size() < 2) return 0.0;
    const double middle = mean(budget);
    double squares = 0.0;
    for (const auto& curve : curves) squares += (curve[budget - 1] - middle) * (curve[budget - 1] - middle);
    const auto n = static_cast<double>(curves.size());
    return std::sqrt(squares / (n - 1.0) / n);
}

std::optional<std::size_t> Replay::evaluations_to(double fraction) const {
    const std::size_t budget = curves.empty() ? 0 : curves.front().size();
    for (std::size_t n = 1; n <= budget; ++n) {
        if (mean(n) >= fraction) return n;
    }
    return std::nullopt;
}

Result<Replay> replay(const RecordedSurface& surface, const ReplayOptions& options) {
    if (options.repeats == 0) return bad_input("A replay of 0 repeats was asked for; at least 1 is needed.");
    const auto candidates = std::make_shared<const CandidateSet>(surface.candidates());
    std::vector<std::vector<double>> curves(options.repeats);
    ReplayQueue queue;
    const auto run = [&] {
        for (std::size_t repeat = queue.next++; repeat < options.repeats && !queue.stopped; repeat = queue.next++) {
            TunerOptions tuner = options.tuner;
            tuner.seed += repeat;
            Result<std::vector<double>> curve = one_curve(surface, candidates, std::move(tuner));
            const std::lock_guard lock(queue.mutex);
            if (!curve) {
                if (!queue.error) queue.error = curve.error();
                queue.stopped = true;
                return;
            }
            curves[repeat] = std::move(*curve);
            ++queue.done;
            if (options.progress && !options.progress(queue.done)) queue.stopped = true;
        }
    };
    const std::size_t available = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t threads = std::min(options.repeats, options.threads == 0 ? available : options.threads);
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(run);
    run();
    others.clear();  // joins
    if (queue.error) return *queue.error;
    Replay result{.curves = std::move(curves), .interrupted = queue.done < options.repeats};
    std::erase_if(result.curves, [](const std::vector<double>& curve) { return curve.empty(); });
    return result;
}

}  // namespace yolk::autotune
