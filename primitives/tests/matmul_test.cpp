// SPDX-License-Identifier: Apache-2.0
#include "yolk/matmul.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <optional>
#include <vector>

#include "matmul_for_gpus.hpp"
#include "matmul_layout.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

class matmul : public testing::DeviceTest {
   protected:
    Result<std::vector<float>> run(const MatmulDesc& desc, const std::vector<float>& a, const std::vector<float>& b,
                                   std::size_t out_count) {
        const auto create = [&](std::uint64_t floats, const char* label) {
            return oracle::GuardedBuffer::create(device(), dispatcher(), 4 * floats, oracle::kPoisons[0], label);
        };
        YOLK_TRY(const MatmulPlan plan, plan_matmul(device(), desc));
        YOLK_TRY(const auto a_buffer, create(a.size(), "a"));
        YOLK_TRY(const auto b_buffer, create(b.size(), "b"));
        YOLK_TRY(const auto out, create(out_count, "out"));
        YOLK_TRY(const auto scratch, create(plan.scratch().size_bytes / 4, "scratch"));
        YOLK_TRY_VOID(a_buffer.upload(a));
        YOLK_TRY_VOID(b_buffer.upload(b));
        YOLK_TRY(const BoundMatmul bound,
                 plan.bind({.a = a_buffer.view(), .b = b_buffer.view(), .out = out.view()}, scratch.view()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        dispatches_ = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return out.download<float>();
    }
    std::uint64_t dispatches_ = 0;
};
YOLK_FOR_EACH_DEVICE(matmul);

// The first choice, not one that is left when the space refuses it: a limit of another kernel's once did.
TEST_P(matmul, cpu_drivers_get_texel_tiles_of_128_sums) {
    if (device().info().kind != DeviceKind::Cpu) GTEST_SKIP() << device().info().name << " is no CPU driver.";
    const MatmulConfig config = heuristic_of(
        device().usable_info(), MatmulDesc{.m = 256, .n = 256, .k = 256, .determinism = Determinism::Fast});
    EXPECT_EQ(config.operand_path, kTexelOperands);
    EXPECT_EQ(config.tile_m * config.tile_n, 128U);
}

TEST_P(matmul, small_integers_are_exact) {
    const std::vector<float> a{1, 2, 3, 4, 5, 6};     // [2, 3]
    const std::vector<float> b{7, 8, 9, 10, 11, 12};  // [3, 2]
    EXPECT_THAT(run({.m = 2, .n = 2, .k = 3}, a, b, 4).value(), ElementsAre(58, 64, 139, 154));
    const std::vector<float> b_transposed{7, 9, 11, 8, 10, 12};
    EXPECT_THAT(run({.m = 2, .n = 2, .k = 3, .b = {.transposed = true}}, a, b_transposed, 4).value(),
                ElementsAre(58, 64, 139, 154));
}

// Exact: the bits do not depend on the configuration, the style included.
TEST_P(matmul, any_configuration_gives_the_same_bits) {
    const MatmulDesc desc{.m = 20, .n = 24, .k = 44, .b = {.transposed = true}, .determinism = Determinism::Exact};
    std::vector<float> a(20 * 44);
    std::vector<float> b(24 * 44);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 389 % 1021) / 510.0F - 1.0F;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 577 % 1019) / 509.0F - 1.0F;
    ASSERT_OK_AND_ASSIGN(const auto reference, run(desc, a, b, 20 * 24));
    const MatmulConfig staged{.workgroup_size = 32,
                              .block_m = 16,
                              .block_n = 32,
                              .block_k = 8,
                              .tile_m = 4,
                              .tile_n = 4,
                              .vector_width = 1,
                              .operand_path = kStagedOperands};
    const MatmulConfig uniform{.workgroup_size = 8,
                               .block_m = 4,
                               .block_n = 32,
                               .block_k = 8,
                               .tile_m = 4,
                               .tile_n = 4,
                               .operand_path = kUniformOperand};
    for (const MatmulConfig& config : {staged, uniform}) {
        MatmulDesc other = desc;
        other.config = config;
        ASSERT_OK_AND_ASSIGN(const auto got, run(other, a, b, 20 * 24));
        EXPECT_EQ(got, reference);
    }
}

// A device that makes few loop iterations gets the chains in pieces, with the same bits. The default of GPUs stages 8 k
// per iteration, so that 40 iterations add 320 at most.
TEST_P(matmul, a_loop_limit_splits_the_chains) {
    constexpr std::uint32_t kChain = 1003;
    const MatmulConfig of_gpus{.workgroup_size = 64,
                               .block_m = 16,
                               .block_n = 64,
                               .block_k = 8,
                               .tile_m = 4,
                               .tile_n = 4,
                               .vector_width = 1,
                               .operand_path = kStagedOperands};
    MatmulDesc desc{.m = 3, .n = 5, .k = kChain, .b = {.transposed = true}, .determinism = Determinism::Exact};
    std::vector<float> a(3 * kChain);
    std::vector<float> b(5 * kChain);
    std::iota(a.begin(), a.end(), -300.0F);
    std::iota(b.begin(), b.end(), -500.0F);
    for (const std::optional<MatmulConfig>& config : {std::optional<MatmulConfig>(), std::optional(of_gpus)}) {
        desc.config = config;
        ASSERT_OK_AND_ASSIGN(const auto whole, run(desc, a, b, 15));
        const std::uint64_t dispatches = dispatches_;
        const DeviceFindings found = device().findings();
        DeviceFindings limited = found;
        limited.loop_limit = 40;
        device().set_findings(limited);
        const auto pieces = run(desc, a, b, 15);
        limited.loop_limit = device().info().kind == DeviceKind::Cpu ? 4 : 1;
        device().set_findings(limited);
        const auto refused = plan_matmul(device(), desc);
        device().set_findings(found);
        ASSERT_OK(pieces);
        EXPECT_EQ(*pieces, whole);
        EXPECT_GT(dispatches_, dispatches);
        EXPECT_TRUE(expect_error(refused, ErrorKind::Unsupported, "[matmul] needs"));
    }
}

TEST_P(matmul, bad_shapes_and_layouts_are_refused) {
    const auto refused = [&](const MatmulDesc& desc, const char* part) {
        return expect_error(plan_matmul(device(), desc), ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(refused({.m = 2, .n = 2, .k = 5, .a = {.stride = 4}}, "The stride of a of [matmul] is 4"));
    EXPECT_TRUE(refused({.m = 2, .n = 5, .k = 2, .out = {.stride = 3}}, "The stride of out of [matmul] is 3"));
    EXPECT_TRUE(refused({.m = 2, .n = 5, .k = 2, .batch = 2, .out = {.batch_stride = 9}}, "The batch stride of out"));
    EXPECT_TRUE(refused({.m = 2, .n = 5, .k = 2, .batch = 6, .inner_batch = 4}, "The inner batch of [matmul] is 4"));
    EXPECT_TRUE(refused({.m = 2, .n = 5, .k = 2, .batch = 6, .inner_batch = 0}, "The inner batch of [matmul] is 0"));
    // Side by side in rows of 9, and one behind the other: an element too few.
    for (const std::uint32_t inner_stride : {4U, 5U}) {
        EXPECT_TRUE(refused(
            {.m = 2, .n = 5, .k = 2, .batch = 2, .inner_batch = 2, .out = {.stride = 9, .inner_stride = inner_stride}},
            "The inner stride of out"));
    }
    EXPECT_TRUE(refused({.m = 2, .n = 5, .k = 2, .batch = 4, .inner_batch = 2, .out = {.batch_stride = 19}},
                        "The batch stride of out"));
    EXPECT_TRUE(refused({.m = 2, .n = 5, .k = 2, .out = {.transposed = true}}, "only a and b may be"));
    EXPECT_TRUE(refused({.m = 1U << 16U, .n = 1U << 16U, .k = 1}, "at most"));
    // 2 GiB of a, which some GPUs take in one binding.
    const MatmulDesc large{.m = 1U << 14U, .n = 1, .k = 1U << 15U};
    if (device().info().limits.max_storage_buffer_range < std::uint64_t{4} * large.m * large.k) {
        EXPECT_TRUE(refused(large, "the a view of [matmul] needs"));
    } else {
        EXPECT_OK(plan_matmul(device(), large));
    }
    EXPECT_TRUE(refused({.m = 0xFFFFFFFFU, .n = 0xFFFFFFFFU, .k = 0xFFFFFFFFU, .batch = 0xFFFFFFFFU}, "of [matmul]"));
}

TEST_P(matmul, configurations_outside_the_space_are_refused) {
    const auto refused = [&](const MatmulConfig& config, const char* part, MatmulDesc desc) {
        desc.config = config;
        return expect_error(plan_matmul(device(), desc), ErrorKind::BadInput, part);
    };
    const MatmulDesc plain{.m = 64, .n = 64, .k = 64};
    EXPECT_TRUE(refused({.tile_m = 3}, "tile_m of [matmul] is 3; it may be", plain));
    EXPECT_TRUE(refused({.workgroup_size = 32}, "must be the workgroup_size", plain));
    EXPECT_TRUE(refused({.workgroup_size = 64, .block_m = 128, .block_n = 32, .tile_m = 4, .tile_n = 16},
                        "at most 4 times as wide as high", plain));
    EXPECT_TRUE(refused({.block_m = 4}, "multiples of tile_m", plain));
    EXPECT_TRUE(refused({.operand_path = 5}, "operand_path of [matmul] is 5; it may be", plain));
    EXPECT_TRUE(refused({.split_k = 4}, "Exact sums are not split",
                        {.m = 64, .n = 64, .k = 64, .determinism = Determinism::Exact}));
    EXPECT_TRUE(refused({.operand_path = kUniformOperand}, "does not hold", {.m = 64, .n = 64, .k = 20000}));
    EXPECT_TRUE(refused({.vector_width = 4}, "four elements at a time", {.m = 64, .n = 63, .k = 63}));
}

TEST_P(matmul, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const MatmulPlan plan, plan_matmul(device(), {.m = 16, .n = 16, .k = 16}));
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 4096, .label = "buffer"}));
    const BufferView a(buffer, 0, 1024);
    const BufferView b(buffer, 1024, 1024);
    const BufferView out(buffer, 2048, 1024);
    EXPECT_TRUE(plan.bind({.a = a, .b = b, .out = out}).has_value());
    EXPECT_TRUE(
        expect_error(plan.bind({.a = a, .b = b, .out = {buffer, 2048, 1020}}), ErrorKind::BadInput, "out view"));
    EXPECT_TRUE(expect_error(plan.bind({.a = {}, .b = b, .out = out}), ErrorKind::BadInput, "a view of [matmul]"));
    EXPECT_TRUE(
        expect_error(plan.bind({.a = a, .b = b, .out = {buffer, 512, 1024}}), ErrorKind::BadInput, "shares bytes"));
    EXPECT_TRUE(
        expect_error(plan.bind({.a = a, .b = b, .out = {buffer, 2052, 1024}}), ErrorKind::BadInput, "out view"));
    EXPECT_TRUE(
        expect_error(plan.bind({.a = a, .b = b, .out = {buffer, 3840, 1024}}), ErrorKind::BadInput, "out view"));
}

// The rules that kernels rely on hold for every configuration that the space lets through, on devices of other limits.
TEST(matmul_space, geometry_holds_for_the_whole_space) {
    DeviceInfo info;
    info.limits.max_shared_memory_size = 16384;
    const MatmulDesc desc{.m = 512, .n = 512, .k = 512, .b = {.transposed = true}};
    const ConfigSpace<MatmulConfig> space = space_of(info, desc);
    const std::vector<Configuration> all = space.space().all();
    ASSERT_GT(all.size(), 1000U);
    std::size_t staged = 0;
    std::size_t uniform = 0;
    for (const Configuration& configuration : all) {
        const MatmulConfig c = space.config(configuration);
        ASSERT_EQ(c.block_m / c.tile_m * c.tile_m, c.block_m);
        ASSERT_EQ((c.block_m / c.tile_m) * (c.block_n / c.tile_n), c.workgroup_size);
        ASSERT_LE(c.workgroup_size, 256U);
        staged += c.operand_path == kStagedOperands ? 1 : 0;
        uniform += c.operand_path == kUniformOperand ? 1 : 0;
        if (c.operand_path == kStagedOperands) {
            ASSERT_LE(4 * c.block_k * (c.block_m + c.block_n + 8), info.limits.max_shared_memory_size);
            ASSERT_EQ(c.block_m * c.block_k % c.workgroup_size, 0U);
            ASSERT_EQ(c.block_n * c.block_k % c.workgroup_size, 0U);
        }
        ASSERT_TRUE(c.operand_path != kUniformOperand || c.block_m == c.tile_m);
    }
    EXPECT_GT(staged, 0U);
    EXPECT_GT(uniform, 0U);
    RecordProperty("configurations", std::to_string(all.size()));
}

TEST(matmul_space, every_shape_has_a_legal_default) {
    DeviceInfo cpu;
    cpu.kind = DeviceKind::Cpu;
    DeviceInfo gpu;
    gpu.kind = DeviceKind::Discrete;
    gpu.limits.max_shared_memory_size = 32768;
    for (const std::uint32_t m : {1U, 3U, 8U, 17U, 1000U}) {
        for (const std::uint32_t n : {1U, 2U, 31U, 256U}) {
            for (const std::uint32_t k : {0U, 1U, 5U, 64U, 70001U}) {
                for (const bool transposed : {false, true}) {
                    const MatmulDesc desc{
                        .m = m, .n = n, .k = k, .a = {.transposed = transposed}, .b = {.transposed = transposed}};
                    for (const DeviceInfo& info : {cpu, gpu}) {
                        EXPECT_TRUE(space_of(info, desc).check(heuristic_of(info, desc)).has_value())
                            << m << " " << n << " " << k;
                    }
                }
            }
        }
    }
}

DeviceInfo gpu_of(std::uint32_t vendor_id, std::uint32_t subgroup_size, std::uint32_t min_subgroup_size) {
    DeviceInfo gpu;
    gpu.kind = DeviceKind::Discrete;
    gpu.vendor_id = vendor_id;
    gpu.limits.max_shared_memory_size = 32768;
    gpu.limits.subgroup_size = subgroup_size;
    gpu.limits.min_subgroup_size = min_subgroup_size;
    return gpu;
}

TEST(matmul_space, gpus_take_the_tile_of_their_architecture) {
    const DeviceInfo nvidia = gpu_of(0x10de, 32, 32), rdna = gpu_of(0x1002, 64, 32), gcn = gpu_of(0x1002, 64, 64);
    const DeviceInfo intel = gpu_of(0x8086, 32, 8);
    EXPECT_EQ(largest_tile(nvidia), (RegisterTile{8, 8}));
    EXPECT_EQ(largest_tile(rdna), (RegisterTile{8, 8}));
    EXPECT_EQ(largest_tile(gcn), (RegisterTile{8, 4}));
    EXPECT_EQ(largest_tile(intel), (RegisterTile{4, 4}));
    for (const DeviceInfo& gpu : {nvidia, rdna, gcn, intel}) {
        const MatmulConfig large = heuristic_of(gpu, MatmulDesc{.m = 4096, .n = 4096, .k = 4096});
        EXPECT_EQ((RegisterTile{large.tile_m, large.tile_n}), largest_tile(gpu));
        EXPECT_EQ(large.workgroup_size, 256U);
        EXPECT_EQ(large.split_k, 1U);
    }
}

TEST(matmul_space, gpus_get_workgroups_for_small_and_flat_products) {
    const DeviceInfo gpu = gpu_of(0x10de, 32, 32);
    const auto groups = [&](const MatmulDesc& desc) {
        const MatmulConfig c = heuristic_of(gpu, desc);
        EXPECT_EQ(c.operand_path, kStagedOperands);
        return ceil_div(desc.m, c.block_m) * ceil_div(desc.n, c.block_n) * c.split_k;
    };
    EXPECT_GE(groups({.m = 1024, .n = 1024, .k = 1024}), 64U);
    EXPECT_GE(groups({.m = 256, .n = 256, .k = 256}), 64U);
    EXPECT_GE(groups({.m = 1, .n = 1024, .k = 1024}), 64U);
    EXPECT_GE(groups({.m = 4096, .n = 10, .k = 512}), 64U);
    EXPECT_LE(heuristic_of(gpu, MatmulDesc{.m = 1, .n = 1024, .k = 1024}).block_m, 16U);
    // An H200 wants a workgroup for each of its multiprocessors.
    DeviceInfo h200 = gpu;
    h200.limits.compute_units = 132;
    const auto block = [&](std::uint32_t size) {
        const MatmulConfig c = heuristic_of(h200, MatmulDesc{.m = size, .n = size, .k = size});
        return std::array{c.workgroup_size, c.block_m, c.block_n, c.block_k, c.tile_m, c.tile_n};
    };
    EXPECT_EQ(block(2048), (std::array{256U, 128U, 128U, 8U, 8U, 8U}));
    EXPECT_EQ(block(1024), (std::array{64U, 64U, 64U, 16U, 8U, 8U}));
    EXPECT_EQ(block(512), (std::array{64U, 32U, 32U, 16U, 4U, 4U}));
    // Exact sums are one chain.
    const MatmulDesc exact{.m = 1, .n = 1024, .k = 1024, .determinism = Determinism::Exact};
    EXPECT_EQ(heuristic_of(gpu, exact).split_k, 1U);
}

}  // namespace
}  // namespace yolk
