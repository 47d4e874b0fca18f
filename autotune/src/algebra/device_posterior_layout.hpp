// SPDX-License-Identifier: Apache-2.0
// Where a DevicePosterior keeps what, in floats.
#pragma once

#include <cstdint>

#include "device_posterior.hpp"

namespace yolk::autotune {

/// Columns that one submission of a rebuild uploads.
inline constexpr std::uint32_t kColumnsAtOnce = 16;
inline constexpr std::uint64_t kAlignedFloats = kViewAlignment / sizeof(float);

constexpr std::uint64_t aligned(std::uint64_t count) {
    return (count + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
}
inline BufferView floats(const Buffer& buffer, std::uint64_t offset, std::uint64_t count) {
    return {buffer, sizeof(float) * offset, sizeof(float) * count};
}
inline Result<Buffer> buffer_of(const Device& device, std::uint64_t count, const char* label,
                                MemoryDomain domain = MemoryDomain::Device) {
    return device.create_buffer({.size_bytes = sizeof(float) * count, .domain = domain, .label = label});
}

/// Where things lie in the upload buffer, in floats.
struct Staging {
    std::uint64_t columns = 0, vectors = 0, pivots = 0, prior = 0, variances = 0, matrix = 0, end = 0;
};
inline Staging staging_of(std::uint64_t padded, std::uint64_t capacity) {
    Staging s;
    s.vectors = kColumnsAtOnce * padded;
    s.pivots = s.vectors + kScoreRows * capacity;
    s.prior = s.pivots + kAlignedFloats;
    s.variances = s.prior + padded;
    s.matrix = s.variances + padded;
    s.end = s.matrix + capacity * capacity;
    return s;
}
/// And in the readback buffer.
struct Returned {
    std::uint64_t bounds = 0, leaders = 0, weights = 0, status = 0, end = 0;
};
inline Returned returned_of(std::uint64_t groups, std::uint64_t capacity) {
    Returned r;
    r.leaders = aligned(groups);
    r.weights = r.leaders + aligned(groups);
    r.status = r.weights + kScoreRows * capacity;
    r.end = r.status + kAlignedFloats;
    return r;
}

}  // namespace yolk::autotune
