// SPDX-License-Identifier: Apache-2.0
// Holding kernels against their oracles (double precision, a different algorithm) and exact twins (fp32, the kernel's
// own order, the same bits). The same case tables feed the tests and `yolk check`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/dispatcher.hpp"

namespace yolk::oracle {

struct CheckContext {
    const Device& device;
    Dispatcher& dispatcher;
    std::uint64_t seed = 1;             ///< of the drawn inputs and configurations
    std::uint32_t configurations = 16;  ///< drawn per family; the default is run besides
    bool all_configurations = false;    ///< instead of drawn ones the whole space
    /// Told before each configuration: the family, the case and how many there are, the configuration likewise.
    std::function<void(const char* family, std::size_t problem, std::size_t problems, std::size_t configuration,
                       std::size_t configurations)>
        progress{};
};

/// Outcome of one family's table of cases on one device.
struct CheckReport {
    std::string kernel;     ///< "noise", "rollout", ...
    std::string exactness;  ///< "E", "P", "T" or "E+P"
    std::uint64_t cases = 0;
    double worst_error = 0.0;           ///< against the oracle, in units of the derived tolerance (1 is the limit)
    std::string worst_case;             ///< the case of the worst error, with its coordinates
    std::uint64_t twin_mismatches = 0;  ///< elements that differ from the exact twin's bits
    std::vector<std::string> failures;  ///< one line each: the case, what was expected, what came; at most 8 are kept
    std::uint64_t failure_count = 0;
    std::string output_hash;  ///< XXH3-128 of the exact outputs (classes E and P) of all cases, in their order
    [[nodiscard]] bool passed() const noexcept { return failure_count == 0 && cases > 0; }
    void fail(std::string line) {
        ++failure_count;
        if (failures.size() < 8) failures.push_back(std::move(line));
    }
};

struct Family;  // yolk/oracle/family.hpp
[[nodiscard]] const Family& noise_family() noexcept;
[[nodiscard]] const Family& exact_math_family() noexcept;
[[nodiscard]] const Family& elementwise_family() noexcept;
[[nodiscard]] const Family& convert_family() noexcept;
[[nodiscard]] const Family& transpose_family() noexcept;
[[nodiscard]] const Family& concat_family() noexcept;
[[nodiscard]] const Family& gather_family() noexcept;
[[nodiscard]] const Family& scatter_family() noexcept;
[[nodiscard]] const Family& reduce_family() noexcept;
[[nodiscard]] const Family& softmax_family() noexcept;
[[nodiscard]] const Family& cross_entropy_family() noexcept;
[[nodiscard]] const Family& normalize_family() noexcept;
[[nodiscard]] const Family& gru_step_family() noexcept;
[[nodiscard]] const Family& matmul_family() noexcept;
[[nodiscard]] const Family& matmul_i8_family() noexcept;
[[nodiscard]] const Family& perturbed_linear_family() noexcept;
[[nodiscard]] const Family& perturbed_embedding_family() noexcept;
[[nodiscard]] const Family& perturbed_vector_family() noexcept;
[[nodiscard]] const Family& covariance_family() noexcept;
[[nodiscard]] const Family& natural_gradient_family() noexcept;
[[nodiscard]] const Family& inverse_sqrt_family() noexcept;
[[nodiscard]] const Family& kronecker_precondition_family() noexcept;
[[nodiscard]] const Family& rollout_family() noexcept;
[[nodiscard]] const Family& fitness_family() noexcept;
[[nodiscard]] const Family& es_update_family() noexcept;
[[nodiscard]] const Family& optimizer_family() noexcept;
[[nodiscard]] const Family& block_inverse_family() noexcept;
/// All of them, in the order of `yolk check`.
[[nodiscard]] std::span<const Family* const> families() noexcept;

}  // namespace yolk::oracle
