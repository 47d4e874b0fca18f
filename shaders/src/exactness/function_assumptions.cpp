// SPDX-License-Identifier: Apache-2.0
// What a branch that was taken says of the values that its condition compares.
#include <algorithm>
#include <spirv/unified1/spirv.hpp>

#include "function_walk.hpp"

namespace yolk {
namespace {

constexpr int kMostAssumptions = 32;  // conditions of conditions: each level may copy what is known

}  // namespace

bool FunctionWalk::narrow(KnownState& state, std::uint32_t id, const Leaf& to) const {
    const Leaf before = leaf(state, id);
    if (before.kind == Scalar::Other || before.kind != to.kind) return true;
    const std::optional<Leaf> cut = within_bounds(before, to.low, to.high);
    if (!cut) return false;
    if (*cut == before) return true;
    state.facts[id] = *cut;
    state.narrow(known(id).origin, *cut);
    const SpirvInstruction* const from = context_.module.definition(id);
    if (from != nullptr && (from->op == spv::OpBitcast || from->op == spv::OpCopyObject)) {
        const std::uint32_t source = from->word(3);
        return narrow(state, source, as_kind(*cut, leaf(state, source).kind));
    }
    return true;
}

bool FunctionWalk::assume_comparison(KnownState& state, std::uint32_t op, std::uint32_t left,
                                     std::uint32_t right) const {
    const Scalar kind = compared_kind(op);
    const Leaf own = leaf(state, left);
    const std::optional<Bounds> bounds = bounds_where(op, as_kind(leaf(state, right), kind));
    if (!bounds || own.kind == Scalar::Other) return true;
    const std::optional<Leaf> cut = within_bounds(as_kind(own, kind), bounds->low, bounds->high);
    return cut && narrow(state, left, as_kind(*cut, own.kind));
}

bool FunctionWalk::assume_edge(KnownState& state, std::size_t from, std::uint32_t label) const {
    const SpirvBlock& block = function_.blocks[from];
    const SpirvInstruction& last = context_.module.instructions[block.end - 1];
    if (last.op == spv::OpBranchConditional && last.word(2) != last.word(3) &&
        !assume(state, last.word(1), last.word(2) == label))
        return false;
    if (block.predecessors.size() != 1 || block.predecessors[0] >= from || assumptions_ >= kMostAssumptions)
        return true;
    ++assumptions_;
    const bool possible = assume_edge(state, block.predecessors[0], block.label);
    --assumptions_;
    return possible;
}

const SpirvBlock* FunctionWalk::block_of(const SpirvInstruction& one) const {
    const auto index = static_cast<std::size_t>(&one - context_.module.instructions.data());
    const auto behind = std::ranges::upper_bound(function_.blocks, index, {}, &SpirvBlock::first);
    return behind == function_.blocks.begin() || index >= std::prev(behind)->end ? nullptr : &*std::prev(behind);
}

/// `a && b` with a side that is computed only if it counts: the way that was taken says as much as the value.
bool FunctionWalk::assume_phi(KnownState& state, const SpirvInstruction& phi, bool truth) const {
    const SpirvBlock* const at = block_of(phi);
    std::optional<KnownState> any;
    std::uint64_t versions = context_.versions;
    for (std::size_t i = 3; i + 1 < phi.words.size(); i += 2) {
        const auto from = function_.block_of_label.find(phi.word(i + 1));
        if (from == function_.block_of_label.end() || at == nullptr) return true;
        static_cast<void>(context_.spend(state.objects.size(), function_.id));
        KnownState one = state;
        if (!assume(one, phi.word(i), truth) || !assume_edge(one, from->second, at->label)) continue;
        any = any ? KnownState::either_of(*any, one, false, versions) : std::move(one);
    }
    context_.versions = versions;
    if (!any) return false;
    state = *std::move(any);
    return true;
}

bool FunctionWalk::assume(KnownState& state, std::uint32_t condition, bool truth) const {
    if (assumptions_ == kMostAssumptions) return true;  // less is known, no more
    ++assumptions_;
    const bool possible = assume_one(state, condition, truth);
    --assumptions_;
    return possible;
}

bool FunctionWalk::assume_one(KnownState& state, std::uint32_t condition, bool truth) const {
    const std::int64_t wanted = truth ? 1 : 0;
    if (leaf(state, condition).is(1 - wanted)) return false;
    if (!narrow(state, condition, {.kind = Scalar::Bool, .low = wanted, .high = wanted})) return false;
    const SpirvInstruction* const from = context_.module.definition(condition);
    if (from == nullptr) return true;
    switch (from->op) {
        case spv::OpLogicalNot: return assume(state, from->word(3), !truth);
        case spv::OpLogicalAnd:
            return !truth || (assume(state, from->word(3), true) && assume(state, from->word(4), true));
        case spv::OpLogicalOr:
            return truth || (assume(state, from->word(3), false) && assume(state, from->word(4), false));
        case spv::OpPhi: return assume_phi(state, *from, truth);
        default: break;
    }
    const std::uint32_t op = truth ? from->op : negated(from->op);
    if (compared_kind(from->op) == Scalar::Other || known(condition).value.size() != 1) return true;
    return assume_comparison(state, op, from->word(3), from->word(4)) &&
           assume_comparison(state, mirrored(op), from->word(4), from->word(3));
}

}  // namespace yolk
