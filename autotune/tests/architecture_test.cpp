// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/context/architecture.hpp"

#include <gmock/gmock.h>

#include "table_folder.hpp"
#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/runtime/device_info.hpp"

namespace yolk::autotune {
namespace {

DeviceKey gpu(std::uint32_t vendor, std::uint32_t device, const char* name, const char* driver = "535.1",
              std::uint64_t storage = 1U << 30U) {
    DeviceInfo info;
    info.name = name;
    info.kind = DeviceKind::Discrete;
    info.vendor_id = vendor;
    info.device_id = device;
    info.driver_name = "driver";
    info.driver_info = driver;
    info.limits.max_storage_buffer_range = storage;
    return device_key(info, "processor");
}

TEST(architecture, is_known_by_vendor_and_block_of_ids) {
    EXPECT_EQ(architecture_of(gpu(0x10de, 0x2204, "RTX 3090")), "NVIDIA Ampere GA10x");
    EXPECT_EQ(architecture_of(gpu(0x10de, 0x2520, "RTX 3060 Laptop")), "NVIDIA Ampere GA10x");
    EXPECT_EQ(architecture_of(gpu(0x10de, 0x20b0, "A100")), "NVIDIA Ampere GA100");
    EXPECT_EQ(architecture_of(gpu(0x10de, 0x1e04, "RTX 2080 Ti")), "NVIDIA Turing");
    EXPECT_EQ(architecture_of(gpu(0x10de, 0x2684, "RTX 4090")), "NVIDIA Ada");
    EXPECT_EQ(architecture_of(gpu(0x1002, 0x73bf, "RX 6900 XT")), "AMD RDNA 2");
    EXPECT_EQ(architecture_of(gpu(0x1002, 0x744c, "RX 7900 XTX")), "AMD RDNA 3");
    EXPECT_EQ(architecture_of(gpu(0x8086, 0x56a0, "Arc A770")), "Intel Xe HPG");
    // No claim about what is not in the table, nor about text that is no key.
    EXPECT_EQ(architecture_of(gpu(0x10de, 0xffff, "of tomorrow")), "");
    EXPECT_EQ(architecture_of({.device = "device", .driver = "driver"}), "");
    EXPECT_FALSE(same_architecture(gpu(0x10de, 0xffff, "a"), gpu(0x10de, 0xffff, "a")));
}

TEST(architecture, of_a_cpu_driver_is_the_driver) {
    DeviceInfo info;
    info.name = "llvmpipe (LLVM 15.0.6, 256 bits)";
    info.kind = DeviceKind::Cpu;
    info.vendor_id = 0x10005;
    EXPECT_TRUE(same_architecture(device_key(info, "Xeon"), device_key(info, "EPYC")));
    EXPECT_TRUE(same_driver(device_key(info, "Xeon"), device_key(info, "EPYC")));
    DeviceInfo other = info;
    other.vendor_id = 0x1ae0;
    EXPECT_FALSE(same_architecture(device_key(info, "Xeon"), device_key(other, "Xeon")));
}

TEST(architecture, drivers_are_compared_without_the_device) {
    const DeviceKey mine = gpu(0x10de, 0x2204, "RTX 3090");
    EXPECT_TRUE(same_driver(mine, gpu(0x10de, 0x2484, "RTX 3070", "535.1", 1U << 28U)));
    EXPECT_FALSE(same_driver(mine, gpu(0x10de, 0x2484, "RTX 3070", "550.2")));
}

// This device's own shapes stand above another's, whatever their distance; another driver's choices are only measured.
TEST(architecture, another_device_answers_after_this_one) {
    const DeviceKey mine = gpu(0x10de, 0x2204, "RTX 3090");
    const auto choice = [](const DeviceKey& device, std::uint64_t extent, std::uint32_t rows) {
        TuningKey key = some_key(extent);
        key.device = device;
        return some_choice(key, rows, 1.0);
    };
    const DeviceKey sister = gpu(0x10de, 0x2484, "RTX 3070");
    const std::vector<TuningChoice> theirs{choice(sister, 512, 32),
                                           choice(gpu(0x10de, 0x2484, "RTX 3070", "550.2"), 512, 16),
                                           choice(gpu(0x10de, 0x1e04, "RTX 2080 Ti"), 512, 8)};
    const TuningSpace space("reduce",
                            {{"row_per_invocation", {0, 1}},
                             {"rows_per_workgroup", {1, 2, 4, 8, 16, 32, 64}},
                             {"lanes_per_row", {32, 128}},
                             {"texel_input", {0}},
                             {"elements_per_load", {1}}},
                            {}, some_key(512).shape);
    const TuningTable table = usable_choices(theirs, {}, mine);
    ASSERT_THAT(table.entries(), ::testing::SizeIs(1));
    const auto answer = table.find(space);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->source, TuningSource::SameArchitecture);
    EXPECT_EQ(answer->configuration, (Configuration{1, 32, 32, 0, 1}));
    std::vector<TuningChoice> all = theirs;
    all.push_back(choice(mine, 1024, 4));
    const TuningTable both = usable_choices(all, {}, mine);
    EXPECT_EQ(both.find(space)->source, TuningSource::NearestShape);
    EXPECT_EQ(both.find(space)->configuration, (Configuration{1, 4, 32, 0, 1}));
    // What went wrong on this device is not taken from another one.
    TuningKey here = some_key(700);
    here.device = mine;
    EXPECT_TRUE(usable_choices(theirs, {{here, theirs[0].configuration, "hung"}}, mine).entries().empty());
    TuningKey asked = some_key(512);
    asked.device = mine;
    const KnownChoices known = known_choices(all, asked, space);
    ASSERT_THAT(known.to_validate, ::testing::SizeIs(3));  // this device's shape first, then the architecture's
    EXPECT_EQ(known.to_validate[0], all.back().configuration);
}

}  // namespace
}  // namespace yolk::autotune
