// SPDX-License-Identifier: Apache-2.0
#include "host_calls.hpp"

#include <fmt/format.h>

#include "group_value.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper::population {
namespace {

std::vector<Result<Value>> run_tasks(HostPool* pool, std::span<const HostTask> tasks) {
    if (tasks.empty()) return {};
    if (pool != nullptr) return pool->run_all(tasks);
    std::vector<Result<Value>> results;
    results.reserve(tasks.size());
    for (const HostTask& task : tasks) {
        auto result = run_caught(*task.function, {task.parameters, task.operands, {}, task.text, task.numbers});
        if (!result) result = std::move(result).error().while_doing(fmt::format("running {}", task.label));
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace

std::optional<Result<Value>> HostMemory::recall(const PendingHostCall& call) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(call.key);
    if (found == known_.end()) return std::nullopt;
    for (const auto& [operands, result] : found->second) {
        if (operands == call.operands) return result;
    }
    return std::nullopt;
}

void HostMemory::keep(const PendingHostCall& call, const Result<Value>& result) {
    const std::lock_guard lock(mutex_);
    known_[call.key].emplace_back(call.operands, result);
}

std::vector<Result<Value>> make_host_calls(HostPool* pool, HostMemory* memory, std::span<const PendingHostCall> calls,
                                           std::uint64_t& made) {
    std::vector<std::optional<Result<Value>>> results(calls.size());
    std::vector<HostTask> tasks;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const PendingHostCall& call = calls[i];
        if (memory != nullptr) results[i] = memory->recall(call);
        if (results[i]) continue;
        tasks.push_back(host_task_of(call.function, call.operands.front(),
                                     {call.operands.begin() + 1, call.operands.end()}, call.label));
        which.push_back(i);
    }
    made += tasks.size();
    std::vector<Result<Value>> fresh = run_tasks(pool, tasks);
    for (std::size_t t = 0; t < fresh.size(); ++t) {
        if (memory != nullptr) memory->keep(calls[which[t]], fresh[t]);
        results[which[t]] = std::move(fresh[t]);
    }
    std::vector<Result<Value>> all;
    all.reserve(results.size());
    for (std::optional<Result<Value>>& result : results) all.push_back(*std::move(result));
    return all;
}

}  // namespace yolk::hyper::population
