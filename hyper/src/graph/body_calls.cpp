// SPDX-License-Identifier: Apache-2.0
#include "body_calls.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

bool& dry_slot() noexcept {
    thread_local bool dry = false;
    return dry;
}

/// Calls of host functions, bodies included: whether there is one, and whether all may overlap.
struct CallsInside {
    bool any = false;
    bool may_overlap = true;
    void look_at(const Equation& equation) {
        if (equation.host != nullptr) {
            any = true;
            may_overlap = may_overlap && equation.host->options.max_concurrency == 0;
        }
        for (const auto& body : equation.bodies) {
            for (const Equation& inner : body->equations) look_at(inner);
        }
    }
};

}  // namespace

bool calls_from_bodies(const Equation& equation) {
    if (equation.bodies.empty()) return false;
    CallsInside inside;
    inside.look_at(equation);
    return inside.any && inside.may_overlap;
}

HostFunctionPtr as_host_function(const Equation& equation) {
    HostFunction function;
    function.run = [equation](const HostCall& call) -> Result<Value> {
        YOLK_TRY(std::vector<Value> results, evaluate_equation(equation, call.operands));
        Record::Fields fields;
        for (Value& result : results) fields.emplace_back(std::to_string(fields.size()), std::move(result));
        YOLK_TRY(Record record, Record::create(std::move(fields)));
        return Value(std::move(record));
    };
    return std::make_shared<const HostFunction>(std::move(function));
}

std::vector<Value> results_of(const Value& record) {
    std::vector<Value> results;
    for (const auto& [name, value] : record.record()->fields()) results.push_back(value);
    return results;
}

DryRun::DryRun(bool is_dry) noexcept : before_(std::exchange(dry_slot(), is_dry)) {}
DryRun::~DryRun() { dry_slot() = before_; }
bool DryRun::is_on() noexcept { return dry_slot(); }

}  // namespace yolk::hyper
