// SPDX-License-Identifier: Apache-2.0
// Two threads on one device, each with its own recorder and buffer, sharing a context: contexts, devices and
// dispatchers may be used from any thread, recorders from one at a time. Each draws its own noise and adds it up on the
// host; a third piece of work waits for both.
#include <cstdio>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "yolk/context.hpp"
#include "yolk/noise.hpp"

namespace {

constexpr std::uint32_t kElements = 10'000;
constexpr std::uint32_t kRounds = 20;

/// What a thread has to itself.
struct Worker {
    yolk::Buffer out;
    yolk::BoundNoise noise;
    std::optional<yolk::Recorder> recorder;
    yolk::Submission last;
    yolk::Result<void> outcome;
};

yolk::Result<void> work(const yolk::Context& context, Worker& worker, std::uint32_t pair) {
    YOLK_TRY(worker.out, context.allocate<std::int32_t>(kElements, "noise"));
    YOLK_TRY(const auto plan, yolk::plan_noise(context.device(), {.element_count = kElements, .pair_count = 1}));
    YOLK_TRY(worker.noise, plan.bind({.out = worker.out}, {}));
    YOLK_TRY(worker.recorder, yolk::Recorder::create(context.device()));
    for (std::uint32_t round = 0; round < kRounds; ++round) {
        worker.recorder->begin();
        worker.noise.record(*worker.recorder, {.seed = 1, .domain = yolk::Domain::Data, .pair = pair, .time = round});
        YOLK_TRY(worker.last, context.dispatcher().submit(*worker.recorder));
        if (round + 1 < kRounds) YOLK_TRY_VOID(context.dispatcher().wait(worker.last));
    }
    return {};
}

yolk::Result<std::vector<std::int64_t>> run() {
    YOLK_TRY(const auto context, yolk::Context::create());

    std::vector<Worker> workers(2);
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t i = 0; i < 2; ++i) {
            threads.emplace_back([&, i] { workers[i].outcome = work(context, workers[i], i); });
        }
    }
    for (Worker& worker : workers) YOLK_TRY_VOID(worker.outcome);

    // Copies both results together, after both threads' last submissions, for which nobody has waited yet.
    YOLK_TRY(const auto both, context.allocate<std::int32_t>(2 * kElements, "both"));
    YOLK_TRY(auto gather, yolk::Recorder::create(context.device(), {.label = "gather"}));
    gather.copy(workers[0].out, {both, 0, 4 * kElements});
    gather.copy(workers[1].out, {both, 4 * kElements, 4 * kElements});
    const std::vector<yolk::Submission> after{workers[0].last, workers[1].last};
    YOLK_TRY(const auto gathered, context.dispatcher().submit(gather, after));
    YOLK_TRY_VOID(context.dispatcher().wait(gathered));
    YOLK_TRY(const std::vector<std::int32_t> values, context.download<std::int32_t>(both));
    std::vector<std::int64_t> sums;
    for (std::uint32_t i = 0; i < 2; ++i) {
        const auto begin = values.begin() + std::int64_t{i} * kElements;
        sums.push_back(std::accumulate(begin, begin + kElements, std::int64_t{0}));
    }
    return sums;
}

/// The same noise on the host.
std::int64_t expected(std::uint32_t pair) {
    std::int64_t sum = 0;
    const yolk::NoiseStream stream{.seed = 1, .domain = yolk::Domain::Data, .pair = pair, .time = kRounds - 1};
    for (std::uint32_t i = 0; i < kElements; ++i) sum += yolk::noise_element(stream, i);
    return sum;
}

}  // namespace

int main() {
    const auto sums = run();
    if (!sums) return std::fprintf(stderr, "%s\n", sums.error().message.c_str()), 1;
    std::printf("the threads' sums are %lld and %lld\n", static_cast<long long>((*sums)[0]),
                static_cast<long long>((*sums)[1]));
    return *sums == std::vector{expected(0), expected(1)} ? 0 : 1;
}
