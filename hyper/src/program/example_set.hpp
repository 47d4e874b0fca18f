// SPDX-License-Identifier: Apache-2.0
// What candidates are evaluated on: examples grouped by structure, and the set whose parameters vary.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "placement.hpp"
#include "unrolled_examples.hpp"

namespace yolk::hyper::population {

/// What one evaluation varies, and how: the same for all devices, whichever part of the candidates they evaluate.
struct Question {
    std::vector<Source> sources;
    Perturbations perturbations{};  ///< of given candidates their number alone, as `members`
    /// By source; empty where it is perturbed or carried, else one, or one for each.
    std::vector<std::vector<Value>> values{};
    std::vector<BufferView> carried{};  ///< by source, empty of those that are not; nothing where none is

    [[nodiscard]] std::uint32_t count() const noexcept { return perturbations.members; }
    /// Questions with the same key can share plans.
    [[nodiscard]] std::string key() const;
};

/// Examples and set must outlive it. Threads may share it.
class ExampleSet {
   public:
    /// Errors: no examples, one without an output, a group that the graphs name and the set lacks.
    [[nodiscard]] static Result<ExampleSet> create(std::span<const TracedExample> traced,
                                                   const ParameterSet& parameters, bool examples_change = false,
                                                   const UnrollOptions& unrolling = {});
    /// Others in their places. Errors, before anything is replaced: PopulationEvaluator::set_examples'.
    [[nodiscard]] Result<void> replace(std::span<const TracedExample* const> traced);
    /// How often they were replaced: what was made from their data is as old as that.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

    [[nodiscard]] std::span<const ExampleGroup> groups() const noexcept { return groups_; }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// Errors: PopulationEvaluator::evaluate's.
    [[nodiscard]] Result<Question> ask(const Perturbations& perturbations, const OwnValues& own = {}) const;
    [[nodiscard]] Result<Question> ask(std::span<const Candidate> list) const;
    /// What a search will ask for.
    [[nodiscard]] Result<Question> ask_for_plans() const;

   private:
    explicit ExampleSet(const ParameterSet& parameters) : parameters_(&parameters) {}
    [[nodiscard]] bool is_used(const std::string& group) const;
    /// Whether unrolled equations have values only where it varies.
    [[nodiscard]] bool must_vary(const std::string& group) const;
    /// A source of each row of the table that some graph uses; frozen ones are given, the same for all.
    [[nodiscard]] std::vector<Source> sources_of(const ParameterTable& table, std::uint32_t rank) const;
    [[nodiscard]] Result<void> add_own(Question& question, const OwnValues& own) const;
    /// Errors: an unknown or optimized group, another size than the candidates', more examples than one.
    [[nodiscard]] Result<const ParameterGroup*> own_group(const std::string& name) const;
    /// Groups that are the same for all candidates, but not what they were in the trace.
    [[nodiscard]] std::vector<const ParameterGroup*> changed_since_trace(const std::set<std::string>& varying) const;

    const ParameterSet* parameters_;
    std::vector<ExampleGroup> groups_;
    std::vector<std::string> signatures_;                       // by group
    std::vector<std::vector<const TracedExample*>> originals_;  // by group
    std::vector<UnrolledExamples> unrolled_;                    // by group
    bool examples_change_ = false;
    std::uint64_t version_ = 0;
    std::uint32_t count_ = 0;
};

}  // namespace yolk::hyper::population
