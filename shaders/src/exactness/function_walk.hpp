// SPDX-License-Identifier: Apache-2.0
// One function followed through all its ways, for given arguments.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "known_state.hpp"
#include "spirv_module.hpp"
#include "value_types.hpp"

namespace yolk {

/// What a call gives, for the same arguments always the same.
struct CallOutcome {
    bool returns = false;
    Value result{};
    std::vector<Value> pointees{};  ///< what pointers among the arguments lead to afterwards
};

struct Finding {
    std::string_view why;
    bool given = true;
};

/// What all walks of a module share.
struct WalkContext {
    const SpirvModule& module;
    ValueTypes types{};
    std::unordered_map<std::uint32_t, Known> globals{};
    std::map<std::vector<std::int64_t>, CallOutcome> outcomes{};  ///< by function, arguments, and `collecting`
    std::map<std::size_t, Finding> found{};                       ///< by instruction
    std::uint32_t local_invocation_id = 0, workgroup_size = 0;    ///< ids, 0: none
    std::vector<std::uint32_t> workgroup{};                       ///< its size along each axis, by constants
    bool collecting = false;                                      ///< findings are kept: what is known is final
    std::uint32_t objects = 0;
    std::uint64_t versions = 0;
    std::uint64_t work = 0;         ///< what has been looked at and copied, against texts that would take forever
    std::uint32_t depth = 0;        ///< of calls
    std::uint32_t too_complex = 0;  ///< the function where either passed its limit; 0: none did

    explicit WalkContext(const SpirvModule& of) : module(of) {}
    /// `given`: what is not in range is computed of constants and of a dispatch's parameters alone.
    void report(const SpirvInstruction& at, std::string_view why, bool given = false);
    /// False, for good, once there is too much to look at.
    [[nodiscard]] bool spend(std::uint64_t work, std::uint32_t function);
    [[nodiscard]] CallOutcome call(std::uint32_t function, const std::vector<Known>& arguments);
};

class FunctionWalk {
   public:
    FunctionWalk(WalkContext& context, const SpirvFunction& function) : context_(context), function_(function) {}
    [[nodiscard]] CallOutcome run(const std::vector<Known>& arguments);

    /// Outside of functions: constants and the like.
    void evaluate_global(const SpirvInstruction& one);

   private:
    using Edge = std::pair<std::size_t, std::size_t>;

    [[nodiscard]] KnownState enter(const std::vector<Known>& arguments);
    [[nodiscard]] std::optional<KnownState> entry_state(std::size_t block, const KnownState& start);
    void walk_block(std::size_t block, KnownState state);
    void leave_block(std::size_t block, const SpirvInstruction& last, KnownState& state);
    void leave_function(const SpirvInstruction& last, const KnownState& state);
    void go(std::size_t from, std::uint32_t label, KnownState state);

    void step(const SpirvInstruction& one, std::size_t block, KnownState& state);
    void declare_variable(const SpirvInstruction& one, KnownState& state);
    void take_part(const SpirvInstruction& one, KnownState& state);
    void load(const SpirvInstruction& one, std::uint32_t pointer, KnownState& state);
    void bound_input(const Pointer& from, Value& value) const;
    void store(std::uint32_t pointer, const Value& value, KnownState& state);
    void call(const SpirvInstruction& one, KnownState& state);
    void join_phi(const SpirvInstruction& one, std::size_t block);
    void evaluate(const SpirvInstruction& one, std::uint32_t op, std::size_t first_operand, KnownState& state);
    void by_components(const SpirvInstruction& one, std::uint32_t op, const std::vector<Value>& operands);
    void built_in(const SpirvInstruction& one, KnownState& state);
    [[nodiscard]] std::optional<Value> composed(const SpirvInstruction& one, std::uint32_t op, std::size_t first,
                                                KnownState& state);
    [[nodiscard]] Value selected(const SpirvInstruction& one, std::size_t first, const KnownState& state) const;
    /// What an operand of a select can be: one that is a select itself chooses by what the state has in addition.
    [[nodiscard]] Leaf chosen(std::uint32_t id, const KnownState& state) const;
    void check_index(const SpirvInstruction& one, const Leaf& index, std::uint32_t length);

    /// False: the condition cannot have that truth here.
    [[nodiscard]] bool assume(KnownState& state, std::uint32_t condition, bool truth) const;
    [[nodiscard]] bool assume_one(KnownState& state, std::uint32_t condition, bool truth) const;
    [[nodiscard]] const SpirvBlock* block_of(const SpirvInstruction& one) const;
    [[nodiscard]] bool assume_phi(KnownState& state, const SpirvInstruction& phi, bool truth) const;
    [[nodiscard]] bool assume_edge(KnownState& state, std::size_t from, std::uint32_t label) const;
    [[nodiscard]] bool assume_comparison(KnownState& state, std::uint32_t op, std::uint32_t left,
                                         std::uint32_t right) const;
    [[nodiscard]] bool narrow(KnownState& state, std::uint32_t id, const Leaf& to) const;

    [[nodiscard]] const Known& known(std::uint32_t id) const;
    [[nodiscard]] Value value(const KnownState& state, std::uint32_t id) const;
    [[nodiscard]] Leaf leaf(const KnownState& state, std::uint32_t id) const;
    void set(std::uint32_t id, Known what);
    void set(const SpirvInstruction& one, Value what) { set(one.result, Known{.value = std::move(what)}); }

    WalkContext& context_;
    const SpirvFunction& function_;
    std::unordered_map<std::uint32_t, Known> known_;
    std::map<std::size_t, KnownState> entries_;  ///< of loops
    std::map<Edge, KnownState> edges_;           ///< whose ends have not been walked since, and those back to a loop
    std::vector<Pointer> pointees_;              ///< of parameters that are pointers
    CallOutcome outcome_;
    bool changed_ = false, widen_ = false;
    mutable int assumptions_ = 0;  ///< that lead to the one being made
};

}  // namespace yolk
