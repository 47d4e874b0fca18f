// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/pipeline_report.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "device_impl.hpp"
#include "fake_driver.hpp"
#include "pipeline_cache.hpp"
#include "pipeline_file.hpp"
#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/abi/noise.h"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/specialize.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using yolk::testing::expect_error;

// --- A driver with the extension, which the drivers at hand need not have -------------------------------------------

void name_it(char* to, const char* text) { std::strncpy(to, text, VK_MAX_DESCRIPTION_SIZE - 1); }

VkResult list_executables(VkDevice, const VkPipelineInfoKHR*, std::uint32_t* count,
                          VkPipelineExecutablePropertiesKHR* items) {
    *count = 1;
    if (items == nullptr) return VK_SUCCESS;
    EXPECT_EQ(items->sType, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR);
    name_it(items->name, "Compute Shader");
    items->subgroupSize = 64;
    return VK_SUCCESS;
}

VkResult list_statistics(VkDevice, const VkPipelineExecutableInfoKHR* info, std::uint32_t* count,
                         VkPipelineExecutableStatisticKHR* items) {
    EXPECT_EQ(info->executableIndex, 0U);
    *count = 4;
    if (items == nullptr) return VK_SUCCESS;
    constexpr std::array kNames{"VGPRs", "Balance", "Ratio", "Uses scratch"};
    constexpr std::array kFormats{
        VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR, VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR,
        VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR, VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        EXPECT_EQ(items[i].sType, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR);
        name_it(items[i].name, kNames.at(i));
        items[i].format = kFormats.at(i);
    }
    items[0].value.u64 = 48;
    items[1].value.i64 = -3;
    items[2].value.f64 = 0.5;
    items[3].value.b32 = VK_TRUE;
    return VK_SUCCESS;
}

VkResult list_representations(VkDevice, const VkPipelineExecutableInfoKHR*, std::uint32_t* count,
                              VkPipelineExecutableInternalRepresentationKHR* items) {
    constexpr std::string_view kText = "v_fma_f32 v0\n";
    constexpr std::array<char, 3> kBinary{'\0', 'b', '\0'};
    *count = 2;
    if (items == nullptr) return VK_SUCCESS;
    const auto fill = [](VkPipelineExecutableInternalRepresentationKHR& item, const char* data, std::size_t size) {
        if (item.pData != nullptr) std::memcpy(item.pData, data, std::min(size, item.dataSize));
        item.dataSize = size;
    };
    name_it(items[0].name, "Assembly");
    items[0].isText = VK_TRUE;
    fill(items[0], kText.data(), kText.size() + 1);
    name_it(items[1].name, "Binary");
    items[1].isText = VK_FALSE;
    fill(items[1], kBinary.data(), kBinary.size());
    return VK_SUCCESS;
}

VkResult no_statistics(VkDevice, const VkPipelineExecutableInfoKHR*, std::uint32_t*,
                       VkPipelineExecutableStatisticKHR*) {
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

class reporting_driver : public ::testing::Test {
   protected:
    reporting_driver() {
        driver_.context.info.features.pipeline_statistics = true;
        driver_.context.vk.vkGetPipelineExecutablePropertiesKHR = list_executables;
        driver_.context.vk.vkGetPipelineExecutableStatisticsKHR = list_statistics;
        driver_.context.vk.vkGetPipelineExecutableInternalRepresentationsKHR = list_representations;
    }
    FakeDriver driver_;
};

TEST_F(reporting_driver, statistics_are_kept_as_they_are) {
    PipelineCache cache(driver_.context, PipelineCapture::Statistics);
    ASSERT_OK(cache.open({}));
    ASSERT_OK(cache.get(kernels::kNoiseI32, std::array{SpecConstant{1, 7}, SpecConstant{0, 128}}));
    const std::vector<PipelineReport> reports = cache.take_reports();
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_EQ(reports[0].kernel, "noise_i32");
    EXPECT_EQ(reports[0].constants, (std::vector<SpecConstant>{{0, 128}, {1, 7}}));
    EXPECT_THAT(reports[0].refused, IsEmpty());
    ASSERT_THAT(reports[0].executables, SizeIs(1));
    const PipelineExecutable& executable = reports[0].executables[0];
    EXPECT_EQ(executable.name, "Compute Shader");
    EXPECT_EQ(executable.subgroup_size, 64U);
    EXPECT_THAT(executable.representations, IsEmpty());
    ASSERT_THAT(executable.statistics, SizeIs(4));
    EXPECT_EQ(executable.statistics[0].value, StatisticValue(std::uint64_t{48}));
    EXPECT_EQ(executable.statistics[1].value, StatisticValue(std::int64_t{-3}));
    EXPECT_EQ(executable.statistics[2].value, StatisticValue(0.5));
    EXPECT_EQ(executable.statistics[3].value, StatisticValue(true));
    EXPECT_EQ(statistic_count(executable, "VGPRs"), 48U);
    for (const char* none : {"Balance", "Ratio", "Uses scratch", "SGPRs"})
        EXPECT_EQ(statistic_count(executable, none), std::nullopt) << none;
    EXPECT_THAT(cache.take_reports(), IsEmpty()) << "reports are taken once";
    ASSERT_OK(cache.get(kernels::kNoiseI32, std::array{SpecConstant{0, 128}, SpecConstant{1, 7}}));
    EXPECT_THAT(cache.take_reports(), IsEmpty()) << "the pipeline was there already";
}

TEST_F(reporting_driver, representations_only_where_they_are_asked_for) {
    constexpr VkPipelineCreateFlags kStatistics = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    constexpr VkPipelineCreateFlags kForms = VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    const auto flags_of = [&](PipelineCapture capture) {
        PipelineCache cache(driver_.context, capture);
        EXPECT_OK(cache.open({}));
        EXPECT_OK(cache.get(kernels::kNoiseI32, {}));
        return driver_.compile_flags & (kStatistics | kForms);
    };
    EXPECT_EQ(flags_of(PipelineCapture::Nothing), 0U);
    EXPECT_EQ(flags_of(PipelineCapture::Statistics), kStatistics);
    EXPECT_EQ(flags_of(PipelineCapture::Representations), kStatistics | kForms);

    PipelineCache cache(driver_.context, PipelineCapture::Representations);
    ASSERT_OK(cache.open({}));
    ASSERT_OK(cache.get(kernels::kNoiseI32, {}));
    const std::vector<PipelineReport> reports = cache.take_reports();
    ASSERT_THAT(reports, SizeIs(1));
    const auto& forms = reports[0].executables.at(0).representations;
    ASSERT_THAT(forms, SizeIs(2));
    EXPECT_EQ(forms[0].name, "Assembly");
    EXPECT_TRUE(forms[0].is_text);
    EXPECT_EQ(forms[0].contents, "v_fma_f32 v0\n") << "without the null";
    EXPECT_FALSE(forms[1].is_text);
    EXPECT_EQ(forms[1].contents, std::string("\0b\0", 3));
}

TEST_F(reporting_driver, a_refusal_is_reported_and_stays_an_error) {
    PipelineCache cache(driver_.context, PipelineCapture::Statistics);
    ASSERT_OK(cache.open({}));
    driver_.compile_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    EXPECT_TRUE(expect_error(cache.get(kernels::kNoiseI32, {}), ErrorKind::OutOfMemory, "noise_i32"));
    const std::vector<PipelineReport> reports = cache.take_reports();
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_THAT(reports[0].refused, HasSubstr("compile the kernel [noise_i32]"));
    EXPECT_THAT(reports[0].executables, IsEmpty());
}

TEST_F(reporting_driver, statistics_that_cannot_be_read_leave_nothing_behind) {
    PipelineCache cache(driver_.context, PipelineCapture::Statistics);
    ASSERT_OK(cache.open({}));
    ASSERT_OK(cache.get(kernels::kNoiseI32, {}));
    const int living = driver_.living_objects;
    driver_.context.vk.vkGetPipelineExecutableStatisticsKHR = no_statistics;
    EXPECT_TRUE(expect_error(cache.get(kernels::kNoiseI32, std::array{SpecConstant{0, 64}}), ErrorKind::OutOfMemory,
                             "read the statistics of a pipeline on device 'fake'"));
    EXPECT_EQ(driver_.living_objects, living);
}

TEST_F(reporting_driver, code_is_what_the_driver_is_given) {
    constexpr std::array kConstants{SpecConstant{abi::noise::kSpecWorkgroupSize, 64}};
    PipelineCache cache(driver_.context, PipelineCapture::Code);
    ASSERT_OK(cache.open({}));
    ASSERT_OK(cache.get(kernels::kNoiseI32, kConstants));
    EXPECT_THAT(driver_.code, ElementsAreArray(kernels::kNoiseI32.spirv));
    EXPECT_EQ(driver_.compile_flags & VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR, 0U);
    ASSERT_OK(cache.get(kernels::kMatmulDirectExact, {}));
    const std::vector<std::uint32_t> unrolled = driver_.code;
    EXPECT_THAT(unrolled, ElementsAreArray(*specialize(kernels::kMatmulDirectExact, {})));
    cache.leave_out([](std::uint64_t) { return true; });
    const std::array other_tile{SpecConstant{abi::matmul::kSpecWorkgroupSize, 32}};
    ASSERT_OK(cache.get(kernels::kMatmulDirectExact, other_tile));
    ASSERT_OK(cache.get(kernels::kMatmulDirectExact, other_tile));
    ASSERT_OK(cache.get(kernels::kMatmulDirectFast, {}));
    EXPECT_EQ(driver_.compilations, 2) << "the others were left out";
    const std::vector<PipelineReport> reports = cache.take_reports();
    ASSERT_THAT(reports, SizeIs(4)) << "one for each pipeline";
    EXPECT_THAT(reports[0].code, ElementsAreArray(kernels::kNoiseI32.spirv));
    EXPECT_THAT(reports[0].executables, IsEmpty());
    EXPECT_EQ(reports[1].code, unrolled);
    EXPECT_THAT(reports[2].code, ElementsAreArray(*specialize(kernels::kMatmulDirectExact, other_tile)));
    EXPECT_FALSE(reports[2].tolerant);
    EXPECT_TRUE(reports[3].tolerant);

    PipelineCache other(driver_.context, PipelineCapture::Statistics);
    ASSERT_OK(other.open({}));
    ASSERT_OK(other.get(kernels::kNoiseI32, {}));
    EXPECT_THAT(other.take_reports().at(0).code, IsEmpty());
}

TEST_F(reporting_driver, inspected_pipelines_touch_no_cache) {
    const auto folder = std::filesystem::temp_directory_path() / fmt::format("yolk_inspected_{}", ::getpid());
    driver_.cache_data.resize(16);
    {
        PipelineCache cache(driver_.context, PipelineCapture::Statistics);
        ASSERT_OK(cache.open(folder));
        ASSERT_OK(cache.get(kernels::kNoiseI32, {}));
        EXPECT_EQ(driver_.compiled_with, VkPipelineCache{VK_NULL_HANDLE});
        EXPECT_OK(cache.save());
    }
    EXPECT_FALSE(std::filesystem::exists(folder));
    {
        PipelineCache cache(driver_.context);
        ASSERT_OK(cache.open(folder));
        ASSERT_OK(cache.get(kernels::kNoiseI32, {}));
        EXPECT_NE(driver_.compiled_with, VkPipelineCache{VK_NULL_HANDLE});
        EXPECT_OK(cache.save());
        EXPECT_THAT(cache.take_reports(), IsEmpty());
    }
    EXPECT_TRUE(std::filesystem::exists(folder / pipeline_file_name(driver_.context.info)));
    std::filesystem::remove_all(folder);
}

// --- The drivers at hand ---------------------------------------------------------------------------------------------

class pipeline_reports : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(pipeline_reports);

TEST_P(pipeline_reports, say_what_the_driver_says_and_what_the_kernel_declares) {
    ASSERT_OK_AND_ASSIGN(const Device own, Device::create(testing::instance(), device().info().index,
                                                          {.pipeline_capture = PipelineCapture::Statistics}));
    ASSERT_OK(own.pipeline(kernels::kNoiseI32, std::array{SpecConstant{abi::noise::kSpecWorkgroupSize, 64}}));
    const std::vector<PipelineReport> reports = own.take_pipeline_reports();
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_EQ(reports[0].kernel, "noise_i32");
    EXPECT_EQ(reports[0].workgroup_size, 64U);
    EXPECT_EQ(reports[0].declared_shared, 0U);
    EXPECT_GT(reports[0].compile_seconds, 0.0);
    EXPECT_EQ(reports[0].executables.empty(), !own.info().features.pipeline_statistics);
    EXPECT_THAT(own.take_pipeline_reports(), IsEmpty());
    EXPECT_THAT(device().take_pipeline_reports(), IsEmpty()) << "this one was not asked to keep any";
}

TEST_P(pipeline_reports, temporary_pipelines_are_compiled_and_reported_each_time) {
    ASSERT_OK_AND_ASSIGN(const Device own, Device::create(testing::instance(), device().info().index,
                                                          {.pipeline_capture = PipelineCapture::Statistics}));
    for (int round = 0; round < 2; ++round) {
        ASSERT_OK_AND_ASSIGN(const TemporaryPipelines temporary, TemporaryPipelines::begin(own));
        ASSERT_OK(own.pipeline(kernels::kNoiseI32, {}));
        EXPECT_THAT(own.take_pipeline_reports(), SizeIs(1));
    }
}

TEST_P(pipeline_reports, pipelines_that_are_left_out_are_not_compiled_and_cannot_be_bound) {
    const auto constants = std::array{SpecConstant{abi::noise::kSpecWorkgroupSize, 64}};
    const auto opened = [this](PipelineCapture capture) {
        return Device::create(testing::instance(), device().info().index, {.pipeline_capture = capture});
    };
    ASSERT_OK_AND_ASSIGN(const Device first, opened(PipelineCapture::Statistics));
    ASSERT_OK(first.pipeline(kernels::kNoiseI32, constants));
    ASSERT_OK(first.pipeline(kernels::kNoiseI32, {}));
    const std::vector<PipelineReport> reports = first.take_pipeline_reports();
    ASSERT_THAT(reports, SizeIs(2));
    EXPECT_NE(reports[0].identity, reports[1].identity);

    ASSERT_OK_AND_ASSIGN(const Device own, opened(PipelineCapture::Statistics));
    own.leave_out_pipelines([&](std::uint64_t identity) { return identity == reports[0].identity; });
    ASSERT_OK_AND_ASSIGN(const auto left_out, own.pipeline(kernels::kNoiseI32, constants));
    EXPECT_EQ(own.counts().pipelines_created, 0U);
    EXPECT_TRUE(
        expect_error(own.bind(left_out.handle, {}), ErrorKind::BadInput, "[noise_i32]: its pipeline was left out"));
    ASSERT_OK(own.pipeline(kernels::kNoiseI32, {}));
    const std::vector<PipelineReport> others = own.take_pipeline_reports();
    ASSERT_THAT(others, SizeIs(1));
    EXPECT_EQ(others[0].identity, reports[1].identity);

    ASSERT_OK_AND_ASSIGN(const Device plain, opened(PipelineCapture::Nothing));
    plain.leave_out_pipelines([&](std::uint64_t identity) { return identity == reports[0].identity; });
    ASSERT_OK(plain.pipeline(kernels::kNoiseI32, constants));
    EXPECT_EQ(plain.counts().pipelines_created, 1U) << "it is for who inspects";
}

// A handle points into the cache, and others may read it.
TEST_P(pipeline_reports, a_pipeline_that_is_left_out_is_written_once) {
    ASSERT_OK_AND_ASSIGN(const Device own, Device::create(testing::instance(), device().info().index,
                                                          {.pipeline_capture = PipelineCapture::Statistics}));
    KernelModule kernel = kernels::kNoiseI32;
    kernel.name = "a name that a string keeps on the heap";
    ASSERT_OK(own.impl()->pipelines->get(kernel, {}));
    const std::vector<PipelineReport> reports = own.take_pipeline_reports();
    ASSERT_THAT(reports, SizeIs(1));
    ASSERT_OK_AND_ASSIGN(const Device second, Device::create(testing::instance(), device().info().index,
                                                             {.pipeline_capture = PipelineCapture::Statistics}));
    second.leave_out_pipelines([&](std::uint64_t identity) { return identity == reports[0].identity; });
    ASSERT_OK_AND_ASSIGN(const Pipeline* const left_out, second.impl()->pipelines->get(kernel, {}));
    const char* const name = left_out->name.data();
    ASSERT_OK_AND_ASSIGN(const Pipeline* const again, second.impl()->pipelines->get(kernel, {}));
    EXPECT_EQ(again, left_out);
    EXPECT_EQ(again->name.data(), name);
}

}  // namespace
}  // namespace yolk
