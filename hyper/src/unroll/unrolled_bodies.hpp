// SPDX-License-Identifier: Apache-2.0
// The equations of bodies, written as often as they run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "unroll_writer.hpp"

namespace yolk::hyper::population {

/// A mask: 1 where what is written now runs, on the host. What could be an error of candidates for whom it does not run
/// is given harmless values there.
using Guard = std::optional<Atom>;

class UnrolledBodies {
   public:
    UnrolledBodies(UnrollWriter& writer, std::size_t most, std::uint32_t block)
        : writer_(writer), most_(most), block_(block) {}

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
    /// A step before which a block ends.
    struct BlockEnd {
        std::size_t step = 0;
        std::size_t mark = 0;
        Atom runs;           ///< whether the step runs, and the loop
        HeldValues results;  ///< if no candidate goes on
    };
    /// The values at the beginning of each step up to the limit, and whether that step runs.
    struct Steps {
        std::vector<HeldValues> values;
        std::vector<Atom> alive;
        std::vector<BlockEnd> ends;
    };
    struct Watcher {
        std::function<void(const Atom& alive, const HeldValues& next)> after_step;
        std::function<HeldValues(const Atom& runs)> results_so_far;
    };
    Steps steps_of(const Equation& equation, HeldValues values, const Guard& guard, const Watcher& watcher);
    [[nodiscard]] bool is_block_end(std::size_t step, std::size_t limit, const Atom& runs) const;
    /// Cotangents as tensors of kernels, which can be copied: those that come in may be data.
    HeldValues as_made(HeldValues cotangents, const Atom& mask);
    void stand_for(const Equation& equation);
    void require(const Guard& guard, const Atom& value, std::int64_t below, const Equation& equation,
                 std::string message, bool is_input);
    /// Whether it goes on: there may be more equations, and nothing failed.
    bool within_limit();
    [[nodiscard]] std::size_t count(const Equation& equation, std::string_view name) const;

    UnrollWriter& writer_;
    std::size_t most_;
    std::uint32_t block_;
};

}  // namespace yolk::hyper::population
