// SPDX-License-Identifier: Apache-2.0
// A population that is scored by a function in C++: any function of the parameters will do, a simulator or a program
// that is started. The pool deals members to several threads; noise, fitness, update and optimizer stay on the device.
// Here a matrix and a vector are to map points as a turn by 30 degrees and a shift do.
#include <array>
#include <cstdio>

#include "yolk/context.hpp"
#include "yolk/evolution.hpp"

namespace {

constexpr std::array kOptimum{0.8660254F, -0.5F, 0.5F, 0.8660254F, 1.0F, -2.0F};  // matrix [2, 2], then the shift

/// Minus the mean squared distance between what these parameters and the optimum make of 4,096 points.
float score(std::span<const float> given) {
    float sum = 0.0F;
    for (int point = 0; point < 4096; ++point) {
        const float x = static_cast<float>(point % 64) / 32.0F - 1.0F;
        const float y = static_cast<float>(point / 64) / 32.0F - 1.0F;
        for (std::size_t row = 0; row < 2; ++row) {
            const float distance = (given[2 * row] - kOptimum[2 * row]) * x +
                                   (given[2 * row + 1] - kOptimum[2 * row + 1]) * y + given[4 + row] -
                                   kOptimum[4 + row];
            sum += distance * distance;
        }
    }
    return -sum / 4096.0F;
}

yolk::Result<float> run() {
    const yolk::evolve::EvolutionOptions options{
        .population = 2048, .rank = 2, .sigma = 0.1F, .learning_rate = 0.2F, .learning_rate_decay = 0.92F, .seed = 3};
    YOLK_TRY(const auto table,
             yolk::ParameterTable::create({{.name = "matrix", .rows = 2, .columns = 2},
                                           {.name = "shift", .rows = 2, .perturbation = yolk::Perturbation::Vector}}));
    // On a worker's thread, several at once. What it gives depends on nothing but what it is asked.
    const auto evaluate = [table, options](const yolk::evolve::HostQuestion& question,
                                           std::span<float> returns) -> yolk::Result<std::uint64_t> {
        for (std::uint32_t i = 0; i < question.members.count; ++i) {
            const auto member = static_cast<std::int32_t>(question.members.first + i);
            YOLK_TRY(const auto parameters, yolk::evolve::member_parameters(table, question.parameters, question.when,
                                                                            options.rank, options.antithetic, member));
            returns[i] = score(parameters);
        }
        return question.members.count;
    };

    YOLK_TRY(const auto context, yolk::Context::create());
    // The device's own thread evaluates like the other three, and the device makes the update.
    YOLK_TRY(auto pool, yolk::evolve::DevicePool::create(std::span(&context.device(), 1), {.host_workers = 3}));
    yolk::evolve::PoolParts parts{.parameters = table, .initial = std::vector<float>(table.element_count(), 0.0F)};
    parts.members = [&](const yolk::Device*, yolk::Dispatcher*) {
        return yolk::Result(yolk::evolve::host_members(evaluate));
    };
    YOLK_TRY(auto evolution, yolk::evolve::Evolution::create(pool, std::move(parts), options));
    std::vector<std::uint32_t> scored(pool.size());  // by each worker
    for (std::uint32_t generation = 0; generation < 40; ++generation) {
        YOLK_TRY(const auto summary, evolution.step());
        for (std::size_t worker = 0; worker < pool.size(); ++worker)
            scored[worker] += evolution.shares()[worker].members;
        if (generation % 10 == 0) std::printf("generation %u: mean score %.4f\n", generation, double{summary.mean});
    }
    for (std::size_t worker = 0; worker < pool.size(); ++worker)
        std::printf("%s scored %u members\n", pool.name(worker).c_str(), scored[worker]);
    return score(evolution.parameters());
}

}  // namespace

int main() {
    const auto reached = run();
    if (!reached) return std::fprintf(stderr, "%s\n", reached.error().message.c_str()), 1;
    std::printf("the points are off by %.6f in mean square\n", double{-*reached});
    return *reached > -0.001F ? 0 : 1;
}
