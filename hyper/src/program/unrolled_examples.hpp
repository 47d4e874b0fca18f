// SPDX-License-Identifier: Apache-2.0
// Examples of one structure with their loops unrolled: values for the equations that unrolling made.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "placement.hpp"
#include "unroll.hpp"

namespace yolk::hyper::population {

class UnrolledExamples {
   public:
    /// Of examples of one signature. Without `examples()` nothing in their graph is to be unrolled, or can be: rolled()
    /// says why.
    [[nodiscard]] static UnrolledExamples create(std::span<const TracedExample* const> originals,
                                                 const ParameterSet& parameters, bool examples_change,
                                                 const UnrollOptions& options);
    /// Others in their places, of the same structure; they count once commit() is called. Errors: what an equation on
    /// new data refuses.
    [[nodiscard]] Result<std::vector<ExampleView>> take(std::span<const TracedExample* const> originals);
    void commit() { owned_ = std::move(taken_); }

    [[nodiscard]] bool empty() const noexcept { return owned_.empty(); }
    [[nodiscard]] std::vector<ExampleView> examples() const { return views_of(owned_); }
    [[nodiscard]] const Rolled& rolled() const noexcept { return rolled_; }
    [[nodiscard]] const std::vector<Skip>& skips() const noexcept { return form_.skips; }
    /// Equations that unrolling made read the group, and their values are not known but where it varies.
    [[nodiscard]] bool needs(const std::string& group) const;

   private:
    struct Owned {
        std::shared_ptr<const Graph> graph;  ///< shared by examples with the same literals
        std::vector<Value> literals;         ///< of the original's graph, in order
        std::vector<Value> values;
    };
    [[nodiscard]] bool try_once(std::span<const TracedExample* const> originals, const ParameterSet& parameters,
                                bool examples_change);
    /// Which branches all of them take by data that does not change.
    void choose_branches(std::span<const TracedExample* const> originals);
    [[nodiscard]] Result<void> fill(const TracedExample& original, Owned& to) const;
    [[nodiscard]] static std::vector<ExampleView> views_of(std::span<const std::shared_ptr<Owned>> owned);

    UnrollOptions options_;
    Unrolled form_;                                      ///< of the first example
    Rolled of_original_;                                 ///< by equation of the original
    Rolled rolled_;                                      ///< by equation of what the group evaluates
    std::vector<std::string> varying_;                   ///< groups that searches vary
    std::vector<std::size_t> evaluated_;                 ///< equations of the form whose values the trace has not
    std::vector<bool> depends_;                          ///< by variable of the form: on one of those
    std::vector<std::shared_ptr<Owned>> owned_, taken_;  ///< where they lie, views point to them
};

}  // namespace yolk::hyper::population
