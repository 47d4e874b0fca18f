// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/device_selection.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <vector>

#include "gpu_tables.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::yolk::testing::expect_error;

TEST(device_floor, real_devices_that_meet_it) {
    for (const DeviceInfo& device : {tables::on_the_floor(), tables::geforce_3080(0), tables::radeon_7900(0),
                                     tables::intel_xe(0), tables::lavapipe(0), tables::swiftshader(0)}) {
        EXPECT_THAT(missing_from_floor(device), IsEmpty()) << device.name;
        EXPECT_GT(score(device), 0U) << device.name;
    }
}

TEST(device_floor, each_requirement_is_named) {
    struct Case {
        std::function<void(DeviceInfo&)> spoil;
        const char* lacking;
    };
    const std::vector<Case> cases{
        {[](DeviceInfo& d) { d.api_version = tables::vulkan(1, 1, 182); }, "Vulkan 1.1.182 (1.2 needed)"},
        {[](DeviceInfo& d) { d.features.timeline_semaphore = false; }, "no timeline semaphores"},
        {[](DeviceInfo& d) { d.features.scalar_block_layout = false; }, "no scalar block layout"},
        {[](DeviceInfo& d) { d.has_compute_queue = false; }, "no queue for compute"},
        {[](DeviceInfo& d) { d.limits.max_workgroup_invocations = 128; }, "workgroups of 128 invocations (256 needed)"},
        {[](DeviceInfo& d) {
             d.limits.max_workgroup_size = {128, 256, 64};
         },
         "workgroups along x of 128 invocations (256 needed)"},
        {[](DeviceInfo& d) {
             d.limits.max_workgroup_count = {65535, 65535, 65534};
         },
         "a grid of 65534 workgroups along a dimension (65535 needed)"},
        {[](DeviceInfo& d) { d.limits.max_shared_memory_size = 16384; }, "shared memory of 16384 bytes (32768 needed)"},
        {[](DeviceInfo& d) { d.limits.max_push_constants_size = 127; }, "push constants of 127 bytes (128 needed)"},
        {[](DeviceInfo& d) { d.limits.max_storage_buffer_range = 128 * tables::kMiB - 1; },
         "storage bindings of 134217727 bytes (134217728 needed)"},
        {[](DeviceInfo& d) { d.limits.max_uniform_buffer_range = 16384; },
         "uniform bindings of 16384 bytes (65536 needed)"},
        {[](DeviceInfo& d) { d.limits.max_storage_buffers_per_stage = 8; },
         "storage buffers in a kernel of 8 (16 needed)"},
        {[](DeviceInfo& d) { d.limits.min_storage_buffer_offset_alignment = 512; },
         "a storage offset alignment of 512 bytes (at most 256 allowed)"},
        {[](DeviceInfo& d) { d.limits.min_uniform_buffer_offset_alignment = 512; },
         "a uniform offset alignment of 512 bytes (at most 256 allowed)"},
    };
    for (const Case& spoiled : cases) {
        DeviceInfo device = tables::on_the_floor();
        spoiled.spoil(device);
        EXPECT_THAT(missing_from_floor(device), ElementsAre(spoiled.lacking));
        EXPECT_EQ(score(device), 0U) << spoiled.lacking;
    }
}

TEST(device_floor, all_that_is_lacking_is_listed) {
    EXPECT_THAT(missing_from_floor(tables::raspberry_pi_4(0)),
                ElementsAre("no scalar block layout", "shared memory of 16384 bytes (32768 needed)"));
}

TEST(device_score, kind_before_memory) {
    const std::vector<DeviceInfo> worst_first{tables::swiftshader(0), tables::lavapipe(0), tables::intel_xe(0),
                                              tables::geforce_3080(0), tables::radeon_7900(0)};
    for (std::size_t i = 1; i < worst_first.size(); ++i) {
        EXPECT_LT(score(worst_first[i - 1]), score(worst_first[i])) << worst_first[i].name;
    }
}

TEST(device_score, host_heaps_do_not_count) {
    DeviceInfo small = tables::geforce_3080(0);
    small.heaps = {{4 * tables::kGiB, true}, {512 * tables::kGiB, false}};
    EXPECT_LT(score(small), score(tables::geforce_3080(0)));
}

class device_choice : public ::testing::Test {
   protected:
    const std::vector<DeviceInfo> devices_{tables::swiftshader(0),  tables::lavapipe(1),     tables::intel_xe(2),
                                           tables::geforce_3080(3), tables::geforce_3080(4), tables::raspberry_pi_4(5)};

    void chosen(const std::string& request, std::uint32_t index) const {
        const Result<DeviceChoice> choice = choose_device(devices_, request);
        ASSERT_OK(choice);
        EXPECT_EQ(choice->index, index) << request;
        EXPECT_EQ(choice->rejections.size(), devices_.size() - 1) << request;
    }
};

TEST_F(device_choice, the_best_without_a_request) { chosen("", 3); }

TEST_F(device_choice, by_index) {
    for (std::uint32_t index = 0; index < 5; ++index) chosen(std::to_string(index), index);
}

TEST_F(device_choice, by_part_of_a_name_in_any_case) {
    chosen("iris", 2);
    chosen("SWIFTshader", 0);
    chosen("llvmpipe", 1);
    chosen("lavapipe", 1);
    chosen("intel", 2);
    chosen("3080", 3) /* of two equal ones, the first */;
}

TEST_F(device_choice, by_uuid_with_and_without_dashes) {
    chosen(tables::geforce_3080(4).uuid, 4);
    chosen("5A1C6F7E-0011-2233-4455-66778899AAB4", 4);
    chosen("53776966745368616465725554940000", 0) /* digits alone: still no index */;
}

TEST_F(device_choice, an_ambiguous_part_takes_the_best_match) { chosen("e", 3); }

TEST_F(device_choice, rejections_say_why) {
    const Result<DeviceChoice> choice = choose_device(devices_, "a");  // matches all but the Pi by some name
    ASSERT_OK(choice);
    EXPECT_EQ(choice->rejections.back().index, 5U);
    EXPECT_THAT(choice->rejections.back().reason, HasSubstr("shared memory of 16384 bytes (32768 needed)"));
    const Result<DeviceChoice> intel = choose_device(devices_, "intel");
    ASSERT_OK(intel);
    EXPECT_EQ(intel->rejections[0].name, "SwiftShader Device (Subzero)");
    EXPECT_EQ(intel->rejections[0].reason, "not what was asked for ('intel')");
    const Result<DeviceChoice> best = choose_device(devices_, "");
    ASSERT_OK(best);
    EXPECT_EQ(best->rejections[0].reason, "lower score than NVIDIA GeForce RTX 3080");
}

TEST_F(device_choice, an_unknown_request_lists_what_there_is) {
    for (const char* request : {"voodoo", "6", "99999999999999999999", "-1", "00000000000000000000000000000000"}) {
        const Result<DeviceChoice> choice = choose_device(devices_, request);
        ASSERT_TRUE(expect_error(choice, ErrorKind::BadInput, request)) << request;
        EXPECT_THAT(choice.error().message, HasSubstr("4: NVIDIA GeForce RTX 3080 (discrete, 5a1c6f7e"));
        EXPECT_THAT(choice.error().message, HasSubstr("1: llvmpipe"));
    }
}

TEST_F(device_choice, a_device_below_the_floor_is_named_with_what_it_lacks) {
    for (const char* request : {"5", "v3d", "000014e4be485fd3000000000000000a"}) {
        const Result<DeviceChoice> choice = choose_device(devices_, request);
        ASSERT_TRUE(expect_error(choice, ErrorKind::Unsupported, "V3D 4.2")) << request;
        EXPECT_THAT(choice.error().message, HasSubstr("no scalar block layout"));
        EXPECT_THAT(choice.error().message, HasSubstr("16384 bytes (32768 needed)"));
    }
}

TEST_F(device_choice, a_device_below_the_floor_is_never_the_best) {
    const std::vector<DeviceInfo> two{tables::raspberry_pi_4(0), tables::lavapipe(1)};
    const Result<DeviceChoice> choice = choose_device(two, "");
    ASSERT_OK(choice);
    EXPECT_EQ(choice->index, 1U);
}

TEST_F(device_choice, no_usable_device_at_all) {
    const std::vector<DeviceInfo> two{tables::raspberry_pi_4(0), tables::mali_g72(1)};
    const Result<DeviceChoice> choice = choose_device(two, "");
    ASSERT_TRUE(expect_error(choice, ErrorKind::Unsupported, "No device can be used"));
    EXPECT_THAT(choice.error().message, HasSubstr("Mali-G72 is below the portable floor: Vulkan 1.1.97 (1.2 needed)"));
}

TEST_F(device_choice, no_device_says_what_to_install) {
    for (const char* request : {"", "0", "lavapipe"}) {
        EXPECT_TRUE(expect_error(choose_device({}, request), ErrorKind::Unsupported, "mesa-vulkan-drivers"));
    }
}

TEST(optional_paths, follow_the_features) {
    const auto open = [](const DeviceInfo& device) {
        std::vector<std::string> names;
        for (const OptionalPath& path : optional_paths(device)) {
            EXPECT_FALSE(path.needs.empty()) << path.name;
            if (path.open) names.push_back(path.name);
        }
        return names;
    };
    DeviceInfo device = tables::on_the_floor();
    EXPECT_THAT(open(device), IsEmpty());
    device.features.pipeline_statistics = true;
    EXPECT_THAT(open(device), ElementsAre("pipeline-statistics"));
    EXPECT_THAT(open(tables::swiftshader(0)), ElementsAre("int8-dot"));
    EXPECT_THAT(open(tables::lavapipe(0)), ElementsAre("fp16", "storage16", "int8", "int8-dot", "large-workgroups"));
    EXPECT_THAT(open(tables::intel_xe(0)),
                ElementsAre("fp16", "storage16", "int8", "int8-dot", "large-workgroups", "large-bindings"));
    EXPECT_THAT(
        open(tables::geforce_3080(0)),
        ElementsAre("fp16", "storage16", "int8", "int8-dot", "cooperative-matrix", "cooperative-int8",
                    "large-workgroups", "large-bindings", "buffer-address", "push-descriptors", "subgroup-size"));
}

TEST(optional_paths, fp16_needs_storage_as_well) {
    DeviceInfo device = tables::on_the_floor();
    device.features.shader_float16 = true;
    EXPECT_FALSE(optional_paths(device).front().open);
    device.features.storage_16bit = true;
    EXPECT_TRUE(optional_paths(device).front().open);
}

TEST(device_info, versions_and_kinds_as_text) {
    EXPECT_EQ(version_text(tables::vulkan(1, 3, 230)), "1.3.230");
    EXPECT_EQ(version_text(0), "0.0.0");
    EXPECT_EQ(version_text(tables::vulkan(127, 1023, 4095)), "127.1023.4095");
    EXPECT_STREQ(to_string(DeviceKind::Discrete), "discrete");
    EXPECT_STREQ(to_string(DeviceKind::Cpu), "cpu");
}

}  // namespace
}  // namespace yolk
