// SPDX-License-Identifier: Apache-2.0
#include "yolk/device.hpp"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "noise_work.hpp"
#include "pipeline_file.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/variable.hpp"

namespace yolk {
namespace {

using yolk::testing::device_index;
using yolk::testing::expect_error;
using yolk::testing::Variable;

using logical_device = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(logical_device);

TEST_P(logical_device, keeps_the_same_pipeline_and_counts_it_once) {
    ASSERT_OK_AND_ASSIGN(const Device own, Device::create(yolk::testing::instance(), device_index(device_name())));
    const std::vector<SpecConstant> constants{{abi::noise::kSpecWorkgroupSize, 8}};
    std::vector<PipelineHandle> handles(4);
    std::vector<std::thread> threads;
    for (PipelineHandle& handle : handles) {
        threads.emplace_back(
            [&own, &constants, &handle] { handle = own.pipeline(kernels::kNoiseI32, constants)->handle; });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_NE(handles[0].impl, nullptr);
    for (const PipelineHandle& handle : handles) EXPECT_EQ(handle.impl, handles[0].impl);
    EXPECT_EQ(own.counts().pipelines_created, 1U);
}

TEST_P(logical_device, writes_its_pipeline_cache_when_it_goes) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("yolk_device_" + device_name() + std::to_string(::getpid()));
    const DeviceInfo& info = yolk::testing::instance().devices()[device_index(device_name())];
    const auto file = folder / pipeline_file_name(info);
    for (int run = 0; run < 2; ++run) {
        ASSERT_OK_AND_ASSIGN(const Device own, Device::create(yolk::testing::instance(), info.index,
                                                              {.memory_policy = MemoryPolicy::Automatic,
                                                               .pipeline_cache_folder = folder}));
        ASSERT_OK(own.pipeline(kernels::kNoiseI32, {}));
    }
    ASSERT_OK_AND_ASSIGN(const auto bytes, read_file(file, 1U << 26U));
    ASSERT_OK_AND_ASSIGN(const auto payload, decode_pipeline_file(info, bytes));
    EXPECT_GE(payload.size(), 32U);  // Vulkan's own header at least
    std::filesystem::remove_all(folder);
}

TEST_P(logical_device, findings_stay_where_they_are) {
    ASSERT_OK_AND_ASSIGN(const Device own, Device::create(yolk::testing::instance(), device_index(device_name())));
    const DeviceFindings& before = own.findings();
    EXPECT_FALSE(before.loop_limit.has_value());
    own.set_findings({.loop_limit = 65535, .inexact_reason = "why"});
    EXPECT_FALSE(before.loop_limit.has_value());  // a reader of the old ones is not disturbed
    EXPECT_EQ(own.findings().loop_limit, 65535U);
    EXPECT_EQ(own.findings().inexact_reason, "why");
}

TEST_P(logical_device, outlives_its_instance) {
    std::optional<Device> own;
    {
        ASSERT_OK_AND_ASSIGN(const Instance short_lived, Instance::create());
        const std::uint32_t index = device_index(device_name());
        ASSERT_OK_AND_ASSIGN(own, Device::create(short_lived, index));
    }
    EXPECT_OK(own->create_buffer({.size_bytes = 16, .label = "late"}));
}

TEST(logical_device_choice, beyond_the_last_is_refused) {
    const auto count = static_cast<std::uint32_t>(yolk::testing::instance().devices().size());
    EXPECT_TRUE(expect_error(Device::create(yolk::testing::instance(), count), ErrorKind::BadInput,
                             "There is no device " + std::to_string(count)));
}

TEST(cache_folder, follows_the_first_variable_that_is_set) {
    const Variable home("HOME", "/h");
    const Variable xdg("XDG_CACHE_HOME", nullptr);
    const Variable yolk("YOLK_CACHE", nullptr);
    EXPECT_EQ(default_cache_folder(), "/h/.cache/yolk");
    {
        const Variable relative("XDG_CACHE_HOME", "relative");
        EXPECT_EQ(default_cache_folder(), "/h/.cache/yolk");
    }
    const Variable absolute("XDG_CACHE_HOME", "/x");
    EXPECT_EQ(default_cache_folder(), "/x/yolk");
    {
        const Variable own("YOLK_CACHE", "/y");
        EXPECT_EQ(default_cache_folder(), "/y");
    }
    const Variable empty("YOLK_CACHE", "");
    EXPECT_EQ(default_cache_folder(), "/x/yolk");
    const Variable no_xdg("XDG_CACHE_HOME", "");
    const Variable no_home("HOME", nullptr);
    EXPECT_EQ(default_cache_folder(), "");
}

}  // namespace
}  // namespace yolk
