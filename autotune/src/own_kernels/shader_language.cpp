// SPDX-License-Identifier: Apache-2.0
#include "shader_language.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kLargestShader = std::size_t{4} << 20U;

struct Language {
    std::string_view mark;  ///< what such a file begins with, or has in it
    std::string_view name;
    std::string_view advice;
};

constexpr std::string_view kFromSpirv =
    "Make GLSL of it: spirv-cross --version 450 --vulkan-semantics FILE > kernel.comp";
constexpr std::string_view kFromHlsl =
    "Make GLSL of it: dxc -spirv -T cs_6_0 -E main -Fo kernel.spv FILE, then spirv-cross --version 450 "
    "--vulkan-semantics kernel.spv > kernel.comp";
constexpr std::string_view kRewrite = "Write it in GLSL.";

constexpr std::array<Language, 3> kBinaries{{
    {std::string_view("\x03\x02\x23\x07", 4), "SPIR-V", kFromSpirv},
    {std::string_view("\x07\x23\x02\x03", 4), "SPIR-V", kFromSpirv},
    {"DXBC", "compiled HLSL", "Give its source as GLSL."},
}};

// Each is no part of a GLSL compute shader, which has a #version or a local size.
constexpr std::array<Language, 9> kTexts{{
    {"OpCapability", "SPIR-V assembly", "Assemble it by spirv-as, then make GLSL of it by spirv-cross."},
    {"@compute", "WGSL", "Make GLSL of it: naga --entry-point main FILE kernel.comp"},
    {"@workgroup_size", "WGSL", "Make GLSL of it: naga --entry-point main FILE kernel.comp"},
    {"numthreads", "HLSL", kFromHlsl},
    {"RWStructuredBuffer", "HLSL", kFromHlsl},
    {"metal_stdlib", "Metal", kRewrite},
    {"__kernel", "OpenCL C", "Make SPIR-V of it by clspv, then GLSL by spirv-cross."},
    {"__global__", "CUDA", kRewrite},
    {"@triton", "Triton", kRewrite},
}};

Error another_language(const std::filesystem::path& path, const Language& language) {
    return bad_input("'{}' is {}; own kernels are GLSL compute shaders. {}", shown(path), language.name,
                     language.advice);
}

}  // namespace

Result<void> check_is_glsl(const std::filesystem::path& path) {
    const Result<std::vector<std::byte>> bytes = read_file(path, kLargestShader);
    if (!bytes) return {};
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    const auto binary =
        std::ranges::find_if(kBinaries, [&](const Language& each) { return text.starts_with(each.mark); });
    if (binary != kBinaries.end()) return another_language(path, *binary);
    if (text.find("#version") != std::string_view::npos || text.find("local_size_x") != std::string_view::npos)
        return {};
    const auto other = std::ranges::find_if(
        kTexts, [&](const Language& each) { return text.find(each.mark) != std::string_view::npos; });
    if (other != kTexts.end()) return another_language(path, *other);
    return {};
}

}  // namespace yolk::autotune
