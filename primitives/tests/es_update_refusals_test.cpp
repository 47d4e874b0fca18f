// SPDX-License-Identifier: Apache-2.0
// What es_update takes by default, and what it refuses.
#include <gmock/gmock.h>

#include <array>
#include <initializer_list>
#include <string_view>

#include "yolk/es_update.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

using es_update_refusals = testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(es_update_refusals);

ParameterTable matrix_of(std::uint32_t rows, std::uint32_t columns) {
    auto table = ParameterTable::create({{.name = "w", .rows = rows, .columns = columns}});
    EXPECT_OK(table);
    return *std::move(table);
}

/// Elements, population, rank; workgroup, pairs per slice, tile blocks, staged.
TEST(es_update_defaults, follow_the_device_and_the_size) {
    struct Case {
        DeviceKind kind;
        std::uint32_t rows, columns, population, rank;
        EsUpdateConfig expected;
    };
    constexpr auto kGpu = DeviceKind::Discrete;
    for (const Case& c : std::initializer_list<Case>{
             {DeviceKind::Cpu, 64, 7, 4096, 1, {32, 256, 1, 0}},
             {DeviceKind::Cpu, 256, 256, 4096, 1, {128, 256, 2, 0}},
             {kGpu, 64, 7, 4096, 1, {64, 32, 1, 1}},
             {kGpu, 256, 256, 4096, 1, {64, 128, 1, 1}},
             {kGpu, 1024, 1024, 4096, 1, {64, 128, 1, 1}},
             {DeviceKind::Integrated, 256, 256, 65536, 1, {64, 128, 1, 1}},
             {kGpu, 64, 7, 1U << 20U, 1, {64, 128, 1, 1}},
             {kGpu, 64, 7, 1U << 21U, 1, {64, 256, 1, 0}},
             {kGpu, 64, 7, 1U << 20U, 4, {64, 256, 1, 0}},
         }) {
        DeviceInfo info;
        info.kind = c.kind;
        const EsUpdateDesc desc{
            .parameters = matrix_of(c.rows, c.columns), .population = c.population, .rank = c.rank, .config = {}};
        const EsUpdateConfig found = heuristic_of(info, desc);
        const auto values = [](const EsUpdateConfig& config) {
            return std::array{config.workgroup_size, config.pairs_per_slice, config.tile_blocks, config.staged};
        };
        EXPECT_EQ(values(found), values(c.expected)) << c.rows << " x " << c.columns << ", " << c.population;
    }
}

TEST_P(es_update_refusals, bad_descriptions) {
    const EsUpdateDesc good{.parameters = matrix_of(2, 2), .population = 4, .config = {}};
    const auto refused = [&](EsUpdateDesc desc, std::string_view part) {
        return expect_error(plan_es_update(device(), desc), ErrorKind::BadInput, part);
    };
    EsUpdateDesc desc = good;
    desc.population = 0;
    EXPECT_TRUE(refused(desc, "population"));
    desc.population = 7;
    EXPECT_TRUE(refused(desc, "odd"));
    desc.antithetic = false;
    EXPECT_OK(plan_es_update(device(), desc));
    desc = good;
    desc.rank = 0;
    EXPECT_TRUE(refused(desc, "rank"));
    desc.rank = 33;
    EXPECT_TRUE(refused(desc, "rank"));
    desc = good;
    desc.config = EsUpdateConfig{.workgroup_size = 257};
    EXPECT_TRUE(refused(desc, "workgroup_size"));
    desc = good;
    desc.config = EsUpdateConfig{.pairs_per_slice = 0};
    EXPECT_TRUE(refused(desc, "pairs_per_slice"));
    desc.config = EsUpdateConfig{.tile_blocks = 3};
    EXPECT_TRUE(refused(desc, "tile_blocks"));
    desc.config = EsUpdateConfig{.staged = 1};
    EXPECT_TRUE(refused(desc, "needs workgroup_size 64"));
    desc.config = EsUpdateConfig{.workgroup_size = 64, .staged = 1};
    desc.population = 1U << 21U;
    EXPECT_TRUE(refused(desc, "at most 524288 products"));
    desc = good;
    desc.parameters = {};
    EXPECT_TRUE(refused(desc, "empty"));
}

TEST_P(es_update_refusals, wrong_views) {
    const EsUpdateDesc desc{.parameters = matrix_of(8, 8), .population = 8, .config = {}};
    ASSERT_OK_AND_ASSIGN(const EsUpdatePlan plan, plan_es_update(device(), desc));
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 8192, .label = "views"}));
    const BufferView scratch{buffer, 4096, 4096};
    const EsUpdateViews good{.weights = {buffer, 0, 4}, .summary = {buffer, 256, 32}, .gradient = {buffer, 512, 256}};
    EXPECT_OK(plan.bind(good, scratch));
    EsUpdateViews views = good;
    views.gradient.size_bytes = 255;
    EXPECT_TRUE(expect_error(plan.bind(views, scratch), ErrorKind::BadInput, "gradient"));
    views = good;
    views.gradient.offset_bytes = 256;
    EXPECT_TRUE(expect_error(plan.bind(views, scratch), ErrorKind::BadInput, "shares bytes"));
    EXPECT_TRUE(expect_error(plan.bind(good, {buffer, 4096, 128}), ErrorKind::BadInput, "scratch"));
    EXPECT_TRUE(expect_error(plan.bind(good, {}), ErrorKind::BadInput, "scratch"));
}

}  // namespace
}  // namespace yolk
