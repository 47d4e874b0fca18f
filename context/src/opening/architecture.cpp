// SPDX-License-Identifier: Apache-2.0
// Blocks of device ids, held against the public list of PCI ids (pci-ids.ucw.cz, of 2023): every chip that it lists in
// a block is of the architecture. Blocks with chips of several architectures, and newer ones, are left out.
#include "yolk/internal/context/architecture.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace yolk {
namespace {

struct Block {
    std::uint32_t vendor;
    std::uint32_t first;
    std::uint32_t last;
    std::string_view name;
};

constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kAmd = 0x1002;
constexpr std::uint32_t kIntel = 0x8086;

constexpr std::array kBlocks{
    Block{kNvidia, 0x1340, 0x13bf, "NVIDIA Maxwell GM10x"},
    Block{kNvidia, 0x13c0, 0x143f, "NVIDIA Maxwell GM20x"},
    Block{kNvidia, 0x15f0, 0x15ff, "NVIDIA Pascal GP100"},
    Block{kNvidia, 0x17c0, 0x17ff, "NVIDIA Maxwell GM20x"},
    Block{kNvidia, 0x1b00, 0x1d7f, "NVIDIA Pascal GP10x"},
    Block{kNvidia, 0x1d80, 0x1dff, "NVIDIA Volta"},
    Block{kNvidia, 0x1e00, 0x1fff, "NVIDIA Turing"},
    Block{kNvidia, 0x2080, 0x20ff, "NVIDIA Ampere GA100"},
    Block{kNvidia, 0x2180, 0x21ff, "NVIDIA Turing"},
    Block{kNvidia, 0x2200, 0x223f, "NVIDIA Ampere GA10x"},
    Block{kNvidia, 0x2300, 0x237f, "NVIDIA Hopper"},
    Block{kNvidia, 0x2400, 0x25ff, "NVIDIA Ampere GA10x"},
    Block{kNvidia, 0x2680, 0x28ff, "NVIDIA Ada"},
    Block{kAmd, 0x66a0, 0x66af, "AMD Vega 20"},
    Block{kAmd, 0x67c0, 0x67ff, "AMD Polaris"},
    Block{kAmd, 0x6860, 0x687f, "AMD Vega 10"},
    Block{kAmd, 0x7310, 0x735f, "AMD RDNA 1"},
    Block{kAmd, 0x738c, 0x738e, "AMD CDNA 1"},
    Block{kAmd, 0x73a0, 0x73ff, "AMD RDNA 2"},
    Block{kAmd, 0x7408, 0x740f, "AMD CDNA 2"},
    Block{kAmd, 0x7420, 0x743f, "AMD RDNA 2"},
    Block{kAmd, 0x7440, 0x749f, "AMD RDNA 3"},
    Block{kIntel, 0x5690, 0x56bf, "Intel Xe HPG"},
};

/// "10de:2204 discrete NAME".
struct Ids {
    std::uint32_t vendor = 0;
    std::uint32_t device = 0;
    bool cpu = false;
};

std::optional<Ids> ids_of(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::size_t space = text.find(' ');
    if (colon == std::string_view::npos || space == std::string_view::npos || space < colon) return std::nullopt;
    Ids ids;
    const auto read = [](std::string_view digits, std::uint32_t& value) {
        const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        return failed == std::errc() && end == digits.data() + digits.size();
    };
    if (!read(text.substr(0, colon), ids.vendor) || !read(text.substr(colon + 1, space - colon - 1), ids.device))
        return std::nullopt;
    ids.cpu = text.substr(space + 1).starts_with("cpu ");
    return ids;
}

/// All of a driver's text but the device's name before it and the hash of the device's limits after it.
std::string_view software_of(std::string_view driver) {
    const std::size_t begin = driver.find("; ");
    const std::size_t end = driver.rfind("; limits ");
    if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) return driver;
    return driver.substr(begin, end - begin);
}

}  // namespace

std::string architecture_of(const DeviceKey& key) {
    const std::optional<Ids> ids = ids_of(key.device);
    if (!ids) return {};
    if (ids->cpu) return fmt::format("CPU driver {:04x}:{:04x}", ids->vendor, ids->device);
    for (const Block& block : kBlocks) {
        if (block.vendor == ids->vendor && block.first <= ids->device && ids->device <= block.last)
            return std::string(block.name);
    }
    return {};
}

bool same_architecture(const DeviceKey& a, const DeviceKey& b) {
    const std::string known = architecture_of(a);
    return !known.empty() && known == architecture_of(b);
}

bool same_driver(const DeviceKey& a, const DeviceKey& b) { return software_of(a.driver) == software_of(b.driver); }

}  // namespace yolk
