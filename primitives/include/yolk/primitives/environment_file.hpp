// SPDX-License-Identifier: Apache-2.0
// An environment of one's own, from a file that was not there when Yolk was built (docs/environments.md). Compiled when
// it is loaded; after that it costs what a built-in one costs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "yolk/abi/rollout.h"
#include "yolk/core/result.hpp"
#include "yolk/primitives/rollout.hpp"
#include "yolk/shaders/kernel.hpp"

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
    [[nodiscard]] const Kernel<abi::rollout::Params>& looped() const noexcept { return looped_; }
    [[nodiscard]] const Kernel<abi::rollout::Params>& unrolled() const noexcept { return unrolled_; }
    /// Of class T in the policy (Determinism::Fast).
    [[nodiscard]] const Kernel<abi::rollout::Params>& looped_fast() const noexcept { return looped_fast_; }
    [[nodiscard]] const Kernel<abi::rollout::Params>& unrolled_fast() const noexcept { return unrolled_fast_; }

   private:
    friend Result<std::shared_ptr<const LoadedEnvironment>> load_environment(const std::filesystem::path& file);
    LoadedEnvironment() = default;
    std::string name_, looped_name_, unrolled_name_, looped_fast_name_, unrolled_fast_name_, source_hash_,
        inexact_reason_;
    std::vector<std::uint32_t> looped_spirv_, unrolled_spirv_, looped_fast_spirv_, unrolled_fast_spirv_;
    EnvironmentInfo info_;
    Kernel<abi::rollout::Params> looped_{}, unrolled_{}, looped_fast_{}, unrolled_fast_{};
};

/// Reads and compiles it, in some tenths of a second. Errors: a file that is missing, above 1 MiB or no regular one; a
/// name that is not made of letters, digits, '_' and '-'; compile_environment's
/// (yolk/shaders/environment_compiler.hpp).
[[nodiscard]] Result<std::shared_ptr<const LoadedEnvironment>> load_environment(const std::filesystem::path& file);

}  // namespace yolk
