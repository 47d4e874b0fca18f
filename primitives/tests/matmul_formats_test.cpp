// SPDX-License-Identifier: Apache-2.0
// Operands of 16 bits. The family's table has cases of all formats (matmul_test.cpp).
#include "matmul_formats.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "matmul_cooperative.hpp"
#include "matrix_units.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/oracle/convert.hpp"
#include "yolk/internal/reference/convert.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

constexpr auto kBf16 = FloatFormat::BF16;

TEST(storage16, opens_a_knob_for_operands_of_16_bits) {
    const DeviceInfo info = with_matrix_units();
    EXPECT_THAT(storage16_values(info, half_product(8)), ElementsAre(0, 1));
    EXPECT_THAT(storage16_values(info, {.m = 8, .n = 8, .k = 8}), ElementsAre(0));
    EXPECT_THAT(storage16_values({}, half_product(8)), ElementsAre(0));
}

class matmul_formats : public testing::DeviceTest {
   protected:
    /// The words of out.
    Result<std::vector<std::uint32_t>> run(const MatmulDesc& desc, const std::vector<std::uint32_t>& a,
                                           const std::vector<std::uint32_t>& b) {
        const std::uint64_t out_bytes = float_bytes(desc.out.format, std::uint64_t{desc.m} * desc.n);
        YOLK_TRY(const MatmulPlan plan, plan_matmul(device(), desc));
        const auto buffer = [&](std::uint64_t size, const char* label) {
            return device().create_buffer({.size_bytes = std::max<std::uint64_t>(size, 4), .label = label});
        };
        YOLK_TRY(const Buffer left, buffer(4 * a.size(), "a"));
        YOLK_TRY(const Buffer right, buffer(4 * b.size(), "b"));
        YOLK_TRY(const Buffer out, buffer(out_bytes, "out"));
        YOLK_TRY(const Buffer scratch, buffer(plan.scratch().size_bytes, "scratch"));
        YOLK_TRY_VOID(dispatcher().upload(left, std::as_bytes(std::span(a))));
        YOLK_TRY_VOID(dispatcher().upload(right, std::as_bytes(std::span(b))));
        YOLK_TRY(const BoundMatmul bound, plan.bind({.a = left, .b = right, .out = out}, scratch));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.barrier(Barrier::ToHost);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        std::vector<std::uint32_t> words(out_bytes / 4);
        YOLK_TRY_VOID(dispatcher().download(out, std::as_writable_bytes(std::span(words))));
        return words;
    }
    static std::vector<std::uint32_t> words_of(const std::vector<float>& values) {
        std::vector<std::uint32_t> words;
        for (const float value : values) words.push_back(std::bit_cast<std::uint32_t>(value));
        return words;
    }
    /// Numbers that the format has, in [-2, 2).
    static std::vector<float> numbers(FloatFormat format, std::size_t count, std::uint32_t stream) {
        std::vector<float> values;
        for (std::uint32_t i = 0; i < count; ++i) {
            const double drawn = std::ldexp(philox4x32({i, stream, 0, 0}, {7, 7})[0], -30) - 2.0;
            values.push_back(static_cast<float>(oracle::value_of_half(format, oracle::nearest_half(format, drawn))));
        }
        return values;
    }
};
YOLK_FOR_EACH_DEVICE(matmul_formats);

// Widening is exact: the bits of an exact product are those of the same product of fp32, whichever way it is read.
TEST_P(matmul_formats, give_the_bits_of_the_same_numbers_in_fp32) {
    constexpr std::uint32_t kM = 20, kN = 36, kK = 28;
    for (const FloatFormat format : {kF16, kBf16}) {
        const std::vector<float> a = numbers(format, std::size_t{kM} * kK, 1);
        const std::vector<float> b = numbers(format, std::size_t{kN} * kK, 2);
        MatmulDesc desc{.m = kM, .n = kN, .k = kK, .b = {.transposed = true}, .determinism = Determinism::Exact};
        ASSERT_OK_AND_ASSIGN(const auto right, run(desc, words_of(a), words_of(b)));
        desc.a.format = desc.b.format = format;
        const auto a_words = reference::narrow_twin(format, a), b_words = reference::narrow_twin(format, b);
        for (const MatmulConfig& config :
             {MatmulConfig{.block_n = 32, .tile_n = 4},
              MatmulConfig{.block_m = 4, .block_n = 32, .tile_m = 4, .tile_n = 4, .vector_width = 1},
              MatmulConfig{.workgroup_size = 64,
              .block_m = 32,
              .block_n = 32,
              .block_k = 16,
              .tile_m = 4,
              .tile_n = 4,
              .operand_path = kStagedOperands},
              MatmulConfig{.workgroup_size = 64,
              .block_m = 32,
              .block_n = 32,
              .block_k = 16,
              .tile_m = 4,
              .tile_n = 4,
              .vector_width = 1,
              .operand_path = kStagedOperands}}) {
            for (const std::uint32_t storage16 : storage16_values(device().info(), desc)) {
                desc.config = config;
                desc.config->storage16 = storage16;
                ASSERT_OK_AND_ASSIGN(const auto got, run(desc, a_words, b_words));
                EXPECT_EQ(got, right) << to_string(format) << " path " << config.operand_path << " vector "
                                      << config.vector_width << " storage16 " << storage16;
            }
        }
    }
}

TEST_P(matmul_formats, an_out_of_16_bits_is_the_rounded_one_of_fp32) {
    constexpr std::uint32_t kM = 7, kN = 9, kK = 16;
    const std::vector<std::uint32_t> a = words_of(numbers(kBf16, std::size_t{kM} * kK, 3));
    const std::vector<std::uint32_t> b = words_of(numbers(kBf16, std::size_t{kN} * kK, 4));
    MatmulDesc desc{.m = kM, .n = kN, .k = kK, .determinism = Determinism::Exact};
    ASSERT_OK_AND_ASSIGN(const auto sums, run(desc, a, b));
    std::vector<float> floats;
    for (const std::uint32_t word : sums) floats.push_back(std::bit_cast<float>(word));
    for (const FloatFormat format : {kF16, kBf16}) {
        desc.out.format = format;
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, a, b));
        EXPECT_EQ(got, reference::narrow_twin(format, floats));
    }
}

// Sums of small integers are exact in any order. Where there are no matrix units the plan says so (the drivers of
// tools/test have none, tools/gpu-check --tests runs it on one that has).
TEST_P(matmul_formats, matrix_units_add_integers_exactly_in_every_configuration) {
    constexpr std::uint32_t kSide = 32;
    std::vector<float> a, b;
    for (std::uint32_t i = 0; i < kSide * kSide; ++i) {
        const auto words = philox4x32({i, 9, 0, 0}, {7, 7});
        a.push_back(static_cast<float>(words[0] % 17) - 8.0F);
        b.push_back(static_cast<float>(words[1] % 17) - 8.0F);
    }
    const auto a_words = reference::narrow_twin(kF16, a), b_words = reference::narrow_twin(kF16, b);
    for (const bool as_layers : {true, false}) {
        MatmulDesc desc = half_product(kSide);
        desc.a.transposed = !as_layers;
        desc.b.transposed = as_layers;
        if (!path_is_open(device().usable_info(), LowPrecisionPath::CooperativeMatrix)) {
            desc.config = MatmulConfig{.operand_path = kStagedCooperativeOperands};
            EXPECT_TRUE(expect_error(plan_matmul(device(), desc), ErrorKind::BadInput,
                                     "operand_path of [matmul] is 6; it may be"));
            continue;
        }
        ASSERT_OK_AND_ASSIGN(const auto right, run(desc, a_words, b_words));
        const ConfigSpace<MatmulConfig> space = space_of(device().usable_info(), desc);
        std::size_t staged = 0;
        for (const Configuration& values : space.space().all()) {
            desc.config = space.config(values);
            if (!is_on_matrix_units(*desc.config)) continue;
            ++staged;
            if (staged % (as_layers ? 2 : 8) != 1) continue;  // a driver takes a second to compile each
            ASSERT_OK_AND_ASSIGN(const auto got, run(desc, a_words, b_words));
            EXPECT_EQ(got, right) << space.space().text(values);
        }
        EXPECT_GT(staged, 4U);
    }
}

TEST_P(matmul_formats, bad_descriptions_are_refused) {
    const auto refused = [&](const MatmulDesc& desc, const char* part) {
        return expect_error(plan_matmul(device(), desc), ErrorKind::BadInput, part);
    };
    MatmulDesc desc{.m = 8, .n = 8, .k = 8, .out = {.stride = 9, .format = kF16}};
    EXPECT_TRUE(refused(desc, "one of 16 bits must be dense"));
    desc.out = {.offset = 2, .format = kF16};
    EXPECT_TRUE(refused(desc, "one of 16 bits must be dense"));
    desc.out = {};
    desc.has_residual = true;
    desc.residual.format = kF16;
    EXPECT_TRUE(refused(desc, "The residual of [matmul] is described as 16-bit"));
    desc.has_residual = false;
    desc.a.format = kF16;
    desc.config = MatmulConfig{.operand_path = kUniformOperand};
    EXPECT_TRUE(refused(desc, "Operands of 16 bits are storage buffers"));
    desc.config = MatmulConfig{.operand_path = kCooperativeOperands};
    EXPECT_TRUE(refused(desc, "operand_path of [matmul] is 4; it may be"));
    desc.a.format = FloatFormat::F32;
    desc.config = MatmulConfig{.storage16 = 1};
    EXPECT_TRUE(refused(desc, "storage16 of [matmul]"));
}

}  // namespace
}  // namespace yolk
