// SPDX-License-Identifier: Apache-2.0
// Problems from text: a family and its sizes by name, for what people write into files and commands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/oracle/family.hpp"

namespace yolk::oracle {

/// "matmul m=512 n=512 k=512 exact=1": a family, then sizes and switches; those left out have defaults.
///   matmul            m n k batch=1 transposed=1 (b is stored as its transpose) residual=0 exact=0
///   perturbed_linear  members rows=1 in out rank=1 shared_input=0 transposed=0
///   rollout           members hidden=64 episodes=1 rank=1 steps=40 mean=0  (CartPole; every episode takes all steps)
///   es_update         population rank=1, and hidden=64 (CartPole's policy) or rows and columns (one matrix)
///   block_inverse     n blocks symmetric=0
///   covariance        n samples blocks=1
///   natural_gradient  n blocks=1
///   kronecker_precondition  n_out n_in blocks=1
///   inverse_sqrt      n blocks=1
///   concat            extent parts=2 outer=1 inner=1 members=1
///   matmul_i8         m n k batch=1
///   of an operation that is declared as a value (yolk/primitives/operation.hpp), the fields of its declaration
/// or a family and, after a colon, a part of the name of one of its benchmarks: "softmax: 1024".
/// Error (BadInput): another family, an unknown, missing or repeated field, a value that is not allowed.
[[nodiscard]] Result<std::unique_ptr<Problem>> make_named_problem(std::string_view text);

/// The kernels of a training run on CartPole with the default flags.
[[nodiscard]] std::vector<std::string_view> cartpole_job();
/// The kernels that the tuner itself runs on for a space of so many candidates (a multiple of 256), at up to 64 and at
/// 193 to 256 measurements; in the order of what they cost.
[[nodiscard]] std::vector<std::string> tuner_job(std::uint32_t candidates);
/// What tuning is measured on: cartpole_job, and products, layers, updates, inverses and sums of two sizes.
[[nodiscard]] std::vector<std::string_view> named_set();

}  // namespace yolk::oracle
