// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "check_tools.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/noise.hpp"

namespace yolk::oracle {

namespace {

struct Case {
    std::uint32_t element_count;
    std::uint32_t pair_count;
    NoiseStream stream;
};

// Empty, one element, around a block of 8, primes, around a workgroup's tile of 64 blocks; counters at their ends,
// where the pair wraps, too.
constexpr std::array kCases{
    Case{0, 3, {}},
    Case{5, 0, {}},
    Case{1, 1, {.seed = 42, .parameter = 5, .domain = Domain::A, .pair = 3, .time = 7}},
    Case{7,
         5,
         {.seed = 0xFFFFFFFFFFFFFFFFU,
          .parameter = kMaxParameterId,
          .domain = Domain::Policy,
          .pair = 0xFFFFFFFDU,
          .time = 0xFFFFFFFFU}},
    Case{8, 1, {.seed = 42, .parameter = 5, .domain = Domain::A, .pair = 3, .time = 7}},
    Case{9, 13, {.seed = 1, .parameter = 1, .domain = Domain::B, .pair = 1, .time = 1}},
    Case{511, 2, {.seed = 0x100000000U, .parameter = 2, .domain = Domain::Vector}},
    Case{512, 2, {.seed = 7, .parameter = 2, .domain = Domain::Initialization, .pair = 65535}},
    Case{513, 2, {.seed = 7, .parameter = 2, .domain = Domain::Environment, .time = 9}},
    Case{1021, 3, {.seed = 0x123456789ABCDEFU, .parameter = 77, .domain = Domain::Data, .pair = 2, .time = 4}},
};

std::vector<NoiseConfig> draw_configs(const CheckContext& context) {
    constexpr std::array<std::uint32_t, 5> kWorkgroups{1, 8, 32, 128, 256};
    std::vector<NoiseConfig> configs{NoiseConfig{}};
    Draws draws(context.seed);
    while (configs.size() < context.configurations) {
        configs.push_back({.workgroup_size = draws.one_of(kWorkgroups), .blocks_per_invocation = 1 + draws.below(8)});
    }
    return configs;
}

std::vector<OracleValue> oracle_values(const NoiseDesc& desc, NoiseStream stream) {
    std::vector<OracleValue> values;
    values.reserve(std::size_t{desc.element_count} * desc.pair_count);
    for (std::uint32_t p = 0; p < desc.pair_count; ++p, ++stream.pair) {
        for (std::uint32_t i = 0; i < desc.element_count; ++i) {
            if (desc.format == NoiseFormat::I32) {
                values.push_back({static_cast<double>(noise_oracle(stream, i)), 0.0});
                continue;
            }
            // Two roundings, of the constant and of the product, each of relative size 2^-24 at most.
            const double value = noise_f32_oracle(stream, i);
            values.push_back({value, std::abs(value) * std::ldexp(2.0, -24)});
        }
    }
    return values;
}

template <class T>
Result<void> hold_out(CheckReport& report, const std::string& name, const NoiseDesc& desc, const NoiseStream& stream,
                      const GuardedBuffer& out, const std::vector<T>& twin) {
    YOLK_TRY(const std::vector<T> got, out.download<T>());
    hold_to_twin(report, name, got, twin);
    hold_to_oracle(report, name, got, oracle_values(desc, stream));
    return {};
}

Result<void> check_case(const CheckContext& context, const Case& c, const NoiseDesc& desc, std::uint32_t poison,
                        CheckReport& report) {
    const std::string name =
        fmt::format("[{}, {}] {} of domain {}, workgroup {}, blocks {}, poison {:08x}", c.pair_count, c.element_count,
                    desc.format == NoiseFormat::I32 ? "i32" : "f32", static_cast<std::uint32_t>(c.stream.domain),
                    desc.config.workgroup_size, desc.config.blocks_per_invocation, poison);
    const std::uint64_t size_bytes = std::uint64_t{4} * c.element_count * c.pair_count;
    YOLK_TRY(const auto out,
             GuardedBuffer::create(context.device, context.dispatcher, size_bytes, poison, "noise.out"));
    YOLK_TRY(const NoisePlan plan, plan_noise(context.device, desc));
    YOLK_TRY(const BoundNoise bound, plan.bind({.out = out.view()}));
    YOLK_TRY_VOID(run_recorded(context, [&](Recorder& recorder) { bound.record(recorder, c.stream); }));
    ++report.cases;
    YOLK_TRY_VOID(hold_guards(report, name, out, "out"));
    if (desc.format == NoiseFormat::I32) {
        return hold_out(report, name, desc, c.stream, out, noise_i32_twin(desc, c.stream));
    }
    return hold_out(report, name, desc, c.stream, out, noise_f32_twin(desc, c.stream));
}

}  // namespace

Result<CheckReport> check_noise(const CheckContext& context) {
    CheckReport report;
    report.kernel = "noise";
    report.exactness = "E+P";
    for (const NoiseConfig& config : draw_configs(context)) {
        for (const Case& c : kCases) {
            for (const NoiseFormat format : {NoiseFormat::I32, NoiseFormat::F32}) {
                const NoiseDesc desc{c.element_count, c.pair_count, format, config};
                for (const std::uint32_t poison : kPoisons) {
                    YOLK_TRY_VOID(check_case(context, c, desc, poison, report));
                }
            }
        }
    }
    return report;
}

}  // namespace yolk::oracle
