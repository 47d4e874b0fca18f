// SPDX-License-Identifier: Apache-2.0
// What matrix units want, on devices as data; tools/gpu-check --run runs them on a driver that has some.
#include "matmul_cooperative.hpp"

#include <gmock/gmock.h>

#include <utility>

#include "matrix_units.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/testing/device_test.hpp"

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

TEST(matrix_units, take_products_of_halves_of_one_kind) {
    const DeviceInfo info = with_matrix_units();
    const auto taken = [&](const MatmulDesc& desc) { return space_of(info, desc).check(kDirect); };
    EXPECT_OK(taken(half_product(64)));
    EXPECT_OK(space_of(info, half_product(64)).check(kStaged));
    MatmulDesc exact = half_product(64);
    exact.determinism = Determinism::Exact;
    EXPECT_TRUE(expect_error(taken(exact), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
    MatmulDesc mixed = half_product(64);
    mixed.a.format = FloatFormat::BF16;
    MatmulDesc bf16 = mixed;
    bf16.b.format = FloatFormat::BF16;
    EXPECT_OK(taken(bf16));
    EXPECT_EQ(cooperative_kernel(info, bf16, kStaged).name, "matmul_cooperative_staged_bf16_khr");
    EXPECT_EQ(cooperative_kernel(info, half_product(64), kStaged).name, "matmul_cooperative_staged_nv");
    DeviceInfo without = info;
    without.features.bfloat16_matrices = false;
    EXPECT_TRUE(expect_error(space_of(without, bf16).check(kDirect), ErrorKind::BadInput, "it may be"));
    EXPECT_TRUE(expect_error(taken(mixed), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
    EXPECT_TRUE(expect_error(taken(half_product(60)), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
    MatmulDesc odd = half_product(64);
    odd.a.offset = 4;
    EXPECT_TRUE(expect_error(taken(odd), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
    MatmulDesc strided = half_product(64);
    strided.b.stride = 68;
    EXPECT_TRUE(expect_error(taken(strided), ErrorKind::BadInput, "operand_path of [matmul] is 4; it may be"));
}

/// Each way to the operands, whatever plans take.
TEST(matrix_units, are_checked_in_every_way) {
    const DeviceInfo info = with_matrix_units();
    for (const auto& [text, ways] : {std::pair{"matmul m=64 n=64 k=64 a_format=f16 b_format=f16", 3U},
                                     {"perturbed_linear members=4 rows=8 in=64 out=64 weights_format=f16 "
                                      "input_format=f16 determinism=fast",
                                      1U}}) {
        ASSERT_OK_AND_ASSIGN(const std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(text));
        const std::vector<Configuration> also = problem->also_checked(info);
        EXPECT_EQ(also.size(), ways) << text;
        for (const Configuration& one : also) {
            EXPECT_NE(one, problem->default_configuration(info)) << text;
            EXPECT_OK(problem->space(info).check(one));
        }
        EXPECT_THAT(problem->also_checked(DeviceInfo{}), ::testing::IsEmpty()) << text;
    }
}

TEST(matrix_units, count_the_bytes_of_halves) {
    const auto bytes_of = [](const char* text) { return oracle::make_named_problem(text).value()->work().bytes; };
    EXPECT_EQ(bytes_of("matmul m=8 n=4 k=16"), 4.0 * (8 * 16 + 16 * 4 + 8 * 4));
    EXPECT_EQ(bytes_of("matmul m=8 n=4 k=16 a_format=f16 b_format=bf16"), 2.0 * (8 * 16 + 16 * 4) + 4.0 * 8 * 4);
    EXPECT_EQ(bytes_of("matmul m=8 n=4 k=16 a_format=f16 out_format=f16"), 2.0 * (8 * 16 + 8 * 4) + 4.0 * 16 * 4);
    EXPECT_EQ(bytes_of("perturbed_linear members=2 rows=3 in=8 out=4 weights_format=f16"),
              2.0 * 8 * 4 + 4.0 * (2 * 3 * 8 + 2 * 3 * 4));
}

/// On GPUs, where there are enough blocks; elsewhere units are there to be tested.
TEST(matrix_units, are_the_default_of_large_products_on_gpus) {
    DeviceInfo info = with_matrix_units();
    const auto path_of = [&](MatmulDesc desc) { return heuristic_of(info, desc).operand_path; };
    EXPECT_EQ(path_of(half_product(1024)), std::uint32_t{kStagedCooperativeOperands});
    EXPECT_EQ(path_of(half_product(1000)), std::uint32_t{kStagedOperands}) << "16 does not divide it";
    EXPECT_EQ(path_of(half_product(64)), std::uint32_t{kStagedOperands}) << "four blocks";
    MatmulDesc skinny = half_product(1024);
    skinny.m = 16;
    EXPECT_EQ(path_of(skinny), std::uint32_t{kStagedOperands});
    MatmulDesc exact = half_product(1024);
    exact.determinism = Determinism::Exact;
    EXPECT_EQ(path_of(exact), std::uint32_t{kStagedOperands});
    info.vendor_id = 0x10de;
    info.limits.max_shared_memory_size = 49152;
    info.limits.compute_units = 132;
    EXPECT_EQ(path_of(half_product(1024)), std::uint32_t{kTwiceStagedCooperativeOperands});
    EXPECT_EQ(path_of(half_product(2048)), std::uint32_t{kStagedCooperativeOperands});
    info.kind = DeviceKind::Cpu;
    EXPECT_LT(path_of(half_product(1024)), std::uint32_t{kCooperativeOperands});
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
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.workgroup_size = 8; }, "a multiple of a subgroup's, 32"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_m = 8; }, "1 to 8 by 8 fragments of 16 x 16"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_m = 128; }, "block_m and block_n must divide m and n"));
    EXPECT_OK(space_of(info, desc)
                  .check(MatmulConfig{.workgroup_size = 64,
                                      .block_m = 64,
                                      .block_n = 64,
                                      .block_k = 4,
                                      .tile_m = 1,
                                      .tile_n = 4,
                                      .vector_width = 1,
                                      .operand_path = kCooperativeOperands}));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.split_k = 4; }, "split_k 1"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.tile_m = 4; }, "tile_m must be 1"));
    EXPECT_TRUE(expect_error(space_of(info, half_product(48)).check(good), ErrorKind::BadInput, "divide m and n"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_k = 8; }, "block_k must be 4"));
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
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.block_m = 128, c.block_n = 128; }, "its lanes has 128 sums at most"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.workgroup_size = 128, c.block_m = 32, c.block_n = 16; },
                        "1 to 8 by 8 fragments"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.workgroup_size = 128, c.block_m = c.block_n = 32, c.block_k = 16; },
                        "The 64 vectors of a block do not come out even on 128 invocations"));
    EXPECT_TRUE(refused([](MatmulConfig& c) { c.split_k = 4; }, "split_k 1"));
    EXPECT_TRUE(expect_error(space_of(info, half_product(96)).check(kStaged), ErrorKind::BadInput,
                             "block_m and block_n must divide m and n"));
    DeviceInfo small = info;
    small.limits.max_shared_memory_size = 8192;
    EXPECT_TRUE(expect_error(space_of(small, desc).check(kStaged), ErrorKind::BadInput,
                             "A block of operands takes 10240 bytes of shared memory; the device has 8192"));
    MatmulConfig twice = kStaged;
    twice.operand_path = kTwiceStagedCooperativeOperands;
    EXPECT_OK(space_of(info, desc).check(twice));
    small.limits.max_shared_memory_size = 16384;
    EXPECT_OK(space_of(small, desc).check(kStaged));
    EXPECT_TRUE(expect_error(space_of(small, desc).check(twice), ErrorKind::BadInput,
                             "Two blocks of operands take 20480 bytes of shared memory; the device has 16384"));
    MatmulConfig without = {.block_k = 32};
    EXPECT_TRUE(expect_error(space_of(info, desc).check(without), ErrorKind::BadInput,
                             "Without matrix units block_k may be 16 at most"));
    EXPECT_TRUE(expect_error(space_of(DeviceInfo{}, desc).check(without), ErrorKind::BadInput, "block_k of [matmul]"));
}

TEST(matrix_units, subgroups_share_a_block_in_squares) {
    constexpr CooperativeShape kShape{.m = 16, .n = 16, .k = 16};
    const auto tile_of = [](const CooperativeShape& shape, std::uint32_t m, std::uint32_t n, std::uint32_t subgroups) {
        return subgroup_tile(with_matrix_units(), shape,
                             {.workgroup_size = 32 * subgroups, .block_m = m, .block_n = n});
    };
    const auto tile = [&](std::uint32_t m, std::uint32_t n, std::uint32_t subgroups) {
        return tile_of(kShape, m, n, subgroups);
    };
    EXPECT_EQ(tile(128, 128, 4), (SubgroupTile{64, 64}));
    EXPECT_EQ(tile(128, 128, 8), (SubgroupTile{64, 32}));
    EXPECT_EQ(tile(128, 256, 8), (SubgroupTile{64, 64}));
    EXPECT_EQ(tile(256, 128, 8), (SubgroupTile{64, 64}));
    EXPECT_EQ(tile(64, 32, 2), (SubgroupTile{32, 32}));
    EXPECT_EQ(tile(32, 64, 2), (SubgroupTile{32, 32}));
    EXPECT_EQ(tile(16, 128, 2), (SubgroupTile{16, 64}));
    EXPECT_EQ(tile(64, 64, 1), (SubgroupTile{64, 64}));
    EXPECT_EQ(tile(128, 32, 1), (SubgroupTile{128, 32}));
    EXPECT_EQ(tile(128, 64, 1), std::nullopt) << "more than 128 sums of a lane";
    EXPECT_EQ(tile(16, 256, 1), std::nullopt) << "more than eight fragments";
    EXPECT_EQ(tile(16, 16, 2), std::nullopt) << "half a fragment each";
    EXPECT_EQ(tile_of({.m = 16, .n = 8, .k = 16}, 64, 64, 4), (SubgroupTile{32, 32}));
    EXPECT_EQ(tile_of({.m = 8, .n = 8, .k = 8}, 64, 64, 4), (SubgroupTile{32, 32}));
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
    info.limits.subgroup_size = 32;
    info.limits.max_shared_memory_size = 49152;
    info.vendor_id = 0x10de;
    EXPECT_THAT(geometry(cooperative_config(info, half_product(1024))), ElementsAre(6, 128, 128, 128, 64));
    EXPECT_THAT(geometry(cooperative_config(info, half_product(512))), ElementsAre(7, 64, 64, 64, 64));
    info.limits.compute_units = 132;  // an H200
    EXPECT_THAT(geometry(cooperative_config(info, half_product(2048))), ElementsAre(6, 128, 128, 128, 64));
    EXPECT_THAT(geometry(cooperative_config(info, half_product(1024))), ElementsAre(7, 64, 64, 64, 64));
    MatmulDesc odd = half_product(2048);
    odd.k = 96;
    EXPECT_THAT(geometry(cooperative_config(info, odd)), ElementsAre(6, 128, 128, 128, 32)) << "64 does not divide k";
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
    written.out = {.offset = 4, .stride = 68, .batch_stride = 0, .inner_stride = 0};
    EXPECT_TRUE(writes_out_directly(written));
    written.out.offset = 2;
    EXPECT_FALSE(writes_out_directly(written));
    written.out.offset = 4;
    written.has_bias = true;
    EXPECT_FALSE(writes_out_directly(written));
}

}  // namespace
}  // namespace yolk
