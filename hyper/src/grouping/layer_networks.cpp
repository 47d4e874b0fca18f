// SPDX-License-Identifier: Apache-2.0
#include "layer_networks.hpp"

#include <optional>
#include <utility>
#include <variant>

#include "graph_queries.hpp"
#include "lowering_rules.hpp"

namespace yolk::hyper::population {
namespace {

/// Without members and rows, which do not decide whether a kernel takes the network.
PerturbedNetworkDesc description_of(const PlacedExamples& of, std::span<const Source> sources,
                                    std::span<const NetworkLayer> layers) {
    PerturbedNetworkDesc desc;
    desc.widths.clear();
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const std::vector<Operand> operands = operands_of(of.graph, of.placed, layers[l].equation, of.is_uniform);
        const Shape& shape = operands[0].type.shape;
        const Source& weight = sources[static_cast<std::size_t>(operands[0].traits.source)];
        if (l == 0) desc.widths.push_back(static_cast<std::uint32_t>(shape[1]));
        desc.widths.push_back(static_cast<std::uint32_t>(shape[0]));
        desc.rank = weight.rank;
        if (l >= kMostNetworkLayers) continue;  // which is refused
        desc.weights[l] = weight.id;
        desc.activations[l] = layers[l].activation;
        if (!layers[l].bias) continue;
        const Operand bias =
            operands_of(of.graph, of.placed, layers[l].bias->equation, of.is_uniform)[layers[l].bias->operand];
        desc.biases |= 1U << l;
        desc.bias_vectors[l] = sources[static_cast<std::size_t>(bias.traits.source)].id;
    }
    return desc;
}

class LayerFinder {
   public:
    LayerFinder(const NetworkQuestion& question, std::vector<Fused>& fused)
        : question_(question), fused_(fused), readers_(readers_of(graph())) {}

    void join() {
        std::vector<bool> joined(graph().equations.size(), false);
        for (std::size_t i = 0; i < graph().equations.size(); ++i) {
            if (joined[i] || !is_layer(i)) continue;
            const std::vector<NetworkLayer> layers = network_from(i);
            const bool gains = layers.size() > 1 || (layers.size() == 1 && layers[0].bias);
            if (!gains) continue;
            for (const NetworkLayer& layer : layers) {
                for (std::size_t e : layer.equations()) {
                    joined[e] = true;
                    fused_[e] = {.is_absorbed = true};
                }
            }
            fused_[i] = {.result = layers.back().result, .network = layers};
        }
    }

   private:
    [[nodiscard]] const Graph& graph() const { return question_.of.graph; }
    [[nodiscard]] std::vector<Operand> operands(std::size_t i) const {
        return operands_of(graph(), question_.of.placed, i, question_.of.is_uniform);
    }
    [[nodiscard]] bool is_layer(std::size_t i) const {
        if (question_.of.placed.equations[i].placement != Placement::Device) return false;
        return graph().equations[i].operation->name == "linear" && is_drawn_matrix(operands(i)[0], question_.sources);
    }
    /// The only equation that reads the variable, if it has equation i's place and the variable's examples.
    [[nodiscard]] std::optional<std::size_t> reader_of(VariableId made, std::size_t i) const {
        const std::vector<std::size_t>& readers = readers_[made.value];
        if (question_.taken[made.value] || readers.size() != 1) return {};
        const std::size_t reader = readers.front();
        const PlacedGraph& placed = question_.of.placed;
        if (placed.equations[reader].placement != Placement::Device) return {};
        if (question_.places[reader] != question_.places[i]) return {};
        const VariableId result = graph().equations[reader].results[0];
        if (placed.variables[result.value].per_example != placed.variables[made.value].per_example) return {};
        return reader;
    }
    /// The operand that a sum adds to the layer's result, if it is a drawn vector.
    [[nodiscard]] std::optional<NetworkLayer::Bias> bias_in(std::size_t sum, VariableId layer) const {
        const Equation& equation = graph().equations[sum];
        if (equation.operation->name != "add" || equation.operands.size() != 2) return {};
        const std::size_t other = equation.operands[0] == Atom(layer) ? 1 : 0;
        const Operand operand = operands(sum)[other];
        if (operand.traits.source < 0 || operand.type.kind != ValueKind::Tensor) return {};
        if (!question_.sources[static_cast<std::size_t>(operand.traits.source)].drawn_on_device()) return {};
        const Shape& shape = graph().variables[layer.value].type.shape;
        if (operand.type.shape.rank() != 1 || shape.rank() == 0) return {};
        if (operand.type.shape[0] != shape[shape.rank() - 1]) return {};
        return NetworkLayer::Bias{.equation = sum, .operand = other};
    }
    [[nodiscard]] NetworkLayer layer_from(std::size_t i) const {
        NetworkLayer layer{.equation = i, .result = graph().equations[i].results[0]};
        std::optional<std::size_t> reader = reader_of(layer.result, i);
        if (reader) layer.bias = bias_in(*reader, layer.result);
        if (layer.bias) {
            layer.result = graph().equations[*reader].results[0];
            reader = reader_of(layer.result, i);
        }
        if (!reader) return layer;
        if (const auto activation = activation_of(*graph().equations[*reader].operation)) {
            layer.activation = *activation;
            layer.activation_equation = reader;
            layer.result = graph().equations[*reader].results[0];
        }
        return layer;
    }
    [[nodiscard]] std::uint32_t rank_of(std::size_t i) const {
        return question_.sources[static_cast<std::size_t>(operands(i)[0].traits.source)].rank;
    }
    /// As many layers as one kernel takes.
    [[nodiscard]] std::vector<NetworkLayer> network_from(std::size_t first) const {
        std::vector<NetworkLayer> layers;
        std::optional<std::size_t> next = first;
        while (next) {
            layers.push_back(layer_from(*next));
            if (!check_perturbed_network(description_of(question_.of, question_.sources, layers))) {
                layers.pop_back();
                break;
            }
            const VariableId made = layers.back().result;
            next = reader_of(made, first);
            const bool goes_on = next && is_layer(*next) && graph().equations[*next].operands[1] == Atom(made) &&
                                 rank_of(*next) == rank_of(first);
            if (!goes_on) break;
        }
        return layers;
    }

    const NetworkQuestion& question_;
    std::vector<Fused>& fused_;
    std::vector<std::vector<std::size_t>> readers_;  // by variable
};

}  // namespace

void join_layers(const NetworkQuestion& question, std::vector<Fused>& fused) { LayerFinder(question, fused).join(); }

void emit_network(Emitter& emitter, const PlacedExamples& examples, std::size_t first, const Fused& fused) {
    const auto operands_at = [&](std::size_t i) {
        return operands_of(examples.graph, examples.placed, i, examples.is_uniform);
    };
    const Operand x = operands_at(first)[1];
    PerturbedNetworkDesc desc = description_of(examples, emitter.sources(), fused.network);
    desc.members = emitter.members();
    desc.rows = emitter.examples(x.traits.per_example) * rows_columns(x.type.shape).rows;
    desc.shared_input = !x.traits.varies;
    desc.antithetic = emitter.antithetic();
    desc.determinism = emitter.determinism();
    std::vector<BufferRef> reads;
    for (const NetworkLayer& layer : fused.network) reads.push_back(emitter.mean(operands_at(layer.equation)[0]));
    for (const NetworkLayer& layer : fused.network) {
        if (layer.bias) reads.push_back(emitter.mean(operands_at(layer.bias->equation)[layer.bias->operand]));
    }
    reads.push_back(desc.shared_input ? emitter.constant(x, x.traits.per_example, x.type.shape) : emitter.varying(x));
    const std::size_t layers = fused.network.size(), biases = reads.size() - 1 - layers;
    emitter.step(std::move(reads), {emitter.result(*fused.result)}, 0,
                 bind_operation(desc, [layers, biases](std::span<const BufferView> views) {
                     return PerturbedNetworkViews{.weights = views.first(layers),
                                                  .biases = views.subspan(layers, biases),
                                                  .input = views[layers + biases],
                                                  .output = views[layers + biases + 1]};
                 }));
    emitter.note_network(std::move(desc));
}

}  // namespace yolk::hyper::population
