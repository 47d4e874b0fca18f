// SPDX-License-Identifier: Apache-2.0
#include "heard_calls.hpp"

#include <utility>

namespace yolk::hyper {
namespace {

HeardCalls*& listening() {
    thread_local HeardCalls* innermost = nullptr;
    return innermost;
}

}  // namespace

HeardCalls::HeardCalls() : outer_(std::exchange(listening(), this)) {}
HeardCalls::~HeardCalls() { listening() = outer_; }

void HeardCalls::hear(const Equation& equation, std::span<const Value> operands, const Result<Value>& result) {
    if (listening() == nullptr) return;
    listening()->calls_.push_back({.equation = &equation,
                                   .operands = {operands.begin(), operands.end()},
                                   .result = result ? std::optional(*result) : std::nullopt});
}

HostFunctionPtr heard_into(HostFunctionPtr function, std::shared_ptr<std::vector<HeardCalls::Call>> calls) {
    HostFunction heard{.name = function->name, .run = {}, .options = function->options, .stand_in = function->stand_in};
    heard.run = [function = std::move(function), calls = std::move(calls)](const HostCall& call) {
        HeardCalls inside;
        Result<Value> result = function->run(call);
        *calls = std::move(inside.calls());
        return result;
    };
    return std::make_shared<const HostFunction>(std::move(heard));
}

}  // namespace yolk::hyper
