// SPDX-License-Identifier: Apache-2.0
#include "step_graph.hpp"

#include <fmt/format.h>

#include <numeric>

#include "yolk/internal/hyper/control.hpp"

namespace yolk::transformer {
namespace {

using namespace hyper;

/// [1, count]: 0, 1, 2, ...
Traced counting(std::uint32_t count) {
    std::vector<float> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    return Tensor::create({1, count}, std::move(numbers)).value();
}

template <class Weight>
Traced own(const std::string& name, const Weight& weight) {
    return hyperfunction(name, weight, [](const Traced& w) { return w; })();
}

/// The step's part of the graph around the network.
class StepTracer {
   public:
    StepTracer(const DecoderGraph& graph, std::uint32_t tokens, std::uint32_t places)
        : graph_(graph), tokens_(tokens), places_(places) {}

    TracedValues outputs() {
        const DecoderConfig& config = graph_.config();
        const Traced given = reshape(own(StepGroups::kIds, VectorWeight{.size = tokens_}), {tokens_, 1});
        // Kernels look up only ids that they have found themselves: these cannot be out of range.
        const Traced ids = argmax(equal_to(given, counting(config.vocabulary)));
        const Traced start = own(StepGroups::kStart, VectorWeight{.size = 1});
        const Traced at = reshape(reshape(counting(tokens_), {tokens_}) + start, {tokens_, 1});
        const Traced where_to = argmax(equal_to(at, counting(places_)));
        const auto [cosines, sines] = rope_tables(config, places_);
        std::vector<Traced> next(2 * config.layers, Traced(0.0));
        const Sight sight{.cosine = gather(cosines, where_to),
                          .sine = gather(sines, where_to),
                          .seen = less_or_equal(counting(places_), at),
                          .remember = [&](std::uint32_t layer, const Traced& keys, const Traced& values) {
                              const Shape by_place{places_, config.key_heads, config.head_width};
                              next[2 * layer] = remembered(2 * layer, keys, where_to);
                              next[2 * layer + 1] = remembered(2 * layer + 1, values, where_to);
                              return std::pair(reshape(next[2 * layer], by_place),
                                               reshape(next[2 * layer + 1], by_place));
                          }};
        TracedValues outputs{graph_.logits(ids, sight)};
        for (const Traced& one : next) outputs.push_back(one);
        return outputs;
    }

   private:
    /// With those of the tokens in their places. [places, key heads * head width]
    [[nodiscard]] Traced remembered(std::uint32_t index, const Traced& fresh, const Traced& where_to) const {
        const std::uint32_t width = graph_.config().key_heads * graph_.config().head_width;
        const Traced before = own(StepGroups::remembered(index), MatrixWeight{.out = places_, .in = width});
        return scatter(before, where_to, reshape(fresh, {tokens_, width}));
    }

    const DecoderGraph& graph_;
    std::uint32_t tokens_, places_;
};

}  // namespace

std::string StepGroups::remembered(std::uint32_t index) { return fmt::format("step.remembered.{}", index); }

Result<void> add_step_groups(ParameterSet& parameters, const DecoderConfig& config, std::uint32_t tokens,
                             std::uint32_t places) {
    const auto add = [&](std::string name, const Tensor& zeros) {
        return parameters.add({.name = std::move(name), .shape = zeros.shape()}, zeros);
    };
    YOLK_TRY_VOID(add(StepGroups::kIds, Tensor::filled({tokens}, 0.0F)));
    YOLK_TRY_VOID(add(StepGroups::kStart, Tensor::filled({1}, 0.0F)));
    const Tensor state = Tensor::filled({places, std::uint64_t{config.key_heads} * config.head_width}, 0.0F);
    for (std::uint32_t i = 0; i < 2 * config.layers; ++i) YOLK_TRY_VOID(add(StepGroups::remembered(i), state));
    return {};
}

Result<TracedExample> trace_step(const DecoderGraph& graph, const ParameterSet& parameters, std::uint32_t tokens,
                                 std::uint32_t places) {
    TracedExample traced;
    YOLK_TRY(traced.graph,
             trace("step", {}, [&](std::span<const Traced>) { return StepTracer(graph, tokens, places).outputs(); }));
    traced.values.resize(traced.graph.variables.size());
    for (const GraphParameter& parameter : traced.graph.parameters)
        traced.values[parameter.variable.value] = parameters.find(parameter.group)->value();
    std::vector<std::string> varying{StepGroups::kIds, StepGroups::kStart};
    for (std::uint32_t i = 0; i < 2 * graph.config().layers; ++i) varying.push_back(StepGroups::remembered(i));
    for (const ParameterGroup& group : parameters.groups()) {
        if (group.spec.optimize) varying.push_back(group.spec.name);
    }
    YOLK_TRY_VOID(population::refresh(traced, {}, varying));
    return traced;
}

}  // namespace yolk::transformer
