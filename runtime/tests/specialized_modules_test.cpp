// SPDX-License-Identifier: Apache-2.0
#include "specialized_modules.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
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
using Modules = std::vector<SpecializedModule>;
using Words = std::vector<std::uint32_t>;

constexpr std::uint64_t kSpecializer = 5;
const Modules kThree{{{1, 2}, {7, 8, 9}}, {{1, 3}, {}}, {{4, 2}, {10}}};

TEST(specialized_modules, file_survives_a_round_trip) {
    for (const Modules& modules : {kThree, Modules{}}) {
        const auto decoded = decode_module_file(kSpecializer, encode_module_file(kSpecializer, modules));
        ASSERT_OK(decoded);
        EXPECT_EQ(*decoded, modules);
    }
}

TEST(specialized_modules, file_is_refused_at_every_length_and_with_every_byte_changed) {
    const std::vector<std::byte> whole = encode_module_file(kSpecializer, kThree);
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(decode_module_file(kSpecializer, std::span(whole).first(length)).has_value()) << length;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::vector<std::byte> damaged = whole;
        damaged[i] ^= std::byte{1};
        const auto decoded = decode_module_file(kSpecializer, damaged);
        // Bytes 16 to 23 say which specializer it was: another one, for all that can be told.
        EXPECT_EQ(decoded.has_value(), i / 8 == 2) << i;
        if (decoded) {
            EXPECT_THAT(*decoded, IsEmpty());
        }
    }
    EXPECT_TRUE(expect_error(decode_module_file(kSpecializer, std::vector<std::byte>(100)), ErrorKind::BadInput,
                             "not a file of Yolk's specialized modules"));
}

TEST(specialized_modules, lengths_that_do_not_fit_are_refused_though_the_hash_is_right) {
    std::vector<std::byte> file = encode_module_file(kSpecializer, kThree);
    constexpr std::size_t kHash = 32, kPayload = 40, kFirstWords = kPayload + 16;
    for (const std::uint64_t words : {std::uint64_t{4}, std::uint64_t{1000}, UINT64_MAX, UINT64_MAX / 4 + 2}) {
        std::memcpy(file.data() + kFirstWords, &words, sizeof(words));
        const std::uint64_t hash = hash64(std::span(file).subspan(kPayload));
        std::memcpy(file.data() + kHash, &hash, sizeof(hash));
        EXPECT_TRUE(expect_error(decode_module_file(kSpecializer, file), ErrorKind::BadInput, "torn")) << words;
    }
}

TEST(specialized_modules, another_specializers_are_not_taken) {
    const auto decoded = decode_module_file(kSpecializer + 1, encode_module_file(kSpecializer, kThree));
    ASSERT_OK(decoded);
    EXPECT_THAT(*decoded, IsEmpty());
}

TEST(specialized_modules, what_does_not_fit_is_left_out) {
    const Modules large_second{kThree[1], kThree[0], kThree[2]};
    const Modules others{kThree[1], kThree[2]};
    const std::size_t most = encode_module_file(kSpecializer, others).size();
    const auto decoded = decode_module_file(kSpecializer, encode_module_file(kSpecializer, large_second, most));
    ASSERT_OK(decoded);
    EXPECT_EQ(*decoded, others);
}

// --- A folder, and processes one after the other and side by side
// ------------------------------------------------------

/// Small tiles: SPIRV-Tools takes 10 ms.
const KernelModule& unrolled_kernel() { return kernels::kMatmulDirectExact; }
std::array<SpecConstant, 2> constants_of(std::uint32_t tile) {
    return {{{abi::matmul::kSpecTileM, 1}, {abi::matmul::kSpecTileN, tile}}};
}
std::uint64_t hash_of(const KernelModule& kernel) { return hash64(std::as_bytes(kernel.spirv)); }
ModuleKey key_of(std::span<const SpecConstant> constants) {
    return {.spirv = hash_of(unrolled_kernel()), .constants = hash64(std::as_bytes(constants))};
}

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
        EXPECT_OK(modules.save());
    }
    Modules read() {
        const auto bytes = read_file(file(), kMaxModuleFileBytes);
        EXPECT_OK(bytes);
        auto decoded = decode_module_file(specializer_fingerprint(), bytes ? *bytes : std::vector<std::byte>());
        EXPECT_OK(decoded);
        return decoded ? *std::move(decoded) : Modules{};
    }
    [[nodiscard]] std::filesystem::path file() const { return folder_ / "specialized-modules.bin"; }

    std::filesystem::path folder_;
};

Words specialized(std::uint32_t tile) { return specialize(unrolled_kernel(), constants_of(tile)).value_or(Words{}); }

TEST_F(specialized_module_file, has_what_specialize_gives) {
    process({1, 2});
    for (const SpecializedModule& module : read()) {
        const bool is_first = module.key == key_of(constants_of(1));
        EXPECT_TRUE(is_first || module.key == key_of(constants_of(2)));
        EXPECT_EQ(module.code, specialized(is_first ? 1 : 2));
    }
    EXPECT_EQ(read().size(), 2U);
}

TEST_F(specialized_module_file, is_taken_in_place_of_specializing_for_its_key_alone) {
    const Words planted{1, 2, 3};
    ASSERT_OK(create_folders(folder_));
    ASSERT_OK(write_file_atomically(
        file(), encode_module_file(specializer_fingerprint(), Modules{{key_of(constants_of(1)), planted}})));
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
    const Modules whole = read();
    auto bytes = read_file(file(), kMaxModuleFileBytes);
    ASSERT_OK(bytes);
    bytes->resize(bytes->size() / 2);
    ASSERT_OK(write_file_atomically(file(), *bytes));
    ::testing::internal::CaptureStderr();
    process({1});
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("is ignored: it is torn"));
    EXPECT_EQ(read(), whole);
}

TEST_F(specialized_module_file, is_not_written_for_what_it_has_or_is_not_to_keep) {
    {
        SpecializedModules modules;
        modules.open(folder_);
        EXPECT_EQ(get(modules, 1, false), specialized(1));
        EXPECT_OK(modules.save());
        EXPECT_FALSE(std::filesystem::exists(file()));
    }
    process({1});
    const auto written = std::filesystem::last_write_time(file());
    process({1});
    EXPECT_EQ(std::filesystem::last_write_time(file()), written);
    SpecializedModules without_folder;
    EXPECT_EQ(get(without_folder, 1), specialized(1));
    EXPECT_OK(without_folder.save());
}

TEST_F(specialized_module_file, of_two_processes_at_once_has_the_modules_of_both) {
    SpecializedModules one;
    SpecializedModules other;
    one.open(folder_);
    other.open(folder_);
    get(one, 1);
    get(other, 2);
    ASSERT_OK(one.save());
    ASSERT_OK(other.save());
    EXPECT_EQ(read().size(), 2U);
}

TEST_F(specialized_module_file, begins_with_what_was_asked_for) {
    process({1, 2});
    process({2, 4});
    const Modules modules = read();
    ASSERT_EQ(modules.size(), 3U);
    EXPECT_EQ(modules[2].key, key_of(constants_of(1))) << "the first to go where there are too many";
}

TEST_F(specialized_module_file, of_threads_that_write_at_once_is_whole) {
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int round = 0; round < 3; ++round) process({1U << t % 3U, 8});
        });
    }
    for (std::thread& thread : threads) thread.join();
    process({1, 2, 4, 8});
    EXPECT_EQ(read().size(), 4U);
}

TEST_F(specialized_module_file, is_of_pipelines_that_are_kept) {
    FakeDriver driver;
    {
        PipelineCache inspecting(driver.context, PipelineCapture::Statistics);
        ASSERT_OK(inspecting.open(folder_));
        ASSERT_OK(inspecting.get(unrolled_kernel(), constants_of(1)));
        ASSERT_OK(inspecting.save());
        EXPECT_FALSE(std::filesystem::exists(file()));
    }
    PipelineCache cache(driver.context);
    ASSERT_OK(cache.open(folder_));
    ASSERT_OK(cache.begin_temporary());
    ASSERT_OK(cache.get(unrolled_kernel(), constants_of(1)));
    cache.end_temporary();
    ASSERT_OK(cache.get(unrolled_kernel(), constants_of(2)));
    ASSERT_OK(cache.save());
    const Modules modules = read();
    ASSERT_EQ(modules.size(), 1U);
    EXPECT_EQ(modules[0].key, key_of(constants_of(2)));
}

}  // namespace
}  // namespace yolk
