// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/instance.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "instance_impl.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

/// Hides every driver from instances made in its lifetime.
class NoDrivers {
   public:
    NoDrivers() { setenv("VK_ICD_FILENAMES", "/nonexistent/driver.json", 1); }
    ~NoDrivers() { setenv("VK_ICD_FILENAMES", before_.c_str(), 1); }
    NoDrivers(const NoDrivers&) = delete;
    NoDrivers& operator=(const NoDrivers&) = delete;

   private:
    std::string before_ = std::getenv("VK_ICD_FILENAMES");
};

using physical_device = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(physical_device);

TEST_P(physical_device, describes_the_device_completely) {
    const DeviceInfo& info = yolk::testing::instance().devices()[yolk::testing::device_index(device_name())];
    EXPECT_THAT(missing_from_floor(info), IsEmpty());
    EXPECT_THAT(info.uuid, MatchesRegex("[0-9a-f]+"));
    EXPECT_EQ(info.uuid.size(), 32U);
    EXPECT_NE(info.uuid, std::string(32, '0'));
    EXPECT_FALSE(info.driver_name.empty());
    EXPECT_NE(info.driver_version, 0U);
    EXPECT_GE(info.api_version, VK_API_VERSION_1_2);
    EXPECT_GT(info.limits.timestamp_period_ns, 0.0);
    EXPECT_GT(info.limits.max_memory_allocation_size, 0U);
    EXPECT_GT(info.limits.max_memory_allocation_count, 0U);
    EXPECT_GT(info.limits.non_coherent_atom_size, 0U);
    EXPECT_GT(info.limits.subgroup_size, 0U);
    ASSERT_FALSE(info.heaps.empty());
    ASSERT_FALSE(info.memory_types.empty());
    for (const MemoryTypeInfo& type : info.memory_types) EXPECT_LT(type.heap, info.heaps.size());
}

TEST_P(physical_device, is_chosen_by_each_of_its_names) {
    const std::span<const DeviceInfo> all = yolk::testing::instance().devices();
    const std::uint32_t index = yolk::testing::device_index(device_name());
    for (const std::string& request : {all[index].name, all[index].uuid, std::to_string(index)}) {
        const Result<DeviceChoice> choice = choose_device(all, request);
        ASSERT_OK(choice);
        EXPECT_EQ(choice->index, index) << request;
    }
}

TEST_P(physical_device, is_known_by_kind_and_vendor) {
    const DeviceInfo& info = yolk::testing::instance().devices()[yolk::testing::device_index(device_name())];
    EXPECT_FALSE(info.vendor.empty());
    const struct {
        const char* driver_name;
        const char* vendor;
        bool is_cpu;
    } known[] = {{"llvmpipe", "Mesa", true}, {"SwiftShader driver", "Google", true}, {"NVIDIA", "NVIDIA", false}};
    for (const auto& [driver_name, vendor, is_cpu] : known) {
        if (info.driver_name != driver_name) continue;
        EXPECT_EQ(info.vendor, vendor);
        EXPECT_EQ(info.kind == DeviceKind::Cpu, is_cpu);
    }
}

TEST(instance_drivers, different_drivers_are_told_apart) {
    const DeviceInfo& first = yolk::testing::first_device().device.info();
    const DeviceInfo& other = yolk::testing::other_device().device.info();
    EXPECT_EQ(first.index == other.index, yolk::testing::devices().size() == 1);
    EXPECT_EQ(first.driver_uuid == other.driver_uuid, first.index == other.index);
}

TEST(instance_drivers, none_at_all_is_an_empty_list) {
    const NoDrivers hidden;
    for (const bool validation : {false, yolk::testing::validation_is_on()}) {
        ASSERT_OK_AND_ASSIGN(const Instance empty, Instance::create({.validation = validation, .on_message = {}}));
        EXPECT_THAT(empty.devices(), IsEmpty());
        EXPECT_TRUE(yolk::testing::expect_error(choose_device(empty.devices(), ""), ErrorKind::Unsupported,
                                                "mesa-vulkan-drivers on Debian"));
    }
}

TEST(instance_messages, the_layer_reaches_on_message) {
    if (!yolk::testing::validation_is_on()) GTEST_SKIP() << "YOLK_TEST_VALIDATION is off: there is no layer.";
    std::vector<ValidationMessage> heard;
    ASSERT_OK_AND_ASSIGN(const Instance validated,
                         Instance::create({.validation = true, .on_message = [&](const ValidationMessage& message) {
                                               heard.push_back(message);
                                           }}));
    EXPECT_THAT(heard, IsEmpty());
    VkPhysicalDeviceProperties2 wrong{};  // without its sType
    vkGetPhysicalDeviceProperties2(validated.impl()->physical_devices.at(0), &wrong);
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_TRUE(heard[0].is_error);
    EXPECT_EQ(heard[0].id, "VUID-VkPhysicalDeviceProperties2-sType-sType");
    EXPECT_FALSE(heard[0].text.empty());
}

TEST(instance_messages, several_instances_do_not_hear_each_other) {
    if (!yolk::testing::validation_is_on()) GTEST_SKIP() << "YOLK_TEST_VALIDATION is off: there is no layer.";
    std::vector<ValidationMessage> first_heard, second_heard;
    const auto into = [](std::vector<ValidationMessage>& list) {
        return [&list](const ValidationMessage& message) { list.push_back(message); };
    };
    ASSERT_OK_AND_ASSIGN(const Instance first, Instance::create({.validation = true, .on_message = into(first_heard)}));
    ASSERT_OK_AND_ASSIGN(const Instance second,
                         Instance::create({.validation = true, .on_message = into(second_heard)}));
    VkPhysicalDeviceProperties2 wrong{};
    vkGetPhysicalDeviceProperties2(second.impl()->physical_devices.at(0), &wrong);
    EXPECT_EQ(first_heard.size(), 0U);
    EXPECT_EQ(second_heard.size(), 1U);
}

TEST(instance_messages, nothing_is_checked_without_validation) {
    std::vector<ValidationMessage> heard;
    ASSERT_OK_AND_ASSIGN(const Instance plain,
                         Instance::create({.validation = false, .on_message = [&](const ValidationMessage& message) {
                                               heard.push_back(message);
                                           }}));
    ASSERT_FALSE(plain.devices().empty());
    VkPhysicalDeviceProperties2 wrong{};
    vkGetPhysicalDeviceProperties2(plain.impl()->physical_devices.at(0), &wrong);
    EXPECT_THAT(heard, IsEmpty());
}

}  // namespace
}  // namespace yolk
