// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "check_tools.hpp"
#include "yolk/convert.hpp"
#include "yolk/internal/oracle/convert.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/convert.hpp"

namespace yolk::oracle {
namespace {

/// What an array holds.
enum class Contents {
    Drawn,    ///< any bit patterns: every exponent, NaN and infinities, too
    Ties,     ///< numbers of the 16-bit format, the middle between two neighbours, and the fp32 numbers beside it
    Special,  ///< zeros, largest and smallest numbers, denormals of both formats, infinities, NaN
    Every,    ///< widening only: 65,536 patterns
};

const char* name_of(Contents contents) {
    constexpr std::array kContentNames{"drawn", "ties", "special", "every"};
    return kContentNames.at(static_cast<std::size_t>(contents));
}

constexpr std::array<std::uint32_t, 26> kSpecialPatterns{
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
    0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF802001, 0x7FBFFFFF, 0x477FE000, 0x477FEFFF, 0x477FF000,
    0x477FFFFF, 0x38800000, 0x387FFFFF, 0x33800000, 0x33000000, 0x33000001, 0x32FFFFFF, 0x7F7F8000};

class ConvertProblem final : public OperationProblem<ConvertDesc> {
   public:
    ConvertProblem(const ConvertDesc& desc, Contents contents, std::uint64_t seed)
        : OperationProblem(desc, name_of(contents)), contents_(contents), seed_(seed) {}

    [[nodiscard]] std::vector<Expected> expected() const override;
    [[nodiscard]] Work work() const override {
        const double count = desc().count;
        return {.operations = 10.0 * count, .bytes = 6.0 * count};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {narrows() ? bytes_of_values(floats()) : bytes_of_values(packed(halves()))};
    }

   private:
    [[nodiscard]] bool narrows() const { return desc().from == FloatFormat::F32; }
    [[nodiscard]] std::vector<float> floats() const;
    [[nodiscard]] std::vector<std::uint16_t> halves() const;
    [[nodiscard]] static std::vector<std::uint32_t> packed(const std::vector<std::uint16_t>& halves) {
        std::vector<std::uint32_t> words((halves.size() + 1) / 2, 0);
        for (std::size_t i = 0; i < halves.size(); ++i) words[i / 2] |= std::uint32_t{halves[i]} << (16 * (i % 2));
        return words;
    }
    [[nodiscard]] std::uint16_t half_of(float value) const;
    [[nodiscard]] std::uint32_t bits_of(std::uint16_t half) const;

    Contents contents_;
    std::uint64_t seed_;
};

std::vector<float> ConvertProblem::floats() const {
    Draws draws(seed_, 60);
    std::vector<float> values;
    for (std::uint32_t i = 0; values.size() < desc().count; ++i) {
        if (contents_ == Contents::Drawn) {
            values.push_back(std::bit_cast<float>(draws.word()));
        } else if (contents_ == Contents::Special) {
            values.push_back(std::bit_cast<float>(kSpecialPatterns[i % kSpecialPatterns.size()]));
        } else {
            const std::uint32_t infinity = desc().to == FloatFormat::F16 ? 0x7C00U : 0x7F80U;
            const auto half = static_cast<std::uint16_t>(draws.below(infinity - 1));
            const double low = value_of_half(desc().to, half);
            const double high = value_of_half(desc().to, static_cast<std::uint16_t>(half + 1));
            const auto middle = static_cast<float>((low + high) / 2.0);
            constexpr float kInfinity = std::numeric_limits<float>::infinity();
            const std::array around{static_cast<float>(low), middle, std::nextafter(middle, 0.0F),
                                    std::nextafter(middle, kInfinity)};
            const float one = around[i % 4];
            values.push_back(draws.below(2) == 0 ? one : -one);
        }
    }
    return values;
}

std::vector<std::uint16_t> ConvertProblem::halves() const {
    Draws draws(seed_, 61);
    std::vector<std::uint16_t> all(desc().count);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::uint16_t>(contents_ == Contents::Every ? i : draws.word() >> 16U);
    return all;
}

/// A NaN keeps its sign and upper bits and becomes quiet; all else is the nearest number.
std::uint16_t ConvertProblem::half_of(float value) const {
    if (!std::isnan(value)) return nearest_half(desc().to, static_cast<double>(value));
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
    if (desc().to == FloatFormat::BF16)
        return static_cast<std::uint16_t>(sign | 0x7FC0U | ((bits & 0x7FFFFFU) / 0x10000U));
    return static_cast<std::uint16_t>(sign | 0x7E00U | ((bits & 0x7FFFFFU) / 0x2000U));
}

/// A NaN's bits move up as they are.
std::uint32_t ConvertProblem::bits_of(std::uint16_t half) const {
    const double value = value_of_half(desc().from, half);
    if (!std::isnan(value)) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    const std::uint32_t sign = (half & 0x8000U) != 0 ? 0x80000000U : 0U;
    if (desc().from == FloatFormat::BF16) return sign | 0x7F800000U | (half % 0x80U) * 0x10000U;
    return sign | 0x7F800000U | (half % 0x400U) * 0x2000U;
}

std::vector<Expected> ConvertProblem::expected() const {
    Expected expected{.element = ElementType::U32};
    std::vector<std::uint32_t> right;
    if (narrows()) {
        const std::vector<float> values = floats();
        expected.twin = reference::narrow_twin(desc().to, values);
        std::vector<std::uint16_t> all;
        for (const float value : values) all.push_back(half_of(value));
        right = packed(all);
    } else {
        const std::vector<std::uint16_t> all = halves();
        expected.twin = words_of(reference::widen_twin(desc().from, packed(all), all.size()));
        for (const std::uint16_t half : all) right.push_back(bits_of(half));
    }
    for (const std::uint32_t word : right) expected.oracle.push_back({static_cast<double>(word), 0.0});
    return {expected};
}

struct ConvertCase {
    std::uint32_t count;
    Contents narrow;
    Contents widen;
};

// Nothing, one, odd and even, around a workgroup's tile, primes; every pattern of 16 bits; ties.
constexpr auto kConvertCases = std::to_array<ConvertCase>({
    {0, Contents::Drawn, Contents::Drawn},
    {1, Contents::Drawn, Contents::Drawn},
    {2, Contents::Drawn, Contents::Drawn},
    {3, Contents::Ties, Contents::Drawn},
    {26, Contents::Special, Contents::Drawn},
    {127, Contents::Drawn, Contents::Drawn},
    {128, Contents::Ties, Contents::Drawn},
    {129, Contents::Drawn, Contents::Drawn},
    {1021, Contents::Drawn, Contents::Drawn},
    {20011, Contents::Ties, Contents::Drawn},
    {65536, Contents::Special, Contents::Every},
});

Problems convert_cases(std::uint64_t seed) {
    Problems problems;
    for (const ConvertCase& c : kConvertCases) {
        for (const FloatFormat format : {FloatFormat::F16, FloatFormat::BF16}) {
            problems.push_back(std::make_unique<ConvertProblem>(
                ConvertDesc{.count = c.count, .from = FloatFormat::F32, .to = format}, c.narrow, seed));
            problems.push_back(std::make_unique<ConvertProblem>(
                ConvertDesc{.count = c.count, .from = format, .to = FloatFormat::F32}, c.widen, seed));
        }
    }
    return problems;
}

Problems convert_benchmarks() {
    Problems problems;
    for (const FloatFormat format : {FloatFormat::F16, FloatFormat::BF16}) {
        problems.push_back(std::make_unique<ConvertProblem>(
            ConvertDesc{.count = 1U << 20U, .from = FloatFormat::F32, .to = format}, Contents::Ties, 1));
        problems.push_back(std::make_unique<ConvertProblem>(
            ConvertDesc{.count = 1U << 20U, .from = format, .to = FloatFormat::F32}, Contents::Every, 1));
    }
    return problems;
}

std::unique_ptr<Problem> make_convert_problem(const ConvertDesc& desc) {
    return std::make_unique<ConvertProblem>(desc, desc.from == FloatFormat::F32 ? Contents::Ties : Contents::Every, 1);
}

}  // namespace

const Family& convert_family() noexcept {
    static constexpr Family kFamily{.name = "convert",
                                    .exactness = "E",
                                    .cases = &convert_cases,
                                    .benchmarks = &convert_benchmarks,
                                    .configurations_per_case = 4,
                                    .operation = &kOperationText<ConvertDesc, &make_convert_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
