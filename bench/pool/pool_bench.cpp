// SPDX-License-Identifier: Apache-2.0
// Two devices together beside each alone, each held to one core: the evaluation of a population, in turns.
//     yolk_pool_bench [MEMBERS] [TURNS]        65536 members, 7 turns
// of_sum: the rate together over the sum of the rates alone; busy: the part of the evaluation in which each worked. For
// training the whole generation on the faster device alone, as it runs without a pool, beside the pool's, and beside a
// pool that deals to that one device; and a large policy, whose update one device makes, or both.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "../times.hpp"
#include "layer_members.hpp"
#include "pinned_devices.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"

namespace yolk::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// A pool that evaluates the layer's members again and again.
struct LayerPool {
    evolve::DevicePool pool;
    std::vector<std::unique_ptr<evolve::MemberEvaluator>> evaluators{};
    std::vector<double> seconds{}, least_busy{};

    static Result<LayerPool> create(std::span<const Device> devices, std::uint32_t members) {
        YOLK_TRY(evolve::DevicePool pool, evolve::DevicePool::create(devices));
        LayerPool made{.pool = std::move(pool)};
        const std::vector<float> weights(std::size_t{kLayerWidth} * kLayerWidth, 0.01F);
        for (std::size_t i = 0; i < devices.size(); ++i) {
            YOLK_TRY(auto evaluator, layer_members(devices[i], made.pool.dispatcher(i), members));
            YOLK_TRY_VOID(evaluator->begin(weights, {.seed = 1, .sigma = 0.1F}));
            made.evaluators.push_back(std::move(evaluator));
        }
        return made;
    }
    Result<void> run(std::uint32_t members, std::uint32_t turn) {
        std::vector<float> returns(members);
        const evolve::PooledWork work{
            .members = {.first = 0, .count = members},
            .granularity = kLayerBlock,
            .generation = turn,
            .evaluate = [&](std::size_t worker, const evolve::MemberRange& range) -> Result<std::vector<std::byte>> {
                std::vector<std::byte> bytes(std::size_t{4} * range.count);
                YOLK_TRY_VOID(evaluators[worker]->evaluate(
                    range, {reinterpret_cast<float*>(bytes.data()), std::size_t{range.count}}));
                return bytes;
            },
            .keep =
                [&](const evolve::MemberRange& range, std::span<const std::byte> bytes) {
                    std::memcpy(&returns[range.first], bytes.data(), bytes.size());
                }};
        const Clock::time_point start = Clock::now();
        YOLK_TRY(const evolve::PooledResult result, pool.evaluate(work));
        seconds.push_back(seconds_since(start));
        double least = 1.0;
        for (const evolve::WorkerShare& share : result.shares)
            least = std::min(least, share.busy_seconds / result.seconds);
        least_busy.push_back(least);
        return {};
    }
};

Result<void> compare_layer(std::span<const Device> devices, std::uint32_t members, std::uint32_t turns) {
    YOLK_TRY(LayerPool first, LayerPool::create(devices.first(1), members));
    YOLK_TRY(LayerPool second, LayerPool::create(devices.subspan(1, 1), members));
    YOLK_TRY(LayerPool both, LayerPool::create(devices, members));
    const std::array sides{&first, &second, &both};
    for (std::uint32_t turn = 0; turn < turns + 2; ++turn) {
        for (LayerPool* side : sides) YOLK_TRY_VOID(side->run(members, turn));
    }
    for (LayerPool* side : sides) {  // the first two are warm-up
        side->seconds.erase(side->seconds.begin(), side->seconds.begin() + 2);
        side->least_busy.erase(side->least_busy.begin(), side->least_busy.begin() + 2);
    }
    const double rate_first = members / median_of(first.seconds);
    const double rate_second = members / median_of(second.seconds);
    const double rate_both = members / median_of(both.seconds);
    fmt::print("layer, {} members: {:.0f} and {:.0f} members/s alone (a ratio of {:.1f}), {:.0f} together\n", members,
               rate_first, rate_second, rate_first / rate_second, rate_both);
    fmt::print("layer: of_sum {:.3f}, least busy {:.3f}\n", rate_both / (rate_first + rate_second),
               median_of(both.least_busy));
    return {};
}

struct Training {
    std::unique_ptr<evolve::DevicePool> pool;
    std::optional<evolve::Evolution> run;
    std::vector<double> seconds{};
};

/// One device makes the whole generation in one submission, unless `dealt`: then the pool deals to it as it deals to
/// several.
struct TrainingDesc {
    std::uint32_t members = 0;
    std::vector<std::uint32_t> widths{4, 64, 2};
    std::uint32_t max_steps = 0;  ///< 0: the environment's
    bool dealt = false;
    evolve::UpdateBy update_by = evolve::UpdateBy::Measured;
};

/// CartPole.
Result<Training> make_training(std::span<const Device> devices, const TrainingDesc& training) {
    YOLK_TRY(evolve::DevicePool pool, evolve::DevicePool::create(devices));
    Training made{.pool = std::make_unique<evolve::DevicePool>(std::move(pool)), .run = {}};
    const evolve::EvolutionOptions options{.population = training.members};
    const PolicyNetwork network{.widths = training.widths};
    evolve::PoolParts parts;
    YOLK_TRY(parts.parameters, ParameterTable::create(network.parameters()));
    parts.initial = evolve::initial_parameters(parts.parameters, options.seed);
    parts.update_by = training.update_by;
    const RolloutDesc desc{.network = network,
                           .parameters = parts.parameters,
                           .members = training.members,
                           .max_steps = training.max_steps};
    if (!training.dealt)
        parts.single = [desc](const Device& device) { return evolve::rollout_evaluator(device, desc); };
    parts.members = [desc](const Device* device, Dispatcher* dispatcher) {
        return evolve::rollout_members(*device, *dispatcher, desc, desc.members);
    };
    YOLK_TRY(made.run, evolve::Evolution::create(*made.pool, std::move(parts), options));
    return made;
}

Result<void> compare_training(std::span<const Device> devices, std::uint32_t members, std::uint32_t turns) {
    YOLK_TRY(Training alone, make_training(devices.first(1), {.members = members}));
    YOLK_TRY(Training both, make_training(devices, {.members = members}));
    YOLK_TRY(Training dealt, make_training(devices.first(1), {.members = members, .dealt = true}));
    std::vector<double> ratios, costs;
    for (std::uint32_t turn = 0; turn < turns + 2; ++turn) {
        for (Training* side : {&alone, &both, &dealt}) {
            const Clock::time_point start = Clock::now();
            YOLK_TRY_VOID(side->run->step());
            side->seconds.push_back(seconds_since(start));
        }
        if (turn < 2) continue;  // warm-up
        // Of one generation all sides do the same work.
        ratios.push_back(alone.seconds.back() / both.seconds.back());
        costs.push_back(dealt.seconds.back() / alone.seconds.back() - 1.0);
    }
    YOLK_TRY(const std::string hash, alone.run->state_hash());
    for (Training* side : {&both, &dealt}) {
        YOLK_TRY(const std::string same, side->run->state_hash());
        if (hash != same) return bad_input("The states of the sides differ: {} and {}.", hash, same);
    }
    fmt::print("training, {} members: the pool is {:.3f} times as fast as the faster device alone\n", members,
               median_of(ratios));
    fmt::print(
        "training: dealing to a pool of one device costs {:.2f} % of a generation (not dealing to it: nothing)\n",
        100.0 * median_of(costs));
    return {};
}

/// 4-112-112-2, 13,442 parameters, and episodes of 4 steps, so that the update is most of a generation: made by the
/// faster device, and by both where that was measured to take less time.
Result<void> compare_update(std::span<const Device> devices, std::uint32_t turns) {
    TrainingDesc desc{.members = 16384, .widths = {4, 112, 112, 2}, .max_steps = 4};
    YOLK_TRY(Training measured, make_training(devices, desc));
    desc.update_by = evolve::UpdateBy::Lead;
    YOLK_TRY(Training lead, make_training(devices, desc));
    constexpr std::uint32_t kTrials = 8;  // generations in which the pool finds out
    std::vector<double> ratios;
    for (std::uint32_t turn = 0; turn < turns + kTrials; ++turn) {
        for (Training* side : {&lead, &measured}) {
            const Clock::time_point start = Clock::now();
            YOLK_TRY_VOID(side->run->step());
            side->seconds.push_back(seconds_since(start));
        }
        if (turn >= kTrials) ratios.push_back(lead.seconds.back() / measured.seconds.back());
    }
    YOLK_TRY(const std::string hash, lead.run->state_hash());
    YOLK_TRY(const std::string same, measured.run->state_hash());
    if (hash != same) return bad_input("The states of the sides differ: {} and {}.", hash, same);
    fmt::print("update, 4-112-112-2, 16,384 members of 4 steps: sharing is {:.3f} times as fast as the lead alone\n",
               median_of(ratios));
    return {};
}

Result<void> run(std::uint32_t members, std::uint32_t turns) {
    YOLK_TRY(const std::vector<Context> contexts, open_pinned());
    std::vector<Device> devices;
    for (const Context& context : contexts) devices.push_back(context.device());
    YOLK_TRY_VOID(compare_layer(devices, members, turns));
    YOLK_TRY_VOID(compare_training(devices, members, turns));
    return compare_update(devices, turns);
}

}  // namespace
}  // namespace yolk::bench

int main(int argc, char** argv) {
    const std::uint32_t members = yolk::bench::number_argument(argc, argv, 1, 65536);
    const std::uint32_t turns = yolk::bench::number_argument(argc, argv, 2, 7);
    if (members < 4096 || members % yolk::bench::kLayerBlock != 0 || turns == 0) {
        fmt::print(stderr, "usage: yolk_pool_bench [MEMBERS] [TURNS]; members from 4096 on, a multiple of {}.\n",
                   yolk::bench::kLayerBlock);
        return 2;
    }
    const yolk::Result<void> done = yolk::bench::run(members, turns);
    if (!done) fmt::print(stderr, "error: {}\n", done.error().message);
    return done ? 0 : 1;
}
