// SPDX-License-Identifier: Apache-2.0
// Paths above the portable floor that low precision takes: pure functions of DeviceInfo and of what self-checks found.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk {

/// Each has a self-check (yolk/internal/runtime/probe.hpp) and a form of the floor that computes the same without it.
enum class LowPrecisionPath : std::uint8_t {
    Storage16,          ///< 16-bit words are read one by one; the floor reads words of 32 bits
    IntegerDot,         ///< OpSDot on four signed bytes to a word; the floor unpacks them
    CooperativeMatrix,  ///< fp16 x fp16 + fp32 on matrix units
    CooperativeBf16,    ///< bf16 x bf16 + fp32
    CooperativeInt8,    ///< int8 x int8 + int32
};
inline constexpr std::array kLowPrecisionPaths{LowPrecisionPath::Storage16, LowPrecisionPath::IntegerDot,
                                               LowPrecisionPath::CooperativeMatrix, LowPrecisionPath::CooperativeBf16,
                                               LowPrecisionPath::CooperativeInt8};

/// A path that gave wrong results, or could not be tried.
struct WrongPath {
    LowPrecisionPath path = LowPrecisionPath::Storage16;
    std::string reason;  ///< a sentence
};

/// "storage16", "int8-dot", "cooperative-matrix", "cooperative-bf16", "cooperative-int8": as in optional_paths().
[[nodiscard]] const char* to_string(LowPrecisionPath path) noexcept;

/// Whether the device's features open the path.
[[nodiscard]] bool path_is_open(const DeviceInfo& device, LowPrecisionPath path);

/// What matrix units multiply: fp16 and bf16 with fp32 sums, int8 with int32 sums.
enum class MatrixOperands : std::uint8_t { F16, BF16, I8 };

/// The multiplication that matrices of these operands take: the largest of those that the device lists, the KHR form
/// first (the only one of bf16 and int8); nothing where there is none, or a feature that it needs is missing.
[[nodiscard]] std::optional<CooperativeShape> cooperative_shape(const DeviceInfo& device, MatrixOperands operands);

/// `device` with the features cleared that open `wrong` paths.
[[nodiscard]] DeviceInfo without_wrong_paths(DeviceInfo device, std::span<const WrongPath> wrong);
/// `device` with every path of low precision closed.
[[nodiscard]] DeviceInfo without_low_precision(DeviceInfo device);

/// The features that a kernel's module needs above the floor and the device lacks, for people; empty where it has them.
/// `needs`: KernelModule::needs.
[[nodiscard]] std::string missing_needs(const DeviceInfo& device, std::uint32_t needs);

}  // namespace yolk
