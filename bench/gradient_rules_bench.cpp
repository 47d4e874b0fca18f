// SPDX-License-Identifier: Apache-2.0
// Time to a loss of Adam and of K-FAC: System::optimize by derivatives of 32-64-64-8, tanh between its layers, over 256
// examples of a network of the same sizes, whose inputs have scales from 1 to 2^-5. Seeds draw the network, the
// examples and the first weights. Each rule's settings are those that get there soonest on two seeds: Adam's learning
// rate, and K-FAC's learning rate and damping. Then five other seeds count, the rules by turns; before, both have run
// once, so that nothing is compiled any more. A time is from the first step's report to the one whose reward is a
// fiftieth of the first; the row's is K-FAC's median. Counters: both medians of time and steps, seeds of five that got
// there, settings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "bench.hpp"
#include "times.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/optimize.hpp"

namespace yolk::bench {
namespace {

constexpr std::array<std::uint32_t, 4> kWidths{32, 64, 64, 8};
constexpr std::uint32_t kExamples = 256;
constexpr std::uint32_t kMostSteps = 3000;
constexpr double kMostSeconds = 60.0;
constexpr std::array<std::uint32_t, 2> kChoosingSeeds{101, 102};
constexpr std::array<std::uint32_t, 5> kSeeds{1, 2, 3, 4, 5};
constexpr std::array kAdamRates{3e-3F, 1e-2F, 3e-2F, 0.1F};
constexpr std::array kKfacRates{0.05F, 0.1F, 0.2F, 0.5F};
constexpr std::array kDampings{1e-3F, 1e-4F, 1e-5F};

using Matrices = std::array<std::vector<float>, kWidths.size() - 1>;

std::vector<float> uniform(std::size_t count, std::uint32_t seed, std::uint32_t stream, float scale = 1.0F) {
    std::vector<float> values(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t word = philox4x32({i, stream, 0, 0}, {seed, 9})[0];
        values[i] = scale * (static_cast<float>(word >> 8U) * 0x1p-23F - 1.0F);
    }
    return values;
}

/// Unit variance per output for inputs of unit variance.
Matrices drawn_matrices(std::uint32_t seed, std::uint32_t stream) {
    Matrices made;
    for (std::uint32_t layer = 0; layer < made.size(); ++layer) {
        const std::uint32_t in = kWidths[layer];
        const float scale = std::sqrt(3.0F / static_cast<float>(in));
        made[layer] = uniform(std::size_t{in} * kWidths[layer + 1], seed, stream + layer, scale);
    }
    return made;
}

std::vector<float> outputs(const Matrices& of, std::vector<float> x) {
    for (std::size_t layer = 0; layer < of.size(); ++layer) {
        std::vector<float> y(kWidths[layer + 1], 0.0F);
        for (std::size_t o = 0; o < y.size(); ++o) {
            for (std::size_t i = 0; i < x.size(); ++i) y[o] += of[layer][o * x.size() + i] * x[i];
            if (layer + 1 < of.size()) y[o] = std::tanh(y[o]);
        }
        x = std::move(y);
    }
    return x;
}

std::vector<hyper::Example> examples_of(std::uint32_t seed) {
    const Matrices target = drawn_matrices(seed, 10);
    std::vector<hyper::Example> examples(kExamples);
    for (std::uint32_t e = 0; e < kExamples; ++e) {
        std::vector<float> x = uniform(kWidths.front(), seed, 100 + e, std::sqrt(3.0F));
        examples[e].expected = hyper::Tensor::vector(outputs(target, x));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] *= std::exp2(-static_cast<float>(i % 6));
        examples[e].inputs.emplace("x", hyper::Tensor::vector(std::move(x)));
    }
    return examples;
}

hyper::System network(std::uint32_t seed) {
    const Matrices first = drawn_matrices(seed, 20);
    const auto layer = [&](std::uint32_t number) {
        const std::uint32_t out = kWidths[number + 1], in = kWidths[number];
        hyper::Tensor values = hyper::Tensor::create({out, in}, first[number]).value();
        return hyper::hyperfunction(
            fmt::format("layer {}", number), hyper::MatrixWeight{.out = out, .in = in, .values = std::move(values)},
            [](const hyper::Traced& weight, const hyper::Traced& x) { return hyper::linear(weight, x); },
            {.optimize = true});
    };
    return {"uneven", [a = layer(0), b = layer(1), c = layer(2)](const hyper::Inputs& in) {
                return c(hyper::tanh(b(hyper::tanh(a(in["x"])))));
            }};
}

/// Where a run ends.
struct Until {
    double share = 0.0;  ///< of the first loss
    double seconds = kMostSeconds;
    std::uint32_t steps = kMostSteps;
};

struct Settings {
    bool is_kfac = false;
    float rate = 0.0F;
    float damping = 0.0F;
};

struct ToLoss {
    double seconds = INFINITY;  ///< where it did not get there
    std::uint32_t steps = kMostSteps;
};

Result<ToLoss> time_to_loss(BenchDevice& on, const Settings& settings, std::uint32_t seed, const Until& until) {
    using Clock = std::chrono::steady_clock;
    hyper::System system = network(seed);
    system.use(on.dispatcher);
    hyper::GradientOptions gradient{.learning_rate = settings.rate};
    if (settings.is_kfac) gradient.kfac = {.learning_rate = settings.rate, .damping = settings.damping, .decay = 0.8F};
    ToLoss found;
    Clock::time_point begun;
    double first = 0.0;
    hyper::OptimizeOptions options{.generations = until.steps, .gradient = gradient};
    options.on_generation = [&](const hyper::GenerationReport& report) {
        if (report.generation == 0) {
            begun = Clock::now();
            first = report.unperturbed;
        }
        const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
        if (report.unperturbed < until.share * first) return seconds < until.seconds;  // rewards are below 0
        found = {.seconds = seconds, .steps = report.generation};
        return false;
    };
    YOLK_TRY_VOID(system.optimize(examples_of(seed), hyper::numeric_distance(), options));
    return found;
}

/// A run that takes longer than the best settings so far is given up.
Result<Settings> choose(BenchDevice& on, bool is_kfac, double share) {
    std::vector<Settings> tried;
    for (const float rate : is_kfac ? std::span<const float>(kKfacRates) : std::span<const float>(kAdamRates)) {
        for (const float damping : is_kfac ? std::span<const float>(kDampings) : std::span(kDampings).first(1))
            tried.push_back({.is_kfac = is_kfac, .rate = rate, .damping = damping});
    }
    Settings best = tried.front();
    double least = 2.0 * kMostSeconds;
    for (const Settings& settings : tried) {
        double sum = 0.0;
        for (const std::uint32_t seed : kChoosingSeeds) {
            if (sum >= least) break;
            YOLK_TRY(
                const ToLoss found,
                time_to_loss(on, settings, seed, {.share = share, .seconds = std::min(kMostSeconds, least - sum)}));
            sum += found.seconds;
        }
        if (sum < least) best = settings;
        least = std::min(least, sum);
    }
    return best;
}

/// Of the seeds: medians, in which one that did not get there counts as the slowest.
struct Judged {
    std::vector<double> seconds, steps;
    void add(const ToLoss& found) {
        seconds.push_back(found.seconds);
        steps.push_back(found.steps);
    }
    void tell(benchmark::State& state, const std::string& name, const Settings& settings) const {
        state.counters[name + "_seconds"] = median_of(seconds);
        state.counters[name + "_steps"] = median_of(steps);
        state.counters[name + "_reached"] =
            static_cast<double>(std::ranges::count_if(seconds, [](double each) { return std::isfinite(each); }));
        state.counters[name + "_rate"] = settings.rate;
        if (settings.is_kfac) state.counters[name + "_damping"] = settings.damping;
    }
};

Result<void> time_rules(benchmark::State& state, BenchDevice& on, double share) {
    YOLK_TRY(const Settings adam, choose(on, false, share));
    YOLK_TRY(const Settings kfac, choose(on, true, share));
    for (const Settings& settings : {adam, kfac}) YOLK_TRY_VOID(time_to_loss(on, settings, kSeeds[0], {.steps = 5}));
    Judged of_adam, of_kfac;
    for ([[maybe_unused]] const auto _ : state) {
        for (const std::uint32_t seed : kSeeds) {
            YOLK_TRY(const ToLoss by_adam, time_to_loss(on, adam, seed, {.share = share}));
            YOLK_TRY(const ToLoss by_kfac, time_to_loss(on, kfac, seed, {.share = share}));
            of_adam.add(by_adam);
            of_kfac.add(by_kfac);
        }
        state.SetIterationTime(median_of(of_kfac.seconds));
    }
    of_adam.tell(state, "adam", adam);
    of_kfac.tell(state, "kfac", kfac);
    state.counters["adam_over_kfac_seconds"] = median_of(of_adam.seconds) / median_of(of_kfac.seconds);
    return {};
}

void add_rules(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const double share : {0.02, 0.002}) {
            benchmark::RegisterBenchmark(fmt::format("gradient_rules/{}/32-64-64-8/to:{}", on.name, share).c_str(),
                                         [&on, share](benchmark::State& state) {
                                             if (const Result<void> timed = time_rules(state, on, share); !timed)
                                                 state.SkipWithError(timed.error().message.c_str());
                                         })
                ->UseManualTime()
                ->Iterations(1)
                ->Unit(benchmark::kMillisecond);
        }
    }
}

const Registration kRulesRegistration(add_rules);

}  // namespace
}  // namespace yolk::bench
