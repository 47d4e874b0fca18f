// SPDX-License-Identifier: Apache-2.0
// Compute shaders of a user's own, compiled from their files at run time (docs/own_kernels.md, docs/adr/0005).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

/// A shader's text and those of all files that it may include, read once: what is compiled later is what was read.
struct KernelSource {
    std::string name;  ///< the file's, for messages
    std::string text;
    std::vector<std::pair<std::string, std::string>> includes;   ///< paths relative to the shader's folder, and texts
    std::vector<std::pair<std::string, std::string>> refused{};  ///< the same of files that may not be read, and why
};

/// Reads the file, and every file that an `#include "..."` in it names, beside the including one, beside the shader or
/// in one of `folders`; yolk/exact/ is Yolk's own. Once links are followed, all of them lie in the shader's folder, in
/// `folders`, or below. Others are not opened; they, and those that are not there, are told when a compilation asks for
/// them. Errors: Io; BadInput: empty, no text, more than 64 files, no such folder.
[[nodiscard]] Result<KernelSource> load_kernel_source(const std::filesystem::path& path,
                                                      std::span<const std::filesystem::path> folders = {});

/// Nothing, where `shader` lies in the folder of the file `named_by`, in one of `folders`, or below, once links are
/// followed. Error (BadInput): it does not; its text is not read. What is not there is no matter here.
[[nodiscard]] Result<void> check_within(const std::filesystem::path& shader, const std::filesystem::path& named_by,
                                        std::span<const std::filesystem::path> folders = {});

struct KernelCompileOptions {
    std::vector<std::pair<std::string, std::string>> defines{};
    bool optimized = false;  ///< as `glslc -O`; else as plain glslc
};

/// SPIR-V for Vulkan 1.2 of the entry point main. Error (BadInput): what the compiler says, by the files' own lines.
/// Thread-safe.
[[nodiscard]] Result<std::vector<std::uint32_t>> compile_kernel(const KernelSource& source,
                                                                const KernelCompileOptions& options = {});

}  // namespace yolk
