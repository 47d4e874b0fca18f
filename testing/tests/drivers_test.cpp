// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/testing/drivers.hpp"

#include <gmock/gmock.h>

#include <fstream>

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
    const DriverSelection selection = required_drivers(kFound);
    EXPECT_THAT(selection.files, ElementsAre("/a/lvp_icd.aarch64.json", "/b/vk_swiftshader_icd.json"));
    EXPECT_THAT(selection.wrong, IsEmpty());
}

TEST(drivers, a_missing_one_names_its_package) {
    const std::string wrong = required_drivers({"/a/lvp_icd.x86_64.json"}).wrong;
    EXPECT_THAT(wrong, HasSubstr("package chromium, or set YOLK_TEST_DRIVERS"));
    EXPECT_THAT(wrong, Not(HasSubstr("mesa-vulkan-drivers")));
    EXPECT_THAT(required_drivers({}).wrong, HasSubstr("package mesa-vulkan-drivers"));
}

TEST(drivers, those_that_are_given_are_files) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    const std::filesystem::path one = folder / "yolk_one_icd.json";
    const std::filesystem::path two = folder / "yolk_two_icd.json";
    for (const auto& file : {one, two}) std::ofstream(file) << "{}";
    for (const char* const end : {"", ":"}) {
        const DriverSelection both = given_drivers(one.string() + ":" + two.string() + end);
        EXPECT_THAT(both.files, ElementsAre(one, two));
        EXPECT_THAT(both.wrong, IsEmpty());
    }
    EXPECT_THAT(given_drivers(one.string() + ":lavapipe").wrong,
                HasSubstr("YOLK_TEST_DRIVERS names 'lavapipe', which is not a file. It takes the JSON files"));
    EXPECT_THAT(given_drivers(folder.string()).wrong, HasSubstr("which is not a file"));
    EXPECT_THAT(given_drivers(":").wrong, HasSubstr("YOLK_TEST_DRIVERS names no file"));
    for (const auto& file : {one, two}) std::filesystem::remove(file);
}

}  // namespace
}  // namespace yolk::testing
