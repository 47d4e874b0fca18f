// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "check_tools.hpp"
#include "philox_oracle.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/noise.hpp"

namespace yolk::oracle {
namespace {

class NoiseProblem final : public OperationProblem<NoiseDesc> {
   public:
    explicit NoiseProblem(const NoiseDesc& desc, const NoiseStream& stream = {.seed = 42})
        : OperationProblem(desc, fmt::format("domain {}", static_cast<std::uint32_t>(stream.domain)), stream) {}

   protected:
    /// A block of eight elements takes about a hundred operations.
    [[nodiscard]] double operations() const override { return 12.5 * static_cast<double>(elements(0)); }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& /*given*/,
                                                   const HostViews& /*made*/) const override {
        OracleValues values;
        values.reserve(elements(0));
        NoiseStream stream = argument<0>();
        for (std::uint32_t p = 0; p < desc().pair_count; ++p, ++stream.pair) {
            for (std::uint32_t i = 0; i < desc().element_count; ++i) {
                if (desc().format == NoiseFormat::I32) {
                    values.push_back({static_cast<double>(noise_oracle(stream, i)), 0.0});
                    continue;
                }
                // Two roundings, of the constant and of the product, each of relative size 2^-24 at most.
                const double value = noise_f32_oracle(stream, i);
                values.push_back({value, std::abs(value) * std::ldexp(2.0, -24)});
            }
        }
        return {values};
    }
};

struct NoiseCase {
    std::uint32_t element_count;
    std::uint32_t pair_count;
    NoiseStream stream;
};

// Empty, one element, around a block of 8, primes, around a workgroup's tile of 64 blocks; counters at their ends,
// where the pair wraps, too.
constexpr auto kNoiseCases = std::to_array<NoiseCase>({
    {0, 3, {}},
    {5, 0, {}},
    {1, 1, {.seed = 42, .parameter = 5, .domain = Domain::A, .pair = 3, .time = 7}},
    {7,
     5,
     {.seed = 0xFFFFFFFFFFFFFFFFU,
      .parameter = kMaxParameterId,
      .domain = Domain::Policy,
      .pair = 0xFFFFFFFDU,
      .time = 0xFFFFFFFFU}},
    {8, 1, {.seed = 42, .parameter = 5, .domain = Domain::A, .pair = 3, .time = 7}},
    {9, 13, {.seed = 1, .parameter = 1, .domain = Domain::B, .pair = 1, .time = 1}},
    {511, 2, {.seed = 0x100000000U, .parameter = 2, .domain = Domain::Vector}},
    {512, 2, {.seed = 7, .parameter = 2, .domain = Domain::Initialization, .pair = 65535}},
    {513, 2, {.seed = 7, .parameter = 2, .domain = Domain::Environment, .time = 9}},
    {1021, 3, {.seed = 0x123456789ABCDEFU, .parameter = 77, .domain = Domain::Data, .pair = 2, .time = 4}},
});

Problems noise_cases(std::uint64_t /*seed*/) {
    Problems problems;
    for (const NoiseCase& c : kNoiseCases) {
        for (const NoiseFormat format : {NoiseFormat::I32, NoiseFormat::F32}) {
            problems.push_back(std::make_unique<NoiseProblem>(
                NoiseDesc{.element_count = c.element_count, .pair_count = c.pair_count, .format = format}, c.stream));
        }
    }
    return problems;
}

Problems noise_benchmarks() {
    return problems_of<NoiseProblem>({{.element_count = 256, .pair_count = 4096},
                                      {.element_count = 256, .pair_count = 4096, .format = NoiseFormat::F32}});
}

}  // namespace

const Family& noise_family() noexcept {
    static constexpr Family kFamily{.name = "noise",
                                    .exactness = "E+P",
                                    .cases = &noise_cases,
                                    .benchmarks = &noise_benchmarks,
                                    .operation = &kOperationText<NoiseDesc, &make_problem<NoiseProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
