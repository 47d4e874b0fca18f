// SPDX-License-Identifier: Apache-2.0
// What may be chosen. A Space is named parameters with finite domains and constraints; a CandidateSet is the list of
// configurations that a search works on: all legal ones, or a sample where they are too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "yolk/internal/autotune/random.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// Numbers are compared as doubles; everything else (names of variants, true and false) is text.
using Value = std::variant<double, std::string>;
[[nodiscard]] std::string to_text(const Value& value);

/// How far two values of a parameter are from each other.
enum class Scale {
    Linear,       ///< by their difference
    Log,          ///< by their ratio; all values are above 0
    Categorical,  ///< equal or not
};

struct Parameter {
    std::string name;
    Scale scale = Scale::Linear;
    std::vector<Value> values;  ///< numbers ascending; none twice

    /// A parameter over what occurs in `values`: sorted, without duplicates; Log where the numbers are closer to a
    /// geometric than to an arithmetic sequence, Categorical where any value is text.
    [[nodiscard]] static Parameter of(std::string name, std::vector<Value> values);
    /// Position of a value in [0, 1] on the parameter's scale; 0 where the domain has one value.
    [[nodiscard]] double coordinate(std::size_t value) const;
};

/// One index into the domain per parameter.
using Choice = std::vector<std::uint16_t>;
using ChoiceView = std::span<const std::uint16_t>;

/// Which combinations are legal. Naming the parameters that it reads lets an enumeration turn back early.
struct Constraint {
    std::string text;                     ///< for messages: "tile_m * tile_n <= 1024"
    std::vector<std::size_t> parameters;  ///< read by `allows`; empty: all
    std::function<bool(ChoiceView)> allows;
};

/// Immutable. Calls its constraints, which must be free of effects.
class Space {
   public:
    /// Error (BadInput): no parameter, an empty or too large domain (65,535), values twice or not ascending, a name
    /// twice, a constraint on a parameter that is not there, or 2^63 combinations and more.
    [[nodiscard]] static Result<Space> create(std::vector<Parameter> parameters,
                                              std::vector<Constraint> constraints = {});

    /// The same without a limit on combinations: of a space that is known by some of its choices only.
    [[nodiscard]] static Result<Space> listed(std::vector<Parameter> parameters);

    [[nodiscard]] std::span<const Parameter> parameters() const noexcept { return parameters_; }
    /// The product of the domains' sizes; 2^63 where a listed space has as many or more.
    [[nodiscard]] std::uint64_t combinations() const noexcept { return combinations_; }
    /// Whether all constraints hold.
    [[nodiscard]] bool allows(ChoiceView choice) const;
    /// A number below combinations() that is the choice's alone; the last parameter changes fastest. Where there are
    /// 2^63 combinations or more, a hash.
    [[nodiscard]] std::uint64_t key(ChoiceView choice) const noexcept;
    [[nodiscard]] std::string text(ChoiceView choice) const;  ///< "MWG 64, NWG 32"

    /// All legal choices in the order of their keys, one after another in one array; stops with an error (BadInput)
    /// beyond `limit` of them.
    [[nodiscard]] Result<std::vector<std::uint16_t>> enumerate(std::size_t limit) const;
    /// Different legal choices without enumerating: uniform draws, those that break a constraint thrown away. Fewer
    /// than `count` where 1,000 draws in a row gave nothing new.
    [[nodiscard]] std::vector<std::uint16_t> sample(std::size_t count, Random& random) const;

   private:
    [[nodiscard]] static Result<Space> make(std::vector<Parameter> parameters, std::vector<Constraint> constraints,
                                            bool is_listed);
    std::vector<Parameter> parameters_;
    std::vector<Constraint> constraints_;
    std::vector<std::vector<std::size_t>> checked_at_;  ///< constraints whose last parameter is this one
    std::uint64_t combinations_ = 1;
};

/// The same space as a kernel family declares it; a constraint over all knobs asks TuningSpace::check.
[[nodiscard]] Result<Space> space_of(const TuningSpace& space);

/// Configurations under numbers from 0. Immutable: searches on several threads may share one.
class CandidateSet {
   public:
    /// All legal configurations, or `limit` sampled by `seed` where there are more.
    [[nodiscard]] static Result<CandidateSet> of(Space space, std::size_t limit, std::uint64_t seed);
    /// Given configurations, one after another in one array. Error (BadInput): none, an index outside its domain, or a
    /// configuration twice.
    [[nodiscard]] static Result<CandidateSet> of(Space space, std::vector<std::uint16_t> choices);
    /// The same of a kernel family's space: values, not indices.
    [[nodiscard]] static Result<CandidateSet> of(const TuningSpace& space, std::span<const Configuration> given);

    [[nodiscard]] const Space& space() const noexcept { return space_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return space_.parameters().size(); }
    [[nodiscard]] ChoiceView operator[](std::size_t candidate) const noexcept {
        return ChoiceView(choices_).subspan(candidate * dimensions(), dimensions());
    }
    [[nodiscard]] std::optional<std::size_t> find(ChoiceView choice) const;
    /// Candidates that differ from `candidate` in one parameter, in order of parameter, then value.
    [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t candidate) const;

   private:
    explicit CandidateSet(Space space) : space_(std::move(space)) {}
    Space space_;
    std::vector<std::uint16_t> choices_;
    std::size_t size_ = 0;
    std::unordered_map<std::uint64_t, std::size_t> index_;
};

}  // namespace yolk::autotune
