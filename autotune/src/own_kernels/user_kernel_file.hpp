// SPDX-License-Identifier: Apache-2.0
// space.json of a user's kernel (docs/own_kernels.md) as plain data: read and checked as far as that goes without the
// shader and without a device.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "user_kernel_expression.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

struct KernelParameter {
    std::string name;
    std::vector<ExpressionValue> values;  ///< of one kind; numbers ascending; none twice
    std::optional<std::uint32_t> constant_id{};
    std::string define{};  ///< empty: none
};

enum class ContentKind { None, Constant, Ramp, Uniform, Normal, File };

/// What a buffer holds before a run.
struct KernelContent {
    ContentKind kind = ContentKind::None;
    double first = 0.0;   ///< the constant; the ramp's start; the lower bound; the mean
    double second = 0.0;  ///< the ramp's step; the upper bound; the standard deviation
    std::uint64_t seed = 1;
    std::vector<std::byte> bytes{};  ///< of a file
};

/// How far a value may be off: absolute + relative * |right value|. Both 0: the same bits.
struct KernelTolerance {
    double absolute = 0.0;
    double relative = 0.0;
};

struct KernelBuffer {
    std::string name;
    std::uint32_t binding = 0;
    oracle::ElementType element = oracle::ElementType::F32;
    std::uint64_t elements = 0;
    oracle::BufferRole role = oracle::BufferRole::Input;
    bool is_scratch = false;  ///< an output that nobody looks at
    KernelContent content{};
    KernelTolerance tolerance{};
    std::optional<std::vector<std::byte>> golden{};
    [[nodiscard]] std::uint64_t size_bytes() const noexcept { return elements * sizeof(std::uint32_t); }
    [[nodiscard]] bool is_checked() const noexcept { return role != oracle::BufferRole::Input && !is_scratch; }
};

struct KernelPush {
    oracle::ElementType type = oracle::ElementType::U32;
    Expression value;
};

/// How a shader is started.
struct KernelLaunch {
    std::array<Expression, 3> groups;
    std::vector<KernelPush> push_constants;
};

struct KernelReference {
    std::filesystem::path shader;
    std::vector<std::pair<std::uint32_t, ExpressionValue>> constants;
    std::vector<std::pair<std::string, std::string>> defines;
    KernelLaunch launch;
};

struct KernelSpace {
    std::string name;                ///< empty: the shader's
    std::vector<std::string> scope;  ///< names in expressions: parameters, then sizes
    std::vector<KernelParameter> parameters;
    std::vector<std::int64_t> sizes;  ///< values
    std::vector<Expression> constraints;
    std::vector<std::pair<std::size_t, std::size_t>> defaults;  ///< (parameter, position of its value) that are given
    std::vector<KernelBuffer> buffers;
    KernelLaunch launch;
    std::optional<KernelReference> reference;
    bool reference_is_default = false;  ///< the default configuration's results are the right ones
    std::optional<Expression> operations;
    bool optimized = false;
    bool workgroups_wait = false;  ///< for others of lower index: the order that was dispatched is the only one
    std::string identity;          ///< all that makes another kernel of it, but the sizes; files that it names included
};

/// `folder`: of the file; what it names lies there. Errors: BadInput with the file's name and the place in it; Io.
[[nodiscard]] Result<KernelSpace> parse_kernel_space(std::string_view text, const std::string& file_name,
                                                     const std::filesystem::path& folder);

/// A buffer's bytes before a run: as many as size_bytes(), none for outputs.
[[nodiscard]] std::vector<std::byte> initial_content(const KernelBuffer& buffer);

}  // namespace yolk::autotune
