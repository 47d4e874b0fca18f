// SPDX-License-Identifier: Apache-2.0
#include "yolk/limits.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "plan_checks.hpp"
#include "yolk/internal/abi/limits.h"
#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kRepeats = 3;
/// A run this long is timed once, without a warm-up: lavapipe takes ten seconds for the textbook's product of 1,300.
constexpr double kLongSeconds = 1.0;
/// Long enough that a clock of microseconds is fine enough, short of the loop limits of CPU drivers. Those take 5 to 15
/// ms for so many; four times as many took 3.4 s of every `tune` on SwiftShader.
std::uint32_t iterations_for(const Device& device) { return device.info().kind == DeviceKind::Cpu ? 512U : 2048U; }
/// Of dot products, which CPU drivers make of many instructions: on SwiftShader, with as many iterations as of fp32, a
/// limit took minutes.
std::uint32_t dot_iterations_for(const Device& device) { return device.info().kind == DeviceKind::Cpu ? 8U : 2048U; }

/// The shortest of kRepeats runs after one to warm up, in seconds; a long run is not repeated. Each is recorded anew: a
/// recording keeps the pieces that it was cut into, and a device whose pace is not known yet gets small ones.
template <class Record>
Result<double> best_seconds(const Device& device, Dispatcher& dispatcher, Record&& record) {
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.timestamp_count = 2, .label = "limits"}));
    double best = 1e300;
    for (std::uint32_t i = 0; i <= kRepeats; ++i) {
        recorder.begin();
        recorder.timestamp(0);
        record(recorder);
        recorder.timestamp(1);
        YOLK_TRY_VOID(dispatcher.run(recorder));
        std::array<double, 2> nanoseconds{};
        YOLK_TRY_VOID(recorder.read_timestamps(nanoseconds));
        const double seconds = (nanoseconds[1] - nanoseconds[0]) * 1e-9;
        if (seconds >= kLongSeconds) return std::min(best, seconds);
        if (i > 0) best = std::min(best, seconds);
    }
    return best;
}

/// Enough for the device at hand: a discrete one wants tens of thousands.
std::uint32_t invocations_for(const Device& device) {
    return device.info().kind == DeviceKind::Cpu ? 4096U : 1U << 18U;
}

/// The most that a kernel of `abi::limits` reaches over workgroup sizes and chains, as `one_rate` measures it; 0 where
/// that is not done by `until`.
template <class OneRate>
Result<double> best_rate(std::span<const std::uint32_t> workgroup_sizes, std::span<const std::uint32_t> chain_counts,
                         std::chrono::steady_clock::time_point until, OneRate&& one_rate) {
    double best = 0.0;
    for (const std::uint32_t workgroup_size : workgroup_sizes) {
        for (const std::uint32_t chains : chain_counts) {
            if (std::chrono::steady_clock::now() >= until) return 0.0;
            YOLK_TRY(const double rate, one_rate(workgroup_size, chains));
            best = std::max(best, rate);
        }
    }
    return best;
}

/// fp32, or dot products of four signed bytes.
Result<double> measure_lanes(const Device& device, Dispatcher& dispatcher, bool integer_dot,
                             std::chrono::steady_clock::time_point until) {
    // CPU drivers reach the same in each: SwiftShader 26.7 to 27.0 G operations/s, lavapipe 42.1 to 42.6.
    constexpr std::array kWorkgroupSizes{64U, 8U, 256U};
    const auto workgroup_sizes = std::span(kWorkgroupSizes).first(device.info().kind == DeviceKind::Cpu ? 1 : 3);
    constexpr std::array kChains{4U, 8U, 10U, 12U, 16U};
    const std::uint32_t invocations = invocations_for(device);
    const std::uint32_t iterations = integer_dot ? dot_iterations_for(device) : iterations_for(device);
    const double multiply_adds = integer_dot ? 4.0 : 1.0;
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = 4ULL * invocations, .label = "out of [limits]"}));
    const auto one_rate = [&](std::uint32_t workgroup_size, std::uint32_t chains) -> Result<double> {
        const std::array constants{SpecConstant{abi::limits::kSpecWorkgroupSize, workgroup_size},
                                   SpecConstant{abi::limits::kSpecChains, chains}};
        YOLK_TRY(const auto pipeline,
                 device.pipeline(integer_dot ? kernels::kMultiplyAddI8Dot : kernels::kMultiplyAdd, constants));
        YOLK_TRY(const auto binding, device.bind(pipeline, std::array{BufferView(out)}));
        const std::uint64_t steps = std::uint64_t{iterations} * abi::limits::kStepsPerIteration * chains;
        const LinearGrid grid = grid_of(invocations, workgroup_size, steps);
        const abi::limits::Params params{
            .invocations = invocations, .iterations = iterations, .factor = 0.5F, .summand = 1.0F};
        YOLK_TRY(const double seconds, best_seconds(device, dispatcher, [&](Recorder& recorder) {
                     recorder.dispatch(binding, params, grid);
                 }));
        return multiply_adds * invocations * static_cast<double>(steps) / seconds;
    };
    return best_rate(workgroup_sizes, kChains, until, one_rate);
}

/// Workgroups of one, two and eight subgroups; more sums than eight fragments do not fit into registers.
Result<double> measure_matrix_units(const Device& device, Dispatcher& dispatcher, const CooperativeShape& shape,
                                    std::chrono::steady_clock::time_point until) {
    constexpr std::array kChains{1U, 2U, 4U, 8U};
    const bool on_cpu = device.info().kind == DeviceKind::Cpu;
    const std::uint32_t subgroup = device.info().limits.subgroup_size;
    const std::uint32_t subgroups = on_cpu ? 64U : invocations_for(device) / subgroup;
    const std::uint32_t iterations = on_cpu ? 32U : 1024U;
    const std::uint64_t fragment = std::uint64_t{shape.m} * shape.n;
    std::vector<std::uint32_t> workgroup_sizes;
    for (const std::uint32_t count : {1U, 2U, 8U}) {
        if (count * subgroup <= device.info().limits.max_workgroup_invocations)
            workgroup_sizes.push_back(count * subgroup);
    }
    YOLK_TRY(const Buffer out,
             device.create_buffer({.size_bytes = 4 * fragment * subgroups, .label = "out of [limits]"}));
    const auto one_rate = [&](std::uint32_t workgroup_size, std::uint32_t chains) -> Result<double> {
        const std::array constants{
            SpecConstant{abi::limits::kSpecWorkgroupSize, workgroup_size},
            SpecConstant{abi::limits::kSpecChains, chains}, SpecConstant{abi::limits::kSpecShapeM, shape.m},
            SpecConstant{abi::limits::kSpecShapeN, shape.n}, SpecConstant{abi::limits::kSpecShapeK, shape.k}};
        YOLK_TRY(
            const auto pipeline,
            device.pipeline(shape.khr ? kernels::kMatrixMultiplyAddKhr : kernels::kMatrixMultiplyAddNv, constants));
        YOLK_TRY(const auto binding, device.bind(pipeline, std::array{BufferView(out)}));
        const std::uint32_t groups = subgroups / (workgroup_size / subgroup);
        const std::uint64_t per_subgroup =
            std::uint64_t{iterations} * abi::limits::kMatrixStepsPerIteration * chains * fragment * shape.k;
        const abi::limits::Params params{
            .invocations = groups, .iterations = iterations, .factor = 0.5F, .summand = 0.25F};
        const LinearGrid grid{.groups = groups, .cost_per_group = per_subgroup * (workgroup_size / subgroup)};
        YOLK_TRY(const double seconds, best_seconds(device, dispatcher, [&](Recorder& recorder) {
                     recorder.dispatch(binding, params, grid);
                 }));
        return static_cast<double>(per_subgroup) * subgroups / seconds;
    };
    return best_rate(workgroup_sizes, kChains, until, one_rate);
}

}  // namespace

const char* to_string(ArithmeticUnit unit) noexcept {
    switch (unit) {
        case ArithmeticUnit::Fp32Lanes: return "fp32 lanes";
        case ArithmeticUnit::IntegerDot: return "int8 dot products";
        case ArithmeticUnit::MatrixF16: return "matrix units with fp16 operands";
        case ArithmeticUnit::Other: return "other arithmetic";
    }
    return "?";
}

Result<double> measure_multiply_adds_per_second(const Device& device, Dispatcher& dispatcher, ArithmeticUnit unit,
                                                std::chrono::steady_clock::time_point until) {
    const DeviceInfo info = device.usable_info();
    switch (unit) {
        case ArithmeticUnit::Fp32Lanes: return measure_lanes(device, dispatcher, false, until);
        case ArithmeticUnit::IntegerDot:
            if (!path_is_open(info, LowPrecisionPath::IntegerDot)) return 0.0;
            return measure_lanes(device, dispatcher, true, until);
        case ArithmeticUnit::MatrixF16:
            if (const auto shape = cooperative_shape(info, MatrixOperands::F16))
                return measure_matrix_units(device, dispatcher, *shape, until);
            return 0.0;
        case ArithmeticUnit::Other: return 0.0;
    }
    return 0.0;
}

Result<double> measure_textbook_matmul(const Device& device, Dispatcher& dispatcher, const TextbookProduct& product) {
    constexpr std::uint64_t kMostExtent = 1U << 14U;  // its matrices then fill 1 GiB each
    for (const std::uint64_t extent : {product.m, product.n, product.k}) {
        if (extent == 0 || extent > kMostExtent) {
            return bad_input("The textbook's matmul is asked for {} x {} x {}; each is from 1 to {}.", product.m,
                             product.n, product.k, kMostExtent);
        }
    }
    const auto m = static_cast<std::uint32_t>(round_up(product.m, 16)),
               n = static_cast<std::uint32_t>(round_up(product.n, 16)),
               k = static_cast<std::uint32_t>(round_up(product.k, 16));
    YOLK_TRY(const Buffer a, device.create_buffer({.size_bytes = std::uint64_t{4} * m * k, .label = "a"}));
    YOLK_TRY(const Buffer b, device.create_buffer({.size_bytes = std::uint64_t{4} * k * n, .label = "b"}));
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = std::uint64_t{4} * m * n, .label = "out"}));
    std::vector<float> values(std::size_t{std::max(m, n)} * k);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 389 % 1021) / 510.0F - 1.0F;
    const auto bytes = std::as_bytes(std::span(values));
    YOLK_TRY_VOID(dispatcher.upload(a, bytes.first(a.size_bytes())));
    YOLK_TRY_VOID(dispatcher.upload(b, bytes.first(b.size_bytes())));
    YOLK_TRY(const auto pipeline, device.pipeline(kernels::kMatmulTextbook, {}));
    const std::array<BufferView, abi::matmul::kBindingCount> views{a, b, out, a, a, a, b};
    YOLK_TRY(const auto binding, device.bind(pipeline, views));
    YOLK_TRY(const double seconds, best_seconds(device, dispatcher, [&](Recorder& recorder) {
                 abi::matmul::Params params{};
                 params.k = params.a_stride = k;
                 params.b_stride = params.out_stride = n;
                 recorder.dispatch(binding, params, GroupCount{n / 16, m / 16, 1});
             }));
    return static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k) / seconds;
}

}  // namespace yolk
