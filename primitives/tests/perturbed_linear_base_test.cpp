// SPDX-License-Identifier: Apache-2.0
// x W^T of a perturbed layer as a product of its own. The family's table has cases of it (perturbed_linear_test.cpp).
#include "perturbed_linear_base.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <vector>

#include "matrix_units.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

constexpr NoiseContext kBaseContext{.seed = 42, .generation = 7, .time = 7, .sigma = 0.1F};

PerturbedLinearDesc of_halves() {
    return {.members = 8,
            .rows = 16,
            .in = 64,
            .out = 48,
            .shared_input = true,
            .weights_format = kF16,
            .input_format = kF16,
            .determinism = Determinism::Fast};
}

TEST(perturbed_linear_base_space, matrix_units_take_fast_products_of_halves_only) {
    const DeviceInfo info = with_matrix_units();
    const auto values = [&](auto change) {
        PerturbedLinearDesc desc = of_halves();
        change(desc);
        return base_values(info, desc);
    };
    EXPECT_THAT(values([](auto&) {}), ElementsAre(0, 1, 2));
    EXPECT_THAT(values([](auto& d) { d.transposed = true; }), ElementsAre(0, 1, 2));
    EXPECT_THAT(values([](auto& d) { d.shared_input = false, d.rows = 2; }), ElementsAre(0, 1, 2));
    EXPECT_THAT(values([](auto& d) { d.rows = 2; }), ElementsAre(0, 1)) << "16 instances, but two rows of a shared x";
    EXPECT_THAT(values([](auto& d) { d.determinism = Determinism::Exact; }), ElementsAre(0, 1));
    EXPECT_THAT(values([](auto& d) { d.weights_format = FloatFormat::BF16; }), ElementsAre(0, 1));
    EXPECT_THAT(values([](auto& d) { d.input_format = FloatFormat::F32; }), ElementsAre(0, 1));
    EXPECT_THAT(values([](auto& d) { d.in = 60; }), ElementsAre(0, 1));
    EXPECT_THAT(values([](auto& d) { d.out = 40; }), ElementsAre(0, 1));
    EXPECT_THAT(base_values({}, of_halves()), ElementsAre(0, 1)) << "the floor has no matrix units";
}

TEST(perturbed_linear_base_space, matrix_units_are_the_default_of_many_instances_on_gpus) {
    DeviceInfo info = with_matrix_units();
    PerturbedLinearDesc desc = of_halves();
    EXPECT_NE(heuristic_of(info, desc).base, kBaseOnMatrixUnits) << "a few blocks";
    desc.members = 256, desc.in = desc.out = 1024, desc.shared_input = false;
    EXPECT_EQ(heuristic_of(info, desc).base, kBaseOnMatrixUnits);
    desc.determinism = Determinism::Exact;
    EXPECT_NE(heuristic_of(info, desc).base, kBaseOnMatrixUnits);
    desc.determinism = Determinism::Fast;
    info.kind = DeviceKind::Cpu;
    EXPECT_NE(heuristic_of(info, desc).base, kBaseOnMatrixUnits);
}

TEST(perturbed_linear_base_space, matrix_units_get_blocks_that_divide_the_product) {
    const DeviceInfo info = with_matrix_units();
    const MatmulDesc product = base_product(info, of_halves(), kBaseOnMatrixUnits);
    EXPECT_EQ(product.m, 16U);
    EXPECT_EQ(product.n, 48U);
    EXPECT_EQ(product.k, 64U);
    EXPECT_TRUE(product.b.transposed);
    ASSERT_TRUE(product.config);
    EXPECT_EQ(product.config->operand_path, std::uint32_t{kCooperativeOperands});
    EXPECT_EQ(product.config->block_m, 16U);
    EXPECT_EQ(product.config->block_n, 16U);
    EXPECT_EQ(product.config->workgroup_size, 32U);
    PerturbedLinearDesc large = of_halves();
    large.shared_input = false;
    large.out = 64;
    large.transposed = true;
    const MatmulDesc of_each = base_product(info, large, kBaseOnMatrixUnits);
    EXPECT_EQ(of_each.m, 8U * 16U);
    EXPECT_EQ(of_each.n, 64U);
    EXPECT_FALSE(of_each.b.transposed);
    ASSERT_TRUE(of_each.config);
    EXPECT_EQ(of_each.config->operand_path, std::uint32_t{kStagedCooperativeOperands});
    EXPECT_EQ(of_each.config->block_m, 32U);
    EXPECT_EQ(of_each.config->block_n, 32U);
    EXPECT_FALSE(base_product(info, large, kBaseByMatmul).config) << "matmul's own default";
}

TEST(perturbed_linear_base_space, excludes_what_reads_the_operands_in_the_output) {
    const PerturbedLinearDesc desc{.members = 4, .rows = 2, .in = 16, .out = 16};
    const auto refused = [&](const PerturbedLinearConfig& config) {
        return expect_error(space_of(DeviceInfo{}, desc).check(config), ErrorKind::BadInput,
                            "fused must be 0, block_k 4, and operand_path 0, or 3 if x is shared and");
    };
    EXPECT_OK(space_of(DeviceInfo{}, desc).check(PerturbedLinearConfig{.base = 1}));
    EXPECT_TRUE(refused({.fused = 1, .base = 1}));
    EXPECT_TRUE(refused({.operand_path = kUniformOperand, .base = 1}));
    EXPECT_TRUE(refused({.operand_path = kTexelOperands, .base = 1}));
    EXPECT_TRUE(refused({.block_k = 8, .base = 1}));
    EXPECT_TRUE(expect_error(space_of(DeviceInfo{}, desc).check(PerturbedLinearConfig{.base = 2}), ErrorKind::BadInput,
                             "base of [perturbed_linear] is 2; it may be 0, 1"));
}

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t stream, bool halves) {
    std::vector<std::uint32_t> words(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t word = philox4x32({i, stream, 0, 0}, {7, 7})[0];
        // Halves of either sign in [1, 2), two to a word; floats in [-1, 1).
        if (halves)
            words[i] = (word & 0x83FF83FFU) | 0x3C003C00U;
        else
            words[i] = std::bit_cast<std::uint32_t>(std::ldexp(static_cast<float>(word >> 8U), -23) - 1.0F);
    }
    return words;
}

/// Small tiles, which drivers compile soon.
constexpr PerturbedLinearConfig with_base(std::uint32_t base) {
    return {.workgroup_size = 8, .block_m = 4, .block_n = 32, .tile_m = 4, .tile_n = 4, .base = base};
}

class perturbed_linear_base : public testing::DeviceTest {
   protected:
    Result<std::vector<std::uint32_t>> run(const PerturbedLinearDesc& desc, std::int32_t first_member) {
        const auto create = [&](std::uint64_t size_bytes, const char* label) {
            return oracle::GuardedBuffer::create(device(), dispatcher(), size_bytes, oracle::kPoisons[0], label);
        };
        const std::size_t inputs =
            std::size_t{desc.shared_input ? 1 : desc.members} * desc.rows * (desc.transposed ? desc.out : desc.in);
        const bool halves = desc.input_format == kF16;
        const auto x = numbers(inputs / (halves ? 2 : 1), 1, halves);
        const auto w = numbers(std::size_t{desc.in} * desc.out / (halves ? 2 : 1), 2, halves);
        const std::uint64_t outputs = std::uint64_t{desc.members} * desc.rows * (desc.transposed ? desc.in : desc.out);
        YOLK_TRY(const PerturbedLinearPlan plan, plan_perturbed_linear(device(), desc));
        scratch_bytes_ = plan.scratch().size_bytes;
        YOLK_TRY(const auto weights, create(4 * w.size(), "weights"));
        YOLK_TRY(const auto input, create(4 * x.size(), "input"));
        YOLK_TRY(const auto output, create(4 * outputs, "output"));
        YOLK_TRY(const auto scratch, create(scratch_bytes_, "scratch"));
        YOLK_TRY_VOID(weights.upload(w));
        YOLK_TRY_VOID(input.upload(x));
        YOLK_TRY(
            const BoundPerturbedLinear bound,
            plan.bind({.weights = weights.view(), .input = input.view(), .output = output.view()}, scratch.view()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, kBaseContext, first_member);
        dispatches_ = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return output.download<std::uint32_t>();
    }

    std::uint64_t dispatches_ = 0;
    std::uint64_t scratch_bytes_ = 0;
};
YOLK_FOR_EACH_DEVICE(perturbed_linear_base);

std::vector<PerturbedLinearDesc> shapes_with_a_base() {
    std::vector<PerturbedLinearDesc> all;
    for (const bool shared : {true, false}) {
        for (const bool transposed : {true, false}) {
            for (const FloatFormat format : {FloatFormat::F32, kF16}) {
                // Outputs that are multiples of four are loaded by vectors, of which the last tile has too many.
                for (const std::uint32_t more : {0U, 2U}) {
                    all.push_back({.members = 5,
                                   .rows = 3,
                                   .in = 22 + more,
                                   .out = 34 + more,
                                   .rank = 3,
                                   .shared_input = shared,
                                   .weights_format = format,
                                   .input_format = format,
                                   .transposed = transposed});
                }
            }
        }
    }
    return all;
}

// The product's chain first, then the noise's, whoever makes the first and wherever it rests in between.
TEST_P(perturbed_linear_base, a_product_of_its_own_gives_the_bits_of_the_chain) {
    for (PerturbedLinearDesc desc : shapes_with_a_base()) {
        SCOPED_TRACE(
            fmt::format("shared {}, transposed {}, {} -> {}", desc.shared_input, desc.transposed, desc.in, desc.out));
        desc.config = with_base(0);
        ASSERT_OK_AND_ASSIGN(const auto right, run(desc, -1));
        EXPECT_EQ(dispatches_, 2U);
        desc.config = with_base(1);
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, -1));
        EXPECT_EQ(dispatches_, 3U);
        EXPECT_EQ(got, right);
        const std::uint64_t projection = std::uint64_t{4} * 5 * 3 * 3;
        const std::uint64_t base = std::uint64_t{4} * 3 * (desc.transposed ? desc.in : desc.out);
        EXPECT_EQ(scratch_bytes_, desc.shared_input ? 256 + base : projection);
        if (!desc.shared_input || desc.input_format != FloatFormat::F32) continue;
        desc.config->operand_path = kTexelOperands;
        ASSERT_OK_AND_ASSIGN(const auto by_texel_buffer, run(desc, -1));
        EXPECT_EQ(by_texel_buffer, right);
    }
}

// 2^20 multiply-adds of a shared x are worth a dispatch, through a texel buffer where the product fits into one.
TEST_P(perturbed_linear_base, is_the_default_of_many_products_of_a_shared_x) {
    const PerturbedLinearDesc desc{.members = 32, .rows = 16, .in = 32, .out = 64, .shared_input = true};
    const DeviceInfo info = device().usable_info();
    EXPECT_EQ(heuristic_of(info, desc).base, kBaseByMatmul);
    if (info.kind != DeviceKind::Cpu) return;
    EXPECT_EQ(heuristic_of(info, desc).operand_path, kTexelOperands);
    PerturbedLinearDesc few = desc;
    few.members = 31;
    EXPECT_EQ(heuristic_of(info, few).base, kBaseInChain);
    PerturbedLinearDesc unshared = desc;
    unshared.shared_input = false;
    EXPECT_EQ(heuristic_of(info, unshared).base, kBaseInChain);
}

TEST_P(perturbed_linear_base, dispatches_do_not_grow_with_members) {
    for (const std::uint32_t members : {1U, 64U}) {
        ASSERT_OK(
            run({.members = members, .rows = 2, .in = 16, .out = 16, .shared_input = true, .config = with_base(1)}, 0));
        EXPECT_EQ(dispatches_, 3U);
    }
}

TEST_P(perturbed_linear_base, no_inputs_give_zeros) {
    for (const bool shared : {true, false}) {
        ASSERT_OK_AND_ASSIGN(
            const auto got,
            run({.members = 2, .rows = 1, .in = 0, .out = 3, .shared_input = shared, .config = with_base(1)}, 0));
        EXPECT_THAT(got, ElementsAre(0, 0, 0, 0, 0, 0));
    }
}

TEST_P(perturbed_linear_base, matrix_units_are_refused_where_there_are_none) {
    PerturbedLinearDesc exact = of_halves();
    exact.determinism = Determinism::Exact;
    exact.config = PerturbedLinearConfig{.base = 2};
    EXPECT_TRUE(expect_error(plan_perturbed_linear(device(), exact), ErrorKind::BadInput,
                             "base of [perturbed_linear] is 2; it may be 0, 1"));
    PerturbedLinearDesc fast = of_halves();
    fast.config = exact.config;
    if (path_is_open(device().usable_info(), LowPrecisionPath::CooperativeMatrix)) {
        EXPECT_OK(plan_perturbed_linear(device(), fast));
    } else {
        EXPECT_TRUE(expect_error(plan_perturbed_linear(device(), fast), ErrorKind::BadInput,
                                 "base of [perturbed_linear] is 2; it may be 0, 1"));
    }
}

}  // namespace
}  // namespace yolk
