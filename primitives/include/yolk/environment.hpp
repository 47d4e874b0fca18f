// SPDX-License-Identifier: Apache-2.0
// An environment of one's own, from a file that was not there when Yolk was built (docs/environments.md). Compiled when
// it is loaded; after that it costs what a built-in one costs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk::abi::rollout {
struct Params;
}

namespace yolk {

/// Immutable once loaded, and shared by the descriptions and plans that use it: what they point at lives in it.
/// Thread-safe.
class LoadedEnvironment {
   public:
    LoadedEnvironment(const LoadedEnvironment&) = delete;
    LoadedEnvironment& operator=(const LoadedEnvironment&) = delete;

    /// Its name is the file's, without folder and extension.
    [[nodiscard]] const EnvironmentInfo& info() const noexcept { return info_; }
    /// XXH3-128 of the file's text, 32 hex digits.
    [[nodiscard]] const std::string& source_hash() const noexcept { return source_hash_; }
    /// Why it cannot be used in exact mode, with the file's line; empty where it can.
    [[nodiscard]] const std::string& inexact_reason() const noexcept { return inexact_reason_; }
    [[nodiscard]] const Kernel<abi::rollout::Params>& looped() const noexcept { return looped_.kernel; }
    [[nodiscard]] const Kernel<abi::rollout::Params>& unrolled() const noexcept { return unrolled_.kernel; }
    [[nodiscard]] const Kernel<abi::rollout::Params>& packed() const noexcept { return packed_.kernel; }
    /// Of class T in the policy (Determinism::Fast).
    [[nodiscard]] const Kernel<abi::rollout::Params>& looped_fast() const noexcept { return looped_fast_.kernel; }
    [[nodiscard]] const Kernel<abi::rollout::Params>& unrolled_fast() const noexcept { return unrolled_fast_.kernel; }
    [[nodiscard]] const Kernel<abi::rollout::Params>& packed_fast() const noexcept { return packed_fast_.kernel; }

   private:
    friend Result<std::shared_ptr<const LoadedEnvironment>> load_environment(const std::filesystem::path& file);
    LoadedEnvironment() = default;
    struct Form {
        std::string name;
        std::vector<std::uint32_t> spirv;
        Kernel<abi::rollout::Params> kernel{};  ///< a view of the two
        void set(std::string kernel_name, std::vector<std::uint32_t> module, bool tolerant) noexcept;
    };
    std::string name_, source_hash_, inexact_reason_;
    EnvironmentInfo info_;
    Form looped_, unrolled_, packed_, looped_fast_, unrolled_fast_, packed_fast_;
};

/// Reads and compiles it, in some tenths of a second. Errors: a file that is missing, above 1 MiB or no regular one; a
/// name that is not made of letters, digits, '_' and '-'; compile_environment's
/// (yolk/internal/shaders/environment_compiler.hpp).
[[nodiscard]] Result<std::shared_ptr<const LoadedEnvironment>> load_environment(const std::filesystem::path& file);

}  // namespace yolk
