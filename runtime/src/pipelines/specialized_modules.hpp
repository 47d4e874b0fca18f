// SPDX-License-Identifier: Apache-2.0
// Modules that were specialized by us, and the file that saves the next process from doing it again: SPIRV-Tools takes
// .1 to .4 s for a large tile (docs/adr/0008-tiles-are-unrolled-by-us.md), a driver that finds its code next to
// nothing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// A module has 10 to 300 KB. A larger file is not read; modules beyond it are not written.
inline constexpr std::size_t kMaxModuleFileBytes = std::size_t{64} << 20U;

/// Hashes of what is specialized and of the constants, by id.
struct ModuleKey {
    std::uint64_t spirv = 0;
    std::uint64_t constants = 0;
    auto operator<=>(const ModuleKey&) const = default;
};

struct SpecializedModule {
    ModuleKey key;
    std::vector<std::uint32_t> code;
    bool operator==(const SpecializedModule&) const = default;
};

/// Header (magic, version, specializer_fingerprint(), length and XXH3 of the rest; little-endian), then the modules in
/// their order, as many as `max_bytes` hold.
[[nodiscard]] std::vector<std::byte> encode_module_file(std::uint64_t specializer,
                                                        std::span<const SpecializedModule> modules,
                                                        std::size_t max_bytes = kMaxModuleFileBytes);

/// None where another specializer made them: an update is no fault. Errors (bad input, a reason for people): not such a
/// file, another version, torn.
[[nodiscard]] Result<std::vector<SpecializedModule>> decode_module_file(std::uint64_t specializer,
                                                                        std::span<const std::byte> file);

/// Thread-safe. What two threads ask for at once may be made twice.
class SpecializedModules {
   public:
    /// From now on get() reads the file of `folder` at its first call. What is wrong with it is logged.
    void open(const std::filesystem::path& folder);
    /// `keep`: whether the file is to have it. Error: specialize()'s.
    [[nodiscard]] Result<std::vector<std::uint32_t>> get(const KernelModule& kernel, std::uint64_t spirv_hash,
                                                         std::span<const SpecConstant> constants, bool keep);
    /// Writes the file where modules were made since: those that were asked for first, then the others, with what other
    /// processes have written meanwhile. Errors: Io.
    [[nodiscard]] Result<void> save();

   private:
    struct Kept {
        std::vector<std::uint32_t> code;
        bool was_asked_for = false;
    };
    /// The caller holds mutex_.
    void add_file();

    std::mutex mutex_;
    std::filesystem::path file_;  ///< empty: none
    bool has_read_ = false;
    bool made_since_save_ = false;
    std::map<ModuleKey, Kept> modules_;
};

}  // namespace yolk
