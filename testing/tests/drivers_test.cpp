// SPDX-License-Identifier: Apache-2.0
#include "drivers.hpp"

#include <gmock/gmock.h>

namespace yolk::testing {
namespace {

using Paths = std::vector<std::filesystem::path>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Paths kFound{"/a/intel_icd.x86_64.json", "/a/lvp_icd.aarch64.json", "/a/nvidia_icd.json",
                   "/b/vk_swiftshader_icd.json"};

TEST(drivers, the_two_and_nothing_else) {
    const DriverSelection selection = select_from(kFound, DeviceSet::Required);
    EXPECT_THAT(selection.files, ElementsAre("/a/lvp_icd.aarch64.json", "/b/vk_swiftshader_icd.json"));
    EXPECT_THAT(selection.missing, IsEmpty());
}

TEST(drivers, all_adds_the_others) {
    const DriverSelection selection = select_from(kFound, DeviceSet::All);
    EXPECT_THAT(selection.files, ElementsAre("/a/lvp_icd.aarch64.json", "/b/vk_swiftshader_icd.json",
                                             "/a/intel_icd.x86_64.json", "/a/nvidia_icd.json"));
}

TEST(drivers, a_missing_one_names_its_package) {
    for (const DeviceSet set : {DeviceSet::Required, DeviceSet::All}) {
        EXPECT_THAT(select_from({"/a/lvp_icd.x86_64.json"}, set).missing, HasSubstr("package chromium"));
        EXPECT_THAT(select_from({"/a/lvp_icd.x86_64.json"}, set).missing, Not(HasSubstr("mesa-vulkan-drivers")));
        EXPECT_THAT(select_from({}, set).missing, HasSubstr("package mesa-vulkan-drivers"));
    }
}

TEST(drivers, found_requires_none) {
    const DriverSelection selection = select_from({"/a/nvidia_icd.json"}, DeviceSet::Found);
    EXPECT_THAT(selection.files, ElementsAre("/a/nvidia_icd.json"));
    EXPECT_THAT(selection.missing, IsEmpty());
}

}  // namespace
}  // namespace yolk::testing
