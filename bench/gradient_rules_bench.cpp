// SPDX-License-Identifier: Apache-2.0
// Time to a loss of Adam and of K-FAC: System::optimize by derivatives on 16-32-8 with tanh over 256 examples of a
// network of the same sizes, whose inputs have scales from 1 to 2^-5. Each rule takes the best of its learning rates,
// K-FAC of two dampings as well. The time is from the first step's report to the report whose reward is a fiftieth of
// the first; `steps` are counted likewise.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench.hpp"
#include "yolk/core/philox.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kIn = 16, kHidden = 32, kOut = 8, kExamples = 256;
constexpr std::uint32_t kMostSteps = 1500;
constexpr double kShare = 0.02;

std::vector<float> uniform(std::size_t count, std::uint32_t stream) {
    std::vector<float> values(count);
    for (std::uint32_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(philox4x32({i, 0, 0, 0}, {stream, 9})[0] >> 8U) * 0x1p-23F - 1.0F;
    return values;
}

hyper::Hyperfunction<hyper::MatrixWeight> matrix(const char* name, std::uint32_t out, std::uint32_t in) {
    return hyper::hyperfunction(
        name, hyper::MatrixWeight{.out = out, .in = in},
        [](const hyper::Traced& weight, const hyper::Traced& x) { return hyper::linear(weight, x); },
        {.optimize = true});
}

hyper::Example example_of(std::uint32_t index, std::span<const float> inner, std::span<const float> outer) {
    std::vector<float> x = uniform(kIn, 100 + index);
    std::vector<float> y(kOut, 0.0F);
    for (std::size_t h = 0; h < kHidden; ++h) {
        float sum = 0.0F;
        for (std::size_t i = 0; i < kIn; ++i) sum += inner[kIn * h + i] * x[i];
        for (std::size_t o = 0; o < kOut; ++o) y[o] += 0.5F * outer[kHidden * o + h] * std::tanh(sum);
    }
    for (std::size_t i = 0; i < kIn; ++i) x[i] *= std::exp2(-static_cast<float>(i % 6));
    return {.inputs = {{"x", hyper::Tensor::vector(std::move(x))}}, .expected = hyper::Tensor::vector(std::move(y))};
}

struct ToLoss {
    double seconds = 0.0;
    std::uint32_t steps = kMostSteps;
};

Result<ToLoss> time_to_loss(BenchDevice& on, const hyper::GradientOptions& gradient) {
    using Clock = std::chrono::steady_clock;
    hyper::System system("uneven", [first = matrix("first", kHidden, kIn), second = matrix("second", kOut, kHidden)](
                                       const hyper::Inputs& in) { return second(hyper::tanh(first(in["x"]))); });
    system.use(on.dispatcher);
    const std::vector<float> inner = uniform(std::size_t{kHidden} * kIn, 1);
    const std::vector<float> outer = uniform(std::size_t{kOut} * kHidden, 2);
    std::vector<hyper::Example> examples;
    for (std::uint32_t e = 0; e < kExamples; ++e) examples.push_back(example_of(e, inner, outer));
    ToLoss found;
    Clock::time_point begun;
    double first = 0.0;
    hyper::OptimizeOptions options{.steps = kMostSteps, .gradient = gradient};
    options.on_step = [&](const hyper::StepReport& report) {
        if (report.step == 0) {
            begun = Clock::now();
            first = report.centre;
        }
        found.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
        if (report.centre < kShare * first) return true;
        found.steps = report.step;
        return false;
    };
    YOLK_TRY_VOID(system.optimize(examples, hyper::numeric_distance(), options));
    return found;
}

Result<ToLoss> best_time(BenchDevice& on, bool is_kfac) {
    ToLoss best{.seconds = INFINITY};
    for (const float rate : is_kfac ? std::vector{0.1F, 0.3F, 0.5F} : std::vector{3e-3F, 1e-2F, 3e-2F}) {
        for (const float damping : is_kfac ? std::vector{1e-3F, 1e-5F} : std::vector{0.0F}) {
            hyper::GradientOptions gradient{.learning_rate = rate};
            if (is_kfac) gradient.kfac = {.learning_rate = rate, .damping = damping, .decay = 0.8F};
            YOLK_TRY(const ToLoss found, time_to_loss(on, gradient));
            if (found.steps < kMostSteps && found.seconds < best.seconds) best = found;
        }
    }
    return best;
}

void add_rules(std::span<BenchDevice> devices) {
    for (const bool is_kfac : {false, true}) {
        for (BenchDevice& on : devices) {
            const std::string name = fmt::format("gradient_rules/{}/{}", on.name, is_kfac ? "kfac" : "adam");
            benchmark::RegisterBenchmark(name.c_str(),
                                         [&on, is_kfac](benchmark::State& state) {
                                             for ([[maybe_unused]] const auto _ : state) {
                                                 const Result<ToLoss> best = best_time(on, is_kfac);
                                                 if (!best) return state.SkipWithError(best.error().message.c_str());
                                                 if (best->steps == kMostSteps)
                                                     return state.SkipWithError("no learning rate got there");
                                                 state.SetIterationTime(best->seconds);
                                                 state.counters["steps"] = best->steps;
                                             }
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
