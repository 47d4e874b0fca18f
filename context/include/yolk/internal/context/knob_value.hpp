// SPDX-License-Identifier: Apache-2.0
// Configurations as a table keeps them: each knob with its value, a number or a word. A space counts in positions where
// its values are no integers from 0 on; what is kept must outlive a list that is reordered or extended.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/internal/runtime/tuning_table.hpp"

namespace yolk {

/// 64, 0.5, -1 or ROWS. Equal numbers are equal values, whichever type they come from.
class KnobValue {
   public:
    template <std::integral Whole>
    KnobValue(Whole whole) : value_(static_cast<std::int64_t>(whole)) {}  // NOLINT(google-explicit-constructor)
    KnobValue(double number);                                             // NOLINT(google-explicit-constructor)
    KnobValue(std::string word) : value_(std::move(word)) {}              // NOLINT(google-explicit-constructor)

    /// A knob of Yolk's own kernels has no others.
    [[nodiscard]] std::optional<std::uint32_t> plain() const noexcept;
    [[nodiscard]] bool is_word() const noexcept { return std::holds_alternative<std::string>(value_); }
    /// For people.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] Json json() const;
    /// Nothing where it is neither a number nor text.
    [[nodiscard]] static std::optional<KnobValue> of_json(const Json& json);

    friend bool operator==(const KnobValue&, const KnobValue&) = default;
    /// Numbers by size, then words.
    friend bool operator<(const KnobValue& a, const KnobValue& b);

   private:
    std::variant<std::int64_t, double, std::string> value_;  ///< a double is not whole, or too large for 53 bits
};

/// By the names of knobs, so that it outlives a change of their order, too.
using StoredConfiguration = std::vector<std::pair<std::string, KnobValue>>;

/// The name of a knob whose values are positions in `values`: "layout{ROWS|TILES}". Space and name are then enough to
/// keep what was chosen by value.
[[nodiscard]] std::string listed_name(const std::string& name, std::span<const KnobValue> values);

/// A knob's name and what its values stand for, where these are positions; no values where they stand for themselves.
struct KnobMeaning {
    std::string name;
    std::vector<KnobValue> values{};
};
[[nodiscard]] KnobMeaning meaning_of(const std::string& knob);
/// As a space counts the value: itself, or its position. Nothing where the knob has no such value.
[[nodiscard]] std::optional<std::uint32_t> counted(const KnobMeaning& knob, const KnobValue& value);
/// For people: what the space counts so.
[[nodiscard]] std::string counted_text(const KnobMeaning& knob, std::uint32_t count);

[[nodiscard]] StoredConfiguration stored_configuration(const TuningSpace& space, const Configuration& configuration);
/// In the order of the space's knobs. Nothing where a name is missing, unknown or given twice, or a value is not in the
/// list of its knob.
[[nodiscard]] std::optional<Configuration> configuration_in(const TuningSpace& space,
                                                            const StoredConfiguration& configuration);
/// Whether it is one of the space's, legal values of all its knobs and of no others.
[[nodiscard]] bool fits(const TuningSpace& space, const StoredConfiguration& configuration);
/// Why it does not, in words: a knob that is gone or new, a value that its knob no longer has, a constraint.
[[nodiscard]] std::string misfit_text(const TuningSpace& space, const StoredConfiguration& configuration);

/// Whether both name the same knobs, in any order.
[[nodiscard]] bool same_knobs(const StoredConfiguration& a, const StoredConfiguration& b);

/// Of kernels of Yolk's own. Nothing where a value is not an integer from 0 on.
[[nodiscard]] std::optional<NamedConfiguration> plain_configuration(const StoredConfiguration& configuration);

}  // namespace yolk
