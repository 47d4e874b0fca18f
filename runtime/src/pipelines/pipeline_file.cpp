// SPDX-License-Identifier: Apache-2.0
#include "pipeline_file.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "yolk/internal/core/hash.hpp"

namespace yolk {
namespace {

constexpr std::array<char, 8> kMagic{'Y', 'O', 'L', 'K', 'P', 'I', 'P', 'E'};
constexpr std::uint32_t kVersion = 1;

// Written as it lies in memory; the cache stays on the machine that made it.
struct Header {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t driver_version = 0;
    std::array<char, 32> uuid{};
    std::uint64_t payload_bytes = 0;
    std::uint64_t payload_hash = 0;
};
static_assert(sizeof(Header) == kPipelineFileHeaderBytes && std::endian::native == std::endian::little);

Header header_of(const DeviceInfo& device, std::span<const std::byte> payload) {
    Header header{
        .driver_version = device.driver_version, .payload_bytes = payload.size(), .payload_hash = hash64(payload)};
    device.uuid.copy(header.uuid.data(), header.uuid.size());
    return header;
}

/// What Vulkan has every driver's data begin with (VkPipelineCacheHeaderVersionOne), but for the UUID, which the driver
/// compares.
struct DriverHeader {
    std::uint32_t header_bytes = 0;
    std::uint32_t version = 0;
    std::uint32_t vendor_id = 0;
    std::uint32_t device_id = 0;
};

/// A device UUID may be that of the slot (RADV): the same for another card in it.
bool is_of_another_device(const DeviceInfo& device, std::span<const std::byte> payload) {
    constexpr std::uint32_t kHeaderBytes = 32;
    if (payload.size() < kHeaderBytes) return false;
    DriverHeader header;
    std::memcpy(&header, payload.data(), sizeof(header));
    if (header.header_bytes != kHeaderBytes || header.version != 1) return false;
    return header.vendor_id != device.vendor_id || header.device_id != device.device_id;
}

}  // namespace

std::string pipeline_file_name(const DeviceInfo& device) {
    return fmt::format("pipelines-{:04x}-{:04x}-{:08x}-{}.bin", device.vendor_id, device.device_id,
                       device.driver_version, device.uuid);
}

std::vector<std::byte> encode_pipeline_file(const DeviceInfo& device, std::span<const std::byte> payload) {
    const Header header = header_of(device, payload);
    std::vector<std::byte> file(sizeof(Header) + payload.size());
    std::memcpy(file.data(), &header, sizeof(Header));
    if (!payload.empty()) std::memcpy(file.data() + sizeof(Header), payload.data(), payload.size());
    return file;
}

Result<std::vector<std::byte>> decode_pipeline_file(const DeviceInfo& device, std::span<const std::byte> file) {
    if (file.size() < sizeof(Header)) return bad_input("it has {} bytes, too few for a header", file.size());
    Header header;
    std::memcpy(&header, file.data(), sizeof(Header));
    if (header.magic != kMagic) return bad_input("it is not a pipeline cache of Yolk");
    if (header.version != kVersion) return bad_input("it has version {}, not {}", header.version, kVersion);
    const std::span<const std::byte> payload = file.subspan(sizeof(Header));
    const Header expected = header_of(device, payload);
    if (header.uuid != expected.uuid || header.driver_version != expected.driver_version) {
        return bad_input("it was written by another device or driver");
    }
    if (header.payload_bytes != payload.size() || header.payload_hash != expected.payload_hash)
        return bad_input("it is torn");
    if (is_of_another_device(device, payload)) return bad_input("it was written by another device or driver");
    return std::vector<std::byte>(payload.begin(), payload.end());
}

}  // namespace yolk
