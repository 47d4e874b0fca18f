// SPDX-License-Identifier: Apache-2.0
#include "matmul_i8_units.hpp"

#include <gmock/gmock.h>

#include "matrix_units.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk {
namespace {

using testing::expect_error;

class matmul_i8 : public testing::DeviceTest {
   protected:
    [[nodiscard]] Result<MatmulI8Plan> planned(const MatmulI8Desc& desc) const {
        return plan_matmul_i8(device(), desc);
    }
};
YOLK_FOR_EACH_DEVICE(matmul_i8);

// The default where the driver says that it is fast; the CPU drivers have it, and do not say so.
TEST_P(matmul_i8, the_instruction_is_open_and_the_default_where_it_is_fast) {
    const MatmulI8Desc desc{.m = 16, .n = 16, .k = 16};
    const ConfigSpace<MatmulI8Config> space = space_of(device().info(), desc);
    MatmulI8Config config = heuristic_of(device().info(), desc);
    EXPECT_EQ(config.dot, device().info().features.integer_dot_accelerated ? 1U : 0U);
    config.dot = 1;
    EXPECT_OK(space.check(config));
    DeviceInfo fast = device().info();
    fast.features.integer_dot_accelerated = true;
    EXPECT_EQ(heuristic_of(fast, desc).dot, 1U);
    fast.features.shader_integer_dot_product = false;
    EXPECT_EQ(heuristic_of(fast, desc).dot, 0U);
}

TEST_P(matmul_i8, a_wrong_instruction_is_not_taken) {
    // Plans probe a device when they first meet it: the right one before faults begin.
    EXPECT_OK(planned({.m = 16, .n = 16, .k = 16, .config = MatmulI8Config{.dot = 1}}));
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device wrong, Device::create(testing::instance(), testing::device_index(device_name())));
    faults.spoil_low_precision(true);
    MatmulI8Desc desc{.m = 16, .n = 16, .k = 16, .config = MatmulI8Config{.dot = 1}};
    EXPECT_TRUE(expect_error(plan_matmul_i8(wrong, desc), ErrorKind::BadInput, "The path int8-dot is closed"));
    desc.config->dot = 0;
    EXPECT_OK(plan_matmul_i8(wrong, desc));
    EXPECT_OK(planned({.m = 16, .n = 16, .k = 16, .config = MatmulI8Config{.dot = 1}}));
}

TEST_P(matmul_i8, every_legal_configuration_is_within_the_floor) {
    const DeviceInfo& info = device().info();
    const ConfigSpace<MatmulI8Config> space = space_of(info, MatmulI8Desc{.m = 64, .n = 64, .k = 64});
    for (const Configuration& values : space.space().all()) {
        const MatmulI8Config config = space.config(values);
        EXPECT_LE(config.tile_m * config.tile_n, 64U);
        EXPECT_EQ(config.workgroup_size % config.lanes_n, 0U);
    }
    for (const std::uint32_t m : {1U, 3U, 4U, 7U, 8U, 100U}) {
        const MatmulI8Desc desc{.m = m, .n = 9, .k = 5};
        EXPECT_OK(space.check(heuristic_of(info, desc))) << m;
    }
}

constexpr MatmulI8Config kOnUnits{
    .workgroup_size = 128, .lanes_n = 2, .tile_m = 2, .tile_n = 2, .dot = kI8OnMatrixUnits};

TEST(matmul_i8_units, take_products_in_whole_fragments) {
    const DeviceInfo info = with_matrix_units();
    constexpr MatmulI8Config kOneSubgroup{
        .workgroup_size = 32, .lanes_n = 1, .tile_m = 2, .tile_n = 2, .dot = kI8OnMatrixUnits};
    const auto taken = [&](const MatmulI8Desc& desc) { return space_of(info, desc).check(kOneSubgroup); };
    const MatmulI8Desc good{.m = 64, .n = 64, .k = 64};
    EXPECT_OK(taken(good));
    const auto refused = [&](auto&& change) {
        MatmulI8Desc desc = good;
        change(desc);
        return expect_error(taken(desc), ErrorKind::BadInput, "dot of [matmul_i8] is 2; it may be 0, 1");
    };
    EXPECT_TRUE(refused([](MatmulI8Desc& d) { d.m = 65; }));
    EXPECT_TRUE(refused([](MatmulI8Desc& d) { d.n = 60; }));
    EXPECT_TRUE(refused([](MatmulI8Desc& d) { d.k = 48; }));
    EXPECT_TRUE(refused([](MatmulI8Desc& d) { d.a.offset = 4; }));
    EXPECT_TRUE(refused([](MatmulI8Desc& d) { d.b.stride = 72; }));
    EXPECT_TRUE(refused([](MatmulI8Desc& d) { d.out.stride = 66; }));
    EXPECT_TRUE(expect_error(space_of(DeviceInfo{}, good).check(kOneSubgroup), ErrorKind::BadInput, "may be 0, 1"));
}

TEST(matmul_i8_units, geometry) {
    const DeviceInfo info = with_matrix_units();
    const MatmulI8Desc desc{.m = 128, .n = 128, .k = 96};
    const auto refused = [&](auto&& change, const char* part) {
        MatmulI8Config config = kOnUnits;
        change(config);
        return expect_error(space_of(info, desc).check(config), ErrorKind::BadInput, part);
    };
    EXPECT_OK(space_of(info, desc).check(kOnUnits));
    EXPECT_TRUE(refused([](MatmulI8Config& c) { c.workgroup_size = 16; }, "a multiple of a subgroup's, 32"));
    EXPECT_TRUE(refused([](MatmulI8Config& c) { c.lanes_n = 8; }, "lanes_n divide the number of subgroups"));
    EXPECT_TRUE(refused([](MatmulI8Config& c) { c.tile_m = 16, c.tile_n = 1; }, "8 fragments a side"));
    EXPECT_TRUE(refused([](MatmulI8Config& c) { c.tile_m = 8, c.tile_n = 4; }, "a lane 128 sums"));
    EXPECT_TRUE(refused([](MatmulI8Config& c) { c.lanes_n = 1, c.tile_m = 4; }, "A block of 256 x 32 does not divide"));
    DeviceInfo small = info;
    small.limits.max_shared_memory_size = 2048;
    EXPECT_TRUE(expect_error(space_of(small, desc).check(kOnUnits), ErrorKind::BadInput, "comes out even on 128"));
    const I8Block block =
        i8_block(info, {.m = 128, .n = 128, .k = 128, .a = {0, 128, 0}, .b = {0, 128, 0}, .out = {0, 128, 0}}, kOnUnits)
            .value();
    EXPECT_EQ(block.rows, 64U);
    EXPECT_EQ(block.columns, 64U);
    EXPECT_EQ(block.depth, 64U);
}

TEST(matmul_i8_units, are_the_default_of_large_products_on_gpus) {
    DeviceInfo info = with_matrix_units();
    const auto default_of = [&](std::uint32_t size) {
        return heuristic_of(info, MatmulI8Desc{.m = size, .n = size, .k = size});
    };
    EXPECT_EQ(default_of(1024),
              (MatmulI8Config{.workgroup_size = 256, .lanes_n = 4, .tile_m = 4, .tile_n = 2, .dot = kI8OnMatrixUnits}));
    info.vendor_id = 0x10de;
    info.limits.max_shared_memory_size = 49152;
    EXPECT_EQ(default_of(1024),
              (MatmulI8Config{.workgroup_size = 128, .lanes_n = 2, .tile_m = 4, .tile_n = 4, .dot = kI8OnMatrixUnits}));
    EXPECT_LT(default_of(64).dot, std::uint32_t{kI8OnMatrixUnits}) << "four blocks";
    EXPECT_LT(default_of(1000).dot, std::uint32_t{kI8OnMatrixUnits}) << "16 does not divide it";
    info.kind = DeviceKind::Cpu;
    EXPECT_LT(default_of(1024).dot, std::uint32_t{kI8OnMatrixUnits});
}

TEST_P(matmul_i8, bad_descriptions_are_refused) {
    const auto refused = [&](const MatmulI8Desc& desc, const char* part) {
        return expect_error(planned(desc), ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(refused({.m = 1, .n = 1, .k = kMaxI8Depth + 1}, "k of [matmul_i8] is 131072"));
    EXPECT_TRUE(refused({.m = 2, .n = 1, .k = 9, .a = {.stride = 8}}, "The stride of a of [matmul_i8] is 8"));
    EXPECT_TRUE(refused({.m = 2, .n = 1, .k = 8, .a = {.stride = 10}}, "must be multiples of 4"));
    EXPECT_TRUE(refused({.m = 2, .n = 1, .k = 8, .b = {.offset = 2}}, "must be multiples of 4"));
    EXPECT_TRUE(refused({.m = 2, .n = 1, .k = 8, .batch = 2, .b = {.batch_stride = 6}}, "must be multiples of 4"));
    EXPECT_TRUE(refused({.m = 2, .n = 5, .k = 8, .out = {.stride = 4}}, "The stride of out of [matmul_i8] is 4"));
    EXPECT_TRUE(refused({.m = 2, .n = 5, .k = 8, .batch = 2, .out = {.batch_stride = 0}}, "The batch stride of out"));
    EXPECT_TRUE(refused({.m = 0x10000, .n = 0x10000, .k = 8}, "out of [matmul_i8] reaches to element"));
    EXPECT_TRUE(refused({.m = 0xFFFFFFFF, .n = 1, .k = 100000}, "a of [matmul_i8] reaches to element"));
    EXPECT_TRUE(refused({.m = 8, .n = 8, .k = 8, .config = MatmulI8Config{.workgroup_size = 8, .lanes_n = 16}},
                        "lanes_n must divide"));
    EXPECT_TRUE(refused({.m = 8, .n = 8, .k = 8, .config = MatmulI8Config{.tile_m = 16, .tile_n = 8}},
                        "An invocation may have 64 sums"));
    EXPECT_TRUE(refused({.m = 8, .n = 8, .k = 8, .config = MatmulI8Config{.tile_m = 3}}, "tile_m of [matmul_i8]"));
}

TEST_P(matmul_i8, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 4096, .label = "bytes"}));
    ASSERT_OK_AND_ASSIGN(const MatmulI8Plan plan, planned({.m = 4, .n = 4, .k = 63}));
    const BufferView a(buffer, 0, 256), b(buffer, 256, 256), out(buffer, 512, 64);
    EXPECT_OK(plan.bind({.a = a, .b = b, .out = out}));
    EXPECT_OK(plan.bind({.a = a, .b = a, .out = out}));
    const auto refused = [&](const MatmulI8Views& views, const char* part) {
        return expect_error(plan.bind(views), ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(refused({.a = BufferView(buffer, 0, 252), .b = b, .out = out}, "the a view of [matmul_i8]"));
    EXPECT_TRUE(refused({.a = a, .b = {}, .out = out}, "the b view of [matmul_i8]"));
    EXPECT_TRUE(refused({.a = a, .b = b, .out = BufferView(buffer, 512, 60)}, "the out view of [matmul_i8]"));
    EXPECT_TRUE(refused({.a = a, .b = b, .out = BufferView(buffer, 256, 64)}, "shares bytes"));
}

TEST_P(matmul_i8, loops_longer_than_the_devices_are_refused) {
    const DeviceFindings found = device().findings();
    DeviceFindings limited = found;
    limited.probed = true;
    limited.loop_limit = 1000;
    device().set_findings(limited);
    EXPECT_TRUE(expect_error(planned({.m = 1, .n = 1, .k = 8000}), ErrorKind::Unsupported, "for a k of 8000"));
    EXPECT_OK(planned({.m = 1, .n = 1, .k = 3000}));
    device().set_findings(found);
}

}  // namespace
}  // namespace yolk
