// SPDX-License-Identifier: Apache-2.0
// Host calls inside bodies (loops, branches), which no trace has as equations of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {

/// Those that this thread makes while it lives; the innermost one hears them.
class HeardCalls {
   public:
    struct Call {
        const Equation* equation = nullptr;  ///< in its body
        std::vector<Value> operands;         ///< without the parameters
        std::optional<Value> result;         ///< nothing where it failed
    };
    HeardCalls();
    ~HeardCalls();
    HeardCalls(const HeardCalls&) = delete;
    HeardCalls& operator=(const HeardCalls&) = delete;

    static void hear(const Equation& equation, std::span<const Value> operands, const Result<Value>& result);
    [[nodiscard]] std::vector<Call>& calls() noexcept { return calls_; }

   private:
    HeardCalls* outer_;
    std::vector<Call> calls_{};
};

/// The function, whose calls of host functions are left in `calls` when it has returned. For one call.
[[nodiscard]] HostFunctionPtr heard_into(HostFunctionPtr function,
                                         std::shared_ptr<std::vector<HeardCalls::Call>> calls);

}  // namespace yolk::hyper
