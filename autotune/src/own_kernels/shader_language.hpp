// SPDX-License-Identifier: Apache-2.0
// Own kernels are GLSL; what is another language says so before a compiler complains about its first character.
#pragma once

#include <filesystem>

#include "yolk/result.hpp"

namespace yolk::autotune {

/// Error (BadInput): the file is SPIR-V, WGSL, HLSL or another language; says which, and how to make GLSL of it. A file
/// that cannot be read is left to who reads it.
[[nodiscard]] Result<void> check_is_glsl(const std::filesystem::path& path);

}  // namespace yolk::autotune
