// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_embedding.hpp"

#include <gmock/gmock.h>

#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

class perturbed_embedding : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(perturbed_embedding);

constexpr PerturbedEmbeddingDesc kEmbeddingDesc{.members = 2, .rows = 3, .table_rows = 4, .columns = 5};

TEST_P(perturbed_embedding, bad_descriptions_are_refused) {
    const auto expect_refused = [&](auto change, const char* part) {
        PerturbedEmbeddingDesc desc = kEmbeddingDesc;
        change(desc);
        EXPECT_TRUE(expect_error(plan_perturbed_embedding(device(), desc), ErrorKind::BadInput, part));
    };
    expect_refused([](auto& d) { d.config = PerturbedEmbeddingConfig{.workgroup_size = 3}; }, "workgroup_size");
    expect_refused([](auto& d) { d.parameter = ParameterId{kMaxParameterId + 1}; },
                   "parameter of [perturbed_embedding]");
    for (const std::uint32_t rank : {0U, 33U})
        expect_refused([&](auto& d) { d.rank = rank; }, "rank of [perturbed_embedding]");
    expect_refused([](auto& d) { d.table_rows = 0x80000000U, d.rank = 2; }, "table_rows * rank");
    expect_refused([](auto& d) { d.columns = 0x80000000U, d.rank = 2; }, "(columns + 8 * rank) * rank");
    expect_refused([](auto& d) { d.members = d.rows = 0xFFFFFFFFU; }, "ids view of [perturbed_embedding]");
    expect_refused([](auto& d) { d.shared_ids = true, d.members = 0xFFFFFFFFU; },
                   "output view of [perturbed_embedding]");
}

TEST_P(perturbed_embedding, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 1024, .label = "all"}));
    ASSERT_OK_AND_ASSIGN(const PerturbedEmbeddingPlan plan, plan_perturbed_embedding(device(), kEmbeddingDesc));
    // Weights 4 * 5, ids 2 * 3, output 2 * 3 * 5, status 1 words, each on its own 256 bytes.
    const PerturbedEmbeddingViews good{BufferView(buffer, 0, 80), BufferView(buffer, 256, 24),
                                       BufferView(buffer, 512, 120), BufferView(buffer, 768, 4)};
    EXPECT_OK(plan.bind(good));
    const auto expect_refused = [&](auto change, const char* part) {
        PerturbedEmbeddingViews views = good;
        change(views);
        EXPECT_TRUE(expect_error(plan.bind(views), ErrorKind::BadInput, part));
    };
    expect_refused([&](auto& v) { v.weights = BufferView(buffer, 0, 76); }, "weights view of [perturbed_embedding]");
    expect_refused([&](auto& v) { v.ids = BufferView(buffer, 256, 20); }, "ids view of [perturbed_embedding]");
    expect_refused([&](auto& v) { v.output = BufferView(buffer, 516, 120); }, "output view of [perturbed_embedding]");
    expect_refused([&](auto& v) { v.status = BufferView(buffer, 1024, 4); }, "status view of [perturbed_embedding]");
    expect_refused([&](auto& v) { v.output = v.weights; }, "[perturbed_embedding]");
    expect_refused([&](auto& v) { v.status = v.ids; }, "[perturbed_embedding]");
}

}  // namespace
}  // namespace yolk
