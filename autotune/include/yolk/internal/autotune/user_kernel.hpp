// SPDX-License-Identifier: Apache-2.0
// A compute shader of a user's own as a problem that the tuner takes like one of Yolk's families (docs/own_kernels.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// The family under which all of them are in the table; the shape's variant is their name and a hash of their files.
inline constexpr const char* kUserKernelFamily = "kernel";

/// How many combinations of values are left, and what the others broke.
struct UserKernelSpace {
    std::uint64_t combinations = 0;
    bool counted = false;  ///< the rest is; it is not where there are more than 65,536 combinations
    std::uint64_t legal = 0;
    std::uint64_t against_constraints = 0;
    std::uint64_t beyond_device = 0;  ///< workgroup, shared memory, number of workgroups
};

/// What a kernel is read from.
struct UserKernelFiles {
    std::filesystem::path shader;
    std::filesystem::path space;
    std::vector<std::filesystem::path> includes;
};

/// Threading: as oracle::Problem. Candidates are compiled once each; a plan's device must be like the one of create().
class UserKernel final : public oracle::Problem {
   public:
    /// `includes`: folders that the shaders may include from, beside their own; the reference's shader lies in the
    /// space's folder or in one of them. Reads shader, space and all that they name, compiles, holds the shader against
    /// what is declared, prunes what is not legal on this device, and runs the reference. Errors: BadInput: mistakes in
    /// either file, by place or line; no configuration that compiles, or none that is legal; a reference that is wrong
    /// itself. Unsupported: beyond the device. Io.
    [[nodiscard]] static Result<std::unique_ptr<UserKernel>> create(
        const Device& device, Dispatcher& dispatcher, const std::filesystem::path& shader,
        const std::filesystem::path& space, std::span<const std::filesystem::path> includes = {});

    /// The same without running anything, for looking at what the compiler makes of it: nothing is known of what is
    /// right, and its plans must not be proven.
    [[nodiscard]] static Result<std::unique_ptr<UserKernel>> create_to_inspect(
        const Device& device, const std::filesystem::path& shader, const std::filesystem::path& space,
        std::span<const std::filesystem::path> includes = {});

    /// For tune_user_kernel: as create(); on a CPU driver as create_to_inspect(), since there a worker runs what runs.
    [[nodiscard]] static Result<std::unique_ptr<UserKernel>> create_to_tune(
        const Device& device, Dispatcher& dispatcher, const std::filesystem::path& shader,
        const std::filesystem::path& space, std::span<const std::filesystem::path> includes = {});

    [[nodiscard]] std::string name() const override;
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override;
    /// The file's default; where it has none, or it is beyond the device, the first legal combination.
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override;
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan(
        const Device& device, const Configuration& configuration) const override;
    [[nodiscard]] std::vector<oracle::ProblemBuffer> buffers() const override;
    /// All of them as what is read: outputs are compared as words, which takes no more copies than inputs do.
    [[nodiscard]] oracle::BufferBytes buffer_bytes() const override;
    [[nodiscard]] std::vector<oracle::Expected> expected() const override;
    [[nodiscard]] oracle::Work work() const override;
    /// Other where a shader multiplies anything but fp32 and integers of 32 bits: its module says so, not its file.
    [[nodiscard]] ArithmeticUnit unit(const DeviceInfo& info, const Configuration& configuration) const override;
    void verify(oracle::CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override;

    [[nodiscard]] const UserKernelSpace& counts() const noexcept;
    /// What the results are held against, for people: "the reference 'matmul_reference.comp'"; empty: nothing.
    [[nodiscard]] std::string reference() const;
    /// Outputs that are held against nothing but another run of the same configuration.
    [[nodiscard]] std::vector<std::string> unchecked_outputs() const;
    /// What an engine needs to run a configuration: its values, {"constant_id", "name", "type", "value", "bits"} of
    /// each specialization constant, defines, workgroup counts and push constants.
    [[nodiscard]] Json describe(const Configuration& configuration) const;
    [[nodiscard]] const UserKernelFiles& files() const noexcept;
    /// Sizes by name.
    [[nodiscard]] Json sizes() const;

    struct Impl;  // src/own_kernels/user_kernel_impl.hpp

   private:
    explicit UserKernel(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_;
    TuningSpace space_;
    Configuration default_;
    UserKernelSpace counts_;
};

}  // namespace yolk::autotune
