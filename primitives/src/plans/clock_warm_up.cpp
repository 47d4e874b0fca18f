// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/clock_warm_up.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "yolk/internal/abi/limits.h"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

using WarmUpClock = std::chrono::steady_clock;

constexpr std::uint32_t kWarmUpWorkgroup = 256;
constexpr std::uint32_t kWarmUpChains = 8;
constexpr std::uint32_t kWarmUpGroups = 1024;
constexpr std::uint32_t kFirstIterations = 8;
constexpr double kRunSeconds = 1e-3;
constexpr double kSlack = 1.1;
constexpr int kSteadyRuns = 3;
constexpr std::chrono::milliseconds kSettled{200};
constexpr std::chrono::seconds kLongest{1};

double seconds_since(WarmUpClock::time_point begun) {
    return std::chrono::duration<double>(WarmUpClock::now() - begun).count();
}

}  // namespace

struct ClockWarmUp::Work {
    Buffer out;
    BindingOf<abi::limits::Params> binding;
    Recorder recorder;
    double best = std::numeric_limits<double>::infinity();  ///< seconds of a run

    void record(std::uint32_t iterations) noexcept {
        recorder.begin();
        recorder.dispatch(binding,
                          abi::limits::Params{.invocations = kWarmUpGroups * kWarmUpWorkgroup,
                                              .iterations = iterations,
                                              .factor = 0.5F,
                                              .summand = 1.0F},
                          GroupCount{kWarmUpGroups, 1, 1});
    }
};

ClockWarmUp::ClockWarmUp(const Device& device, Dispatcher& dispatcher) noexcept
    : device_(&device), dispatcher_(&dispatcher) {}
ClockWarmUp::~ClockWarmUp() = default;
ClockWarmUp::ClockWarmUp(ClockWarmUp&&) noexcept = default;
ClockWarmUp& ClockWarmUp::operator=(ClockWarmUp&&) noexcept = default;

Result<void> ClockWarmUp::prepare() {
    const std::array constants{SpecConstant{abi::limits::kSpecWorkgroupSize, kWarmUpWorkgroup},
                               SpecConstant{abi::limits::kSpecChains, kWarmUpChains}};
    YOLK_TRY(Buffer out, device_->create_buffer(
                             {.size_bytes = 4ULL * kWarmUpGroups * kWarmUpWorkgroup, .label = "out of the warm-up"}));
    YOLK_TRY(const auto pipeline, device_->pipeline(kernels::kMultiplyAdd, constants));
    YOLK_TRY(auto binding, device_->bind(pipeline, std::array{BufferView(out)}));
    YOLK_TRY(Recorder recorder, Recorder::create(*device_, {.label = "warm-up"}));
    work_ = std::make_unique<Work>(Work{std::move(out), std::move(binding), std::move(recorder)});
    // The second run sizes the others; the first may compile.
    work_->record(kFirstIterations);
    YOLK_TRY_VOID(dispatcher_->run(work_->recorder));
    YOLK_TRY(const double seconds, seconds_of_a_run());
    const double wanted = std::clamp(kFirstIterations * kRunSeconds / seconds, 1.0, 4096.0);
    work_->record(static_cast<std::uint32_t>(wanted));
    return {};
}

Result<double> ClockWarmUp::seconds_of_a_run() {
    const WarmUpClock::time_point begun = WarmUpClock::now();
    YOLK_TRY_VOID(dispatcher_->run(work_->recorder));
    return seconds_since(begun);
}

Result<void> ClockWarmUp::wake() {
    if (device_->info().kind == DeviceKind::Cpu) return {};
    const bool first = work_ == nullptr;
    if (first) YOLK_TRY_VOID(prepare());
    const WarmUpClock::time_point begun = WarmUpClock::now();
    WarmUpClock::time_point improved = begun;
    for (int steady = 0; WarmUpClock::now() - begun < kLongest;) {
        YOLK_TRY(const double seconds, seconds_of_a_run());
        if (seconds * kSlack < work_->best) improved = WarmUpClock::now();
        work_->best = std::min(work_->best, seconds);
        steady = seconds <= work_->best * kSlack ? steady + 1 : 0;
        if (steady >= kSteadyRuns && (!first || WarmUpClock::now() - improved >= kSettled)) break;
    }
    return {};
}

}  // namespace yolk
