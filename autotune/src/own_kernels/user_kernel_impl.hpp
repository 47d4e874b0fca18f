// SPDX-License-Identifier: Apache-2.0
// A user's kernel as its files have it, and what becomes of a configuration: values, defines, constants, a plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "user_kernel_file.hpp"
#include "user_kernel_module.hpp"
#include "user_kernel_reference.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"

namespace yolk::autotune {

/// Combinations that are looked at one by one, at most.
inline constexpr std::uint64_t kCountable = 1U << 16U;
/// Shaders, by their defines, that are compiled to prune by, at most.
inline constexpr std::uint64_t kPrecompiled = 64;

/// Integers from 0 on, true and false stand for themselves in the table; of all others the position does.
[[nodiscard]] bool is_direct(const KernelParameter& parameter);
/// Of a value of a direct parameter.
[[nodiscard]] std::uint32_t direct(const ExpressionValue& value);

/// All options but the defines are the same within a kernel.
struct ByDefines {
    bool operator()(const KernelCompileOptions& a, const KernelCompileOptions& b) const {
        return a.defines < b.defines;
    }
};

struct UserKernel::Impl {
    UserKernelFiles files;
    KernelSource source;
    KernelSpace space;
    std::optional<KernelSource> reference;
    DeviceInfo info;
    TuningShape shape;
    std::vector<ReferenceOutput> references;
    SameEachTime same;
    std::uint64_t define_combinations = 1;
    std::mutex mutex;
    std::map<KernelCompileOptions, Result<SharedKernel>, ByDefines> kernels;  ///< under the mutex

    [[nodiscard]] std::vector<ExpressionValue> values_of(std::span<const std::uint32_t> configuration) const;
    [[nodiscard]] KernelCompileOptions options_of(std::span<const ExpressionValue> values) const;
    [[nodiscard]] Result<SharedKernel> compiled(std::span<const ExpressionValue> values);
    [[nodiscard]] Result<std::vector<SpecConstant>> constants_of(const CompiledKernel& kernel,
                                                                 std::span<const ExpressionValue> values) const;
    [[nodiscard]] Result<void> check_constraints(std::span<const ExpressionValue> values) const;
    [[nodiscard]] Result<void> check_device(std::span<const ExpressionValue> values);
    [[nodiscard]] Result<void> check_sizes() const;
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan(const Device& device,
                                                                       std::span<const std::uint32_t> configuration);
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan_reference(const Device& device) const;
    [[nodiscard]] Configuration given_default() const;
    /// A shader that compiles, to hold the declarations against.
    [[nodiscard]] Result<void> check_declarations(const TuningSpace& combinations);
    void prepare_held();
};

}  // namespace yolk::autotune
