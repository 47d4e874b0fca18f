// SPDX-License-Identifier: Apache-2.0
// Members per second of the small language model of examples/10_transformer.cpp: two layers of attention, width 64, 64
// bytes of context, the log probability of the text as its one output. Items are members, each over `examples` windows.
#include <fmt/format.h>

#include <array>

#include "bench.hpp"
#include "yolk/core/philox.hpp"
#include "yolk/hyper/population.hpp"
#include "yolk/hyper/system.hpp"

namespace yolk::bench {
namespace {

using hyper::Traced;

constexpr std::uint32_t kWidth = 64, kHeads = 4, kBytes = 256, kContext = 64, kLayers = 2;
constexpr std::uint64_t kSeed = 42;

hyper::Hyperfunction<hyper::MatrixWeight> matrix(const std::string& name, std::uint32_t out, std::uint32_t in,
                                                 bool is_table = false) {
    return hyper::hyperfunction(name, hyper::MatrixWeight{.out = out, .in = in},
                                [is_table](const Traced& w, const Traced& x) {
                                    return is_table ? hyper::embedding(w, x) : hyper::linear(w, x);
                                },
                                {.optimize = true});
}

Traced heads(const Traced& x) {
    return hyper::permute(hyper::reshape(x, {kContext, kHeads, kWidth / kHeads}), {1, 0, 2});
}

Traced block(const std::string& name, const Traced& x) {
    const auto qkv =
        hyper::split(matrix(name + " mix", 3 * kWidth, kWidth)(hyper::rms_norm(x)), {kWidth, kWidth, kWidth}, -1);
    const Traced seen = hyper::attention(heads(qkv[0]), heads(qkv[1]), heads(qkv[2]), true);
    const Traced joined = hyper::reshape(hyper::permute(seen, {1, 0, 2}), {kContext, kWidth});
    const Traced y = x + matrix(name + " project", kWidth, kWidth)(joined);
    const Traced up = hyper::gelu(matrix(name + " up", 4 * kWidth, kWidth)(hyper::rms_norm(y)));
    return y + matrix(name + " down", kWidth, 4 * kWidth)(up);
}

Traced log_probability(const hyper::Inputs& in) {
    std::vector<float> places(kContext);
    for (std::uint32_t i = 0; i < kContext; ++i) places[i] = static_cast<float>(i);
    Traced x = matrix("bytes", kBytes, kWidth, true)(in["bytes"]) +
               matrix("places", kContext, kWidth, true)(hyper::Tensor::vector(std::move(places)));
    for (std::uint32_t i = 0; i < kLayers; ++i) x = block(fmt::format("block {}", i), x);
    const Traced logits = matrix("logits", kBytes, kWidth)(hyper::rms_norm(x));
    return hyper::sum(hyper::log_softmax(logits) * in["following"], hyper::Integers{0, 1});
}

std::vector<hyper::Example> windows(std::uint32_t count) {
    std::vector<hyper::Example> examples;
    for (std::uint32_t e = 0; e < count; ++e) {
        std::vector<float> bytes;
        std::vector<float> following(std::size_t{kContext} * kBytes, 0.0F);
        for (std::uint32_t i = 0; i < kContext; ++i) {
            const auto words = philox4x32({i, e, 0, 0}, {kSeed, 0});
            bytes.push_back(static_cast<float>(words[0] % kBytes));
            following[std::size_t{i} * kBytes + words[1] % kBytes] = 1.0F;
        }
        examples.push_back(
            {.inputs = {{"bytes", hyper::Tensor::vector(std::move(bytes))},
                        {"following", hyper::Tensor::create({kContext, kBytes}, std::move(following)).value()}},
             .expected = 0.0});
    }
    return examples;
}

Result<void> time_members(benchmark::State& state, BenchDevice& on, std::uint32_t members, std::uint32_t examples) {
    hyper::System system("transformer", log_probability);
    YOLK_TRY(const std::vector<hyper::TracedExample> traces, system.trace_all(windows(examples)));
    YOLK_TRY(const hyper::SearchSpace space, hyper::search_space(system.parameters()));
    YOLK_TRY(hyper::HostPool pool, hyper::HostPool::create());
    YOLK_TRY(hyper::PopulationEvaluator evaluator,
             hyper::PopulationEvaluator::create({.dispatcher = &on.dispatcher, .pool = &pool}, traces,
                                                system.parameters(), {}));
    hyper::PopulationCounts counts;
    const auto evaluate = [&](std::int32_t first) -> Result<void> {
        YOLK_TRY(const hyper::PopulationOutputs outputs, evaluator.evaluate({.table = space.table,
                                                                             .centre = space.centre,
                                                                             .when = {.seed = kSeed, .sigma = 0.05F},
                                                                             .first_member = first,
                                                                             .members = members}));
        counts = outputs.counts;
        return {};
    };
    YOLK_TRY_VOID(evaluate(0));
    std::int32_t first = 0;
    for ([[maybe_unused]] const auto _ : state) YOLK_TRY_VOID(evaluate(first += 2));
    state.counters["items_per_second"] = benchmark::Counter(
        static_cast<double>(members) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["dispatches"] = static_cast<double>(counts.dispatches);
    state.counters["chunks"] = static_cast<double>(counts.chunks);
    state.counters["host_equations"] = static_cast<double>(counts.host_equations);
    return {};
}

void add(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const std::uint32_t examples : {1U, 8U}) {
            benchmark::RegisterBenchmark(
                fmt::format("transformer/{}/population/examples:{}", on.name, examples).c_str(),
                [&on, examples](benchmark::State& state) {
                    if (const Result<void> timed = time_members(state, on, 1024, examples); !timed)
                        state.SkipWithError(timed.error().message.c_str());
                })
                ->UseRealTime();
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
