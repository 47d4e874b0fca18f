// SPDX-License-Identifier: Apache-2.0
// The tunable parameters of a system: one group per hyperfunction, a matrix, a vector, or a struct of declared fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/hyper/value.hpp"

namespace yolk::hyper {

enum class FieldKind { Real, Integer, Boolean, Choice };
enum class FieldScale { Linear, Log };

/// One number of a parameter struct. Its natural value is what the hyperfunction sees: within the bounds, whole for
/// integers, 0 or 1 for booleans, an index for choices.
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
/// ln(upper / lower). So sigma means the same for every field. Decoding clamps, rounds to nearest, takes a boolean's
/// nearer side and a choice's largest coordinate (the first of equals).
[[nodiscard]] std::uint32_t coordinate_count(std::span<const Field> fields);
[[nodiscard]] std::vector<float> to_coordinates(std::span<const Field> fields, std::span<const float> natural);
[[nodiscard]] std::vector<float> to_natural(std::span<const Field> fields, std::span<const float> coordinates);
/// Moves coordinates into the bounds (after an update, so that no field gets lost outside).
void clamp_coordinates(std::span<const Field> fields, std::span<float> coordinates);

/// A hyperfunction's parameters: what a group is.
struct ParameterSpec {
    std::string name;              ///< the hyperfunction's
    Shape shape{};                 ///< [out, in] of a matrix, [n] of a vector or of n fields; [0] for none
    std::vector<Field> fields{};   ///< of a struct; empty for weights
    std::uint32_t noise_rank = 0;  ///< of a matrix, 1 ... 32; 0: that of the run
    bool optimize = false;
    [[nodiscard]] bool is_matrix() const noexcept { return shape.rank() == 2; }
};

struct ParameterGroup {
    ParameterSpec spec;
    Tensor initial;  ///< what it was registered with: what `reset` goes back to
    Tensor values;   ///< natural values now
};

/// All groups of a system, in the order of registration. A plain value: copies are independent.
class ParameterSet {
   public:
    /// Errors: a duplicate name (saying what both are), a spec that does not hold, values of another shape, not finite
    /// or outside the bounds.
    [[nodiscard]] Result<void> add(ParameterSpec spec, Tensor values);
    [[nodiscard]] std::span<const ParameterGroup> groups() const noexcept { return groups_; }
    /// nullptr for none.
    [[nodiscard]] const ParameterGroup* find(std::string_view name) const noexcept;
    /// Errors: no such group (lists those there are), another shape, values that are not finite or outside the bounds.
    [[nodiscard]] Result<void> set(std::string_view name, Tensor values);
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
