// SPDX-License-Identifier: Apache-2.0
// A group's value, a tensor or a text, as host functions get it.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/hyper/host_function.hpp"

namespace yolk::hyper {

/// The call points to the value and the operands.
[[nodiscard]] inline HostCall host_call_of(const Value& group, std::span<const Value> operands) {
    HostCall call{.parameters = {}, .operands = operands, .stop = {}};
    if (const Tensor* numbers = group.tensor()) {
        call.parameters = numbers->values();
        call.numbers = numbers->numbers();
    }
    if (const std::string* text = group.text()) call.text = *text;
    return call;
}

/// The task points to the value.
[[nodiscard]] inline HostTask host_task_of(HostFunctionPtr function, const Value& group, std::vector<Value> operands,
                                           std::string label) {
    HostTask task{.function = std::move(function), .operands = std::move(operands), .label = std::move(label)};
    const HostCall call = host_call_of(group, {});
    task.parameters = call.parameters;
    task.text = call.text;
    task.numbers = call.numbers;
    return task;
}

}  // namespace yolk::hyper
