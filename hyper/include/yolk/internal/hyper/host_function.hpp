// SPDX-License-Identifier: Apache-2.0
// A function that runs on the host: any C++, a tool, an API, a program.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {

struct ModelCall;

/// How the calls of one host function are run. Zero means no limit where it is allowed.
struct HostOptions {
    std::uint32_t max_concurrency = 0;       ///< calls of this function at the same time; 0: the pool's threads
    std::chrono::milliseconds timeout{0};    ///< 0: none. The stop token is asked, the result is abandoned
    std::uint32_t retries = 0;               ///< after an error, an exception or a time-out
    std::chrono::milliseconds backoff{100};  ///< before the first retry; doubles with each, with jitter
};

/// What one call gets. The spans and the text are valid during the call; after a time-out, too (the runner keeps them).
struct HostCall {
    std::span<const float> parameters;  ///< natural values of the hyperfunction's group (fields in order, or a matrix)
    std::span<const Value> operands;
    std::stop_token stop;     ///< asked to stop when the call has timed out; long work should look at it
    std::string_view text{};  ///< of the hyperfunction's group, where that is a text
    /// `parameters` before they were rounded to fp32, where they are the fields of a struct; otherwise empty.
    std::span<const double> numbers{};
};
/// The group's numbers: `numbers`, or what a person would write for each of `parameters` (.7, not .699999988).
[[nodiscard]] std::vector<double> written_numbers(const HostCall& call);

/// Immutable once made; `run` may be called from several threads at the same time. Exceptions out of `run` are caught
/// by the runner and become errors.
struct HostFunction {
    std::string name;
    std::function<Result<Value>(const HostCall&)> run;
    HostOptions options{};
    Value stand_in{};  ///< of its result's type: what a dry run, which does not call it, goes on with
    std::shared_ptr<const ModelCall> model{};  ///< of a call of a language model (models.hpp)
};
using HostFunctionPtr = std::shared_ptr<const HostFunction>;

}  // namespace yolk::hyper
