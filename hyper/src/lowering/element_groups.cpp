// SPDX-License-Identifier: Apache-2.0
#include "element_groups.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "lowering_rules.hpp"

namespace yolk::hyper::population {
namespace {

constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);
/// The highest cost_of() a group: drivers compile all of its operations as one kernel.
constexpr std::uint64_t kMostElementCost = 1024;

/// What leaves every element where it is.
bool is_renaming(const Equation& equation) { return rule_of(equation.operation) == &kReshape; }

bool is_elementwise(const Equation& equation) {
    const Rule* rule = equation.host ? nullptr : rule_of(equation.operation);
    return rule == &kElementwise;
}

ElementwiseOperation operation_of_step(const Equation& equation) {
    return named_like<ElementwiseOperation>(*equation.operation);
}

/// Products of the last extents, 1 and the number of elements among them.
std::set<std::uint64_t> suffix_products(const Shape& shape) {
    std::set<std::uint64_t> products{1};
    std::uint64_t product = 1;
    for (std::size_t d = shape.rank(); d-- > 0;) products.insert(product *= shape[d]);
    return products;
}

/// Whether elements have one place in dimensions that all the shapes are cut from.
bool is_chain(const std::set<std::uint64_t>& products) {
    std::uint64_t before = 1;
    for (const std::uint64_t product : products) {
        if (product % before != 0) return false;
        before = product;
    }
    return true;
}

struct OpenGroup {
    std::vector<std::size_t> equations;  // descending
    std::set<std::uint64_t> products;
    std::uint64_t cost = 0;
    std::size_t steps = 0;
};

class ElementFinder {
   public:
    explicit ElementFinder(const ElementQuestion& question)
        : question_(question),
          readers_(question.of.graph.variables.size()),
          group_of_(question.of.graph.equations.size(), kNoGroup) {
        const Graph& graph = question.of.graph;
        for (std::size_t i = 0; i < graph.equations.size(); ++i) {
            for (const Atom& atom : graph.equations[i].operands) {
                if (const auto* id = std::get_if<VariableId>(&atom)) readers_[id->value].push_back(i);
            }
        }
    }

    [[nodiscard]] std::vector<ElementGroup> find() {
        for (std::size_t i = question_.of.graph.equations.size(); i-- > 0;) place(i);
        std::vector<ElementGroup> found;
        for (const OpenGroup& open : open_) {
            std::vector<std::size_t> equations(open.equations.rbegin(), open.equations.rend());
            if (draft_of(question_.of, equations)) found.push_back({.equations = std::move(equations)});
        }
        return found;
    }

   private:
    [[nodiscard]] const Traits& traits(const Equation& equation) const {
        return question_.of.placed.variables[equation.results[0].value];
    }
    [[nodiscard]] const ValueType& type(const Equation& equation) const {
        return question_.of.graph.variables[equation.results[0].value].type;
    }
    /// Elements of the result, of all examples.
    [[nodiscard]] std::uint64_t count(const Equation& equation) const {
        return element_count(type(equation)) * (traits(equation).per_example ? question_.of.count : 1);
    }
    /// The only group that reads the result.
    [[nodiscard]] std::size_t reading_group(std::size_t i) const {
        const VariableId made = question_.of.graph.equations[i].results[0];
        if (question_.taken[made.value] || readers_[made.value].empty()) return kNoGroup;
        const std::size_t group = group_of_[readers_[made.value].front()];
        const bool is_one =
            std::ranges::all_of(readers_[made.value], [&](std::size_t reader) { return group_of_[reader] == group; });
        return is_one ? group : kNoGroup;
    }
    [[nodiscard]] bool takes_part(std::size_t i) const {
        const Equation& equation = question_.of.graph.equations[i];
        if (question_.of.placed.equations[i].placement != Placement::Device) return false;
        if (question_.fused[i].result || question_.fused[i].is_absorbed) return false;
        return (is_elementwise(equation) || is_renaming(equation)) && !traits(equation).words;
    }
    bool joins(OpenGroup& group, std::size_t i) const {
        const Equation& equation = question_.of.graph.equations[i];
        const Equation& last = question_.of.graph.equations[group.equations.front()];
        if (question_.places[i] != question_.places[group.equations.front()] || count(equation) != count(last) ||
            element_count(type(equation)) != element_count(type(last)))
            return false;
        const std::uint64_t cost = is_elementwise(equation) ? cost_of(operation_of_step(equation)) : 0;
        std::set<std::uint64_t> products = suffix_products(type(equation).shape);
        products.insert(group.products.begin(), group.products.end());
        if (group.cost + cost > kMostElementCost || group.steps == kMostProgramSteps || !is_chain(products))
            return false;
        std::vector<std::size_t> together{i};
        together.insert(together.end(), group.equations.rbegin(), group.equations.rend());
        if (!draft_of(question_.of, together)) return false;
        group.products = std::move(products);
        group.cost += cost;
        group.steps += is_elementwise(equation) ? 1U : 0U;
        group.equations.push_back(i);
        return true;
    }
    void place(std::size_t i) {
        if (!takes_part(i)) return;
        const Equation& equation = question_.of.graph.equations[i];
        if (const std::size_t group = question_.joined ? reading_group(i) : kNoGroup;
            group != kNoGroup && joins(open_[group], i)) {
            group_of_[i] = group;
        } else if (is_elementwise(equation)) {
            group_of_[i] = open_.size();
            open_.push_back({.equations = {i},
                             .products = suffix_products(type(equation).shape),
                             .cost = cost_of(operation_of_step(equation)),
                             .steps = 1});
        }
    }

    const ElementQuestion& question_;
    std::vector<std::vector<std::size_t>> readers_;  // by variable
    std::vector<std::size_t> group_of_;              // by equation
    std::vector<OpenGroup> open_;
};

/// Makes the description of a group, equation by equation.
class ElementDrafter {
   public:
    ElementDrafter(const PlacedExamples& examples, std::span<const std::size_t> equations)
        : examples_(examples), equations_(equations) {
        std::set<std::uint64_t> products;
        for (const std::size_t i : equations) products.merge(suffix_products(shape_at(i)));
        products_.assign(products.begin(), products.end());
        const bool per_example =
            examples.placed.variables[examples.graph.equations[equations.back()].results[0].value].per_example;
        draft_.desc.extents = {1, per_example ? examples.count : 1};
        for (std::size_t p = products_.size(); p-- > 1;)
            draft_.desc.extents.push_back(static_cast<std::uint32_t>(products_[p] / products_[p - 1]));
    }

    [[nodiscard]] std::optional<ElementDraft> draft() {
        if (draft_.desc.extents.size() > kMostProgramDimensions) return {};
        // Steps are numbered behind the inputs: these first.
        std::set<std::uint32_t> made;
        for (const std::size_t i : equations_) {
            for (const Operand& operand : operands_at(i)) {
                if (operand.variable == nullptr || !made.contains(operand.variable->value)) add_input(i, operand);
            }
            made.insert(examples_.graph.equations[i].results[0].value);
        }
        for (const std::size_t i : equations_) add_step(i);
        for (const ElementInput& input : draft_.inputs) draft_.desc.inputs.push_back(input.dimensions);
        if (draft_.inputs.size() > kMostProgramInputs || !has_few_runs(draft_.desc)) return {};
        return std::move(draft_);
    }

   private:
    /// A variable, or the place of a literal; and the dimensions that it has.
    using InputKey = std::pair<std::array<std::size_t, 3>, std::uint32_t>;

    [[nodiscard]] const Shape& shape_at(std::size_t i) const {
        return examples_.graph.variables[examples_.graph.equations[i].results[0].value].type.shape;
    }
    [[nodiscard]] std::vector<Operand> operands_at(std::size_t i) const {
        return operands_of(examples_.graph, examples_.placed, i, examples_.is_uniform);
    }
    /// Bit d where the operand, repeated to the equation's result, moves along the program's dimension d.
    [[nodiscard]] std::uint32_t dimensions(std::size_t i, const Operand& operand) const {
        const std::size_t rank = draft_.desc.extents.size();
        std::uint32_t bits = operand.traits.varies ? 1U : 0U;
        if (operand.traits.per_example) bits |= 2U;
        const Equation& equation = examples_.graph.equations[i];
        const Shape& to = is_renaming(equation) ? operand.type.shape : shape_at(i);
        const Shape from = operand.type.kind == ValueKind::Tensor ? operand.type.shape : Shape();
        std::uint64_t inner = 1;
        for (std::size_t d = to.rank(); d-- > 0; inner *= to[d]) {
            const std::size_t behind = to.rank() - d;
            const bool moves = behind <= from.rank() && from[from.rank() - behind] == to[d];
            for (std::size_t p = 1; moves && p < products_.size(); ++p) {
                if (products_[p] > inner && products_[p] <= inner * to[d]) bits |= 1U << (rank - p);
            }
        }
        return bits;
    }
    [[nodiscard]] InputKey key_of(std::size_t i, const Operand& operand) const {
        const std::uint32_t bits = dimensions(i, operand);
        if (operand.variable != nullptr) return {{0, operand.variable->value, 0}, bits};
        return {{1, operand.place.equation, operand.place.operand}, bits};
    }
    void add_input(std::size_t i, const Operand& operand) {
        const InputKey key = key_of(i, operand);
        if (!numbers_.try_emplace(key, static_cast<std::uint32_t>(draft_.inputs.size())).second) return;
        draft_.inputs.push_back({operand, key.second});
    }
    void add_step(std::size_t i) {
        const Equation& equation = examples_.graph.equations[i];
        std::vector<std::uint32_t> values;
        for (const Operand& operand : operands_at(i)) {
            const auto made = operand.variable == nullptr ? made_.end() : made_.find(operand.variable->value);
            values.push_back(made != made_.end() ? made->second : numbers_.at(key_of(i, operand)));
        }
        std::uint32_t number = values.front();
        if (!is_renaming(equation)) {
            number = static_cast<std::uint32_t>(draft_.inputs.size() + draft_.desc.steps.size());
            draft_.desc.steps.push_back({operation_of_step(equation), std::move(values)});
        }
        made_.emplace(equation.results[0].value, number);
    }

    const PlacedExamples& examples_;
    std::span<const std::size_t> equations_;
    std::vector<std::uint64_t> products_;  // ascending, from 1
    ElementDraft draft_;
    std::map<InputKey, std::uint32_t> numbers_;
    std::map<std::uint32_t, std::uint32_t> made_;  // by variable: its value's number
};

}  // namespace

std::vector<ElementGroup> find_element_groups(const ElementQuestion& question) {
    return ElementFinder(question).find();
}

std::optional<ElementDraft> draft_of(const PlacedExamples& examples, std::span<const std::size_t> equations) {
    return ElementDrafter(examples, equations).draft();
}

void emit_elements(Emitter& emitter, const PlacedExamples& examples, const ElementGroup& group) {
    const ElementDraft draft = draft_of(examples, group.equations).value();
    ElementwiseDesc desc = draft.desc;
    desc.extents.front() = emitter.members();
    std::vector<BufferRef> reads;
    for (const ElementInput& input : draft.inputs) {
        const Operand& operand = input.operand;
        const Shape shape = operand.type.kind == ValueKind::Tensor ? operand.type.shape : Shape();
        reads.push_back(operand.traits.varies ? emitter.varying(operand)
                                              : emitter.constant(operand, operand.traits.per_example, shape));
    }
    const BufferRef out = emitter.result(examples.graph.equations[group.equations.back()].results[0]);
    emitter.step(std::move(reads), {out}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return ElementwiseViews{.inputs = views.first(views.size() - 1), .out = views.back()};
                 }));
    emitter.note_program(std::move(desc));
}

}  // namespace yolk::hyper::population
