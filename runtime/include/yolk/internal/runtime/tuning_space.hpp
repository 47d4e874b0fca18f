// SPDX-License-Identifier: Apache-2.0
// The description of a kernel family's tuning space: named knobs with finite domains, and which combinations are legal.
// Primitives declare their spaces and refuse configurations outside; checks, benchmarks and the tuner read them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

/// One value per knob, in the order of the space's knobs.
using Configuration = std::vector<std::uint32_t>;

/// A tuning parameter and the values it may take, ascending. Switches take 0 and 1.
struct TuningKnob {
    std::string name;
    std::vector<std::uint32_t> values;
};

/// What a configuration is chosen for, besides its family and device: the key of a tuning table's entries.
struct TuningShape {
    std::string variant{};  ///< what makes another kernel of it: types, layouts, rules ("exact f32 f32^T f32")
    std::vector<std::uint64_t> extents{};  ///< what only makes it larger, in an order of the family's own
    friend bool operator==(const TuningShape&, const TuningShape&) = default;
};

/// The configurations of one family for one shape on one device. Immutable: threads may share it.
class TuningSpace {
   public:
    /// Why a combination of values from the domains is not allowed; called with one value per knob.
    using Legality = std::function<Result<void>(std::span<const std::uint32_t>)>;

    TuningSpace(std::string family, std::vector<TuningKnob> knobs, Legality legality = {}, TuningShape shape = {},
                Configuration plain = {});

    [[nodiscard]] const std::string& family() const noexcept { return family_; }
    [[nodiscard]] const TuningShape& shape() const noexcept { return shape_; }
    /// The configuration struct as it is initialized, which need not be legal; empty where there is no struct. What a
    /// plan takes untuned is the primitive's heuristic, which looks at shape and device.
    [[nodiscard]] const Configuration& plain() const noexcept { return plain_; }
    [[nodiscard]] std::span<const TuningKnob> knobs() const noexcept { return knobs_; }
    /// The product of the domains' sizes, legal or not. 1 where there are no knobs.
    [[nodiscard]] std::uint64_t combinations() const noexcept;
    /// Combination `index` below combinations(); the last knob changes fastest.
    [[nodiscard]] Configuration combination(std::uint64_t index) const;

    /// Error (BadInput): a value outside its domain, or an illegal combination; says which, and what is allowed.
    [[nodiscard]] Result<void> check(const Configuration& configuration) const;

    /// All legal configurations, in the order of combination().
    [[nodiscard]] std::vector<Configuration> all() const;
    /// `count` different legal configurations drawn by `seed`; all of them where there are no more.
    [[nodiscard]] std::vector<Configuration> draw(std::size_t count, std::uint64_t seed) const;

    /// "tile_m 8, tile_n 4".
    [[nodiscard]] std::string text(const Configuration& configuration) const;

   private:
    std::string family_;
    std::vector<TuningKnob> knobs_;
    Legality legality_;
    TuningShape shape_;
    Configuration plain_;
};

/// A knob that is a field of a primitive's configuration struct.
template <class Config>
struct Knob {
    std::string name;
    std::uint32_t Config::*field;
    std::vector<std::uint32_t> values;
};

/// A space whose configurations are a struct of a primitive's (NoiseConfig, MatmulConfig, ...).
template <class Config>
class ConfigSpace {
   public:
    using Legality = std::function<Result<void>(const Config&)>;

    ConfigSpace(std::string family, std::vector<Knob<Config>> knobs, Legality legality = {}, TuningShape shape = {})
        : fields_(fields_of(knobs)),
          space_(std::move(family), untyped(std::move(knobs)), typed(fields_, legality), std::move(shape),
                 values_of(fields_, Config{})) {}

    [[nodiscard]] const TuningSpace& space() const noexcept { return space_; }
    [[nodiscard]] Config config(std::span<const std::uint32_t> configuration) const {
        return make(fields_, configuration);
    }
    [[nodiscard]] Configuration configuration(const Config& config) const { return values_of(fields_, config); }
    /// As TuningSpace::check.
    [[nodiscard]] Result<void> check(const Config& config) const { return space_.check(configuration(config)); }

   private:
    using Fields = std::vector<std::uint32_t Config::*>;

    static Fields fields_of(const std::vector<Knob<Config>>& knobs) {
        Fields fields;
        for (const Knob<Config>& knob : knobs) fields.push_back(knob.field);
        return fields;
    }
    static std::vector<TuningKnob> untyped(std::vector<Knob<Config>> knobs) {
        std::vector<TuningKnob> plain;
        for (Knob<Config>& knob : knobs) plain.push_back({std::move(knob.name), std::move(knob.values)});
        return plain;
    }
    static Configuration values_of(const Fields& fields, const Config& config) {
        Configuration values;
        for (const auto field : fields) values.push_back(config.*field);
        return values;
    }
    static Config make(const Fields& fields, std::span<const std::uint32_t> values) {
        Config config{};
        for (std::size_t i = 0; i < fields.size(); ++i) config.*fields[i] = values[i];
        return config;
    }
    static TuningSpace::Legality typed(const Fields& fields, Legality legality) {
        if (!legality) return {};
        return [fields, legality = std::move(legality)](std::span<const std::uint32_t> values) {
            return legality(make(fields, values));
        };
    }

    Fields fields_;
    TuningSpace space_;
};

}  // namespace yolk
