// SPDX-License-Identifier: Apache-2.0
// Problems from text, as people write it into files and commands, and from the shapes that a tuning table knows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/result.hpp"

namespace yolk::oracle {

/// A family and the fields of its operation by name: "matmul m=512 n=512 k=512 determinism=exact", where usage_of says
/// which there are; those left out have defaults. Or a family and, after a colon, a part of the name of one of its
/// benchmarks: "softmax: columns=4096".
/// Error (BadInput), each with what is allowed and the nearest word: another family, an unknown, missing or repeated
/// field, a value that is not allowed.
[[nodiscard]] Result<std::unique_ptr<Problem>> make_named_problem(std::string_view text);
struct NamedProblem {
    const Family* family = nullptr;
    std::unique_ptr<Problem> problem;
};
/// The same, with its family.
[[nodiscard]] Result<NamedProblem> parse_problem(std::string_view text);

/// The problem of what a description's fields say, which is all that text says.
template <class Desc>
[[nodiscard]] Result<std::unique_ptr<Problem>> make_problem(const Desc& desc) {
    const Operation<Desc>& operation = operation_of<Desc>();
    return make_named_problem(std::string(operation.name) + " " + operation.fields.text(desc));
}

/// A problem whose space has this shape. What a shape leaves open (the order of parameters, damping, how long episodes
/// last) is chosen, as nothing of it moves the choice of a configuration far.
/// Errors: as above; BadInput: no description of the family has this shape; Unsupported: the family has no fields, and
/// none of its benchmarks has this shape.
[[nodiscard]] Result<std::unique_ptr<Problem>> make_shape_problem(std::string_view family, const TuningShape& shape);

/// "softmax members=1 rows columns log=0": its fields, with the values of those that may be left out.
[[nodiscard]] std::string usage_of(const Family& family);
/// Error (BadInput): no family has that name; lists them, with the nearest.
[[nodiscard]] Result<const Family*> require_family(std::string_view name);

/// The kernels of a training run on CartPole with the default flags.
[[nodiscard]] std::vector<std::string_view> cartpole_job();
/// The kernels that the tuner itself runs on for a space of so many candidates (a multiple of 256), at up to 64 and at
/// 193 to 256 measurements; in the order of what they cost.
[[nodiscard]] std::vector<std::string> tuner_job(std::uint32_t candidates);
/// Of the strategy `eggroll`: its population of eight over so many candidates of eight parameters with up to eight
/// values, and its step.
[[nodiscard]] std::vector<std::string> policy_job(std::uint32_t candidates);
/// What tuning is measured on: cartpole_job, and products, layers, updates, inverses and sums of two sizes.
[[nodiscard]] std::vector<std::string_view> named_set();

}  // namespace yolk::oracle
