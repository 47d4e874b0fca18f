// SPDX-License-Identifier: Apache-2.0
// The equations of bodies, written as often as they run.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "population_unroll_values.hpp"

namespace yolk::hyper::population {

/// A mask: 1 where what is written now runs, on the host. What could be an error of candidates for whom it does not run
/// is given harmless values there.
using Guard = std::optional<Atom>;

class UnrolledBodies {
   public:
    UnrolledBodies(UnrollWriter& writer, std::size_t most) : writer_(writer), most_(most) {}

    [[nodiscard]] Held held(const HeldValues& values, const Atom& atom) const;
    [[nodiscard]] HeldValues held(const HeldValues& values, std::span<const Atom> atoms) const;
    /// The outputs of a body.
    HeldValues run(const Graph& body, const HeldValues& inputs, const Guard& guard);
    /// The results of an equation with bodies.
    HeldValues unrolled(const Equation& equation, const HeldValues& operands, std::span<const ValueType> types,
                        const Guard& guard);

   private:
    HeldValues evaluated(const Graph& body, const HeldValues& values, const Equation& equation, const Guard& guard);
    HeldValues copied(const Graph& body, const Equation& equation, const HeldValues& operands, const Guard& guard);
    /// Ids that are data, where they count; 0 elsewhere.
    void guard_ids(const Graph& body, const Equation& equation, std::vector<Atom>& operands, const Guard& guard);
    HeldValues branches(const Equation& equation, const HeldValues& operands, const ValueType& key, const Guard& guard);
    HeldValues while_loop(const Equation& equation, const HeldValues& operands, std::span<const ValueType> types,
                          const Guard& guard);
    HeldValues while_loop_pullback(const Equation& equation, const HeldValues& operands,
                                   std::span<const ValueType> types, const Guard& guard);
    HeldValues scan(const Equation& equation, const HeldValues& operands, std::span<const ValueType> types,
                    const Guard& guard);
    Held added(const Held& step, const Held& behind, const ValueType& type);
    /// Each step's elements of the sequences.
    std::vector<HeldValues> elements(const Equation& equation, const HeldValues& operands,
                                     std::span<const ValueType> types);
    /// Results of each step, in the order of the elements, as one.
    Held stacked(std::span<const Held> parts, const ValueType& type);
    /// The values at the beginning of each step up to the limit, and whether that step runs.
    struct Steps {
        std::vector<HeldValues> values;
        std::vector<Atom> alive;
    };
    Steps steps_of(const Equation& equation, HeldValues values, std::size_t carries, const Guard& guard);
    void require(const Guard& guard, const Atom& value, std::int64_t below, const Equation& equation,
                 std::string message, bool is_input);
    /// Whether it goes on: there may be more equations, and nothing failed.
    bool within_limit();
    [[nodiscard]] std::size_t count(const Equation& equation, std::string_view name) const;

    UnrollWriter& writer_;
    std::size_t most_;
};

}  // namespace yolk::hyper::population
