// SPDX-License-Identifier: Apache-2.0
// What tools/new-kernel made is a kernel like the others: this is compiled with one, sample_kernel, and with the tests
// that hold modules against their ABI headers.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "family_matches.hpp"
#include "reference_table.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/sample_kernel.hpp"

namespace yolk::oracle {
const Family& sample_kernel_family() noexcept;
}  // namespace yolk::oracle

namespace yolk {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kMade = YOLK_MADE_CHECKOUT;

std::string made_text(const std::filesystem::path& file) {
    std::ifstream stream(kMade / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class skeleton : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(skeleton);

TEST_P(skeleton, builds_and_passes) { expect_family_matches(device(), dispatcher(), oracle::sample_kernel_family()); }

TEST_P(skeleton, is_planned_bound_and_refused_as_others_are) {
    EXPECT_TRUE(testing::expect_error(plan_sample_kernel(device(), {.count = 0xFFFFFFFFU}), ErrorKind::BadInput,
                                      "the in view of [sample_kernel]"));
    EXPECT_TRUE(testing::expect_error(
        plan_sample_kernel(device(), {.count = 4, .config = SampleKernelConfig{.workgroup_size = 3}}),
        ErrorKind::BadInput, "workgroup_size of [sample_kernel]"));
    ASSERT_OK_AND_ASSIGN(const SampleKernelPlan plan, plan_sample_kernel(device(), {.count = 4}));
    EXPECT_TRUE(testing::expect_error(plan.bind({}), ErrorKind::BadInput, "the in view of [sample_kernel]"));
}

TEST(skeleton_text, is_read_and_printed_as_others_are) {
    const oracle::OperationText* const text = oracle::sample_kernel_family().operation;
    ASSERT_NE(text, nullptr);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<oracle::Problem> problem, text->parse("count=77"));
    EXPECT_EQ(problem->name(), "sample_kernel count=77");
    const TuningShape key = problem->space(DeviceInfo{}).shape();
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<oracle::Problem> again, text->of_key(key));
    EXPECT_EQ(again->name(), problem->name());
}

// Its line in the table of docs/kernels/README.md is what the declaration says.
TEST(skeleton_page, and_its_line_in_the_table) {
    EXPECT_THAT(made_text("docs/kernels/README.md"), HasSubstr(oracle::reference_row(oracle::sample_kernel_family())));
    EXPECT_THAT(made_text("docs/kernels/sample_kernel.md"), ::testing::StartsWith("# sample_kernel\n"));
}

// It says what is still to do, in each file and in the shader; and no name of the template is left.
TEST(skeleton_files, say_what_to_fill_in) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kMade)) {
        const std::string path = std::filesystem::relative(entry.path(), kMade).string();
        const std::string text = entry.is_regular_file() ? made_text(path) : std::string();
        if (path.find("sample_kernel") == std::string::npos || text.empty()) continue;
        ++files;
        EXPECT_THAT(text, HasSubstr("Replace: ")) << path;
        for (const char* left : {"kernel_template", "KernelTemplate", "KERNEL_TEMPLATE"})
            EXPECT_EQ(text.find(left), std::string::npos) << path << " has " << left;
    }
    EXPECT_EQ(files, 7U);
    EXPECT_THAT(made_text("shaders/kernels.cmake"),
                HasSubstr("yolk_kernel(sample_kernel FAMILY sample_kernel SOURCE sample_kernel/sample_kernel.comp)\n"));
}

}  // namespace
}  // namespace yolk
