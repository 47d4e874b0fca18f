// SPDX-License-Identifier: Apache-2.0
// Elements per second of kernels that mostly move data or go over rows, a million elements each, by the device's clock,
// beside a plain loop over the same data on two threads of the host (kernel_rates_host.hpp), in turns. `of_host`: the
// median time of the loop over the kernel's. `bytes_per_second`: what the operation must read and write, once. The
// elementwise chains are a kernel for each step, or one for all; the host makes one loop of them. A wrong result is an
// error.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "bench.hpp"
#include "kernel_rates_host.hpp"
#include "times.hpp"
#include "yolk/cumulative_sum.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/normalize.hpp"
#include "yolk/rearrange.hpp"
#include "yolk/softmax.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kWidth = 64, kHeads = 4, kHeadWidth = 16, kMembers = 256;
constexpr float kMasked = -1e9F;
using Floats = std::vector<float>;
using host::Rows;

/// One operation on both sides. Buffers are as long as their arrays; the output is the last one.
struct Contest {
    std::vector<Floats> inputs;
    Floats out;
    std::vector<Buffer> buffers;
    std::vector<Buffer> scratch;
    std::function<void(Recorder&)> record;
    std::function<void()> run_host;
    double bytes = 0.0;

    [[nodiscard]] BufferView view(std::size_t i) const { return buffers[i]; }
};

Floats drawn(std::size_t count, std::uint32_t stream) {
    Floats values(count);
    for (std::uint32_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(philox4x32({i, stream, 0, 0}, {42, 2})[0] >> 8U) * 0x1p-22F - 2.0F;
    return values;
}

Result<void> make_buffers(Contest& contest, BenchDevice& on, std::vector<Floats> inputs, std::size_t outputs) {
    contest.inputs = std::move(inputs);
    contest.out.assign(outputs, 0.0F);
    contest.bytes = 4.0 * static_cast<double>(outputs);
    for (const Floats& values : contest.inputs) {
        YOLK_TRY(Buffer buffer, on.device.create_buffer({.size_bytes = 4 * values.size(), .label = "input"}));
        YOLK_TRY_VOID(on.dispatcher.upload(buffer, std::as_bytes(std::span(values))));
        contest.buffers.push_back(std::move(buffer));
        contest.bytes += 4.0 * static_cast<double>(values.size());
    }
    YOLK_TRY(Buffer out, on.device.create_buffer({.size_bytes = 4 * outputs, .label = "out"}));
    contest.buffers.push_back(std::move(out));
    return {};
}

/// Plans, takes scratch where there is some, binds.
template <class Desc>
Result<Bound<Desc>> bound(Contest& contest, BenchDevice& on, const Desc& desc, const typename Desc::Views& views) {
    YOLK_TRY(const Plan<Desc> plan, Planner<Desc>{}(on.device, desc));
    const std::uint64_t bytes = plan.scratch().size_bytes;
    if (bytes == 0) return plan.bind(views);
    YOLK_TRY(Buffer scratch, on.device.create_buffer({.size_bytes = bytes, .label = "scratch"}));
    contest.scratch.push_back(std::move(scratch));
    return plan.bind(views, contest.scratch.back());
}

template <class Desc>
Result<void> record_one(Contest& contest, BenchDevice& on, const Desc& desc, const typename Desc::Views& views) {
    YOLK_TRY(auto made, bound(contest, on, desc, views));
    contest.record = [one = std::make_shared<Bound<Desc>>(std::move(made))](Recorder& recorder) {
        one->record(recorder);
    };
    return {};
}

using HostChain = void (*)(Rows, std::span<const float>, std::span<const float>, std::span<const float>,
                           std::span<float>);

/// Steps on x and scale, of the rows' size, and bias, a row: values 0, 1 and 2; the steps' results follow. A step that
/// takes the bias takes it last.
struct Chain {
    std::vector<ElementwiseStep> steps;
    HostChain by_host;
};
Chain short_chain() {
    using enum ElementwiseOperation;
    return {{{Multiply, {0, 1}}, {Add, {3, 2}}, {Silu, {4}}}, &host::chain};
}
Chain long_chain() {
    using enum ElementwiseOperation;
    return {{{Multiply, {0, 1}},
             {Add, {3, 2}},
             {Maximum, {4, 0}},
             {Subtract, {5, 1}},
             {Multiply, {6, 4}},
             {Minimum, {7, 0}},
             {Absolute, {8}},
             {Add, {9, 2}}},
            &host::long_chain};
}

Result<void> make_chain_data(Contest& contest, BenchDevice& on, Rows rows, HostChain by_host) {
    const std::size_t count = rows.count * rows.columns;
    YOLK_TRY_VOID(make_buffers(contest, on, {drawn(count, 0), drawn(count, 1), drawn(rows.columns, 2)}, count));
    contest.run_host = [&contest, rows, by_host] {
        by_host(rows, contest.inputs[0], contest.inputs[1], contest.inputs[2], contest.out);
    };
    return {};
}

std::vector<std::uint32_t> extents_of(Rows rows) {
    return {static_cast<std::uint32_t>(rows.count), static_cast<std::uint32_t>(rows.columns)};
}

/// A kernel for each step. The last one's result goes to the output, those before to buffers of their own.
Result<void> make_steps(Contest& contest, BenchDevice& on, Rows rows, const Chain& chain) {
    YOLK_TRY_VOID(make_chain_data(contest, on, rows, chain.by_host));
    std::vector<BufferView> values{contest.view(0), contest.view(1), contest.view(2)};
    std::vector<BoundElementwise> steps;
    for (const ElementwiseStep& step : chain.steps) {
        if (&step == &chain.steps.back()) {
            values.push_back(contest.view(3));
        } else {
            YOLK_TRY(Buffer between,
                     on.device.create_buffer({.size_bytes = 4 * contest.out.size(), .label = "between"}));
            contest.scratch.push_back(std::move(between));
            values.push_back(contest.scratch.back());
        }
        ElementwiseDesc desc = one_step(step.operation, extents_of(rows));
        std::vector<BufferView> inputs;
        for (std::size_t i = 0; i < step.operands.size(); ++i) {
            inputs.push_back(values[step.operands[i]]);
            if (step.operands[i] == 2) desc.inputs[i] = 2;  // one row for all
        }
        YOLK_TRY(BoundElementwise made, bound(contest, on, desc, {.inputs = inputs, .out = values.back()}));
        steps.push_back(std::move(made));
    }
    contest.record = [all = std::make_shared<std::vector<BoundElementwise>>(std::move(steps))](Recorder& recorder) {
        for (const BoundElementwise& step : *all) {
            step.record(recorder);
            recorder.barrier(Barrier::ComputeToCompute);
        }
    };
    return {};
}

/// One kernel for all steps.
Result<void> make_program(Contest& contest, BenchDevice& on, Rows rows, const Chain& chain) {
    YOLK_TRY_VOID(make_chain_data(contest, on, rows, chain.by_host));
    const ElementwiseDesc desc{.extents = extents_of(rows), .inputs = {3, 3, 2}, .steps = chain.steps};
    const std::vector<BufferView> inputs{contest.view(0), contest.view(1), contest.view(2)};
    return record_one(contest, on, desc, {.inputs = inputs, .out = contest.view(3)});
}

Result<void> make_short_steps(Contest& contest, BenchDevice& on, Rows rows) {
    return make_steps(contest, on, rows, short_chain());
}
Result<void> make_short_program(Contest& contest, BenchDevice& on, Rows rows) {
    return make_program(contest, on, rows, short_chain());
}
Result<void> make_long_steps(Contest& contest, BenchDevice& on, Rows rows) {
    return make_steps(contest, on, rows, long_chain());
}
Result<void> make_long_program(Contest& contest, BenchDevice& on, Rows rows) {
    return make_program(contest, on, rows, long_chain());
}

Result<void> make_permute(Contest& contest, BenchDevice& on, Rows members) {
    const std::size_t count = members.count * members.columns;
    YOLK_TRY_VOID(make_buffers(contest, on, {drawn(count, 0)}, count));
    std::vector<RearrangeDimension> dimensions = row_major_dimensions({kWidth, kHeads, kHeadWidth});
    std::swap(dimensions[0], dimensions[1]);
    YOLK_TRY_VOID(record_one(contest, on,
                             RearrangeDesc{.members = static_cast<std::uint32_t>(members.count),
                                           .dimensions = dimensions,
                                           .source_elements = kWidth * kHeads * kHeadWidth},
                             {.source = contest.view(0), .out = contest.view(1)}));
    contest.run_host = [&contest, members] {
        host::permute(members, kWidth, kHeads, kHeadWidth, contest.inputs[0], contest.out);
    };
    return {};
}

Result<void> make_masked(Contest& contest, BenchDevice& on, Rows rows) {
    Floats mask;
    for (std::size_t i = 0; i < kWidth; ++i) {
        for (std::size_t j = 0; j < rows.columns; ++j) mask.push_back(j <= i ? 1.0F : 0.0F);
    }
    const std::size_t count = rows.count * rows.columns;
    YOLK_TRY_VOID(make_buffers(contest, on, {mask, drawn(count, 0), Floats(rows.columns, kMasked)}, count));
    ElementwiseDesc desc = one_step(ElementwiseOperation::Where, {static_cast<std::uint32_t>(rows.count / kWidth),
                                                                  kWidth, static_cast<std::uint32_t>(rows.columns)});
    desc.inputs = {6, 7, 4};
    const std::vector<BufferView> inputs{contest.view(0), contest.view(1), contest.view(2)};
    YOLK_TRY_VOID(record_one(contest, on, desc, {.inputs = inputs, .out = contest.view(3)}));
    contest.run_host = [&contest, rows] {
        host::masked(rows, kWidth, contest.inputs[0], contest.inputs[1], kMasked, contest.out);
    };
    return {};
}

using HostRows = void (*)(Rows, std::span<const float>, std::span<float>);

/// One array in, one of the same shape out.
template <class Desc>
Result<void> make_rows(Contest& contest, BenchDevice& on, Rows rows, Desc desc, HostRows by_host) {
    const std::size_t count = rows.count * rows.columns;
    YOLK_TRY_VOID(make_buffers(contest, on, {drawn(count, 0)}, count));
    if constexpr (std::is_same_v<Desc, CumulativeSumDesc>) {
        desc.outer = static_cast<std::uint32_t>(rows.count);
    } else {
        desc.rows = static_cast<std::uint32_t>(rows.count);
    }
    desc.columns = static_cast<std::uint32_t>(rows.columns);
    typename Desc::Views views{};
    views.in = contest.view(0);
    views.out = contest.view(1);
    YOLK_TRY_VOID(record_one(contest, on, desc, views));
    contest.run_host = [&contest, rows, by_host] { by_host(rows, contest.inputs[0], contest.out); };
    return {};
}

/// The device's output lies within a share of the host's, of the largest magnitude.
Result<void> check(Contest& contest, BenchDevice& on) {
    Floats got(contest.out.size(), NAN);
    YOLK_TRY_VOID(on.dispatcher.download(contest.buffers.back(), std::as_writable_bytes(std::span(got))));
    float largest = 0.0F;
    for (const float value : contest.out) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (!(std::abs(got[i] - contest.out[i]) <= 1e-4F * largest))
            return failed_work(
                fmt::format("Element {} is {} on the device and {} on the host.", i, got[i], contest.out[i]));
    }
    return {};
}

Result<void> time_contest(benchmark::State& state, BenchDevice& on, Contest& contest) {
    YOLK_TRY(Recorder recorder, Recorder::create(on.device, {.timestamp_count = 2, .label = "bench"}));
    recorder.begin();
    recorder.timestamp(0);
    contest.record(recorder);
    recorder.timestamp(1);
    YOLK_TRY_VOID(on.dispatcher.run(recorder));
    contest.run_host();
    YOLK_TRY_VOID(check(contest, on));
    Floats by_device, by_host;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY_VOID(on.dispatcher.run(recorder));
        std::array<double, 2> nanoseconds{};
        YOLK_TRY_VOID(recorder.read_timestamps(nanoseconds));
        by_device.push_back(static_cast<float>((nanoseconds[1] - nanoseconds[0]) * 1e-9));
        state.SetIterationTime(by_device.back());
        const auto begun = std::chrono::steady_clock::now();
        contest.run_host();
        by_host.push_back(std::chrono::duration<float>(std::chrono::steady_clock::now() - begun).count());
    }
    const auto elements = static_cast<double>(contest.out.size());
    state.counters["items_per_second"] = elements / median_of(by_device);
    state.counters["bytes_per_second"] = contest.bytes / median_of(by_device);
    state.counters["host_items_per_second"] = elements / median_of(by_host);
    state.counters["of_host"] = median_of(by_host) / median_of(by_device);
    return {};
}

struct Row {
    const char* name;
    Rows rows;
    Result<void> (*make)(Contest& contest, BenchDevice& on, Rows rows);
};

Result<void> make_softmax(Contest& contest, BenchDevice& on, Rows rows) {
    return make_rows(contest, on, rows, SoftmaxDesc{}, &host::softmax);
}
Result<void> make_cumulative_sum(Contest& contest, BenchDevice& on, Rows rows) {
    return make_rows(contest, on, rows, CumulativeSumDesc{}, &host::cumulative_sum);
}
Result<void> make_layer(Contest& contest, BenchDevice& on, Rows rows) {
    return make_rows(contest, on, rows, NormalizeDesc{.rule = NormalizeRule::Layer}, &host::layer_norm);
}
Result<void> make_rms(Contest& contest, BenchDevice& on, Rows rows) {
    return make_rows(contest, on, rows, NormalizeDesc{.rule = NormalizeRule::RootMeanSquare}, &host::rms_norm);
}

// Rows of 64 are those of attention and norms in the small transformer, 64 members of it.
constexpr Rows kNarrow{std::size_t{64} * kHeads * kWidth, kWidth};
constexpr Rows kSquare{1024, 1024};
constexpr auto kRows = std::to_array<Row>({
    {"elementwise_chain_of_3/16384x64", kNarrow, &make_short_steps},
    {"elementwise_chain_of_3_as_one/16384x64", kNarrow, &make_short_program},
    {"elementwise_chain_of_8/16384x64", kNarrow, &make_long_steps},
    {"elementwise_chain_of_8_as_one/16384x64", kNarrow, &make_long_program},
    {"permute/256x64x4x16", {kMembers, std::size_t{kWidth} * kHeads* kHeadWidth}, &make_permute},
    {"where_causal/256x64x64", {std::size_t{kMembers} * kWidth, kWidth}, &make_masked},
    {"cumulative_sum/16384x64", kNarrow, &make_cumulative_sum},
    {"cumulative_sum/1024x1024", kSquare, &make_cumulative_sum},
    {"softmax/16384x64", kNarrow, &make_softmax},
    {"softmax/1024x1024", kSquare, &make_softmax},
    {"rms_norm/16384x64", kNarrow, &make_rms},
    {"rms_norm/1024x1024", kSquare, &make_rms},
    {"layer_norm/16384x64", kNarrow, &make_layer},
    {"layer_norm/1024x1024", kSquare, &make_layer},
});

/// Whether the loops of kernel_rates_host.cpp can run: x86-64-v3, by those of its instructions that came last.
bool host_loops_run_here() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
           __builtin_cpu_supports("bmi2") != 0;
#else
    return true;
#endif
}

Result<void> time_row(benchmark::State& state, BenchDevice& on, const Row& row) {
    if (!host_loops_run_here())
        return unsupported("The host's loops are compiled for x86-64-v3, and this processor lacks AVX2, FMA or BMI2.");
    Contest contest;
    YOLK_TRY_VOID(row.make(contest, on, row.rows));
    return time_contest(state, on, contest);
}

void add(std::span<BenchDevice> devices) {
    for (const Row& row : kRows) {
        for (BenchDevice& on : devices) {
            const std::string name = fmt::format("kernel_rates/{}/{}/beside_host_loop_2_threads", on.name, row.name);
            benchmark::RegisterBenchmark(name.c_str(), [&on, row](benchmark::State& state) {
                if (const Result<void> timed = time_row(state, on, row); !timed)
                    state.SkipWithError(timed.error().message.c_str());
            })->UseManualTime();
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
