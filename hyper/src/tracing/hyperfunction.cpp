// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/hyperfunction.hpp"

#include <fmt/format.h>

#include "equations.hpp"
#include "example_view.hpp"
#include "group_value.hpp"
#include "tracer.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {

Traced AnyHyperfunction::operator()(std::span<const Traced> operands, Line line) const {
    auto tracer = tracer_for(operands);
    if (tracer == nullptr) {
        tracer = Tracer::failed(bad_input(
            "Hyperfunction '{}' was called outside a system's function; use call() with its parameters.", name()));
        return tracer->input("error", parts_->stand_in);
    }
    if (tracer->error()) return Traced(parts_->stand_in);
    const Traced parameters = tracer->parameters(*this);
    return tracer->call(*this, parameters, operands, line);
}

Result<Value> AnyHyperfunction::call_with(const Value& parameters, std::span<const Value> operands) const {
    ParameterSet checked;
    YOLK_TRY_VOID(checked.add(parts_->spec, parameters));
    if (operands.size() != parts_->arity) {
        return bad_input("Hyperfunction '{}' was called with {} operands; it takes {}.", name(), operands.size(),
                         parts_->arity);
    }
    if (parts_->host != nullptr) return run_caught(*parts_->host, host_call_of(parameters, operands));
    const auto tracer = Tracer::create(name(), {});
    const Tracer::Scope scope(tracer);
    std::vector<Traced> traced;
    for (std::size_t i = 0; i < operands.size(); ++i)
        traced.push_back(tracer->input(fmt::format("{}", i), operands[i]));
    const Traced result = tracer->call(*this, tracer->parameters(name(), parameters), traced);
    YOLK_TRY(const TracedExample trace, tracer->finish(result));
    return population::output_of(trace);
}

}  // namespace yolk::hyper
