// SPDX-License-Identifier: Apache-2.0
// Generations of a search that are evaluated on some of the examples each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "yolk/system.hpp"

namespace yolk::hyper {

/// `count` of the numbers below `of`, all different, for a generation: each pass over all of them is shuffled by the
/// seed and its number, and has of / count generations. `count` is from 1 to `of`.
[[nodiscard]] std::vector<std::uint32_t> draw_examples(std::uint64_t seed, std::uint32_t generation, std::uint32_t of,
                                                       std::uint32_t count);

/// The traces behind a set of examples, and those of one generation. Examples of the same types share one where the
/// function's equations are the same for them, so that memory grows with the examples' inputs and with a generation,
/// not with both.
class DrawnExamples {
   public:
    /// What is evaluated of a trace: the trace itself, or that scored by a metric (scored_example.hpp).
    using Scored = std::function<Result<TracedExample>(TracedExample traced, const Value& expected)>;
    /// Runs the function where it must. The examples must outlive it. `scored` may be empty. Errors:
    /// System::trace_all's.
    /// `varying` are the groups that are searched, as far as the system knows them before it runs.
    [[nodiscard]] static Result<DrawnExamples> create(System& system, std::span<const Example> examples,
                                                      std::uint32_t count, std::uint64_t seed, const Scored& scored,
                                                      std::span<const std::string> varying);
    [[nodiscard]] std::span<const TracedExample> traces() const noexcept { return traces_; }
    [[nodiscard]] std::size_t structures() const noexcept { return structures_; }
    /// The examples of a generation, those of one structure behind each other, and what is expected of them. Whether
    /// structures are those that `traced` had, in the same order. Errors name the example.
    [[nodiscard]] Result<bool> draw(std::uint32_t generation, std::span<const std::string> varying,
                                    std::vector<TracedExample>& traced, std::vector<Value>& expected);

    /// Inputs of the examples of a generation, in that order, with what is expected as kExpectedInput. Nothing is
    /// evaluated.
    [[nodiscard]] std::vector<std::map<std::string, Value>> scored_inputs(std::uint32_t generation) const;

   private:
    /// Of an example, and what is expected of it where that is one of them.
    [[nodiscard]] std::map<std::string, Value> inputs_of(std::size_t example) const;
    /// Numbers of the examples of a generation, by structure.
    [[nodiscard]] std::vector<std::uint32_t> drawn_in(std::uint32_t generation) const;
    struct Origin {
        std::uint32_t trace = 0;
        bool is_own = true;  ///< the trace is of this example; otherwise of one of its types
    };
    std::span<const Example> examples_;
    std::uint32_t count_ = 0;
    std::uint64_t seed_ = 0;
    bool expected_is_input_ = false;
    std::vector<TracedExample> traces_;
    std::vector<std::uint32_t> structure_of_;  // by trace
    std::size_t structures_ = 0;
    std::vector<Origin> origins_;        // by example
    std::vector<std::uint32_t> placed_;  // traces behind the examples drawn last
};

}  // namespace yolk::hyper
