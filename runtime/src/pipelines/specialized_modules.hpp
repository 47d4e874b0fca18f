// SPDX-License-Identifier: Apache-2.0
// Modules that were specialized by us, and the files that save the next process from doing it again: SPIRV-Tools takes
// .1 to .4 s for a large tile (docs/adr/0008-tiles-are-unrolled-by-us.md), a driver that finds its code next to
// nothing. Each has a file of its own, so that a process reads what it needs: one file of all took each .1 s at 64 MiB.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// The most that the files of a folder take. A module has 10 to 300 KB.
inline constexpr std::uint64_t kMostModuleBytes = std::uint64_t{256} << 20U;

/// Thread-safe after open(). What two threads ask for at once may be made twice.
class SpecializedModules {
   public:
    /// From now on get() reads and writes files in "specialized" in `folder`.
    void open(const std::filesystem::path& folder, std::uint64_t most_bytes = kMostModuleBytes);
    /// `spirv_hash`: of the kernel's code. `keep`: whether a file is to have it. What is wrong with a file is logged,
    /// and the module is made. Error: specialize()'s.
    [[nodiscard]] Result<std::vector<std::uint32_t>> get(const KernelModule& kernel, std::uint64_t spirv_hash,
                                                         std::span<const SpecConstant> constants, bool keep);
    /// Where modules were written since: if all files take more than the most, removes those that nobody has used for
    /// the longest time, down to three quarters of it.
    void prune();
    /// Where get() looks for a module: by a hash of the specializer, the kernel's code and the constants.
    [[nodiscard]] std::filesystem::path file_of(std::uint64_t spirv_hash,
                                                std::span<const SpecConstant> constants) const;

   private:
    std::filesystem::path folder_;  ///< empty: none
    std::uint64_t most_bytes_ = kMostModuleBytes;
    std::atomic<bool> has_written_ = false;
};

/// A module's file: magic, XXH3 of the words, the words; little-endian.
[[nodiscard]] std::vector<std::byte> encode_module(std::span<const std::uint32_t> code);
/// Error (bad input, a reason for people): not such a file, or torn.
[[nodiscard]] Result<std::vector<std::uint32_t>> decode_module(std::span<const std::byte> file);

}  // namespace yolk
