// SPDX-License-Identifier: Apache-2.0
// The candidates of one evaluation, or some of them: natural values of each varying group for those who need them on
// the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "example_set.hpp"
#include "yolk/internal/evolve/member_range.hpp"

namespace yolk::hyper::population {

/// Numbered from 0; the first is candidate part.first of the question's.
class Candidates {
   public:
    /// `question` must outlive it.
    Candidates(const Question& question, const evolve::MemberRange& part)
        : question_(&question), part_(part), formed_(question.sources.size()) {}

    [[nodiscard]] std::uint32_t count() const noexcept { return part_.count; }
    /// Before these, in the question.
    [[nodiscard]] std::uint32_t before() const noexcept { return part_.first; }
    /// They are not all of the question's.
    [[nodiscard]] bool are_some() const noexcept { return part_.count != question_->count(); }
    [[nodiscard]] std::int32_t first_member() const noexcept {
        return question_->perturbations.first_member + static_cast<std::int32_t>(part_.first);
    }
    [[nodiscard]] NoiseContext when() const noexcept { return question_->perturbations.when; }
    [[nodiscard]] bool antithetic() const noexcept { return question_->perturbations.antithetic; }
    [[nodiscard]] std::span<const float> mean() const noexcept { return question_->perturbations.mean; }
    [[nodiscard]] std::span<const float> mean(const Source& source) const noexcept {
        return mean().subspan(source.offset, source.count);
    }
    /// Empty where the mean is on the host alone.
    [[nodiscard]] BufferView device_mean() const noexcept { return question_->perturbations.device_mean; }
    [[nodiscard]] bool carry() const noexcept { return !question_->carried.empty(); }
    /// Of a source that is carried, the states of all of the question's candidates; otherwise empty.
    [[nodiscard]] BufferView carried(std::size_t source) const noexcept {
        return question_->carried.empty() ? BufferView{} : question_->carried[source];
    }
    /// Formed where it must be: a matrix with the bits that kernels form it with.
    [[nodiscard]] const Value& natural(std::size_t source, std::uint32_t candidate);
    /// Forgets what was formed (matrices of candidates that are done).
    void forget();

   private:
    [[nodiscard]] Tensor form(const Source& source, std::uint32_t candidate) const;

    const Question* question_;
    evolve::MemberRange part_;
    std::vector<std::vector<std::optional<Value>>> formed_;  // by source and candidate
};

}  // namespace yolk::hyper::population
