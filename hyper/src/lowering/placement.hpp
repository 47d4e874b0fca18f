// SPDX-License-Identifier: Apache-2.0
// Which equations vary with the candidates, and where they run. Examples of one structure form a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "example_view.hpp"
#include "unroll.hpp"
#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/parameters.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper::population {

enum class SourceKind {
    Perturbed,  ///< a mean and noise; a matrix is formed only where an equation takes the whole of it
    Given,      ///< values for each candidate, from the host
    Mean,       ///< the mean itself, as it lies on the device, for one candidate
    Carried,    ///< values for each candidate, which the evaluation before left on the device
};

/// A parameter group that differs between candidates.
struct Source {
    ParameterSpec spec;
    SourceKind kind = SourceKind::Perturbed;
    ParameterId id{};          ///< in the search table
    std::uint32_t offset = 0;  ///< of its coordinates in the mean
    std::uint32_t count = 0;   ///< of coordinates
    std::uint32_t rank = 1;    ///< of a matrix' noise
    /// Whether the device draws its noise; otherwise the host sends natural values.
    [[nodiscard]] bool drawn_on_device() const { return kind == SourceKind::Perturbed && spec.fields.empty(); }
    /// Whether kernels read its mean.
    [[nodiscard]] bool in_mean() const { return kind == SourceKind::Mean || drawn_on_device(); }
};

/// A group's values at search coordinates; weights are their own.
[[nodiscard]] inline Result<Tensor> natural_tensor(const ParameterSpec& spec, std::span<const float> coordinates) {
    if (!spec.fields.empty()) return Tensor::of_numbers(to_numbers(spec.fields, coordinates));
    return Tensor::create(spec.shape, std::vector<float>(coordinates.begin(), coordinates.end()));
}

/// Which values are taken for the same in all examples of a group.
struct Uniformity {
    std::vector<bool> variables;
    std::vector<std::vector<bool>> literals;  ///< by equation and operand
    std::vector<bool> outputs;
};

/// Examples whose graphs have one signature.
struct ExampleGroup {
    std::vector<ExampleView> examples;
    std::vector<std::uint32_t> indices;  ///< among all examples
    Uniformity uniform;                  ///< stays when the examples change: plans were made for it
    Rolled rolled{};                     ///< of the graph as it is here
    std::vector<Skip> skips{};
    [[nodiscard]] const Graph& graph() const { return *examples.front().graph; }
    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(examples.size()); }
};

struct Traits {
    bool varies = false;      ///< with the candidate
    bool per_example = true;  ///< otherwise all examples share it
    bool on_device = false;   ///< an equation on the device makes it
    bool words = false;       ///< uint32 on the device, whole numbers for everyone else
    std::uint32_t below = 0;  ///< of words: every one is less
    std::int32_t source = -1;
};

/// What a lowering rule sees of an operand.
struct Operand {
    AtomPlace place;
    const VariableId* variable = nullptr;  ///< none: a literal
    ValueType type{};
    Traits traits{};
};

struct PlacedGraph {
    std::vector<PlacedEquation> equations;
    std::vector<Traits> variables;
};

/// Whether the data atom at a place is the same in all examples.
using IsUniform = std::function<bool(const AtomPlace&)>;
/// `rolled`: why equations with bodies are there.
[[nodiscard]] PlacedGraph place_graph(const Graph& graph, std::span<const Source> sources, const IsUniform& is_uniform,
                                      const Rolled& rolled = {});
/// The group's, as it is.
[[nodiscard]] PlacedGraph place_group(const ExampleGroup& group, std::span<const Source> sources);
/// Adds those of the original's equations of whose unrolled form a part is on the host. Whether there are any.
[[nodiscard]] bool add_those_on_host(const Unrolled& unrolled, const PlacedGraph& placed, Rolled& rolled);
/// By comparing the examples' values. With `examples_change` nothing that depends on an input, or on a host function,
/// counts as the same.
[[nodiscard]] Uniformity uniformity_of(std::span<const ExampleView> examples, bool examples_change);
/// What the group was made with. The group must outlive it.
[[nodiscard]] IsUniform uniform_in(const ExampleGroup& group);

[[nodiscard]] std::vector<Operand> operands_of(const Graph& graph, const PlacedGraph& placed, std::size_t equation,
                                               const IsUniform& is_uniform);
/// 1 for what is no tensor; 0 where the product does not fit.
[[nodiscard]] std::uint64_t element_count(const ValueType& type);

}  // namespace yolk::hyper::population

namespace yolk::hyper {

/// place() of a graph that is known to be valid.
[[nodiscard]] std::vector<PlacedEquation> placed_equations(const Graph& graph,
                                                           std::span<const std::string> varying_groups);

}  // namespace yolk::hyper
