// SPDX-License-Identifier: Apache-2.0
// What byte_model refuses; its results are held against the twin by its table of cases.
#include "yolk/byte_model.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <string_view>
#include <utility>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using byte_model = testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(byte_model);

TEST_P(byte_model, refuses_bad_descriptions) {
    const ByteModelDesc good{.width = 8, .population = 4, .members = 4, .steps = 2, .text_bytes = 9};
    EXPECT_OK(plan_byte_model(device(), good));
    const std::pair<std::function<void(ByteModelDesc&)>, std::string_view> bad[]{
        {[](ByteModelDesc& desc) { desc.width = 12; }, "it must be a multiple of 8"},
        {[](ByteModelDesc& desc) { desc.rank = 3; }, "it may be 1, 4 or 16"},
        {[](ByteModelDesc& desc) { desc.members = 3; }, "give an even number"},
        {[](ByteModelDesc& desc) { desc.members = 6; }, "6 members at once, of a population of 4"},
        {[](ByteModelDesc& desc) { desc.text_bytes = 2; }, "has 2 bytes"},
    };
    for (const auto& [change, part] : bad) {
        ByteModelDesc desc = good;
        change(desc);
        EXPECT_TRUE(testing::expect_error(plan_byte_model(device(), desc), ErrorKind::BadInput, part)) << part;
    }
}

}  // namespace
}  // namespace yolk
