// SPDX-License-Identifier: Apache-2.0
// Last-level caches of GPUs: L2, or where there is one behind it (AMD's Infinity Cache, Apple's system level cache)
// that one. Device ids as pci.ids has them. Sources:
//   [1] NVIDIA, "NVIDIA Hopper Architecture In-Depth": A100 40, H100 50; chipsandcheese.com, "Nvidia's H100": 60 on the
//       die, of which 50 are enabled.
//   [2] NVIDIA, Ada whitepaper: AD102 96 on the die (RTX 4090: 72), 16 times GA102's 6; the other dies, as leaked and
//       since sold: AD103 64, AD104 48, AD106 and AD107 32.
//   [3] Hardwareluxx, before the launch: RTX 5090 96, RTX 5080 64. NVIDIA, Blackwell tuning guide: B200 126.
//   [4] AMD, "AMD GPU specifications" (rocm.docs.amd.com/en/latest/reference/gpu-specs.html): MI300, MI325 and MI350
//       256 of L3; MI200 16 of L2 (8 per die), MI100 8, Vega 20 4; no L3 behind those.
//   [5] AMD's Linux driver (amdkfd, kfd_crat.c), by Tom's Hardware, "RX 6600 XT": Navi 21 128, Navi 22 96, Navi 23 32.
//   [6] KitGuru, "RDNA GPUs to feature up to 64MB": Navi 31 96, Navi 32 64, Navi 33 32; RDNA 4 at most 64.
//   [7] Intel, Data Center GPU Max series: up to 408 of L2 (the Max 1100: 108 of its tile's 144, chipsandcheese.com).
//   [8] chipsandcheese.com, "Intel's Battlemage Architecture": B580 18; its predecessor A770 16.
//   [9] AnandTech, "M1 Pro, M1 Max": M1 8, M1 Max 48; eclecticlight.co, "Apple silicon: memory": 8 to 96, M1 to Ultra.
#include <algorithm>
#include <array>

#include "yolk/internal/autotune/last_level_cache.hpp"

namespace yolk::autotune {
namespace {

struct ChipCache {
    std::uint32_t vendor;
    std::uint32_t first;
    std::uint32_t last;
    std::uint64_t mebibytes;
};

constexpr std::uint32_t kNvidiaVendor = 0x10de;
constexpr std::uint32_t kAmdVendor = 0x1002;
constexpr std::uint32_t kIntelVendor = 0x8086;
constexpr std::uint32_t kAppleVendor = 0x106b;
constexpr std::uint32_t kLastId = 0xffff;

/// The first that has the id counts; the last of a vendor has all ids, and its largest cache.
constexpr std::array kChips{
    ChipCache{kNvidiaVendor, 0x1340, 0x1fff, 6},   // Maxwell to Turing
    ChipCache{kNvidiaVendor, 0x2080, 0x20ff, 40},  // GA100 [1]
    ChipCache{kNvidiaVendor, 0x2180, 0x21ff, 6},   // Turing
    ChipCache{kNvidiaVendor, 0x2200, 0x223f, 6},   // GA102 [2]
    ChipCache{kNvidiaVendor, 0x2300, 0x237f, 60},  // GH100: H100, H200 [1]
    ChipCache{kNvidiaVendor, 0x2400, 0x25ff, 6},   // GA103 to GA107: no larger than GA102
    ChipCache{kNvidiaVendor, 0x2680, 0x26ff, 96},  // AD102 [2]
    ChipCache{kNvidiaVendor, 0x2700, 0x277f, 64},  // AD103
    ChipCache{kNvidiaVendor, 0x2780, 0x27ff, 48},  // AD104
    ChipCache{kNvidiaVendor, 0x2800, 0x28ff, 32},  // AD106, AD107
    ChipCache{kNvidiaVendor, 0x2c00, 0x2c7f, 64},  // GB203 [3]
    ChipCache{kNvidiaVendor, 0, kLastId, 128},     // B200 126; GB202's die has more than an RTX 5090's 96
    ChipCache{kAmdVendor, 0x66a0, 0x687f, 4},      // Vega 20, Polaris, Vega 10 [4]
    ChipCache{kAmdVendor, 0x7310, 0x735f, 4},      // RDNA 1
    ChipCache{kAmdVendor, 0x738c, 0x738e, 8},      // MI100 [4]
    ChipCache{kAmdVendor, 0x73a0, 0x73bf, 128},    // Navi 21 [5]
    ChipCache{kAmdVendor, 0x73c0, 0x73df, 96},     // Navi 22
    ChipCache{kAmdVendor, 0x73e0, 0x73ff, 32},     // Navi 23
    ChipCache{kAmdVendor, 0x7408, 0x740f, 16},     // MI200 [4]
    ChipCache{kAmdVendor, 0x7420, 0x743f, 32},     // Navi 24: no larger than Navi 23
    ChipCache{kAmdVendor, 0x7440, 0x745f, 96},     // Navi 31 [6]
    ChipCache{kAmdVendor, 0x7460, 0x747f, 64},     // Navi 32
    ChipCache{kAmdVendor, 0x7480, 0x749f, 32},     // Navi 33
    ChipCache{kAmdVendor, 0x7550, 0x757f, 64},     // Navi 48 [6]
    ChipCache{kAmdVendor, 0, kLastId, 256},        // MI300, MI325, MI350 [4]
    ChipCache{kIntelVendor, 0x5690, 0x56bf, 16},   // Arc A [8]
    ChipCache{kIntelVendor, 0xe200, 0xe21f, 18},   // BMG-G21: Arc B580 [8]
    ChipCache{kIntelVendor, 0, kLastId, 408},      // Ponte Vecchio [7]
    ChipCache{kAppleVendor, 0, kLastId, 96},       // M1 Ultra [9]; ids do not tell chips apart
};

/// What shares the processor's memory and is not listed: no chip has a larger cache than Apple's.
constexpr std::uint64_t kLargestIntegrated = 96;

}  // namespace

std::uint64_t gpu_cache_bytes(const DeviceInfo& info) {
    const auto chip = std::ranges::find_if(kChips, [&info](const ChipCache& each) {
        return each.vendor == info.vendor_id && each.first <= info.device_id && info.device_id <= each.last;
    });
    std::uint64_t bytes = chip == kChips.end() ? kLargestCacheBytes : chip->mebibytes << 20U;
    const bool is_listed = chip != kChips.end() && chip->last != kLastId;
    if (info.kind == DeviceKind::Integrated && !is_listed) bytes = std::min(bytes, kLargestIntegrated << 20U);
    return bytes;
}

}  // namespace yolk::autotune
