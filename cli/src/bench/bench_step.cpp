// SPDX-License-Identifier: Apache-2.0
#include "bench_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "last_run.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "yolk/internal/core/memory.hpp"
#include "yolk/json.hpp"
#include "yolk/kfac_step.hpp"
#include "yolk/natural_gradient_step.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kFewestStepRepeats = 5;
constexpr std::uint32_t kMostStepRepeats = 200;
constexpr double kSecondsPerStep = 0.5;
constexpr std::uint32_t kLargestCount = 1U << 16U;
constexpr std::uint32_t kLargestSize = 1024;

struct StepBenchFlags {
    CommonFlags common;
    std::uint32_t count = 64;
    std::uint32_t size = 32;
};

/// Positive definite blocks: 1.5 on the diagonal, and beside it what adds up to less.
template <class Real>
Result<std::vector<Real>> some_blocks(std::uint32_t count, std::uint32_t n) {
    YOLK_TRY(std::vector<Real> blocks, allocate<Real>(std::uint64_t{count} * n * n, "the blocks"));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::size_t row = i / n % n;
        const std::size_t column = i % n;
        const auto wave = static_cast<float>(0.5 * std::sin(1.0 + static_cast<double>(row * column)) / n);
        blocks[i] = Real{row == column ? 1.5F : wave};
    }
    return blocks;
}

/// The median of the call's seconds, after one that is not counted.
Result<double> median_seconds(const std::function<Result<void>()>& call) {
    YOLK_TRY_VOID(call());
    std::vector<double> seconds;
    double sum = 0.0;
    while (seconds.size() < kFewestStepRepeats || (sum < kSecondsPerStep && seconds.size() < kMostStepRepeats)) {
        const auto before = std::chrono::steady_clock::now();
        YOLK_TRY_VOID(call());
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
        sum += seconds.back();
    }
    std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
    return seconds[seconds.size() / 2];
}

/// Adds what the three ways of one step take, and what the one with scratch counted.
Result<void> add_step(Json& steps, const char* name, const std::function<Result<void>()>& returning,
                      const std::function<Result<autotune::StepCounts>()>& with_scratch,
                      const std::function<Result<void>()>& on_host) {
    autotune::StepCounts counts;
    YOLK_TRY(const double returning_seconds, median_seconds(returning));
    YOLK_TRY(const double scratch_seconds, median_seconds([&]() -> Result<void> {
                 YOLK_TRY(counts, with_scratch());
                 return {};
             }));
    YOLK_TRY(const double host_seconds, median_seconds(on_host));
    steps.push_back({{"step", name},
                     {"dispatches", counts.dispatches},
                     {"submissions", counts.submissions},
                     {"returning_seconds", returning_seconds},
                     {"with_scratch_seconds", scratch_seconds},
                     {"on_host_seconds", host_seconds}});
    return {};
}

template <class T>
Result<void> without_value(const Result<T>& result) {
    return result ? Result<void>() : result.error();
}

Result<Json> time_kfac(const StepBenchFlags& flags, Dispatcher& dispatcher, Json& steps) {
    YOLK_TRY(const std::vector<float> blocks, some_blocks<float>(flags.count, flags.size));
    YOLK_TRY(const std::vector<double> same, some_blocks<double>(flags.count, flags.size));
    const autotune::KfacStepInput<float> input{.count = flags.count, .n = flags.size, .blocks = blocks};
    const autotune::KfacStepInput<double> host_input{.count = flags.count, .n = flags.size, .blocks = same};
    YOLK_TRY(auto result, autotune::kfac_step(dispatcher, input));
    YOLK_TRY(auto host_result, autotune::kfac_step_on_host(host_input));
    autotune::KfacStepScratch scratch;
    autotune::KfacStepHostScratch host_scratch;
    YOLK_TRY_VOID(add_step(
        steps, "kfac_step", [&] { return without_value(autotune::kfac_step(dispatcher, input)); },
        [&] {
            return autotune::kfac_step(
                dispatcher, input, scratch,
                {.inverses = result.inverses, .status = result.status, .residuals = result.residuals});
        },
        [&] {
            return autotune::kfac_step_on_host(
                host_input, host_scratch,
                {.inverses = host_result.inverses, .status = host_result.status, .residuals = host_result.residuals});
        }));
    const auto inverted = std::ranges::count_if(result.status, [](std::uint32_t word) { return is_inverted(word); });
    return Json{{"inverted", inverted}, {"worst_residual", std::ranges::max(result.residuals)}};
}

Result<void> time_natural_gradient(const StepBenchFlags& flags, Dispatcher& dispatcher, Json& steps) {
    YOLK_TRY(const std::vector<float> blocks, some_blocks<float>(flags.count, flags.size));
    YOLK_TRY(const std::vector<double> same, some_blocks<double>(flags.count, flags.size));
    const std::vector<float> gradient(std::size_t{flags.count} * flags.size, 1.0F);
    const std::vector<double> same_gradient(gradient.begin(), gradient.end());
    std::vector<float> step(gradient.size());
    std::vector<double> host_step(gradient.size());
    const autotune::NaturalGradientStepInput<float> input{
        .count = flags.count, .n = flags.size, .gradient = gradient, .preconditioner = blocks};
    const autotune::NaturalGradientStepInput<double> host_input{
        .count = flags.count, .n = flags.size, .gradient = same_gradient, .preconditioner = same};
    autotune::NaturalGradientStepScratch scratch;
    autotune::NaturalGradientStepHostScratch host_scratch;
    return add_step(
        steps, "natural_gradient_step",
        [&] { return without_value(autotune::natural_gradient_step(dispatcher, input)); },
        [&] { return autotune::natural_gradient_step(dispatcher, input, scratch, {.step = step}); },
        [&] { return autotune::natural_gradient_step_on_host(host_input, host_scratch, {.step = host_step}); });
}

/// Of an element of a block: inputs and inverses in fp32 and fp64, and in fp32 the staging of both (24, 8), and where
/// the driver's buffers are host memory, those of both and about as much scratch (12).
Result<void> check_memory(const StepBenchFlags& flags, const DeviceInfo& info) {
    const std::uint64_t elements = std::uint64_t{flags.count} * flags.size * flags.size;
    const std::uint64_t each = 24 + 8 + (info.kind == DeviceKind::Cpu || info.kind == DeviceKind::Integrated ? 12 : 0);
    return check_host_memory(each * elements, fmt::format("{} blocks of {}x{} and their inverses, in fp32 and in fp64",
                                                          flags.count, flags.size, flags.size));
}

Result<int> run_step(const StepBenchFlags& flags) {
    if (flags.count == 0 || flags.count > kLargestCount)
        return bad_input("--count is {}; it is from 1 to {}.", flags.count, kLargestCount);
    if (flags.size == 0 || flags.size > kLargestSize)
        return bad_input("--size is {}; it is from 1 to {}.", flags.size, kLargestSize);
    YOLK_TRY(const Context context, open_context(flags.common));
    const Device& device = context.device();
    YOLK_TRY_VOID(check_memory(flags, device.info()));
    Dispatcher& dispatcher = context.dispatcher();
    const RememberShapes remember(device);
    Json steps = Json::array();
    YOLK_TRY(const Json kfac, time_kfac(flags, dispatcher, steps));
    YOLK_TRY_VOID(time_natural_gradient(flags, dispatcher, steps));
    if (flags.common.json) {
        print_json({{"bench", "step"},
                    {"device", device.info().name},
                    {"driver", driver_text(device.info())},
                    {"count", flags.count},
                    {"size", flags.size},
                    {"inverted", kfac["inverted"]},
                    {"worst_residual", kfac["worst_residual"]},
                    {"steps", steps}});
        return 0;
    }
    print_line("{} block(s) of {}x{} on {} ({})", flags.count, flags.size, flags.size, device.info().name,
               driver_text(device.info()));
    std::vector<std::vector<std::string>> rows{
        {"step", "dispatches", "submissions", "returning", "with scratch", "on the host"}};
    const auto milliseconds = [](const Json& seconds) { return fmt::format("{:.3f} ms", 1e3 * seconds.get<double>()); };
    for (const Json& step : steps) {
        rows.push_back({step["step"].get<std::string>(), fmt::format("{}", step["dispatches"].get<std::uint64_t>()),
                        fmt::format("{}", step["submissions"].get<std::uint64_t>()),
                        milliseconds(step["returning_seconds"]), milliseconds(step["with_scratch_seconds"]),
                        milliseconds(step["on_host_seconds"])});
    }
    print_line(table(rows));
    return 0;
}

}  // namespace

Command add_step_bench(App& bench) {
    const auto flags = std::make_shared<StepBenchFlags>();
    App* command = bench.add_subcommand("step", "Time the natural gradient's step calls, and show what they dispatch");
    add_number(*command, "--count", flags->count, "Blocks")->default_str("64");
    add_number(*command, "--size", flags->size, "Rows of a block")->default_str("32");
    add_device_flag(*command, flags->common);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_step(*flags); }};
}

}  // namespace yolk::cli
