// SPDX-License-Identifier: Apache-2.0
// The parts of a space file, read in the order in which they need one another.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "user_kernel_file.hpp"
#include "user_kernel_place.hpp"

namespace yolk::autotune {

/// From places to a KernelSpace, part by part.
class SpaceReader {
   public:
    SpaceReader(const Place& root, const std::filesystem::path& folder) : root_(root), folder_(folder) {}

    Result<KernelSpace> run();

   private:
    Result<void> read_parameters();
    Result<KernelParameter> read_parameter(const Place& place, const std::string& name) const;
    Result<void> read_sizes();
    Result<void> read_constraints();
    Result<void> read_defaults();
    Result<void> read_buffers();
    Result<KernelBuffer> read_buffer(const Place& place) const;
    Result<void> read_held(const Place& place, KernelBuffer& buffer) const;
    Result<KernelContent> read_content(const Place& place, const KernelBuffer& buffer) const;
    Result<KernelLaunch> read_launch(const Place& place) const;
    Result<void> read_reference();
    Result<void> check_effects() const;
    Result<void> check_operations(const Place& place) const;
    Result<void> only_sizes(const Place& place, const Expression& expression, std::string_view what) const;
    void make_identity();
    /// One per name in the scope; parameters have their first values.
    [[nodiscard]] std::vector<ExpressionValue> values() const {
        std::vector<ExpressionValue> all;
        for (const KernelParameter& parameter : space_.parameters) all.push_back(parameter.values.front());
        all.insert(all.end(), space_.sizes.begin(), space_.sizes.end());
        return all;
    }

    const Place& root_;
    const std::filesystem::path& folder_;
    KernelSpace space_;
};

}  // namespace yolk::autotune
