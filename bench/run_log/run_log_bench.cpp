// SPDX-License-Identifier: Apache-2.0
// What the log costs a generation: whole runs with and without it, in turns, in one process. Processor time of all
// threads counts, so that other programs disturb little, and everything that the log brings with it is in it: reading
// the weights back, packing, checksums, writing. The same generations are compared, whose work is the same. Episodes of
// one step leave little around the log, so that the difference in milliseconds shows; whole ones (0 steps: the task's
// own) show what it is a share of.
//
//     yolk_run_log_bench [POPULATION] [TURNS] [GENERATIONS] [STEPS]
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "../times.hpp"
#include "yolk/context.hpp"
#include "yolk/train.hpp"

namespace yolk::bench {
namespace {

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Of each generation but the first, which compiles kernels and makes files.
Result<std::vector<double>> run_once(const Context& context, train::TrainOptions options, bool log) {
    options.log = log;
    std::vector<double> seconds;
    double before = 0.0;
    YOLK_TRY_VOID(train::train(context, options, [&](const train::GenerationReport& report) {
        const double now = processor_seconds();
        if (report.generation > 0) seconds.push_back(now - before);
        before = now;
        return true;
    }));
    return seconds;
}

double quantile(std::vector<double> values, double part) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

Result<void> compare(std::uint32_t population, std::uint32_t turns, std::uint32_t generations, std::uint32_t steps) {
    YOLK_TRY(const Context context, Context::create({}));
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / fmt::format("yolk-run-log-bench-{}", ::getpid());
    const train::TrainOptions options{.evolution = {.population = population},
                                      .generations = generations,
                                      .stop_when_solved = false,
                                      .max_steps = steps,
                                      .out = folder};
    std::vector<double> ratios, differences, with_log, without;
    for (std::uint32_t turn = 0; turn <= turns; ++turn) {
        const bool log_first = turn % 2 == 0;
        YOLK_TRY(std::vector<double> first, run_once(context, options, log_first));
        YOLK_TRY(std::vector<double> second, run_once(context, options, !log_first));
        if (turn == 0) continue;  // warm
        if (!log_first) first.swap(second);
        for (std::size_t i = 0; i < first.size(); ++i) {
            ratios.push_back(first[i] / second[i]);
            differences.push_back(first[i] - second[i]);
        }
        with_log.insert(with_log.end(), first.begin(), first.end());
        without.insert(without.end(), second.begin(), second.end());
    }
    std::filesystem::remove_all(folder);
    fmt::print(
        "population {} on {}, {} pairs of generations: with the log {:.3f} ms of processor time, without {:.3f} ms "
        "(medians); difference {:.3f} ms, quartiles {:.3f} and {:.3f}; ratio {:.4f}, quartiles {:.4f} and {:.4f}\n",
        population, context.device().info().name, ratios.size(), 1e3 * quantile(with_log, .5),
        1e3 * quantile(without, .5), 1e3 * quantile(differences, .5), 1e3 * quantile(differences, .25),
        1e3 * quantile(differences, .75), quantile(ratios, .5), quantile(ratios, .25), quantile(ratios, .75));
    return {};
}

}  // namespace
}  // namespace yolk::bench

int main(int argc, char** argv) {
    using namespace yolk::bench;
    const yolk::Result<void> done = compare(number_argument(argc, argv, 1, 4096), number_argument(argc, argv, 2, 20),
                                            number_argument(argc, argv, 3, 10), number_argument(argc, argv, 4, 0));
    if (done) return 0;
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return 1;
}
