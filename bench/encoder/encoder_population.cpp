// SPDX-License-Identifier: Apache-2.0
// A population of a BERT-like encoder: members whose query and value matrices are perturbed at rank 1, over some texts
// of one length. Members x texts per second of the clock and of processor time (on drivers of the processor), and
// memory; bench/peers/encoder_population.py has the same in PyTorch.
//
//     yolk_encoder_bench FOLDER [MEMBERS] [TEXTS] [LENGTH] [TURNS]      one JSON object
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "yolk/context.hpp"
#include "yolk/encoder.hpp"

namespace yolk::bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
rusage used() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}
long peak_mib() { return used().ru_maxrss / 1024; }
double processor_seconds() {
    const rusage usage = used();
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Sizes {
    std::uint32_t members = 64, texts = 4, length = 32, turns = 3;
};

Result<void> run(const char* folder, const Sizes& sizes) {
    YOLK_TRY(const Context context, Context::create());
    YOLK_TRY(const transformer::Encoder encoder, transformer::Encoder::open(folder, context));
    YOLK_TRY(hyper::System system, encoder.system());
    std::vector<std::string> names;
    for (const hyper::ParameterGroup& group : system.parameters().groups()) names.push_back(group.spec.name);
    for (const std::string& name : names) {
        const bool moves = name.ends_with("query.weight") || name.ends_with("value.weight");
        YOLK_TRY_VOID(system.parameters().set_optimized(name, moves));
    }
    std::vector<hyper::Example> examples;
    for (std::uint32_t i = 0; i < sizes.texts; ++i) {
        YOLK_TRY(hyper::Example example, encoder.example(fmt::format("a text with the number {}", i), sizes.length));
        examples.push_back(std::move(example));
    }
    const auto begin = Clock::now();
    YOLK_TRY(const std::vector<hyper::TracedExample> traced, system.trace_all(examples));
    const double trace_seconds = seconds_since(begin);
    YOLK_TRY(const hyper::SearchSpace space, hyper::search_space(system.parameters()));
    YOLK_TRY(auto evaluator,
             hyper::PopulationEvaluator::create({.devices = context}, traced, system.parameters(),
                                                {.determinism = Determinism::Fast, .plain_outputs = true}));
    const long before = peak_mib();
    double best = 1e300, least = 1e300;
    std::uint64_t chunks = 0;
    for (std::uint32_t turn = 0; turn <= sizes.turns; ++turn) {  // the first one compiles
        const auto turn_begin = Clock::now();
        const double processor_begin = processor_seconds();
        YOLK_TRY(const hyper::PopulationOutputs outputs,
                 evaluator.evaluate({.table = space.table,
                                     .mean = space.mean,
                                     .when = {.seed = 1, .generation = turn, .time = turn, .sigma = 0.01F},
                                     .members = sizes.members}));
        if (turn > 0) {
            best = std::min(best, seconds_since(turn_begin));
            least = std::min(least, processor_seconds() - processor_begin);
        }
        chunks = outputs.counts.chunks;
    }
    const double count = static_cast<double>(sizes.members) * sizes.texts;
    fmt::print(
        "{{\"members\": {}, \"texts\": {}, \"length\": {}, \"per_second\": {:.3f}, \"per_processor_second\": {:.3f}, "
        "\"trace_seconds\": {:.2f}, \"chunks\": {}, \"peak_mib\": {}, \"of_population_mib\": {}}}\n",
        sizes.members, sizes.texts, sizes.length, count / best, count / least, trace_seconds, chunks, peak_mib(),
        peak_mib() - before);
    return {};
}

}  // namespace
}  // namespace yolk::bench

int main(int count, char** words) {
    const auto number = [&](int at, std::uint32_t otherwise) {
        return count > at ? static_cast<std::uint32_t>(std::strtoul(words[at], nullptr, 10)) : otherwise;
    };
    if (count < 2) {
        std::fprintf(stderr, "yolk_encoder_bench FOLDER [MEMBERS] [TEXTS] [LENGTH] [TURNS]\n");
        return 2;
    }
    const auto done = yolk::bench::run(
        words[1], {.members = number(2, 64), .texts = number(3, 4), .length = number(4, 32), .turns = number(5, 3)});
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
}
