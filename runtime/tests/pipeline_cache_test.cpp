// SPDX-License-Identifier: Apache-2.0
#include "pipeline_cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "fake_driver.hpp"
#include "pipeline_file.hpp"
#include "yolk/internal/abi/probe.h"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/default_constants.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;
using Constants = std::vector<SpecConstant>;

/// An empty folder, gone at the end.
class Folder {
   public:
    explicit Folder(const std::string& name)
        : path_(std::filesystem::temp_directory_path() / ("yolk_" + name + "_" + std::to_string(::getpid()))) {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

   private:
    std::filesystem::path path_;
};

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// Opens a cache on `folder`; returns what the log said meanwhile.
std::string open_and_listen(PipelineCache& cache, const std::filesystem::path& folder) {
    ::testing::internal::CaptureStderr();
    const Result<void> opened = cache.open(folder);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_OK(opened);
    return said;
}

const KernelModule& noise() { return kernels::kNoiseI32; }

TEST(pipeline_cache, file_survives_a_round_trip) {
    const FakeDriver driver;
    const DeviceInfo& info = driver.context.info;
    for (const std::string_view text : {"", "x", "a driver's bytes"}) {
        const auto decoded = decode_pipeline_file(info, encode_pipeline_file(info, bytes_of(text)));
        ASSERT_OK(decoded);
        EXPECT_EQ(*decoded, bytes_of(text));
    }
}

TEST(pipeline_cache, file_is_refused_at_every_length_and_with_every_byte_changed) {
    const FakeDriver driver;
    const DeviceInfo& info = driver.context.info;
    const std::vector<std::byte> whole = encode_pipeline_file(info, bytes_of("a driver's bytes"));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_FALSE(decode_pipeline_file(info, std::span(whole).first(length)).has_value()) << length;
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::vector<std::byte> damaged = whole;
        damaged[i] ^= std::byte{1};
        EXPECT_FALSE(decode_pipeline_file(info, damaged).has_value()) << i;
    }
}

TEST(pipeline_cache, file_of_another_driver_or_device_is_told_apart) {
    const FakeDriver driver;
    const auto file = encode_pipeline_file(driver.context.info, bytes_of("bytes"));
    DeviceInfo updated = driver.context.info;
    updated.driver_version = 8;
    EXPECT_TRUE(expect_error(decode_pipeline_file(updated, file), ErrorKind::BadInput, "another device or driver"));
    EXPECT_NE(pipeline_file_name(updated), pipeline_file_name(driver.context.info));
    DeviceInfo other = driver.context.info;
    other.uuid = "ff0102030405060708090a0b0c0d0e0f";
    EXPECT_TRUE(expect_error(decode_pipeline_file(other, file), ErrorKind::BadInput, "another device or driver"));
    EXPECT_NE(pipeline_file_name(other), pipeline_file_name(driver.context.info));
}

/// What a real driver's data begins with, for `device`, and then `more` bytes.
std::vector<std::byte> driver_data(const DeviceInfo& device, std::size_t more) {
    const VkPipelineCacheHeaderVersionOne header{.headerSize = sizeof(VkPipelineCacheHeaderVersionOne),
                                                 .headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE,
                                                 .vendorID = device.vendor_id,
                                                 .deviceID = device.device_id};
    std::vector<std::byte> data(sizeof(header) + more);
    std::memcpy(data.data(), &header, sizeof(header));
    for (std::size_t i = sizeof(header); i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37 >> 3U & 255U);
    return data;
}

// RADV's device UUID is that of the slot, so it does not tell two cards apart; the driver's own header does.
TEST(pipeline_cache, file_of_another_card_in_the_same_slot_is_told_apart) {
    FakeDriver driver;
    DeviceInfo& navi31 = driver.context.info;
    navi31.vendor_id = 0x1002;
    navi31.device_id = 0x744C;
    DeviceInfo vega10 = navi31;
    vega10.device_id = 0x687F;
    const auto file = encode_pipeline_file(vega10, driver_data(vega10, 1000));
    EXPECT_OK(decode_pipeline_file(vega10, file));
    EXPECT_TRUE(expect_error(decode_pipeline_file(navi31, file), ErrorKind::BadInput, "another device or driver"));
    EXPECT_NE(pipeline_file_name(vega10), pipeline_file_name(navi31));
    // Under its name all the same, it is ignored with a notice, and replaced by the first save.
    const Folder folder("other_card");
    const std::filesystem::path path = folder.path() / pipeline_file_name(navi31);
    ASSERT_OK(write_file_atomically(path, file));
    driver.cache_data = driver_data(navi31, 500);
    PipelineCache cache(driver.context);
    EXPECT_NE(open_and_listen(cache, folder.path()).find("another device or driver"), std::string::npos);
    EXPECT_TRUE(driver.initial_data.empty());
    ASSERT_OK_AND_ASSIGN(const auto untouched, read_file(path, file.size()));
    EXPECT_EQ(untouched, file);
    ASSERT_OK(cache.get(noise(), {}));
    ASSERT_OK(cache.save());
    ASSERT_OK_AND_ASSIGN(const auto written, read_file(path, file.size()));
    EXPECT_EQ(written, encode_pipeline_file(navi31, driver.cache_data));
}

// NVK's data is 39 KB a pipeline (Mesa 26.1.6), so 20 MB are those of about 500.
TEST(pipeline_cache, large_data_survives_a_round_trip) {
    const Folder folder("large");
    FakeDriver driver;
    driver.cache_data = driver_data(driver.context.info, 20'000'001);
    {
        PipelineCache cache(driver.context);
        ASSERT_OK(cache.open(folder.path()));
        ASSERT_OK(cache.get(noise(), {}));
        ASSERT_OK(cache.save());
    }
    PipelineCache cache(driver.context);
    EXPECT_EQ(open_and_listen(cache, folder.path()), "");
    EXPECT_TRUE(driver.initial_data == driver.cache_data);
}

TEST(pipeline_cache, of_more_than_a_file_may_hold_what_fits_is_kept) {
    const Folder folder("too_large");
    FakeDriver driver;
    driver.cache_data = driver_data(driver.context.info, 5000);
    constexpr std::size_t kMost = 1000;
    {
        PipelineCache cache(driver.context, PipelineCapture::Nothing, kMost);
        ASSERT_OK(cache.open(folder.path()));
        ASSERT_OK(cache.get(noise(), {}));
        ASSERT_OK(cache.save());
    }
    EXPECT_EQ(std::filesystem::file_size(folder.path() / pipeline_file_name(driver.context.info)), kMost);
    PipelineCache cache(driver.context, PipelineCapture::Nothing, kMost);
    EXPECT_EQ(open_and_listen(cache, folder.path()), "");
    const std::span<const std::byte> all(driver.cache_data);
    EXPECT_TRUE(std::ranges::equal(driver.initial_data, all.first(kMost - kPipelineFileHeaderBytes)));
}

TEST(pipeline_cache, hands_the_driver_what_it_saved) {
    const Folder folder("saved");
    FakeDriver driver;
    driver.cache_data = bytes_of("compiled");
    {
        PipelineCache cache(driver.context);
        ASSERT_OK(cache.open(folder.path() / "made" / "on demand"));
        EXPECT_TRUE(driver.initial_data.empty());
        EXPECT_OK(cache.save());  // nothing made yet
        EXPECT_FALSE(std::filesystem::exists(folder.path() / "made"));
        ASSERT_OK(cache.get(noise(), {}));
        EXPECT_OK(cache.save());
    }
    PipelineCache cache(driver.context);
    EXPECT_EQ(open_and_listen(cache, folder.path() / "made" / "on demand"), "");
    EXPECT_EQ(driver.initial_data, bytes_of("compiled"));
}

/// Allows this number of pipelines.
struct CountingWatch final : CompileWatch {
    int allowed = 0, begun = 0, done = 0;
    std::string last;
    bool begins(std::string_view kernel) override {
        last = kernel;
        return begun++ < allowed;
    }
    void ended() override { ++done; }
};

TEST(pipeline_cache, watch_is_told_of_what_is_made_and_may_refuse_it) {
    const FakeDriver driver;
    PipelineCache cache(driver.context);
    ASSERT_OK(cache.open({}));
    const auto watch = std::make_shared<CountingWatch>();
    watch->allowed = 1;
    cache.watch(watch);
    ASSERT_OK(cache.get(noise(), {}));
    ASSERT_OK(cache.get(noise(), {}));  // there already
    EXPECT_EQ(watch->begun, 1);
    EXPECT_EQ(watch->done, 1);
    EXPECT_EQ(watch->last, noise().name);
    const Constants other{{0, 32}};
    EXPECT_TRUE(expect_error(cache.get(noise(), other), ErrorKind::Cancelled, "was not compiled"));
    EXPECT_EQ(watch->done, 1);
    cache.watch(nullptr);
    EXPECT_OK(cache.get(noise(), other));  // the refusal leaves nothing behind
}

TEST(pipeline_cache, writes_only_what_changed) {
    const Folder folder("changed");
    FakeDriver driver;
    driver.cache_data = bytes_of("one");
    PipelineCache cache(driver.context);
    ASSERT_OK(cache.open(folder.path()));
    const std::filesystem::path file = folder.path() / pipeline_file_name(driver.context.info);
    ASSERT_OK(cache.get(noise(), {}));
    ASSERT_OK(cache.save());
    std::filesystem::remove(file);
    ASSERT_OK(cache.get(noise(), Constants{{0, 32}}));
    ASSERT_OK(cache.save());  // the driver's data is as before
    EXPECT_FALSE(std::filesystem::exists(file));
    driver.cache_data = bytes_of("one and another");
    ASSERT_OK(cache.get(noise(), Constants{{0, 16}}));
    ASSERT_OK(cache.save());
    EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(pipeline_cache, ignores_a_torn_or_foreign_file_with_a_notice) {
    const Folder folder("torn");
    FakeDriver driver;
    driver.cache_data = bytes_of("compiled");
    const std::filesystem::path file = folder.path() / pipeline_file_name(driver.context.info);
    const std::vector<std::byte> good = encode_pipeline_file(driver.context.info, driver.cache_data);
    const struct {
        std::vector<std::byte> bytes;
        const char* reason;
    } cases[] = {{{}, "too few for a header"},
                 {std::vector<std::byte>(good.begin(), good.end() - 1), "it is torn"},
                 {std::vector<std::byte>(200, std::byte{'A'}), "not a pipeline cache of Yolk"}};
    for (const auto& [bytes, reason] : cases) {
        ASSERT_OK(write_file_atomically(file, bytes));
        PipelineCache cache(driver.context);
        const std::string said = open_and_listen(cache, folder.path());
        EXPECT_NE(said.find(reason), std::string::npos) << said;
        EXPECT_NE(said.find(file.string()), std::string::npos) << said;
        EXPECT_TRUE(driver.initial_data.empty());
        // And replaces it.
        ASSERT_OK(cache.get(noise(), {}));
        ASSERT_OK(cache.save());
        ASSERT_OK_AND_ASSIGN(const auto written, read_file(file, 1000));
        EXPECT_EQ(written, good);
    }
}

TEST(pipeline_cache, works_without_a_folder_that_can_be_written) {
    const Folder folder("unwritable");
    FakeDriver driver;
    driver.cache_data = bytes_of("compiled");
    const std::filesystem::path file = folder.path() / "a file";
    std::ofstream(file) << "not a folder";
    PipelineCache cache(driver.context);
    ASSERT_OK(cache.open(file / "cache"));
    ASSERT_OK(cache.get(noise(), {}));
    EXPECT_TRUE(expect_error(cache.save(), ErrorKind::Io, file.string()));
}

TEST(pipeline_cache, makes_one_pipeline_per_kernel_and_constants) {
    FakeDriver driver;
    PipelineCache cache(driver.context);
    ASSERT_OK_AND_ASSIGN(const Pipeline* const first, cache.get(noise(), Constants{{0, 64}, {1, 2}}));
    ASSERT_OK_AND_ASSIGN(const Pipeline* const reordered, cache.get(noise(), Constants{{1, 2}, {0, 64}}));
    EXPECT_EQ(first, reordered);
    ASSERT_OK_AND_ASSIGN(const Pipeline* const other, cache.get(noise(), Constants{{0, 64}, {1, 3}}));
    EXPECT_NE(first, other);
    ASSERT_OK_AND_ASSIGN(const Pipeline* const floats, cache.get(kernels::kNoiseF32, Constants{{0, 64}, {1, 2}}));
    EXPECT_NE(first, floats);
    EXPECT_EQ(first->layout, floats->layout);  // same bindings, same size of parameters
    EXPECT_EQ(driver.compilations, 3);
}

TEST(pipeline_cache, makes_a_pipeline_once_for_many_threads) {
    FakeDriver driver;
    {
        PipelineCache cache(driver.context);
        std::array<std::array<const Pipeline*, 20>, 4> got{};
        std::vector<std::thread> threads;
        for (auto& mine : got) {
            threads.emplace_back([&cache, &mine] {
                for (std::uint32_t i = 0; i < mine.size(); ++i) mine[i] = *cache.get(noise(), Constants{{0, i}});
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (const auto& mine : got) EXPECT_EQ(mine, got[0]);
        EXPECT_EQ(driver.compilations, 20);
    }
    EXPECT_EQ(driver.living_objects, 0);
}

TEST(pipeline_cache, lets_temporary_pipelines_go) {
    FakeDriver driver;
    PipelineCache cache(driver.context);
    ASSERT_OK_AND_ASSIGN(const Pipeline* const kept, cache.get(noise(), Constants{{0, 64}}));
    const int before = driver.living_objects;
    ASSERT_OK(cache.begin_temporary());
    EXPECT_TRUE(expect_error(cache.begin_temporary(), ErrorKind::BadInput, "open already"));
    EXPECT_EQ(driver.living_objects, before + 1);  // the driver's cache
    EXPECT_EQ(*cache.get(noise(), Constants{{0, 64}}), kept);
    ASSERT_OK_AND_ASSIGN(const Pipeline* const temporary, cache.get(noise(), Constants{{0, 32}}));
    EXPECT_EQ(*cache.get(noise(), Constants{{0, 32}}), temporary);
    EXPECT_EQ(temporary->layout, kept->layout);
    EXPECT_EQ(driver.compilations, 2);
    // Another thread's are kept, the same kernel and constants among them.
    const Pipeline* of_another = nullptr;
    std::thread([&] { of_another = *cache.get(noise(), Constants{{0, 16}}); }).join();
    std::thread([&] { EXPECT_NE(*cache.get(noise(), Constants{{0, 32}}), temporary); }).join();
    EXPECT_EQ(driver.living_objects, before + 4);
    cache.end_temporary();
    EXPECT_EQ(driver.living_objects, before + 2);
    EXPECT_EQ(*cache.get(noise(), Constants{{0, 16}}), of_another);
    EXPECT_EQ(driver.compilations, 4);
    ASSERT_OK(cache.get(noise(), Constants{{0, 128}}));
    EXPECT_EQ(driver.living_objects, before + 3);
}

TEST(pipeline_cache, no_file_keeps_temporary_pipelines) {
    const Folder folder("temporary");
    FakeDriver driver;
    driver.cache_data = bytes_of("compiled");
    PipelineCache cache(driver.context);
    ASSERT_OK(cache.open(folder.path()));
    ASSERT_OK(cache.begin_temporary());
    ASSERT_OK(cache.get(noise(), {}));
    cache.end_temporary();
    EXPECT_OK(cache.save());
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// The validation layer may judge types of matrices by the defaults of specialization constants (docs/quirks.md).
TEST(pipeline_cache, a_module_with_matrices_has_its_constants_as_defaults) {
    FakeDriver driver;
    DeviceFeatures& has = driver.context.info.features;
    has.shader_float16 = has.vulkan_memory_model = has.cooperative_matrix_khr = true;
    PipelineCache cache(driver.context);
    const KernelModule& kernel = kernels::kProbeCooperativeKhr;
    const Constants constants{{abi::probe::kSpecShapeM, 16}, {abi::probe::kSpecShapeK, 32}};
    ASSERT_OK(cache.get(kernel, constants));
    EXPECT_EQ(driver.code, with_default_constants(kernel.spirv, constants));
    EXPECT_FALSE(std::ranges::equal(driver.code, kernel.spirv));
    ASSERT_OK(cache.get(noise(), Constants{{0, 64}}));
    EXPECT_TRUE(std::ranges::equal(driver.code, noise().spirv)) << "as it is in the catalogue";
}

TEST(pipeline_cache, tries_again_after_a_failure) {
    FakeDriver driver;
    driver.compile_result = VK_ERROR_OUT_OF_HOST_MEMORY;
    PipelineCache cache(driver.context);
    EXPECT_TRUE(expect_error(cache.get(noise(), Constants{{0, 64}}), ErrorKind::OutOfMemory, "[noise_i32] with 0=64"));
    driver.compile_result = VK_SUCCESS;
    EXPECT_OK(cache.get(noise(), Constants{{0, 64}}));
}

TEST(pipeline_cache, refuses_kernels_that_the_device_cannot_take) {
    FakeDriver driver;
    PipelineCache cache(driver.context);
    KernelModule kernel = noise();
    kernel.params_bytes = 132;
    EXPECT_TRUE(expect_error(cache.get(kernel, {}), ErrorKind::Unsupported, "132 bytes of parameters"));
    kernel = noise();
    kernel.binding_count = 9;
    EXPECT_TRUE(expect_error(cache.get(kernel, {}), ErrorKind::Unsupported, "9 bindings"));
    kernel = noise();
    kernel.spirv = {};
    EXPECT_TRUE(expect_error(cache.get(kernel, {}), ErrorKind::BadInput, "no code"));
    EXPECT_TRUE(expect_error(cache.get(noise(), Constants{{3, 1}, {3, 2}}), ErrorKind::BadInput, "constant 3"));
    EXPECT_EQ(driver.compilations, 0);
}

}  // namespace
}  // namespace yolk
