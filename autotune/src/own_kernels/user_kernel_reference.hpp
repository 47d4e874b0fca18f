// SPDX-License-Identifier: Apache-2.0
// What the outputs of a user's kernel are compared with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "user_kernel_module.hpp"
#include "yolk/internal/oracle/check.hpp"

namespace yolk::autotune {

/// One output, or what changes of an in-out buffer.
struct ReferenceOutput {
    std::string name;
    oracle::ElementType element = oracle::ElementType::F32;
    KernelTolerance tolerance;
    bool is_scratch = false;
    std::vector<std::uint32_t> right{};  ///< words; empty: nobody knows
    std::vector<bool> unwritten{};       ///< elements that must stay as they were; empty for none
};

/// Fails the report with the worst element that is off, and how many are.
void verify_output(oracle::CheckReport& report, const std::string& case_name, const ReferenceOutput& output,
                   std::span<const std::uint32_t> words);

/// For outputs that nobody knows: remembers what each configuration gave, and holds its later runs, which begin with
/// another poison, to it.
class SameEachTime {
   public:
    void verify(oracle::CheckReport& report, const std::string& case_name, std::span<const ReferenceOutput> references,
                std::span<const std::vector<std::uint32_t>> outputs);

   private:
    std::mutex mutex_;
    std::map<std::string, std::uint64_t> hashes_;  ///< by configuration
};

/// Runs the plan from different poisons, and backwards where it can, and takes what it gave as right for all outputs
/// that have nothing yet. `what`: "The reference 'matmul.comp'". Errors: it writes outside of its buffers, gives two
/// different results, or leaves an output as it was; those of plan and device.
[[nodiscard]] Result<void> take_reference(const Device& device, Dispatcher& dispatcher, const std::string& what,
                                          const std::vector<KernelBuffer>& buffers,
                                          const std::function<Result<std::unique_ptr<oracle::PlannedProblem>>()>& plan,
                                          std::span<ReferenceOutput> outputs);

}  // namespace yolk::autotune
