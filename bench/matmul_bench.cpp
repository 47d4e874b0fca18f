// SPDX-License-Identifier: Apache-2.0
// Operations per second of products, by the device's clock, with what plans take: fp32, fast and exact; operands of
// fp16 and of bf16, sums of fp32; int8, sums of int32. a [n, n], b stored [n, n] as a layer's weights are. Inputs are
// drawn, because processors multiply zeros faster. `yolk check` and `yolk bench kernel` tell whether results are right.
#include <fmt/format.h>

#include <vector>

#include "bench.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/matmul.hpp"
#include "yolk/matmul_i8.hpp"

namespace yolk::bench {
namespace {

/// Buffers of one product.
struct Product {
    Buffer a, b, out, scratch;
};

/// Numbers of a format, made of bits; bytes as they are drawn.
std::vector<std::uint32_t> drawn_words(std::size_t count, std::uint32_t stream, FloatFormat format, bool bytes) {
    std::vector<std::uint32_t> words(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t word = philox4x32({i, stream, 0, 0}, {42, 3})[0];
        words[i] = word;
        if (bytes) continue;
        // From 1/8 to 1/2, of any sign.
        if (format == FloatFormat::F32) words[i] = (word & 0x80FFFFFFU) | 0x3E000000U;
        if (format == FloatFormat::F16) words[i] = (word & 0x87FF87FFU) | 0x30003000U;
        if (format == FloatFormat::BF16) words[i] = (word & 0x80FF80FFU) | 0x3E003E00U;
    }
    return words;
}

Result<Product> make_product(BenchDevice& on, std::uint64_t n, std::uint64_t element_bytes, FloatFormat format,
                             std::uint64_t scratch_bytes) {
    const auto operand = [&](const char* label, std::uint32_t stream) -> Result<Buffer> {
        const std::vector<std::uint32_t> words =
            drawn_words(n * n * element_bytes / 4, stream, format, element_bytes == 1);
        YOLK_TRY(Buffer buffer, on.device.create_buffer({.size_bytes = 4 * words.size(), .label = label}));
        YOLK_TRY_VOID(on.dispatcher.upload(buffer, std::as_bytes(std::span(words))));
        return buffer;
    };
    Product made;
    YOLK_TRY(made.a, operand("a", 0));
    YOLK_TRY(made.b, operand("b", 1));
    YOLK_TRY(made.out, on.device.create_buffer({.size_bytes = 4 * n * n, .label = "out"}));
    if (scratch_bytes != 0) {
        YOLK_TRY(made.scratch, on.device.create_buffer({.size_bytes = scratch_bytes, .label = "scratch"}));
    }
    return made;
}

double operations(std::uint32_t n) { return 2.0 * n * n * n; }

template <class Desc>
Result<void> time_product(benchmark::State& state, BenchDevice& on, const Desc& desc, std::uint64_t element_bytes,
                          FloatFormat format) {
    YOLK_TRY(const Plan<Desc> plan, Planner<Desc>{}(on.device, desc));
    const std::uint64_t scratch_bytes = plan.scratch().size_bytes;
    YOLK_TRY(const Product product, make_product(on, desc.n, element_bytes, format, scratch_bytes));
    YOLK_TRY(const Bound<Desc> bound, plan.bind({.a = product.a, .b = product.b, .out = product.out},
                                                scratch_bytes == 0 ? BufferView{} : BufferView(product.scratch)));
    time_on_device(state, on, operations(desc.n), [&](Recorder& recorder) { bound.record(recorder); });
    return {};
}

Result<void> time_floats(benchmark::State& state, BenchDevice& on, std::uint32_t n, FloatFormat format,
                         Determinism determinism) {
    MatmulDesc desc{.m = n, .n = n, .k = n};
    desc.a.format = desc.b.format = format;
    desc.b.transposed = true;
    desc.determinism = determinism;
    return time_product(state, on, desc, format == FloatFormat::F32 ? 4 : 2, format);
}

Result<void> time_bytes(benchmark::State& state, BenchDevice& on, std::uint32_t n) {
    return time_product(state, on, MatmulI8Desc{.m = n, .n = n, .k = n}, 1, FloatFormat::F32);
}

void add(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        const auto add_row = [&on](const char* of, std::uint32_t n, auto time) {
            const std::string name = fmt::format("matmul/{}/{}/{}", on.name, of, n);
            benchmark::RegisterBenchmark(name.c_str(), [&on, n, time](benchmark::State& state) {
                if (const Result<void> timed = time(state, on, n); !timed)
                    state.SkipWithError(timed.error().message.c_str());
            })->UseManualTime();
        };
        const auto floats = [](FloatFormat format, Determinism determinism) {
            return [=](benchmark::State& state, BenchDevice& device, std::uint32_t n) {
                return time_floats(state, device, n, format, determinism);
            };
        };
        const bool on_cpu = on.device.info().kind == DeviceKind::Cpu;
        for (const std::uint32_t n : on_cpu ? std::vector{512U, 1024U} : std::vector{1024U, 4096U, 8192U}) {
            add_row("f32", n, floats(FloatFormat::F32, Determinism::Fast));
            add_row("f32_exact", n, floats(FloatFormat::F32, Determinism::Exact));
            add_row("f16", n, floats(FloatFormat::F16, Determinism::Fast));
            add_row("bf16", n, floats(FloatFormat::BF16, Determinism::Fast));
            add_row("i8", n, time_bytes);
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
