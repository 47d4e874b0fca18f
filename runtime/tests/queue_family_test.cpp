// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/queue_family.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <vector>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

// G: graphics, C: compute; transfer, sparse binding, video and optical flow make no difference here.
QueueFamilyInfo family(const char* flags, std::uint32_t queues, std::uint32_t timestamp_bits) {
    const std::string_view text = flags;
    return {.compute = text.find('C') != std::string_view::npos,
            .graphics = text.find('G') != std::string_view::npos,
            .queue_count = queues,
            .timestamp_bits = timestamp_bits};
}

struct FamiliesOf {
    const char* device;
    std::vector<QueueFamilyInfo> families;
    std::optional<std::uint32_t> chosen;
};

// In the shape that such drivers report; those of Mesa 26.1.6 as they list them on null devices.
std::vector<FamiliesOf> real_devices() {
    return {
        {"NVIDIA, its own driver: copies, compute, decoding, encoding, optical flow",
         {family("GC", 16, 64), family("", 2, 64), family("C", 8, 64), family("", 1, 32), family("", 1, 32),
          family("", 1, 64)},
         2},
        {"NVIDIA before Turing", {family("GC", 16, 64), family("", 1, 64)}, 0},
        {"NVIDIA, NVK (Mesa 26.1.6, GA102)", {family("GC", 1, 64)}, 0},
        {"AMD, radv (Mesa 26.1.6, navi31)", {family("GC", 1, 64), family("C", 4, 64), family("", 1, 0)}, 1},
        {"AMD, its own driver on Windows: copies last",
         {family("GC", 1, 64), family("C", 2, 64), family("", 2, 64)},
         1},
        {"Intel integrated, anv", {family("GC", 1, 36)}, 0},
        {"Intel Arc, anv: compute, video, copies",
         {family("GC", 1, 36), family("C", 1, 36), family("", 2, 0), family("", 1, 36)},
         1},
        {"Apple, MoltenVK: four alike", std::vector(4, family("GC", 1, 64)), 0},
        {"Apple, Honeykrisp (Mesa 26.1.6, M1)", {family("GC", 1, 64)}, 0},
        {"Adreno, Turnip (Mesa 26.1.6, 730)", {family("GC", 1, 48)}, 0},
        {"Adreno, its own driver: a family for sparse binding", {family("GC", 3, 48), family("", 1, 0)}, 0},
        {"lavapipe", {family("GC", 1, 64)}, 0},
        {"SwiftShader", {family("GC", 1, 64)}, 0},
    };
}

TEST(queue_family, tables_of_real_devices) {
    for (const FamiliesOf& of : real_devices()) EXPECT_EQ(select_queue_family(of.families), of.chosen) << of.device;
}

TEST(queue_family, times_come_before_a_queue_without_graphics) {
    EXPECT_EQ(select_queue_family(std::vector{family("GC", 1, 64), family("C", 1, 0)}), 0U);
    EXPECT_EQ(select_queue_family(std::vector{family("GC", 1, 0), family("C", 1, 0)}), 1U);
    EXPECT_EQ(select_queue_family(std::vector{family("C", 1, 0), family("GC", 1, 36)}), 1U);
}

TEST(queue_family, needs_compute_and_a_queue) {
    EXPECT_EQ(select_queue_family({}), std::nullopt);
    EXPECT_EQ(select_queue_family(std::vector{family("G", 1, 64), family("", 1, 64)}), std::nullopt);
    EXPECT_EQ(select_queue_family(std::vector{family("C", 0, 64), family("GC", 1, 64)}), 1U);
}

using queue_family_of = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(queue_family_of);

TEST_P(queue_family_of, a_device_is_what_all_of_its_parts_go_by) {
    const DeviceInfo& info = device().info();
    const auto chosen = select_queue_family(info.queue_families);
    ASSERT_TRUE(chosen.has_value());
    EXPECT_TRUE(info.has_compute_queue);
    EXPECT_EQ(info.limits.timestamp_period_ns > 0.0, info.queue_families[*chosen].timestamp_bits > 0);
}

}  // namespace
}  // namespace yolk
