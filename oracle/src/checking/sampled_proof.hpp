// SPDX-License-Identifier: Apache-2.0
// A run that is compared with a sample of its oracle, and in every element with the first run that was right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/oracle/check.hpp"
#include "yolk/internal/oracle/element_oracle.hpp"

namespace yolk::oracle {

/// One thread at a time.
class SampledProof {
   public:
    /// Computes the sample: `elements` of them, or all where there are no more. Drawn evenly, one from each of as many
    /// ranges, the first and the last element among them.
    SampledProof(std::unique_ptr<const ElementOracle> oracle, std::uint64_t elements);

    [[nodiscard]] std::uint64_t sampled() const noexcept { return elements_.size(); }
    /// Ascending.
    [[nodiscard]] std::span<const std::uint64_t> elements() const noexcept { return elements_; }
    [[nodiscard]] std::uint64_t of() const { return oracle_->count(); }
    /// Whether no run is the one that others are compared with.
    [[nodiscard]] bool wants_first() const noexcept { return first_.empty(); }

    /// The sample of a run's output, which held `poison` before.
    void verify_sample(CheckReport& report, const std::string& name, std::span<const std::uint32_t> output) const;
    /// Keeps the first run, which passed verify_sample with each poison, `again` with the other: it must be the same in
    /// every bit, so that each element was written, and none by what was there before.
    void keep_first(CheckReport& report, const std::string& name, std::vector<std::uint32_t> output,
                    std::span<const std::uint32_t> again);
    /// Every element of another run, against the first. Where they are further apart than two right runs may be, the
    /// oracle tells which is wrong: the report fails for `output`, or the first run is replaced by it, with a warning.
    void verify_rest(CheckReport& report, const std::string& name, std::vector<std::uint32_t> output,
                     std::uint32_t poison);

   private:
    [[nodiscard]] std::uint32_t bits_at(std::span<const std::uint32_t> words, std::uint64_t element) const noexcept;
    [[nodiscard]] bool is_right(std::uint64_t element, std::uint32_t bits) const;
    [[nodiscard]] std::string text_at(std::uint64_t element, std::uint32_t bits) const;
    /// Elements that are too far apart: some of them, and how many there are.
    struct Apart {
        std::vector<std::uint64_t> some;
        std::uint64_t count = 0;
    };
    [[nodiscard]] Apart elements_apart(std::span<const std::uint32_t> output) const;

    std::unique_ptr<const ElementOracle> oracle_;
    ElementBits type_ = ElementBits::F32;
    double most_apart_ = 0.0;
    std::vector<std::uint64_t> elements_;
    std::vector<Bounded> expected_;
    std::vector<std::uint32_t> twin_;  ///< empty for class T
    std::vector<std::uint32_t> first_;
    std::string first_name_;
};

}  // namespace yolk::oracle
