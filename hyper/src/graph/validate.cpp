// SPDX-License-Identifier: Apache-2.0
// The check that every public function begins with. One pass; words are put together only for an error.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "article.hpp"
#include "equations.hpp"
#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint64_t kMostElements = 0x7FFFFFFF;

std::string place_of(const Graph& graph, std::size_t index) {
    const Equation& equation = graph.equations[index];
    const std::string operation(equation.operation == nullptr ? "no operation" : equation.operation->name);
    std::string text = fmt::format("equation {} ({}", index, operation);
    if (!equation.hyperfunction.empty()) text += fmt::format(", of '{}'", equation.hyperfunction);
    if (equation.made_at) text += ", " + line_of(equation);
    return text + ')';
}

/// Which variables have been defined on the way through a graph.
class Defined {
   public:
    explicit Defined(const Graph& graph) : graph_(graph), defined_(graph.variables.size(), false) {}

    template <class Where>
    Result<void> define(VariableId id, const Where& where) {
        if (id.value >= defined_.size()) return out_of_range(id, where());
        if (defined_[id.value])
            return bad_input("Graph '{}': variable {} is defined again by {}; each is defined once.", graph_.name,
                             id.value, where());
        defined_[id.value] = true;
        return {};
    }
    template <class Where>
    Result<ValueType> type(const Atom& atom, const Where& where) const {
        if (const Value* literal = std::get_if<Value>(&atom)) return type_of(*literal);
        const VariableId id = std::get<VariableId>(atom);
        if (id.value >= defined_.size()) return out_of_range(id, where());
        if (!defined_[id.value])
            return bad_input("Graph '{}': {} reads variable {}, which nothing before it defines.", graph_.name, where(),
                             id.value);
        return graph_.variables[id.value].type;
    }
    Result<void> all() const {
        const auto missing = std::ranges::find(defined_, false);
        if (missing == defined_.end()) return {};
        return bad_input("Graph '{}': nothing defines variable {}.", graph_.name, missing - defined_.begin());
    }

   private:
    Error out_of_range(VariableId id, const std::string& where) const {
        return bad_input("Graph '{}': {} names variable {}; there are {}.", graph_.name, where, id.value,
                         defined_.size());
    }
    const Graph& graph_;
    std::vector<bool> defined_;
};

/// One graph and its bodies. A body that several equations share is looked at once.
class Validator {
   public:
    /// How many bodies deep the graph is. `depth`: how many it is in itself.
    Result<std::size_t> graph(const Graph& graph, std::size_t depth) {
        Defined defined(graph);
        YOLK_TRY_VOID(interface(graph, defined, depth));
        std::size_t height = 0;
        for (std::size_t i = 0; i < graph.equations.size(); ++i) {
            YOLK_TRY(const std::size_t inside, bodies(graph, i, depth));
            height = std::max(height, inside);
            YOLK_TRY_VOID(equation(graph, i, defined));
        }
        if (!graph.output_names.empty() && graph.output_names.size() != graph.outputs.size()) {
            return bad_input("Graph '{}': {} names for {} outputs; all have one, or none has.", graph.name,
                             graph.output_names.size(), graph.outputs.size());
        }
        for (std::size_t i = 0; i < graph.outputs.size(); ++i)
            YOLK_TRY_VOID(defined.type(graph.outputs[i], [i] { return fmt::format("output {}", i); }));
        YOLK_TRY_VOID(defined.all());
        return height;
    }

   private:
    static Result<void> interface(const Graph& graph, Defined& defined, std::size_t depth) {
        for (const Variable& variable : graph.variables) {
            if (variable.type.shape.element_count().value_or(kMostElements + 1) > kMostElements)
                return bad_input("Graph '{}' has {}; tensors have less than 2^31 elements.", graph.name,
                                 with_article(variable.type));
        }
        std::set<std::string_view> names, groups;
        for (const auto& [name, id] : graph.inputs) {
            YOLK_TRY_VOID(defined.define(id, [&name = name] { return fmt::format("input '{}'", name); }));
            // Bodies take theirs by position.
            if (!names.insert(name).second && depth == 0)
                return bad_input("Graph '{}' has two inputs '{}'; names of inputs differ.", graph.name, name);
        }
        for (const auto& [id, group] : graph.parameters) {
            YOLK_TRY_VOID(defined.define(id, [&group = group] { return fmt::format("parameter group '{}'", group); }));
            if (!groups.insert(group).second)
                return bad_input("Graph '{}' names the parameter group '{}' twice.", graph.name, group);
            if (graph.variables[id.value].type == type_of(Tensor()))
                return bad_input(
                    "Graph '{}': parameter group '{}' is empty. A hyperfunction without parameters has no variable; "
                    "give its calls a literal.",
                    graph.name, group);
        }
        return {};
    }

    /// How deep those of one equation are, themselves included.
    Result<std::size_t> bodies(const Graph& graph, std::size_t index, std::size_t depth) {
        std::size_t height = 0;
        for (const auto& body : graph.equations[index].bodies) {
            if (body == nullptr)
                return bad_input("Graph '{}': {} has an empty body.", graph.name, place_of(graph, index));
            auto known = heights_.find(body.get());
            if (known == heights_.end() && depth < kMostNesting) {
                YOLK_TRY(const std::size_t inside, this->graph(*body, depth + 1));
                known = heights_.emplace(body.get(), inside + 1).first;
            }
            if (known == heights_.end() || depth + known->second > kMostNesting)
                return bad_input("Graph '{}': {} is inside {} bodies; they may be {} deep.", graph.name,
                                 place_of(graph, index), depth, kMostNesting);
            height = std::max(height, known->second);
        }
        return height;
    }

    static Result<void> equation(const Graph& graph, std::size_t index, Defined& defined) {
        const Equation& equation = graph.equations[index];
        const auto where = [&] { return place_of(graph, index); };
        if (equation.operation == nullptr)
            return bad_input("Graph '{}': {}: give it one of operations().", graph.name, where());
        std::vector<ValueType> operands;
        for (const Atom& atom : equation.operands) {
            YOLK_TRY(ValueType type, defined.type(atom, where));
            operands.push_back(std::move(type));
        }
        auto types = equation.operation->types(equation, operands);
        if (!types)
            return std::move(types).error().while_doing(fmt::format("checking graph '{}', {}", graph.name, where()));
        const bool of_host = equation.operation->name == "host_call";
        if (!of_host && equation.host != nullptr)
            return bad_input("Graph '{}': {} has a host function; host_call runs those.", graph.name, where());
        // A host function decides its result's type when it is traced.
        const std::size_t count = of_host ? 1 : types->size();
        if (equation.results.size() != count)
            return bad_input("Graph '{}': {} has {} results; its operation gives {}.", graph.name, where(),
                             equation.results.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
            YOLK_TRY_VOID(defined.define(equation.results[i], where));
            const ValueType& given = graph.variables[equation.results[i].value].type;
            if (!of_host && given != (*types)[i])
                return bad_input("Graph '{}': result {} of {} is declared as {}; its operation gives {}.", graph.name,
                                 i, where(), to_string(given), to_string((*types)[i]));
        }
        return {};
    }

    std::map<const Graph*, std::size_t> heights_{};
};

}  // namespace

Result<void> validate(const Graph& graph) {
    YOLK_TRY_VOID(Validator().graph(graph, 0));
    return {};
}

}  // namespace yolk::hyper
