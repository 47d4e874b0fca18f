// SPDX-License-Identifier: Apache-2.0
// What matrix units want, on devices as data; tools/gpu-check --run runs them on a driver that has some.
#include "matmul_cooperative.hpp"

#include <gmock/gmock.h>

#include "matrix_units.hpp"
#include "yolk/oracle/named_problem.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

constexpr MatmulConfig kDirect{.workgroup_size = 32,
                               .block_m = 32,
                               .block_n = 64,
                               .block_k = 4,
                               .tile_m = 1,
                               .tile_n = 4,
                               .vector_width = 1,
                               .operand_path = kCooperativeOperands};
constexpr MatmulConfig kStaged{.workgroup_size = 64,
                               .block_m = 64,
                               .block_n = 64,
                               .block_k = 32,
                               .tile_m = 1,
                               .tile_n = 4,
                               .vector_width = 1,
                               .operand_path = kStagedCooperativeOperands};

TEST(matrix_units, take_products_of_halves_only) {
    const DeviceInfo info = with_matrix_units();
    const auto taken = [&](const MatmulDesc& desc) { return space_of(info, desc).check(kDirect); };
    EXPECT_OK(taken(half_product(64)));
    EXPECT_OK(space_of(info, half_product(64)).check(kStaged));
    MatmulDesc exact = half_product(64);
    exact.determinism = Determinism::Exact;
    EXPECT_TRUE(expect_error(taken(exact), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
    MatmulDesc mixed = half_product(64);
    mixed.a.format = FloatFormat::BF16;
    EXPECT_TRUE(expect_error(taken(mixed), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
    EXPECT_TRUE(expect_error(taken(half_product(60)), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
    MatmulDesc odd = half_product(64);
    odd.a.offset = 4;
    EXPECT_TRUE(expect_error(taken(odd), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
    MatmulDesc strided = half_product(64);
    strided.b.stride = 68;
    EXPECT_TRUE(expect_error(taken(strided), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
}

/// What the tuner compares with is what a plan takes, and a check runs the units all the same.
TEST(matrix_units, are_checked_and_no_default) {
    const DeviceInfo info = with_matrix_units();
    for (const char* text : {"matmul m=64 n=64 k=64 a_format=f16 b_format=f16",
                             "perturbed_linear members=4 rows=8 in=64 out=64 weights_format=f16 input_format=f16 "
                             "determinism=fast"}) {
        ASSERT_OK_AND_ASSIGN(const std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(text));
        const std::vector<Configuration> also = problem->also_checked(info);
        ASSERT_EQ(also.size(), 1U) << text;
        EXPECT_NE(also[0], problem->default_configuration(info)) << text;
        EXPECT_OK(problem->space(info).check(also[0]));
        EXPECT_THAT(problem->also_checked(DeviceInfo{}), ::testing::IsEmpty()) << text;
    }
}

TEST(matrix_units, geometry_straight_from_the_buffers) {
    const DeviceInfo info = with_matrix_units();
    const MatmulDesc desc = half_product(64);
    const MatmulConfig good = kDirect;
    const auto refused = [&](auto&& change, const char* part) {
        MatmulConfig config = good;
        change(config);
        return expect_error(space_of(info, desc).check(config), ErrorKind::BadInput, part);
    };
    EXPECT_OK(space_of(info, desc).check(good));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.workgroup_size = 64; }, "that of a subgroup, 32"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_m = 8; }, "1 to 4 times 16"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_m = 128; }, "1 to 4 times 16"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.split_k = 4; }, "split_k 1"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.tile_m = 4; }, "tile_m must be 1"));
    EXPECT_TRUE(expect_error(space_of(info, half_product(48)).check(good), ErrorKind::BadInput, "divide m and n"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_k = 8; }, "block_k must be 4"));
    EXPECT_LT(heuristic_of(info, desc).operand_path, std::uint32_t{kCooperativeOperands})
        << "no default that never ran";
}

TEST(matrix_units, geometry_through_shared_memory) {
    const DeviceInfo info = with_matrix_units();
    const MatmulDesc desc = half_product(128);
    const auto refused = [&](auto&& change, const char* part) {
        MatmulConfig config = kStaged;
        change(config);
        return expect_error(space_of(info, desc).check(config), ErrorKind::BadInput, part);
    };
    EXPECT_OK(space_of(info, desc).check(kStaged));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.workgroup_size = 8; }, "a multiple of a subgroup's, 32"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_k = 8; }, "block_k must be a multiple of 16"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_m = 128, c.block_n = 128; }, "1 to 4 by 4 fragments"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.workgroup_size = 128, c.block_m = 32, c.block_n = 16; },
                        "1 to 4 by 4 fragments"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.workgroup_size = 128, c.block_m = c.block_n = 32, c.block_k = 16; },
                        "The 64 vectors of a block do not come out even on 128 invocations"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.split_k = 4; }, "split_k 1"));
    EXPECT_TRUE(
        expect_error(space_of(info, half_product(96)).check(kStaged), ErrorKind::BadInput, "divide m, n and k"));
    DeviceInfo small = info;
    small.limits.max_shared_memory_size = 8192;
    EXPECT_TRUE(expect_error(space_of(small, desc).check(kStaged), ErrorKind::BadInput,
                             "takes 10240 bytes of shared memory; the device has 8192"));
    MatmulConfig without = {.block_k = 32};
    EXPECT_TRUE(expect_error(space_of(info, desc).check(without), ErrorKind::BadInput,
                             "Without matrix units block_k may be 16 at most"));
    EXPECT_TRUE(expect_error(space_of(DeviceInfo{}, desc).check(without), ErrorKind::BadInput, "block_k of [matmul]"));
}

TEST(matrix_units, subgroups_share_a_block_in_squares) {
    constexpr CooperativeShape kShape{.m = 16, .n = 16, .k = 16};
    const auto tile = [&](std::uint32_t m, std::uint32_t n, std::uint32_t subgroups) {
        return subgroup_tile(kShape, {.block_m = m, .block_n = n}, subgroups);
    };
    EXPECT_EQ(tile(128, 128, 4), (SubgroupTile{64, 64}));
    EXPECT_EQ(tile(128, 128, 8), (SubgroupTile{64, 32}));
    EXPECT_EQ(tile(64, 32, 2), (SubgroupTile{32, 32}));
    EXPECT_EQ(tile(32, 64, 2), (SubgroupTile{32, 32}));
    EXPECT_EQ(tile(16, 128, 2), (SubgroupTile{16, 64}));
    EXPECT_EQ(tile(64, 64, 1), (SubgroupTile{64, 64}));
    EXPECT_EQ(tile(128, 64, 1), std::nullopt) << "more than four fragments";
    EXPECT_EQ(tile(16, 16, 2), std::nullopt) << "half a fragment each";
    EXPECT_EQ(subgroup_tile({.m = 16, .n = 8, .k = 16}, {.block_m = 64, .block_n = 64}, 4), (SubgroupTile{32, 32}));
    EXPECT_EQ(subgroup_tile({.m = 8, .n = 8, .k = 8}, {.block_m = 64, .block_n = 64}, 4), (SubgroupTile{32, 32}));
}

TEST(matrix_units, configurations_that_are_asked_for) {
    DeviceInfo info = with_matrix_units();
    const auto geometry = [](const std::optional<MatmulConfig>& c) {
        if (!c) return std::vector<std::uint32_t>();
        return std::vector{c->operand_path, c->workgroup_size, c->block_m, c->block_n, c->block_k};
    };
    EXPECT_THAT(geometry(cooperative_config(info, half_product(1024))), ElementsAre(6, 256, 128, 128, 32));
    EXPECT_THAT(geometry(cooperative_config(info, half_product(512))), ElementsAre(6, 64, 64, 64, 32));
    EXPECT_THAT(geometry(cooperative_config(info, half_product(64))), ElementsAre(6, 32, 32, 32, 32));
    EXPECT_THAT(geometry(cooperative_config(info, half_product(48))), ElementsAre(4, 32, 16, 16, 4));
    EXPECT_THAT(geometry(cooperative_config(info, half_product(40))), ElementsAre());
    info.limits.subgroup_size = 64;
    EXPECT_THAT(geometry(cooperative_config(info, half_product(1024))), ElementsAre(6, 256, 128, 128, 32));
    EXPECT_THAT(geometry(cooperative_config({}, half_product(64))), ElementsAre());
    MatmulDesc exact = half_product(64);
    exact.determinism = Determinism::Exact;
    EXPECT_THAT(geometry(cooperative_config(info, exact)), ElementsAre());
}

TEST(matrix_units, loops_and_outputs) {
    const DeviceInfo info = with_matrix_units();
    const MatmulDesc desc = half_product(64);
    for (const MatmulConfig& config : {kDirect, kStaged}) {
        EXPECT_EQ(cooperative_chunk(UINT64_MAX, info, desc, config).value(), 64U);
        EXPECT_TRUE(expect_error(cooperative_chunk(60, info, desc, config), ErrorKind::Unsupported, "on matrix units"));
    }
    MatmulDesc written = desc;
    written.out = {.offset = 4, .stride = 68, .batch_stride = 0};
    EXPECT_TRUE(writes_out_directly(written));
    written.out.offset = 2;
    EXPECT_FALSE(writes_out_directly(written));
    written.out.offset = 4;
    written.has_bias = true;
    EXPECT_FALSE(writes_out_directly(written));
}

}  // namespace
}  // namespace yolk
