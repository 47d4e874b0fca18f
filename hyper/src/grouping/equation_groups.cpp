// SPDX-License-Identifier: Apache-2.0
#include "equation_groups.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "graph_queries.hpp"
#include "group_draft.hpp"
#include "lowering_rules.hpp"

namespace yolk::hyper::population {
namespace {

constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

class GroupFinder {
   public:
    explicit GroupFinder(const GroupQuestion& question)
        : question_(question), readers_(readers_of(graph())), group_of_(graph().equations.size(), kNoGroup) {
        for (std::size_t i = 0; i < graph().equations.size(); ++i) {
            if (!takes_part(i)) continue;
            group_of_[i] = groups_.size();
            groups_.push_back({i});
        }
    }

    [[nodiscard]] std::vector<EquationGroup> find() {
        // What a group reads twice, once through another, can join when that other one has.
        while (question_.joined && join()) {}
        std::vector<EquationGroup> found;
        for (std::vector<std::size_t>& group : groups_) {
            // No kernel ends with a renaming, which only led to another group.
            while (!group.empty() && part(group.back()) == Part::Renaming) group.pop_back();
            if (is_kept(group) && draft_of(question_.of, group)) found.push_back({.equations = std::move(group)});
        }
        return found;
    }

   private:
    [[nodiscard]] const Graph& graph() const { return question_.of.graph; }
    [[nodiscard]] Part part(std::size_t i) const { return part_of(graph().equations[i]); }
    [[nodiscard]] bool takes_part(std::size_t i) const {
        const Equation& equation = graph().equations[i];
        if (question_.of.placed.equations[i].placement != Placement::Device) return false;
        if (question_.fused[i].result || question_.fused[i].is_absorbed || part(i) == Part::None) return false;
        const bool gives_words = question_.of.placed.variables[equation.results[0].value].words;
        return !gives_words || rule_of(equation.operation) == &kArgmax;
    }
    /// From the last group to the first: whether any went with another.
    bool join() {
        bool any = false;
        for (std::size_t g = groups_.size(); g-- > 0;) {
            if (groups_[g].empty()) continue;
            const std::size_t reader = reading_group(g);
            if (reader != kNoGroup && go_together(g, reader)) any = true;
        }
        return any;
    }
    /// The only other group that reads the result.
    [[nodiscard]] std::size_t reading_group(std::size_t g) const {
        const std::uint32_t made = graph().equations[groups_[g].back()].results[0].value;
        if (question_.taken[made] || readers_[made].empty()) return kNoGroup;
        const std::size_t group = group_of_[readers_[made].front()];
        const bool is_one =
            std::ranges::all_of(readers_[made], [&](std::size_t reader) { return group_of_[reader] == group; });
        return is_one ? group : kNoGroup;
    }
    bool go_together(std::size_t g, std::size_t reader) {
        std::vector<std::size_t>&first = groups_[g], &second = groups_[reader];
        if (question_.places[first.back()] != question_.places[second.back()]) return false;
        std::vector<std::size_t> both;
        std::ranges::merge(first, second, std::back_inserter(both));
        if (!draft_of(question_.of, both)) return false;
        for (const std::size_t i : first) group_of_[i] = reader;
        first.clear();
        second = std::move(both);
        return true;
    }
    /// Elementwise equations, or several of which some work along rows; what does alone has a kernel of its own.
    [[nodiscard]] bool is_kept(const std::vector<std::size_t>& group) const {
        const auto is_step = [&](std::size_t i) { return part(i) != Part::Renaming; };
        const auto steps = std::ranges::count_if(group, is_step);
        return steps > 1 || (steps == 1 && part(group.back()) == Part::Element);
    }

    const GroupQuestion& question_;
    std::vector<std::vector<std::size_t>> readers_;  // by variable
    std::vector<std::size_t> group_of_;              // by equation
    std::vector<std::vector<std::size_t>> groups_;   // ascending by their last equations
};

}  // namespace

std::vector<EquationGroup> find_groups(const GroupQuestion& question) { return GroupFinder(question).find(); }

void emit_group(Emitter& emitter, const PlacedExamples& examples, const EquationGroup& group) {
    const GroupDraft draft = draft_of(examples, group.equations).value();
    std::vector<BufferRef> reads;
    for (const GroupInput& input : draft.inputs) {
        const Operand& operand = input.operand;
        const Shape shape = operand.type.kind == ValueKind::Tensor ? operand.type.shape : Shape();
        reads.push_back(operand.traits.varies ? emitter.varying(operand)
                                              : emitter.constant(operand, operand.traits.per_example, shape));
    }
    const BufferRef out = emitter.result(examples.graph.equations[group.equations.back()].results[0]);
    std::visit(
        [&]<class Desc>(Desc desc) {
            desc.extents.front() = emitter.members();
            emitter.step(std::move(reads), {out}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                             return typename Desc::Views{.inputs = views.first(views.size() - 1), .out = views.back()};
                         }));
            std::uint64_t elements = 1;
            for (const std::uint32_t extent : desc.extents) elements *= extent;
            emitter.note_program(std::move(desc), elements);
        },
        draft.desc);
}

}  // namespace yolk::hyper::population
