// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/matmul_i8.hpp"

#include <gmock/gmock.h>

#include "yolk/runtime/probe.hpp"
#include "yolk/testing/device_test.hpp"
#include "yolk/testing/fault_injector.hpp"

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
