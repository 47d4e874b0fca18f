// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/last_level_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
}

std::uint64_t mebibytes_of(std::uint32_t vendor, std::uint32_t device, DeviceKind kind = DeviceKind::Discrete) {
    DeviceInfo info;
    info.kind = kind;
    info.vendor_id = vendor;
    info.device_id = device;
    return gpu_cache_bytes(info) >> 20U;
}

TEST(gpu_cache, is_known_by_the_chip) {
    EXPECT_EQ(mebibytes_of(0x10de, 0x2330), 60U);   // H100 SXM
    EXPECT_EQ(mebibytes_of(0x10de, 0x2335), 60U);   // H200
    EXPECT_EQ(mebibytes_of(0x10de, 0x20b2), 40U);   // A100
    EXPECT_EQ(mebibytes_of(0x10de, 0x2204), 6U);    // RTX 3090
    EXPECT_EQ(mebibytes_of(0x10de, 0x1e04), 6U);    // RTX 2080 Ti
    EXPECT_EQ(mebibytes_of(0x10de, 0x2684), 96U);   // RTX 4090: 72 of the die's 96
    EXPECT_EQ(mebibytes_of(0x10de, 0x2704), 64U);   // RTX 4080
    EXPECT_EQ(mebibytes_of(0x10de, 0x2786), 48U);   // RTX 4070
    EXPECT_EQ(mebibytes_of(0x10de, 0x2882), 32U);   // RTX 4060
    EXPECT_EQ(mebibytes_of(0x10de, 0x2c02), 64U);   // RTX 5080
    EXPECT_EQ(mebibytes_of(0x1002, 0x73bf), 128U);  // RX 6900 XT
    EXPECT_EQ(mebibytes_of(0x1002, 0x73df), 96U);   // RX 6700 XT
    EXPECT_EQ(mebibytes_of(0x1002, 0x73ff), 32U);   // RX 6600
    EXPECT_EQ(mebibytes_of(0x1002, 0x744c), 96U);   // RX 7900 XTX
    EXPECT_EQ(mebibytes_of(0x1002, 0x747e), 64U);   // RX 7800 XT
    EXPECT_EQ(mebibytes_of(0x1002, 0x7480), 32U);   // RX 7600
    EXPECT_EQ(mebibytes_of(0x1002, 0x740c), 16U);   // MI250X
    EXPECT_EQ(mebibytes_of(0x1002, 0x74a1), 256U);  // MI300X
    EXPECT_EQ(mebibytes_of(0x8086, 0x56a0), 16U);   // Arc A770
    EXPECT_EQ(mebibytes_of(0x8086, 0xe20b), 18U);   // Arc B580
    EXPECT_EQ(mebibytes_of(0x8086, 0x0bd5), 408U);  // Max 1550
}

TEST(gpu_cache, of_an_unknown_chip_is_its_vendors_largest) {
    EXPECT_EQ(mebibytes_of(0x10de, 0x2901), 128U);  // B200
    EXPECT_EQ(mebibytes_of(0x10de, 0xfff0), 128U);
    EXPECT_EQ(mebibytes_of(0x1002, 0xfff0), 256U);
    EXPECT_EQ(mebibytes_of(0x5143, 0x43050a01), kLargestCacheBytes >> 20U);  // an id that no PCI device has
    EXPECT_EQ(mebibytes_of(0x5143, 0x43050a01, DeviceKind::Integrated), 96U);
    EXPECT_EQ(mebibytes_of(0x8086, 0x7d55, DeviceKind::Integrated), 96U);
    EXPECT_EQ(mebibytes_of(0x106b, 0x1, DeviceKind::Integrated), 96U);
    // No rule gives less than a chip of that vendor has, nor more than the largest of all.
    for (const std::uint32_t vendor : {0x10deU, 0x1002U, 0x8086U, 0x106bU}) {
        for (std::uint32_t device = 0; device <= 0xffff; ++device) {
            ASSERT_LE(mebibytes_of(vendor, device), mebibytes_of(vendor, 0xfff0));
        }
        EXPECT_LE(mebibytes_of(vendor, 0xfff0), kLargestCacheBytes >> 20U);
    }
}

TEST(gpu_cache, shared_with_the_processor_is_no_less_than_its) {
    DeviceInfo info;
    info.kind = DeviceKind::Integrated;
    info.vendor_id = 0x8086;
    info.device_id = 0x7d55;
    EXPECT_EQ(last_level_cache_bytes(info), std::max(gpu_cache_bytes(info), processor_cache_bytes().value_or(0)));
    info.kind = DeviceKind::Discrete;
    EXPECT_EQ(last_level_cache_bytes(info), gpu_cache_bytes(info));
}

}  // namespace
}  // namespace yolk::autotune
