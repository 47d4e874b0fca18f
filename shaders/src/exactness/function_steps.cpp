// SPDX-License-Identifier: Apache-2.0
// What one instruction makes of what is known before it.
#include <algorithm>
#include <memory>
#include <spirv/unified1/spirv.hpp>

#include "function_walk.hpp"
#include "undefined_reasons.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kNoComponent = 0xFFFFFFFF;  // of a shuffle: undefined

/// All of the operands but those before `first`: a divisor may be given where what it divides is not.
bool is_given(const Value& operands, std::size_t first) {
    return operands.size() > first && std::all_of(operands.begin() + static_cast<std::ptrdiff_t>(first), operands.end(),
                                                  [](const Leaf& leaf) { return leaf.given; });
}

/// Memory that belongs to an invocation or its workgroup, whose size the module declares.
bool is_held_to_its_length(std::uint32_t storage) noexcept {
    return storage == spv::StorageClassFunction || storage == spv::StorageClassPrivate ||
           storage == spv::StorageClassWorkgroup;
}

}  // namespace

void FunctionWalk::evaluate_global(const SpirvInstruction& one) {
    KnownState nothing;
    ValueTypes& types = context_.types;
    switch (one.op) {
        case spv::OpTypeArray: {
            const Leaf length = leaf(nothing, one.word(3));
            const bool is_known = length.kind != Scalar::Other && length.low == length.high && length.low > 0;
            types.declare(one, is_known ? static_cast<std::uint32_t>(length.low) : 0);
            break;
        }
        case spv::OpConstantTrue:
        case spv::OpSpecConstantTrue: set(one, types.constant(one.type, 1)); break;
        case spv::OpConstantFalse:
        case spv::OpSpecConstantFalse: set(one, types.constant(one.type, 0)); break;
        case spv::OpConstant:
        case spv::OpSpecConstant: set(one, types.constant(one.type, one.word(3))); break;
        case spv::OpConstantComposite:
        case spv::OpSpecConstantComposite: evaluate(one, spv::OpCompositeConstruct, 3, nothing); break;
        case spv::OpSpecConstantOp: evaluate(one, one.word(3), 4, nothing); break;
        case spv::OpConstantNull: {
            Value zero = types.any(one.type);
            for (Leaf& leaf : zero) leaf.low = leaf.high = 0;
            set(one, std::move(zero));
            break;
        }
        case spv::OpVariable: {
            const ValueType& type = types.type(one.type);
            const Pointer to{.type = types.part_id(one.type, 0), .storage = type.storage, .variable = one.result};
            set(one.result, {.pointer = to});
            break;
        }
        case spv::OpUndef: set(one, types.any(one.type)); break;
        case spv::OpExecutionMode:
            if (one.word(2) == spv::ExecutionModeLocalSize && context_.workgroup.empty())
                context_.workgroup = {one.word(3), one.word(4), one.word(5)};
            return;
        case spv::OpDecorate: {
            if (one.word(2) != spv::DecorationBuiltIn) return;
            if (one.word(3) == spv::BuiltInLocalInvocationId) context_.local_invocation_id = one.word(1);
            if (one.word(3) == spv::BuiltInWorkgroupSize) context_.workgroup_size = one.word(1);
            return;
        }
        default:
            if (one.op >= spv::OpTypeVoid && one.op <= spv::OpTypePipe) types.declare(one, 0);
            return;
    }
    context_.globals[one.result] = known(one.result);
    if (one.result == context_.workgroup_size) {
        context_.workgroup.clear();
        for (const Leaf& leaf : known(one.result).value)
            context_.workgroup.push_back(static_cast<std::uint32_t>(leaf.high));
    }
}

void FunctionWalk::step(const SpirvInstruction& one, std::size_t block, KnownState& state) {
    state.facts.erase(one.result);
    switch (one.op) {
        case spv::OpVariable: return declare_variable(one, state);
        case spv::OpAccessChain:
        case spv::OpInBoundsAccessChain: return take_part(one, state);
        case spv::OpLoad: return load(one, one.word(3), state);
        case spv::OpStore: return store(one.word(1), value(state, one.word(2)), state);
        case spv::OpCopyMemory: {
            load(one, one.word(2), state);
            return store(one.word(1), context_.types.any(known(one.word(1)).pointer.value_or(Pointer{}).type), state);
        }
        case spv::OpFunctionCall: return call(one, state);
        case spv::OpPhi: return join_phi(one, block);
        case spv::OpExtInst: return built_in(one, state);
        default:
            if (one.result != 0 && one.type != 0) evaluate(one, one.op, 3, state);
    }
}

void FunctionWalk::declare_variable(const SpirvInstruction& one, KnownState& state) {
    const ValueTypes& types = context_.types;
    const std::uint32_t type = types.part_id(one.type, 0);
    Value content = types.any(type);
    for (Leaf& leaf : content) leaf.written = false;
    if (one.words.size() > 4) {
        const Value& initial = known(one.word(4)).value;
        if (initial.size() == content.size()) content = initial;
        for (Leaf& leaf : content) leaf.written = true;
    }
    Pointer pointer{.leaves = types.type(type).leaves, .type = type, .storage = types.type(one.type).storage};
    const auto before = known_.find(one.result);
    pointer.object = before == known_.end() ? ++context_.objects : before->second.pointer->object;
    state.objects[pointer.object] = {std::make_shared<Value>(std::move(content)), ++context_.versions};
    set(one.result, {.pointer = pointer});
}

void FunctionWalk::check_index(const SpirvInstruction& one, const Leaf& index, std::uint32_t length) {
    if (length != 0 && !index.within(0, std::int64_t{length} - 1)) context_.report(one, kIndexBeyond);
}

void FunctionWalk::take_part(const SpirvInstruction& one, KnownState& state) {
    const ValueTypes& types = context_.types;
    if (!known(one.word(3)).pointer) return set(one.result, {});
    Pointer to = *known(one.word(3)).pointer;
    for (std::size_t i = 4; i < one.words.size(); ++i) {
        const ValueType& type = types.type(to.type);
        const Leaf index = leaf(state, one.word(i));
        const bool is_known = index.kind != Scalar::Other && index.low == index.high;
        if (type.is_indexed() && is_held_to_its_length(to.storage)) check_index(one, index, type.length);
        const std::int64_t last = type.is_indexed() && type.length != 0 ? type.length - 1 : 0xFFFFFFFF;
        const auto least =
            static_cast<std::uint32_t>(index.kind == Scalar::Other ? 0 : std::clamp<std::int64_t>(index.low, 0, last));
        const auto most = static_cast<std::uint32_t>(
            index.kind == Scalar::Other ? last : std::clamp<std::int64_t>(index.high, 0, last));
        if (type.whole) to.exact = false;
        if (to.object == 0 && is_known && type.op == spv::OpTypeVector) to.first = least;
        if (to.object != 0 && to.exact) {
            const std::uint32_t first = types.first_leaf(to.type, least);
            to.first += first;
            to.leaves = is_known ? types.part(to.type, least).leaves : types.first_leaf(to.type, most + 1) - first;
            to.exact = is_known;
        }
        to.type = types.part_id(to.type, least);
    }
    set(one.result, {.pointer = to});
}

void FunctionWalk::load(const SpirvInstruction& one, std::uint32_t pointer, KnownState& state) {
    const ValueTypes& types = context_.types;
    const Pointer from = known(pointer).pointer.value_or(Pointer{});
    const auto object = state.objects.find(from.object);
    Known loaded{.value = types.any(one.type)};
    for (Leaf& leaf : loaded.value) leaf.given = from.storage == spv::StorageClassPushConstant;
    if (from.storage == spv::StorageClassInput) bound_input(from, loaded.value);
    if (from.object != 0 && object != state.objects.end()) {
        const Value& all = *object->second.leaves;
        const std::size_t end = std::min<std::size_t>(from.first + from.leaves, all.size());
        const std::size_t first = std::min<std::size_t>(from.first, end);
        std::optional<Leaf> hull;
        bool written = true, alike = loaded.value.size() == 1;
        for (std::size_t i = first; i < end; ++i) {
            written = written && all[i].written;
            alike = alike && all[i].kind == loaded.value[0].kind;
            hull = hull ? either(*hull, all[i]) : all[i];
        }
        if (!written) context_.report(one, kNeverWritten);
        if (from.exact && loaded.value.size() == end - first) {
            loaded.value.assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                                all.begin() + static_cast<std::ptrdiff_t>(end));
            loaded.origin = {from.object, from.first, object->second.version};
        } else if (alike && hull) {
            loaded.value = {*hull};
        }
        for (Leaf& leaf : loaded.value) leaf.written = true;  // reported once, here
    }
    if (one.result != 0) set(one.result, std::move(loaded));
}

/// An invocation's place in its workgroup is within the workgroup's size.
void FunctionWalk::bound_input(const Pointer& from, Value& value) const {
    if (from.variable == 0 || from.variable != context_.local_invocation_id) return;
    for (std::size_t c = 0; c < value.size(); ++c) {
        const std::size_t axis = value.size() == 1 ? from.first : c;
        if (axis < context_.workgroup.size() && value[c].kind == Scalar::Uint)
            value[c].high = context_.workgroup[axis] - 1;
    }
}

void FunctionWalk::store(std::uint32_t pointer, const Value& value, KnownState& state) {
    const Pointer to = known(pointer).pointer.value_or(Pointer{});
    const auto found = state.objects.find(to.object);
    if (to.object == 0 || found == state.objects.end()) return;
    Value all = *found->second.leaves;
    static_cast<void>(context_.spend(all.size() / 8, function_.id));
    const bool fits = value.size() == to.leaves;
    for (std::size_t i = 0; i < to.leaves && to.first + i < all.size(); ++i) {
        Leaf& leaf = all[to.first + i];
        const Leaf& with = fits ? value[i] : value.size() == 1 ? value[0] : Leaf{};
        const Leaf stored = with.kind == leaf.kind ? with : any_of(leaf.kind);
        if (to.exact) leaf = stored;
        if (to.exact) leaf.written = true;
        if (!to.exact) leaf = either(leaf, stored);
    }
    found->second = {std::make_shared<Value>(std::move(all)), ++context_.versions};
}

void FunctionWalk::join_phi(const SpirvInstruction& one, std::size_t block) {
    std::optional<Value> all;
    bool is_loop = false;
    for (std::size_t i = 3; i + 1 < one.words.size(); i += 2) {
        const auto from = function_.block_of_label.find(one.word(i + 1));
        if (from == function_.block_of_label.end()) continue;
        is_loop = is_loop || from->second >= block;
        const auto edge = edges_.find({from->second, block});
        if (edge == edges_.end()) continue;
        Value incoming = value(edge->second, one.word(i));
        if (incoming.empty()) incoming = context_.types.any(one.type);
        all = all ? either_value(*all, incoming) : std::move(incoming);
    }
    if (!all) all = context_.types.any(one.type);
    const auto before = known_.find(one.result);
    if (is_loop && before != known_.end() && before->second.value.size() == all->size())
        all = either_value(before->second.value, *all, widen_);
    set(one, *std::move(all));
}

void FunctionWalk::built_in(const SpirvInstruction& one, KnownState& state) {
    const Scalar kind =
        context_.types.type(one.type).is_composite() ? Scalar::Other : context_.types.type(one.type).scalar;
    Value result = context_.types.any(one.type);
    if (!context_.module.glsl_sets.contains(one.word(3))) return set(one, std::move(result));
    std::vector<Value> operands;
    for (std::size_t i = 5; i < one.words.size(); ++i) operands.push_back(value(state, one.word(i)));
    for (std::size_t c = 0; c < result.size(); ++c) {
        Value scalars;
        for (const Value& operand : operands) scalars.push_back(c < operand.size() ? operand[c] : Leaf{});
        context_.report(one, undefined_built_in(one.word(4), scalars));
        result[c] = range_of_built_in(one.word(4), kind == Scalar::Other ? result[c].kind : kind, scalars);
        result[c].given = is_given(scalars, 0);
    }
    set(one, std::move(result));
}

void FunctionWalk::by_components(const SpirvInstruction& one, std::uint32_t op, const std::vector<Value>& operands) {
    const ValueTypes& types = context_.types;
    Value result = types.any(one.type);
    const ValueType& type = types.type(one.type);
    const std::uint32_t bits = type.is_indexed() ? types.part(one.type, 0).width : type.width;
    if (type.whole || (type.is_composite() && type.op != spv::OpTypeVector)) return set(one, std::move(result));
    for (std::size_t c = 0; c < result.size(); ++c) {
        Value scalars;
        for (const Value& operand : operands)
            scalars.push_back(operand.size() == 1 ? operand[0] : c < operand.size() ? operand[c] : Leaf{});
        context_.report(one, undefined_reason(op, bits, scalars), is_given(scalars, 1));
        result[c] = range_of(op, result[c].kind, scalars);
        result[c].given = is_given(scalars, 0);
    }
    set(one, std::move(result));
}

Value FunctionWalk::selected(const SpirvInstruction& one, std::size_t first, const KnownState& state) const {
    const Value yes = value(state, one.word(first + 1)), no = value(state, one.word(first + 2));
    if (yes.size() != 1 || known(one.word(first)).value.size() != 1) return either_value(yes, no);
    KnownState where_true = state, where_false = state;
    const bool may_be = assume(where_true, one.word(first), true),
               may_not = assume(where_false, one.word(first), false);
    const Leaf a = chosen(one.word(first + 1), where_true), b = chosen(one.word(first + 2), where_false);
    if (may_be && may_not) return {either(a, b)};
    return {may_be ? a : b};
}

Leaf FunctionWalk::chosen(std::uint32_t id, const KnownState& state) const {
    constexpr std::size_t kCondition = 3;
    constexpr int kMostNested = 2;  // each level looks at both sides
    const SpirvInstruction* const from = context_.module.definition(id);
    if (from == nullptr || from->op != spv::OpSelect || assumptions_ >= kMostNested) return leaf(state, id);
    ++assumptions_;
    const Value made = selected(*from, kCondition, state);
    --assumptions_;
    return made.size() == 1 ? made.front() : leaf(state, id);
}

std::optional<Value> FunctionWalk::composed(const SpirvInstruction& one, std::uint32_t op, std::size_t first,
                                            KnownState& state) {
    const ValueTypes& types = context_.types;
    Value result;
    switch (op) {
        case spv::OpCompositeConstruct:
            for (std::size_t i = first; i < one.words.size(); ++i) {
                const Value part = value(state, one.word(i));
                result.insert(result.end(), part.begin(), part.end());
            }
            return result;
        case spv::OpCompositeExtract: {
            const SpirvInstruction* const from = context_.module.definition(one.word(first));
            std::uint32_t type = from == nullptr ? 0 : from->type, leaf = 0;
            for (std::size_t i = first + 1; i < one.words.size(); ++i) {
                leaf += types.first_leaf(type, one.word(i));
                type = types.part_id(type, one.word(i));
            }
            const Value& all = known(one.word(first)).value;
            const std::size_t end = leaf + types.type(type).leaves;
            if (end > all.size() || types.type(from == nullptr ? 0 : from->type).whole) return types.any(one.type);
            return Value(all.begin() + leaf, all.begin() + static_cast<std::ptrdiff_t>(end));
        }
        case spv::OpVectorShuffle: {
            Value both = known(one.word(first)).value;
            const Value& more = known(one.word(first + 1)).value;
            both.insert(both.end(), more.begin(), more.end());
            for (std::size_t i = first + 2; i < one.words.size(); ++i) {
                if (one.word(i) == kNoComponent) context_.report(one, kNeverWritten);
                result.push_back(one.word(i) < both.size() ? both[one.word(i)] : Leaf{});
            }
            return result;
        }
        case spv::OpVectorExtractDynamic:
        case spv::OpVectorInsertDynamic: {
            const auto length = static_cast<std::uint32_t>(known(one.word(first)).value.size());
            check_index(one, leaf(state, one.word(op == spv::OpVectorExtractDynamic ? first + 1 : first + 2)), length);
            return types.any(one.type);
        }
        case spv::OpSelect: return selected(one, first, state);
        default: return std::nullopt;
    }
}

void FunctionWalk::evaluate(const SpirvInstruction& one, std::uint32_t op, std::size_t first_operand,
                            KnownState& state) {
    const std::uint32_t leaves = context_.types.type(one.type).leaves;
    if (auto made = composed(one, op, first_operand, state)) {
        return set(one, made->size() == leaves ? *std::move(made) : context_.types.any(one.type));
    }
    if (op == spv::OpCopyObject || op == spv::OpCopyLogical) {
        Value copy = value(state, one.word(first_operand));
        return set(one, copy.size() == leaves ? std::move(copy) : context_.types.any(one.type));
    }
    std::vector<Value> operands;
    for (std::size_t i = first_operand; i < one.words.size(); ++i) operands.push_back(value(state, one.word(i)));
    by_components(one, op, operands);
}

}  // namespace yolk
