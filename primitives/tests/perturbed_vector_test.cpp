// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_vector.hpp"

#include <gmock/gmock.h>

#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

class perturbed_vector : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(perturbed_vector);

constexpr PerturbedVectorDesc kVectorDesc{.members = 2, .element_count = 5};

TEST_P(perturbed_vector, bad_descriptions_are_refused) {
    const auto expect_refused = [&](auto change, const char* part) {
        PerturbedVectorDesc desc = kVectorDesc;
        change(desc);
        EXPECT_TRUE(expect_error(plan_perturbed_vector(device(), desc), ErrorKind::BadInput, part));
    };
    expect_refused([](auto& d) { d.config = PerturbedVectorConfig{.workgroup_size = 3}; }, "workgroup_size");
    expect_refused([](auto& d) { d.parameter = ParameterId{kMaxParameterId + 1}; }, "parameter of [perturbed_vector]");
    expect_refused([](auto& d) { d.members = d.element_count = 0xFFFFFFFFU; }, "vector view of [perturbed_vector]");
    expect_refused([](auto& d) { d.members = 0xFFFFFFFFU; }, "output view of [perturbed_vector]");
}

TEST_P(perturbed_vector, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 1024, .label = "all"}));
    ASSERT_OK_AND_ASSIGN(const PerturbedVectorPlan plan, plan_perturbed_vector(device(), kVectorDesc));
    // Vector 5, output 2 * 5 floats, each on its own 256 bytes.
    const PerturbedVectorViews good{BufferView(buffer, 0, 20), BufferView(buffer, 256, 40)};
    EXPECT_OK(plan.bind(good));
    const auto expect_refused = [&](const PerturbedVectorViews& views, const char* part) {
        EXPECT_TRUE(expect_error(plan.bind(views), ErrorKind::BadInput, part));
    };
    expect_refused({BufferView(buffer, 0, 16), good.output}, "vector view of [perturbed_vector]");
    expect_refused({good.vector, BufferView(buffer, 260, 40)}, "output view of [perturbed_vector]");
    expect_refused({good.vector, BufferView(buffer, 1024, 40)}, "output view of [perturbed_vector]");
    expect_refused({good.vector, good.vector}, "[perturbed_vector]");
}

}  // namespace
}  // namespace yolk
