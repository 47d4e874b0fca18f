// SPDX-License-Identifier: Apache-2.0
// Calls of host functions for candidates and examples, and a memory of them for what is evaluated more than once.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/executor.hpp"

namespace yolk::hyper::population {

/// Which call of an evaluation it is.
struct HostCallKey {
    std::uint32_t candidate = 0;  ///< of the question's
    std::uint32_t group = 0;
    std::size_t equation = 0;
    std::uint32_t example = 0;  ///< of the group's
    friend auto operator<=>(const HostCallKey&, const HostCallKey&) = default;
};

struct PendingHostCall {
    HostCallKey key;
    HostFunctionPtr function;
    std::vector<Value> operands;  ///< parameters first
    std::string label;
};

/// What host functions have given in one evaluation. They may have effects or chance, so an audit must see what the
/// evaluation before it saw, as long as it asks the same. Thread-safe.
class HostMemory {
   public:
    [[nodiscard]] std::optional<Result<Value>> recall(const PendingHostCall& call);
    void keep(const PendingHostCall& call, const Result<Value>& result);

   private:
    std::mutex mutex_;
    std::map<HostCallKey, std::vector<std::pair<std::vector<Value>, Result<Value>>>> known_;
};

/// Overlapped on the pool; one after the other in the caller's thread where there is none. Results in the order of the
/// calls. `memory` may be null. Counts the calls that were made.
[[nodiscard]] std::vector<Result<Value>> make_host_calls(HostPool* pool, HostMemory* memory,
                                                         std::span<const PendingHostCall> calls, std::uint64_t& made);

}  // namespace yolk::hyper::population
