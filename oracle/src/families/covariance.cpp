// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "check_tools.hpp"
#include "yolk/covariance.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/formulas/covariance.hpp"

namespace yolk::oracle {
namespace {

/// What X is filled with.
enum class SampleValues {
    Plain,  ///< in [-1, 1), now and then an operand that the operand rule drops, one of them denormal
    Ones,   ///< exactly 1: C is exactly 1
    Huge,   ///< up to 2^50 in magnitude
    Tiny,   ///< around the operand rule's floor
};

float draw_sample(Draws& draws, SampleValues values, std::size_t index) {
    switch (values) {
        case SampleValues::Plain:
            if (index % 13 == 7) return index % 2 == 0 ? 0x1p-41F : -0x1p-130F;
            return draws.uniform(-1.0F, 1.0F);
        case SampleValues::Ones: return 1.0F;
        case SampleValues::Huge: return draws.uniform(-0x1p50F, 0x1p50F);
        case SampleValues::Tiny: return std::copysign(draws.uniform(0x1p-41F, 0x1p-39F), draws.uniform(-1.0F, 1.0F));
    }
    return 0.0F;
}

class CovarianceProblem final : public OperationProblem<CovarianceDesc> {
   public:
    explicit CovarianceProblem(const CovarianceDesc& desc, bool first = false,
                               SampleValues values = SampleValues::Plain, std::uint64_t seed = 1)
        : OperationProblem(desc, label_of(desc, first, values), OrDefault<bool>{first}), values_(values), seed_(seed) {}

    [[nodiscard]] std::vector<ByteVector> contents() const override;
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return bounds_of(desc(), given, argument<0>());
    }
    [[nodiscard]] Work work() const override {
        const auto elements = static_cast<double>(count());
        const double samples = desc().samples;
        return {.operations = 2.0 * samples * elements,
                .bytes = 4.0 * (elements * (is_damped() ? 2.0 : 1.0) + samples * desc().blocks * desc().n)};
    }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        for (const std::vector<std::uint32_t>& words : outputs) {
            std::uint64_t lopsided = 0;
            for (std::size_t i = 0; i < words.size(); ++i) {
                const std::size_t block = i / (std::size_t{desc().n} * desc().n) * desc().n * desc().n;
                const std::size_t row = (i - block) / desc().n;
                const std::size_t column = (i - block) % desc().n;
                if (words[i] != words[block + column * desc().n + row]) ++lopsided;
            }
            if (lopsided != 0) report.fail(fmt::format("{}: {} elements are not symmetric.", case_name, lopsided));
        }
    }

   private:
    [[nodiscard]] static std::string label_of(const CovarianceDesc& desc, bool first, SampleValues values) {
        constexpr std::array kValues{"plain", "ones", "huge", "tiny"};
        return fmt::format("x @{}+{}+{}{}, damping {}, {}", desc.offset, desc.stride, desc.block_stride,
                           first ? ", first" : "", desc.damping, kValues[static_cast<std::size_t>(values)]);
    }
    [[nodiscard]] bool is_damped() const { return desc().damping_kind != CovarianceDamping::None; }
    [[nodiscard]] std::size_t count() const { return std::size_t{desc().blocks} * desc().n * desc().n; }

    SampleValues values_;
    std::uint64_t seed_;
};

std::vector<ByteVector> CovarianceProblem::contents() const {
    if (count() == 0) return {{}, {}};
    Draws draws(seed_, 50);
    std::vector<float> x, old;
    if (desc().samples > 0) {
        x.assign(reference::covariance_element(desc(), desc().blocks - 1, desc().samples - 1, desc().n - 1) + 1,
                 std::numeric_limits<float>::quiet_NaN());
    }
    for (std::uint32_t b = 0; b < desc().blocks; ++b) {
        for (std::uint32_t s = 0; s < desc().samples; ++s) {
            for (std::uint32_t c = 0; c < desc().n; ++c) {
                const std::size_t index = reference::covariance_element(desc(), b, s, c);
                x[index] = draw_sample(draws, values_, index);
            }
        }
    }
    if (!desc().average) return {bytes_of_values(x), {}};
    old.assign(count(), std::numeric_limits<float>::quiet_NaN());  // of a first average, not read
    for (std::size_t i = 0; i < count() && !argument<0>().value; ++i) {
        const std::size_t n = std::max(desc().n, 1U);  // there is an element, so it is n; the analyzer cannot know
        const std::size_t block = i / (n * n) * n * n;
        const std::size_t mirror = block + (i - block) % n * n + (i - block) / n;
        old[i] = mirror < i ? old[mirror] : draw_sample(draws, values_, i);
    }
    return {bytes_of_values(x), bytes_of_values(old)};
}

struct CovarianceCase {
    CovarianceDesc desc;
    bool first = false;
    SampleValues values = SampleValues::Plain;
};

// Nothing, one element, no sample and one, primes, around the matmul's tiles; strides with NaN between the rows, a
// shared X; averages with and without a past, both kinds of damping; scales.
std::vector<CovarianceCase> covariance_cases() {
    constexpr auto kRelative = CovarianceDamping::Relative;
    constexpr auto kAbsolute = CovarianceDamping::Absolute;
    return {
        {{.n = 0, .samples = 3}},
        {{.n = 3, .samples = 4, .blocks = 0, .damping_kind = kRelative}},
        {{.n = 5, .samples = 0, .damping_kind = kAbsolute, .damping = 0.5F}},
        {{.n = 5, .samples = 0, .average = true, .damping_kind = kRelative, .damping = 0.5F}},
        {{.n = 5, .samples = 0, .average = true}, true},
        {{.n = 1, .samples = 1}},
        {{.n = 1, .samples = 70001}},
        {{.n = 7, .samples = 1, .blocks = 3, .damping_kind = kRelative, .damping = 0x1p-10F}},
        {{.n = 13, .samples = 29, .blocks = 2, .average = true, .decay = 0.9F}},
        {{.n = 16, .samples = 64, .blocks = 3, .average = true, .damping_kind = kAbsolute, .damping = 1e-3F}, true},
        {{.n = 17, .samples = 31, .blocks = 2, .offset = 3, .stride = 19, .block_stride = 600}},
        {{.n = 8, .samples = 12, .blocks = 4, .stride = 12, .block_stride = 0, .average = true, .decay = 0.0F}},
        {{.n = 4, .samples = 9, .blocks = 301, .damping_kind = kRelative, .damping = 0.1F}},
        {{.n = 33, .samples = 5, .damping_kind = kRelative, .damping = 1.0F}},
        {{.n = 64, .samples = 16, .damping_kind = kRelative}},
        {{.n = 65, .samples = 8, .average = true, .damping_kind = kAbsolute, .damping = 1.0F}},
        {{.n = 12, .samples = 64}, false, SampleValues::Ones},
        {{.n = 9, .samples = 20, .average = true, .damping_kind = kRelative, .damping = 0.01F},
         false,
         SampleValues::Huge},
        {{.n = 9, .samples = 20, .average = true, .damping_kind = kRelative, .damping = 0.01F},
         false,
         SampleValues::Tiny},
    };
}

Problems covariance_cases(std::uint64_t seed) {
    Problems problems;
    for (const CovarianceCase& c : covariance_cases())
        problems.push_back(std::make_unique<CovarianceProblem>(c.desc, c.first, c.values, seed));
    return problems;
}

Problems covariance_benchmarks() {
    Problems problems;
    for (const CovarianceDesc& desc : {CovarianceDesc{.n = 32, .samples = 256, .blocks = 512},
                                       CovarianceDesc{.n = 128, .samples = 256, .blocks = 16},
                                       CovarianceDesc{.n = 512, .samples = 1024, .average = true}}) {
        problems.push_back(std::make_unique<CovarianceProblem>(desc, false, SampleValues::Ones, 1));
    }
    return problems;
}

Problems large_covariances() { return problems_of<CovarianceProblem>({{.n = 2048, .samples = 4096}}); }

}  // namespace

const Family& covariance_family() noexcept {
    static constexpr Family kFamily{.name = "covariance",
                                    .exactness = "P",
                                    .cases = &covariance_cases,
                                    .benchmarks = &covariance_benchmarks,
                                    .each_configuration_once = true,
                                    .operation = &kOperationText<CovarianceDesc, &make_problem<CovarianceProblem>>,
                                    .large = &large_covariances};
    return kFamily;
}

}  // namespace yolk::oracle
