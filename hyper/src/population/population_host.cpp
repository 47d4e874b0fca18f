// SPDX-License-Identifier: Apache-2.0
#include "population_host.hpp"

#include <fmt/format.h>

#include <exception>

#include "yolk/hyper/operations.hpp"

namespace yolk::hyper::population {

std::vector<Result<Value>> run_tasks(HostPool* pool, std::span<const HostTask> tasks) {
    if (tasks.empty()) return {};
    if (pool != nullptr) return pool->run_all(tasks);
    std::vector<Result<Value>> results;
    results.reserve(tasks.size());
    for (const HostTask& task : tasks) {
        auto result = run_caught(*task.function, {task.parameters, task.operands, {}});
        if (result) {
            results.push_back(std::move(result));
        } else {
            results.emplace_back(std::move(result).error().while_doing(fmt::format("running {}", task.label)));
        }
    }
    return results;
}

Result<std::vector<Value>> evaluate_caught(const Equation& equation, std::span<const Value> operands) {
    try {
        return evaluate_equation(equation, operands);
    } catch (const std::exception& exception) {
        return bad_input(fmt::format("{} threw: {}", equation.operation->name, exception.what()));
    } catch (...) {
        return bad_input(fmt::format("{} threw something that is not a std::exception.", equation.operation->name));
    }
}

}  // namespace yolk::hyper::population
