// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/last_level_cache.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "table_folder.hpp"

namespace yolk::autotune {
namespace {

class last_level_cache : public TableFolder {
   protected:
    void cache(int processor, int index, const char* level, const char* type, const char* size, const char* shared) {
        const auto place = folder_ / ("cpu" + std::to_string(processor)) / "cache" / ("index" + std::to_string(index));
        std::filesystem::create_directories(place);
        std::ofstream(place / "level") << level << "\n";
        std::ofstream(place / "type") << type << "\n";
        std::ofstream(place / "size") << size << "\n";
        std::ofstream(place / "shared_cpu_list") << shared << "\n";
    }
};

TEST_F(last_level_cache, counts_each_cache_of_the_highest_level_once) {
    EXPECT_FALSE(processor_cache_bytes(folder_));
    EXPECT_FALSE(processor_cache_bytes(folder_ / "missing"));
    for (int processor = 0; processor < 4; ++processor) {
        cache(processor, 0, "1", "Data", "48K", processor % 2 == 0 ? "0" : "1");
        cache(processor, 1, "1", "Instruction", "32K", "0");
        cache(processor, 3, "3", "Unified", "32768K", processor < 2 ? "0-1" : "2-3");
        cache(processor, 2, "2", "Unified", "1024K", "0");
    }
    std::filesystem::create_directories(folder_ / "cpufreq");
    EXPECT_EQ(processor_cache_bytes(folder_), std::uint64_t{64} << 20U);
    cache(0, 4, "x", "Unified", "1M", "0");
    cache(0, 5, "4", "Unified", "much", "0");
    EXPECT_EQ(processor_cache_bytes(folder_), std::uint64_t{64} << 20U);
    cache(0, 6, "4", "Unified", "96M", "0-3");
    EXPECT_EQ(processor_cache_bytes(folder_), std::uint64_t{96} << 20U);
}

TEST(buffer_sets, pass_the_cache_within_a_share_of_the_memory) {
    DeviceInfo info;
    info.heaps = {{.size_bytes = 1U << 20U}, {.size_bytes = 800, .device_local = true}};
    EXPECT_EQ(buffer_sets(1000, 10'000, info), 11U);
    EXPECT_EQ(buffer_sets(10'001, 10'000, info), 1U);  // passes it alone
    EXPECT_EQ(buffer_sets(10'000, 10'000, info), 2U);
    EXPECT_EQ(buffer_sets(1, 10'000, info), 64U);
    EXPECT_EQ(buffer_sets(100'000, 10'000'000, info), 1U);  // an eighth of a heap of a mebibyte
    EXPECT_EQ(buffer_sets(50'000, 10'000'000, info), 2U);
    EXPECT_EQ(buffer_sets(0, 10'000, info), 1U);
    EXPECT_EQ(buffer_sets(1000, 0, info), 1U);
    EXPECT_EQ(buffer_sets(1000, 10'000, DeviceInfo{}), 1U);
    info.kind = DeviceKind::Discrete;
    EXPECT_EQ(last_level_cache_bytes(info), kAssumedCacheBytes);
}

}  // namespace
}  // namespace yolk::autotune
