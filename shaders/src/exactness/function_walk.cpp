// SPDX-License-Identifier: Apache-2.0
#include "function_walk.hpp"

#include <algorithm>
#include <memory>
#include <spirv/unified1/spirv.hpp>

#include "undefined_operations.hpp"
#include "undefined_reasons.hpp"

namespace yolk {
namespace {

constexpr int kRoundsBeforeWidening = 3;
constexpr std::uint64_t kMostWork = 10'000'000;  // some seconds; our kernels take less than a tenth
constexpr std::uint32_t kMostDepth = 100;        // of calls
constexpr int kMostRounds = 64;                  // nested loops take a few each; a function that takes more is reported

std::vector<std::int64_t> key_of(std::uint32_t function, const std::vector<Value>& arguments, bool collecting) {
    std::vector<std::int64_t> key{function, collecting ? 1 : 0};
    for (const Value& value : arguments) {
        key.push_back(static_cast<std::int64_t>(value.size()));
        for (const Leaf& leaf : value) {
            key.push_back(static_cast<std::int64_t>(leaf.kind) * 4 + (leaf.written ? 1 : 0) + (leaf.given ? 2 : 0));
            key.push_back(leaf.low);
            key.push_back(leaf.high);
        }
    }
    return key;
}

}  // namespace

void WalkContext::report(const SpirvInstruction& at, std::string_view why, bool given) {
    if (!collecting || why.empty()) return;
    Finding& finding = found[static_cast<std::size_t>(&at - module.instructions.data())];
    finding.why = why;
    finding.given = finding.given && given;
}

bool WalkContext::spend(std::uint64_t more, std::uint32_t function) {
    work += more;
    if (work > kMostWork && too_complex == 0) too_complex = function;
    return too_complex == 0;
}

CallOutcome WalkContext::call(std::uint32_t function, const std::vector<Known>& arguments) {
    const auto found_function = module.functions.find(function);
    if (found_function == module.functions.end()) return {};
    std::vector<Value> values;
    for (const Known& one : arguments) values.push_back(one.value);
    std::vector<std::int64_t> key = key_of(function, values, collecting);
    if (const auto done = outcomes.find(key); done != outcomes.end()) return done->second;
    if (depth == kMostDepth && too_complex == 0) too_complex = function;
    if (!spend(key.size(), function)) return {};
    ++depth;
    FunctionWalk walk(*this, found_function->second);
    CallOutcome outcome = walk.run(arguments);
    --depth;
    return outcomes.emplace(std::move(key), std::move(outcome)).first->second;
}

KnownState FunctionWalk::enter(const std::vector<Known>& arguments) {
    KnownState state;
    for (std::size_t i = 0; i < function_.parameters.size(); ++i) {
        const SpirvInstruction& parameter = context_.module.instructions[function_.parameters[i]];
        const ValueTypes& types = context_.types;
        const ValueType& type = types.type(parameter.type);
        Known known{.value = i < arguments.size() ? arguments[i].value : types.any(parameter.type)};
        if (type.op == spv::OpTypePointer) {
            Pointer pointer{.type = types.part_id(parameter.type, 0), .storage = type.storage};
            const bool followed = i < arguments.size() && arguments[i].pointer && arguments[i].pointer->object != 0;
            if (followed) {
                pointer.object = ++context_.objects;
                pointer.leaves = types.type(pointer.type).leaves;
                state.objects[pointer.object] = {std::make_shared<Value>(known.value), ++context_.versions};
            }
            pointees_.push_back(pointer);
            known = {.pointer = pointer};
        }
        set(parameter.result, std::move(known));
    }
    return state;
}

std::optional<KnownState> FunctionWalk::entry_state(std::size_t block, const KnownState& start) {
    if (block == 0) return start;
    std::optional<KnownState> state;
    bool is_loop = false;
    for (const std::size_t from : function_.blocks[block].predecessors) {
        is_loop = is_loop || from >= block;
        const auto edge = edges_.find({from, block});
        if (edge == edges_.end()) continue;
        state = state ? KnownState::either_of(*state, edge->second, false, context_.versions) : edge->second;
    }
    if (!state || !is_loop) return state;
    const auto before = entries_.find(block);
    if (before != entries_.end()) {
        KnownState wider = KnownState::either_of(before->second, *state, widen_, context_.versions);
        for (auto& [id, object] : wider.objects) {
            if (const auto now = state->objects.find(id); now != state->objects.end())
                object.version = now->second.version;
        }
        state = std::move(wider);
    }
    changed_ = changed_ || before == entries_.end() || !before->second.is_same(*state);
    entries_[block] = *state;
    return state;
}

CallOutcome FunctionWalk::run(const std::vector<Known>& arguments) {
    const KnownState start = enter(arguments);
    const auto walk_all = [&] {
        changed_ = false;
        outcome_ = {};
        for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
            if (auto state = entry_state(block, start)) walk_block(block, *std::move(state));
            for (const std::size_t from : function_.blocks[block].predecessors) {
                if (from < block) edges_.erase({from, block});
            }
        }
    };
    const bool has_loop = std::ranges::any_of(function_.blocks, [&](const SpirvBlock& block) {
        const auto at = static_cast<std::size_t>(&block - function_.blocks.data());
        return std::ranges::any_of(block.predecessors, [&](std::size_t from) { return from >= at; });
    });
    if (has_loop) {
        const bool collecting = std::exchange(context_.collecting, false);
        int round = 0;
        do {
            widen_ = round >= kRoundsBeforeWidening;
            walk_all();
        } while (changed_ && ++round < kMostRounds);
        if (changed_ && context_.too_complex == 0) context_.too_complex = function_.id;
        context_.collecting = collecting;
        if (!collecting) return outcome_;
    }
    walk_all();
    return outcome_;
}

void FunctionWalk::walk_block(std::size_t block, KnownState state) {
    const SpirvBlock& at = function_.blocks[block];
    if (!context_.spend(state.objects.size() + state.facts.size() + at.end - at.first, function_.id)) return;
    for (std::size_t i = at.first; i + 1 < at.end; ++i) step(context_.module.instructions[i], block, state);
    if (at.end > at.first) leave_block(block, context_.module.instructions[at.end - 1], state);
}

void FunctionWalk::go(std::size_t from, std::uint32_t label, KnownState state) {
    const auto to = function_.block_of_label.find(label);
    if (to == function_.block_of_label.end()) return;
    const Edge edge{from, to->second};
    const auto found = edges_.find(edge);
    // A switch may go to one block for several values.
    edges_[edge] =
        found != edges_.end() && context_.module.instructions[function_.blocks[from].end - 1].op == spv::OpSwitch
            ? KnownState::either_of(found->second, state, false, context_.versions)
            : std::move(state);
}

void FunctionWalk::leave_block(std::size_t block, const SpirvInstruction& last, KnownState& state) {
    switch (last.op) {
        case spv::OpBranch: return go(block, last.word(1), std::move(state));
        case spv::OpBranchConditional:
            for (const bool truth : {true, false}) {
                KnownState taken = state;
                const std::uint32_t label = last.word(truth ? 2 : 3);
                if (assume(taken, last.word(1), truth)) go(block, label, std::move(taken));
            }
            return;
        case spv::OpSwitch: {
            const Leaf selector = leaf(state, last.word(1));
            for (std::size_t i = 3; i + 1 < last.words.size(); i += 2) {
                Leaf one = selector;
                const Leaf word =
                    as_kind({.kind = Scalar::Uint, .low = last.word(i), .high = last.word(i)}, selector.kind);
                one.low = word.low;
                one.high = word.high;
                KnownState taken = state;
                if (narrow(taken, last.word(1), one)) go(block, last.word(i + 1), std::move(taken));
            }
            return go(block, last.word(2), std::move(state));
        }
        case spv::OpUnreachable: return context_.report(last, kNoReturn);
        default: return leave_function(last, state);
    }
}

void FunctionWalk::leave_function(const SpirvInstruction& last, const KnownState& state) {
    Value result;
    if (last.op == spv::OpReturnValue) {
        result = value(state, last.word(1));
        const SpirvInstruction* const from = context_.module.definition(last.word(1));
        if (from != nullptr && from->op == spv::OpUndef) context_.report(last, kNoReturn);
    }
    outcome_.result = outcome_.returns ? either_value(outcome_.result, result) : result;
    for (std::size_t i = 0; i < pointees_.size(); ++i) {
        const auto object = state.objects.find(pointees_[i].object);
        const Value left = object == state.objects.end() ? Value{} : *object->second.leaves;
        if (outcome_.returns) {
            outcome_.pointees[i] = either_value(outcome_.pointees[i], left);
        } else {
            outcome_.pointees.push_back(left);
        }
    }
    outcome_.returns = true;
}

void FunctionWalk::call(const SpirvInstruction& one, KnownState& state) {
    std::vector<Known> arguments;
    for (std::size_t i = 4; i < one.words.size(); ++i) {
        Known argument = known(one.word(i));
        const bool followed = argument.pointer && argument.pointer->object != 0 && argument.pointer->exact;
        if (!argument.pointer) argument.value = value(state, one.word(i));
        if (argument.pointer && !followed) argument.pointer->object = 0;
        if (followed) {
            const Value& all = *state.objects.at(argument.pointer->object).leaves;
            const auto first = all.begin() + argument.pointer->first;
            argument.value.assign(first, first + argument.pointer->leaves);
        }
        arguments.push_back(std::move(argument));
    }
    const CallOutcome outcome = context_.call(one.word(3), arguments);
    std::size_t pointee = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!arguments[i].pointer) continue;
        const std::size_t which = pointee++;
        if (arguments[i].pointer->object == 0 || which >= outcome.pointees.size()) continue;
        const Pointer& to = *arguments[i].pointer;
        Object& object = state.objects.at(to.object);
        auto leaves = std::make_shared<Value>(*object.leaves);
        const Value& left = outcome.pointees[which];
        std::copy_n(left.begin(), std::min<std::size_t>(left.size(), to.leaves), leaves->begin() + to.first);
        object = {std::move(leaves), ++context_.versions};
    }
    const bool fits = outcome.result.size() == context_.types.type(one.type).leaves;
    set(one, fits ? outcome.result : context_.types.any(one.type));
}

const Known& FunctionWalk::known(std::uint32_t id) const {
    static const Known nothing;
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const auto global = context_.globals.find(id);
    return global == context_.globals.end() ? nothing : global->second;
}

void FunctionWalk::set(std::uint32_t id, Known what) {
    Known& now = known_[id];
    changed_ = changed_ || now.value != what.value;
    now = std::move(what);
}

Leaf FunctionWalk::leaf(const KnownState& state, std::uint32_t id) const {
    const Known& one = known(id);
    Leaf all = one.value.size() == 1 ? one.value[0] : Leaf{};
    const auto narrow_to = [&](const Leaf& other) {
        if (other.kind != all.kind) return;
        if (const auto cut = within_bounds(all, other.low, other.high)) all = *cut;
    };
    if (const auto fact = state.facts.find(id); fact != state.facts.end()) narrow_to(fact->second);
    if (const Leaf* const held = state.leaf_of(one.origin)) narrow_to(*held);
    return all;
}

Value FunctionWalk::value(const KnownState& state, std::uint32_t id) const {
    const Known& one = known(id);
    return one.value.size() == 1 ? Value{leaf(state, id)} : one.value;
}

std::vector<UndefinedOperation> find_undefined(const SpirvModule& module) {
    WalkContext context(module);
    const SpirvFunction nothing;
    FunctionWalk globals(context, nothing);
    for (const SpirvInstruction& one : module.instructions) {
        if (one.function == 0) globals.evaluate_global(one);
    }
    context.collecting = true;
    for (const std::uint32_t entry : module.entries) static_cast<void>(context.call(entry, {}));
    if (context.too_complex != 0) context.report(*module.definition(context.too_complex), kTooComplex);
    std::vector<UndefinedOperation> all;
    for (const auto& [instruction, finding] : context.found)
        all.push_back({.instruction = instruction,
                       .why = finding.why,
                       .is_trap = is_trap(module.instructions[instruction].op),
                       .given = finding.given});
    return all;
}

}  // namespace yolk
