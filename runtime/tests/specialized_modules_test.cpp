// SPDX-License-Identifier: Apache-2.0
#include "specialized_modules.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "fake_driver.hpp"
#include "pipeline_cache.hpp"
#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/specialize.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using yolk::testing::expect_error;
using Words = std::vector<std::uint32_t>;

const Words kThree{7, 8, 9};

TEST(specialized_modules, file_survives_a_round_trip) {
    for (const Words& code : {kThree, Words{}}) {
        ASSERT_OK_AND_ASSIGN(const Words decoded, decode_module(encode_module(code)));
        EXPECT_EQ(decoded, code);
    }
}

TEST(specialized_modules, file_is_refused_at_every_length_and_with_every_byte_changed) {
    const std::vector<std::byte> whole = encode_module(kThree);
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(decode_module(std::span(whole).first(length)).has_value()) << length;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::vector<std::byte> damaged = whole;
        damaged[i] ^= std::byte{1};
        EXPECT_FALSE(decode_module(damaged).has_value()) << i;
    }
    EXPECT_TRUE(expect_error(decode_module(std::vector<std::byte>(100)), ErrorKind::BadInput,
                             "not a file of a specialized module"));
}

// --- A folder, and processes one after the other and side by side
// ------------------------------------------------------

/// Small tiles: SPIRV-Tools takes 10 ms.
const KernelModule& unrolled_kernel() { return kernels::kMatmulDirectExact; }
std::array<SpecConstant, 2> constants_of(std::uint32_t tile) {
    return {{{abi::matmul::kSpecTileM, 1}, {abi::matmul::kSpecTileN, tile}}};
}
std::uint64_t hash_of(const KernelModule& kernel) { return hash64(std::as_bytes(kernel.spirv)); }
class specialized_module_file : public ::testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk_modules_" + std::to_string(::getpid()));
        std::filesystem::remove_all(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    static Words get(SpecializedModules& modules, std::uint32_t tile, bool keep = true) {
        auto code = modules.get(unrolled_kernel(), hash_of(unrolled_kernel()), constants_of(tile), keep);
        EXPECT_OK(code);
        return code ? *std::move(code) : Words{};
    }
    /// A process that asks for these tiles and ends.
    void process(std::initializer_list<std::uint32_t> tiles) {
        SpecializedModules modules;
        modules.open(folder_);
        for (const std::uint32_t tile : tiles) get(modules, tile);
        modules.prune();
    }
    [[nodiscard]] std::filesystem::path file(std::uint32_t tile) const {
        SpecializedModules modules;
        modules.open(folder_);
        return modules.file_of(hash_of(unrolled_kernel()), constants_of(tile));
    }
    /// The module in the file of a tile; empty where there is none.
    [[nodiscard]] Words read(std::uint32_t tile) const {
        if (!std::filesystem::exists(file(tile))) return {};
        const auto bytes = read_file(file(tile), kMostModuleBytes);
        EXPECT_OK(bytes);
        const auto code = decode_module(bytes ? *bytes : std::vector<std::byte>());
        EXPECT_OK(code);
        return code ? *code : Words{};
    }
    [[nodiscard]] std::ptrdiff_t file_count() const {
        std::error_code none;
        const std::filesystem::directory_iterator files(folder_ / "specialized", none);
        return none ? 0 : std::distance(begin(files), end(files));
    }

    std::filesystem::path folder_;
};

Words specialized(std::uint32_t tile) { return specialize(unrolled_kernel(), constants_of(tile)).value_or(Words{}); }

TEST_F(specialized_module_file, has_what_specialize_gives) {
    process({1, 2});
    EXPECT_EQ(read(1), specialized(1));
    EXPECT_EQ(read(2), specialized(2));
    EXPECT_EQ(file_count(), 2);
}

TEST_F(specialized_module_file, is_taken_in_place_of_specializing_for_its_key_alone) {
    const Words planted{1, 2, 3};
    ASSERT_OK(create_folders(folder_ / "specialized"));
    ASSERT_OK(write_file_atomically(file(1), encode_module(planted)));
    SpecializedModules modules;
    modules.open(folder_);
    EXPECT_EQ(get(modules, 1), planted);
    EXPECT_EQ(get(modules, 2), specialized(2));
    auto other = modules.get(unrolled_kernel(), 5, constants_of(1), true);  // another module, by its hash
    ASSERT_OK(other);
    EXPECT_EQ(*other, specialized(1));
}

TEST_F(specialized_module_file, that_is_damaged_is_said_and_replaced) {
    process({1});
    auto bytes = read_file(file(1), kMostModuleBytes);
    ASSERT_OK(bytes);
    bytes->resize(bytes->size() / 2);
    ASSERT_OK(write_file_atomically(file(1), *bytes));
    ::testing::internal::CaptureStderr();
    process({1});
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("is made anew: it is torn"));
    EXPECT_EQ(read(1), specialized(1));
}

TEST_F(specialized_module_file, is_not_written_for_what_it_has_or_is_not_to_keep) {
    {
        SpecializedModules modules;
        modules.open(folder_);
        EXPECT_EQ(get(modules, 1, false), specialized(1));
        EXPECT_EQ(file_count(), 0);
    }
    process({1});
    const auto written = std::filesystem::last_write_time(file(1));
    process({1});
    EXPECT_EQ(std::filesystem::last_write_time(file(1)), written);
    SpecializedModules without_folder;
    EXPECT_EQ(get(without_folder, 1), specialized(1));
}

TEST_F(specialized_module_file, that_cannot_be_written_is_said_and_made) {
    ASSERT_OK(write_file_atomically(folder_, "no folder"));
    ::testing::internal::CaptureStderr();
    SpecializedModules modules;
    modules.open(folder_);
    EXPECT_EQ(get(modules, 1), specialized(1));
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("The next process makes this specialized module anew."));
}

TEST_F(specialized_module_file, goes_where_there_are_too_many_and_nobody_has_used_it_for_long) {
    process({1, 2, 4});
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(file(1), now - std::chrono::hours(72));
    std::filesystem::last_write_time(file(2), now - std::chrono::hours(48));
    std::filesystem::last_write_time(file(4), now - std::chrono::hours(24));
    process({1});  // is the last to be used now
    std::uint64_t all = 0;
    for (const std::uint32_t tile : {1U, 2U, 4U, 8U}) all += encode_module(specialized(tile)).size();
    SpecializedModules modules;
    modules.open(folder_, all - 1);
    get(modules, 8);
    modules.prune();
    EXPECT_THAT(read(2), IsEmpty());
    EXPECT_EQ(read(1), specialized(1));
    EXPECT_EQ(read(8), specialized(8));
    EXPECT_LT(file_count(), 4);
}

TEST_F(specialized_module_file, of_threads_that_write_at_once_is_whole) {
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int round = 0; round < 3; ++round) process({1U << t % 3U, 8});
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::uint32_t tile : {1U, 2U, 4U, 8U}) EXPECT_EQ(read(tile), specialized(tile));
    EXPECT_EQ(file_count(), 4);
}

TEST_F(specialized_module_file, is_of_pipelines_that_are_kept) {
    FakeDriver driver;
    {
        PipelineCache inspecting(driver.context, PipelineCapture::Statistics);
        ASSERT_OK(inspecting.open(folder_));
        ASSERT_OK(inspecting.get(unrolled_kernel(), constants_of(1)));
        ASSERT_OK(inspecting.save());
        EXPECT_EQ(file_count(), 0);
    }
    PipelineCache cache(driver.context);
    ASSERT_OK(cache.open(folder_));
    ASSERT_OK(cache.begin_temporary());
    ASSERT_OK(cache.get(unrolled_kernel(), constants_of(1)));
    cache.end_temporary();
    ASSERT_OK(cache.get(unrolled_kernel(), constants_of(2)));
    ASSERT_OK(cache.save());
    EXPECT_EQ(file_count(), 1);
    EXPECT_EQ(read(2), specialized(2));
}

// A report has what a driver would be given, which is what was kept.
TEST_F(specialized_module_file, is_of_pipelines_whose_code_is_read) {
    FakeDriver driver;
    PipelineCache reading(driver.context, PipelineCapture::Code);
    ASSERT_OK(reading.open(folder_));
    reading.leave_out([](std::uint64_t) { return true; });
    ASSERT_OK(reading.get(unrolled_kernel(), constants_of(1)));
    EXPECT_EQ(read(1), specialized(1));
    PipelineCache again(driver.context, PipelineCapture::Code);
    ASSERT_OK(again.open(folder_));
    again.leave_out([](std::uint64_t) { return true; });
    ASSERT_OK(again.get(unrolled_kernel(), constants_of(1)));
    EXPECT_EQ(again.take_reports().at(0).code, specialized(1));
    EXPECT_EQ(file_count(), 1);
}

}  // namespace
}  // namespace yolk
