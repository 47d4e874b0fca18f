// SPDX-License-Identifier: Apache-2.0
// The small language model of examples/10_transformer.cpp: two layers of attention, width 64, 64 bytes of context.
// First members per second of a population, each over `examples` windows; then steps of Adam over 16 windows, whose
// time is the median of a search's steps. Weights and windows are drawn so that bench/peers/transformer_torch.py has
// the same ones; `loss` (of the members, of the mean, before the first step, after `steps` steps) is in nats per
// byte.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "bench.hpp"
#include "times.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/hyper/population.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::bench {
namespace {

using hyper::Traced;

constexpr std::uint32_t kWidth = 64, kHeads = 4, kBytes = 256, kContext = 64, kLayers = 2;
constexpr std::uint32_t kSteps = 100;
constexpr std::uint64_t kSeed = 42;

/// [out, in], uniform within +-sqrt(3 / in).
hyper::Tensor drawn(std::uint32_t out, std::uint32_t in, std::uint32_t stream) {
    const float scale = std::sqrt(3.0F / static_cast<float>(in));
    std::vector<float> values(std::size_t{out} * in);
    for (std::uint32_t i = 0; i < values.size(); ++i) {
        const std::uint32_t word = philox4x32({i, stream, 0, 0}, {kSeed, 1})[0];
        values[i] = scale * (static_cast<float>(word >> 8U) * 0x1p-23F - 1.0F);
    }
    return hyper::Tensor::create({out, in}, std::move(values)).value();
}

struct Matrix {
    std::string name;
    std::uint32_t out, in, stream;
    bool is_table = false;

    Traced operator()(const Traced& x) const {
        const hyper::MatrixWeight weight{.out = out, .in = in, .values = drawn(out, in, stream)};
        return hyper::hyperfunction(name, weight,
                                    [table = is_table](const Traced& w, const Traced& rows) {
                                        return table ? hyper::embedding(w, rows) : hyper::linear(w, rows);
                                    },
                                    {.optimize = true})(x);
    }
};

Traced heads(const Traced& x) {
    return hyper::permute(hyper::reshape(x, {kContext, kHeads, kWidth / kHeads}), {1, 0, 2});
}

Traced block(std::uint32_t number, const Traced& x) {
    const std::string name = fmt::format("block {} ", number);
    const std::uint32_t stream = 10 * (number + 1);
    const auto qkv = hyper::split(Matrix{name + "mix", 3 * kWidth, kWidth, stream}(hyper::rms_norm(x)),
                                  {kWidth, kWidth, kWidth}, -1);
    const Traced seen = hyper::attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), true);
    const Traced joined = hyper::reshape(hyper::permute(seen, {1, 0, 2}), {kContext, kWidth});
    const Traced y = x + Matrix{name + "project", kWidth, kWidth, stream + 1}(joined);
    const Traced up = hyper::gelu(Matrix{name + "up", 4 * kWidth, kWidth, stream + 2}(hyper::rms_norm(y)));
    return y + Matrix{name + "down", kWidth, 4 * kWidth, stream + 3}(up);
}

Traced logits(const hyper::Inputs& in) {
    std::vector<float> places(kContext);
    std::iota(places.begin(), places.end(), 0.0F);
    Traced x = Matrix{"bytes", kBytes, kWidth, 0, true}(in["bytes"]) +
               Matrix{"places", kContext, kWidth, 1, true}(hyper::Tensor::vector(std::move(places)));
    for (std::uint32_t i = 0; i < kLayers; ++i) x = block(i, x);
    return Matrix{"logits", kBytes, kWidth, 2}(hyper::rms_norm(x));
}

/// Of one window: what a population of the example is scored by, as an output.
Traced log_probability(const hyper::Inputs& in) {
    return hyper::sequence_cross_entropy().traced(logits(in), in["following"]);
}

/// Bytes of which each is one of four that the one before it allows. Inputs: `bytes`, and `following` where wanted.
std::vector<hyper::Example> windows(std::uint32_t count, bool with_following) {
    std::vector<hyper::Example> examples(count);
    for (std::uint32_t e = 0; e < count; ++e) {
        std::uint32_t byte = 17 * e % kBytes;
        std::vector<float> bytes;
        std::vector<float> following;
        for (std::uint32_t i = 0; i < kContext; ++i) {
            bytes.push_back(static_cast<float>(byte));
            byte = (5 * byte + philox4x32({i, e, 0, 0}, {kSeed, 0})[0] % 4) % kBytes;
            following.push_back(static_cast<float>(byte));
        }
        examples[e].expected = hyper::Tensor::vector(std::move(following));
        examples[e].inputs.emplace("bytes", hyper::Tensor::vector(std::move(bytes)));
        if (with_following) examples[e].inputs.emplace("following", examples[e].expected);
    }
    return examples;
}

double mean_loss(const hyper::PopulationOutputs& outputs) {
    double sum = 0.0;
    for (const hyper::Value& value : outputs.values) {
        const hyper::Tensor* tensor = value.tensor();
        sum -= tensor != nullptr ? double{tensor->values()[0]} : value.as_number().value();
    }
    return sum / static_cast<double>(outputs.values.size());
}

Result<void> time_members(benchmark::State& state, BenchDevice& on, std::uint32_t members, std::uint32_t examples,
                          bool joined_kernels) {
    hyper::System system("transformer", log_probability);
    YOLK_TRY(const std::vector<hyper::TracedExample> traces, system.trace_all(windows(examples, true)));
    YOLK_TRY(const hyper::SearchSpace space, hyper::search_space(system.parameters()));
    YOLK_TRY(hyper::HostPool pool, hyper::HostPool::create());
    YOLK_TRY(hyper::PopulationEvaluator evaluator,
             hyper::PopulationEvaluator::create({.devices = on.dispatcher, .pool = &pool}, traces, system.parameters(),
                                                {.joined_kernels = joined_kernels}));
    const auto evaluate = [&](std::int32_t first, std::uint32_t count) {
        return evaluator.evaluate({.table = space.table,
                                   .mean = space.mean,
                                   .when = {.seed = kSeed, .sigma = 0.05F},
                                   .first_member = first,
                                   .members = count});
    };
    YOLK_TRY(const hyper::PopulationOutputs mean, evaluate(-1, 1));
    YOLK_TRY(hyper::PopulationOutputs outputs, evaluate(0, members));
    std::int32_t first = 0;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY(outputs, evaluate(first += 2, members));
    }
    state.counters["items_per_second"] = benchmark::Counter(
        static_cast<double>(members) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["dispatches"] = static_cast<double>(outputs.counts.dispatches);
    state.counters["chunks"] = static_cast<double>(outputs.counts.chunks);
    state.counters["host_equations"] = static_cast<double>(outputs.counts.host_equations);
    state.counters["unperturbed_loss"] = mean_loss(mean);
    state.counters["loss"] = mean_loss(outputs);
    return {};
}

/// One search of kSteps, or of as many as half a minute takes. Examples are drawn for each step, and all of them make
/// one, so that the data is new to the device, as in training, and the losses can be compared.
Result<void> time_adam(benchmark::State& state, BenchDevice& on, std::uint32_t examples, bool joined_kernels) {
    using Clock = std::chrono::steady_clock;
    hyper::System system("transformer", logits);
    system.use(on.dispatcher);
    std::vector<Clock::time_point> reports;
    std::vector<double> losses;
    hyper::OptimizeOptions options{.generations = kSteps + 1,
                                   .examples_per_generation = examples,
                                   .population_options = {.joined_kernels = joined_kernels},
                                   .gradient = hyper::GradientOptions{.learning_rate = 3e-3F}};
    options.on_generation = [&](const hyper::GenerationReport& report) {
        reports.push_back(Clock::now());
        losses.push_back(-report.unperturbed);
        return reports.back() - reports.front() < std::chrono::seconds(30);
    };
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY_VOID(system.optimize(windows(examples, false), hyper::sequence_cross_entropy(), options));
        if (reports.size() < 3) return failed_work("Three steps of Adam take more than half a minute.");
        std::vector<double> seconds;
        for (std::size_t i = 2; i < reports.size(); ++i)
            seconds.push_back(std::chrono::duration<double>(reports[i] - reports[i - 1]).count());
        state.SetIterationTime(median_of(std::move(seconds)));
    }
    state.counters["steps"] = static_cast<double>(losses.size() - 1);
    state.counters["loss_before"] = losses.front();
    state.counters["loss"] = losses.back();
    return {};
}

benchmark::internal::Benchmark* add_one(const std::string& name,
                                        const std::function<Result<void>(benchmark::State&)>& time) {
    return benchmark::RegisterBenchmark(name.c_str(), [time](benchmark::State& state) {
        if (const Result<void> timed = time(state); !timed) state.SkipWithError(timed.error().message.c_str());
    });
}

void add(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const bool joined : {true, false}) {
            const char* const kernels = joined ? "" : "/apart";
            for (const std::uint32_t examples : {1U, 8U}) {
                add_one(fmt::format("transformer/{}/population/examples:{}{}", on.name, examples, kernels),
                        [&on, examples, joined](benchmark::State& state) {
                            return time_members(state, on, 1024, examples, joined);
                        })
                    ->UseRealTime();
            }
            add_one(fmt::format("transformer/{}/adam/windows:16{}", on.name, kernels),
                    [&on, joined](benchmark::State& state) { return time_adam(state, on, 16, joined); })
                ->UseManualTime()
                ->Iterations(1)
                ->Unit(benchmark::kMillisecond);
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
