// SPDX-License-Identifier: Apache-2.0
// The tunable parameters of a system: one group per hyperfunction, a matrix, a vector, a struct of declared fields, or
// a text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/result.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {

enum class FieldKind { Real, Integer, Boolean, Choice };
enum class FieldScale { Linear, Log };

/// One number of a parameter struct. Its natural value is what the hyperfunction sees: within the bounds, whole for
/// integers (which are at most 2^53), 0 or 1 for booleans, an index for choices.
struct Field {
    std::string name;
    FieldKind kind = FieldKind::Real;
    FieldScale scale = FieldScale::Linear;
    double initial = 0.0;  ///< the declared default
    double lower = 0.0;
    double upper = 1.0;
    std::vector<std::string> choices{};
};

/// Errors: empty or duplicate names, bounds out of order or not finite, a default outside, a log scale with a bound not
/// above 0, no choices.
[[nodiscard]] Result<void> validate(std::span<const Field> fields);

/// Search coordinates: what is perturbed and updated, unbounded between clamps. A field has one coordinate, a choice
/// one for each of its options. Linear: value / u with u half the range; log: ln(value) / u with u half of
/// ln(upper / lower). So sigma means the same for every field. What has few values gets a larger u, so that the default
/// sigma reaches the next one: a boolean's other side is .05 away, the next integer at most as far, and a choice leads
/// by .1. Decoding clamps, rounds to nearest, takes a choice's largest coordinate (the first of equals).
[[nodiscard]] std::uint32_t coordinate_count(std::span<const Field> fields);
[[nodiscard]] std::vector<float> to_coordinates(std::span<const Field> fields, std::span<const float> natural);
[[nodiscard]] std::vector<float> to_natural(std::span<const Field> fields, std::span<const float> coordinates);
/// Natural values as host functions get them: integers as they are, reals as a person would write their fp32.
[[nodiscard]] std::vector<double> to_numbers(std::span<const Field> fields, std::span<const float> coordinates);
/// The numbers of a group of fields: those that its tensor keeps, otherwise as written (.7, not .699999988).
[[nodiscard]] std::vector<double> written_numbers(const Tensor& values);
/// A field's number as what it means: an integer, a boolean, the text of a choice, a number.
[[nodiscard]] Value field_value(const Field& field, double number);
/// By coordinate, lower and upper: an update that leaves them is moved back before candidates are made.
[[nodiscard]] std::vector<std::pair<float, float>> coordinate_bounds(std::span<const Field> fields);

/// A hyperfunction's parameters: what a group is.
struct ParameterSpec {
    std::string name;             ///< the hyperfunction's
    Shape shape{};                ///< [out, in] of a matrix, [n] of a vector or of n fields; [0] for none and of a text
    std::vector<Field> fields{};  ///< of a struct; empty for weights
    std::uint32_t noise_rank = 0;  ///< of a matrix, 1 ... 32; 0: that of the run
    bool optimize = false;  ///< numbers: whether they are searched; a text: whether prompt searches may change it
    bool is_text = false;   ///< a prompt, without numbers
    std::uint64_t most_bytes = 16384;  ///< of a text in UTF-8, at least 1
    [[nodiscard]] bool is_matrix() const noexcept { return shape.rank() == 2; }
    [[nodiscard]] bool has_numbers() const { return shape != Shape{0}; }
    [[nodiscard]] bool has_parameters() const { return is_text || has_numbers(); }
};

/// "a matrix [2, 3]", "a struct of 2 fields", "a text", "without parameters".
[[nodiscard]] std::string described(const ParameterSpec& spec);

struct ParameterGroup {
    ParameterSpec spec;
    Tensor initial{};  ///< what it was registered with: what `reset` goes back to
    Tensor values{};   ///< natural values now; [0] of a text
    std::string initial_text{};
    std::string text{};
    /// What the hyperfunction gets now: a text, or a tensor.
    [[nodiscard]] Value value() const;
    [[nodiscard]] Value initial_value() const;
};

/// All groups of a system, in the order of registration. A plain value: copies are independent.
class ParameterSet {
   public:
    /// A tensor of natural values (of fields best of Tensor::of_numbers), or a text. Errors: a duplicate name (saying
    /// what both are), a spec that does not hold, what set() and set_text() refuse.
    [[nodiscard]] Result<void> add(ParameterSpec spec, Value first);
    [[nodiscard]] std::span<const ParameterGroup> groups() const noexcept { return groups_; }
    /// nullptr for none.
    [[nodiscard]] const ParameterGroup* find(std::string_view name) const noexcept;
    /// Errors: no such group (lists those there are), one that is a text, another shape, values that are not finite or
    /// outside the bounds.
    [[nodiscard]] Result<void> set(std::string_view name, Tensor values);
    /// The empty text is allowed. Errors: no such group (lists those there are), one of numbers, more bytes than the
    /// group takes, a text that is not UTF-8.
    [[nodiscard]] Result<void> set_text(std::string_view name, std::string text);
    /// One of the two, by the value's kind.
    [[nodiscard]] Result<void> set_value(std::string_view name, Value value);
    [[nodiscard]] Result<void> set_optimized(std::string_view name, bool optimize);

   private:
    /// Errors: no such group (lists those there are).
    [[nodiscard]] Result<ParameterGroup*> group(std::string_view name);
    std::vector<ParameterGroup> groups_;
};

/// First values of a weight: Xavier-like for a matrix, n / sqrt(85) / sqrt(in) with n element i of the noise stream
/// (seed, hash of the name, Initialization), so unit variance per output for unit inputs; zeros for a vector.
[[nodiscard]] Tensor initial_weights(const ParameterSpec& spec, std::uint64_t seed);

}  // namespace yolk::hyper
