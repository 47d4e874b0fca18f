// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_set>

#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kLargestDomain = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kMostCombinations = std::uint64_t{1} << 63U;
constexpr int kVainDraws = 1000;

bool is_number(const Value& value) { return std::holds_alternative<double>(value); }

/// How unevenly spaced an ascending sequence is: largest gap over mean gap.
double unevenness(const std::vector<double>& points) {
    double largest = 0.0;
    for (std::size_t i = 1; i < points.size(); ++i) largest = std::max(largest, points[i] - points[i - 1]);
    return largest * static_cast<double>(points.size() - 1) / (points.back() - points.front());
}

Result<void> check_parameter(const Parameter& parameter) {
    if (parameter.name.empty()) return bad_input("A parameter of the space has no name.");
    if (parameter.values.empty() || parameter.values.size() > kLargestDomain) {
        return bad_input("Parameter '{}' has {} values; 1 to {} are allowed.", shown(parameter.name),
                         parameter.values.size(), kLargestDomain);
    }
    if (parameter.scale == Scale::Categorical) {
        const std::set<Value> different(parameter.values.begin(), parameter.values.end());
        if (different.size() == parameter.values.size()) return {};
        return bad_input("Parameter '{}' has a value twice; each may occur once.", shown(parameter.name));
    }
    for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        const double* const number = std::get_if<double>(&parameter.values[i]);
        if (number == nullptr || !std::isfinite(*number)) {
            return bad_input("Value '{}' of parameter '{}' is not a finite number; make the parameter categorical.",
                             to_text(parameter.values[i]), shown(parameter.name));
        }
        if (parameter.scale == Scale::Log && *number <= 0.0) {
            return bad_input("Value {} of parameter '{}' is not above 0, as a logarithmic scale demands.", *number,
                             shown(parameter.name));
        }
        if (i > 0 && *number <= std::get<double>(parameter.values[i - 1])) {
            return bad_input("The values of parameter '{}' do not ascend at {}.", shown(parameter.name), *number);
        }
    }
    return {};
}

}  // namespace

std::string to_text(const Value& value) {
    if (const auto* const number = std::get_if<double>(&value)) return fmt::format("{}", *number);
    return std::get<std::string>(value);
}

Parameter Parameter::of(std::string name, std::vector<Value> values) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    Parameter parameter{.name = std::move(name), .scale = Scale::Linear, .values = std::move(values)};
    if (!std::ranges::all_of(parameter.values, is_number)) {
        parameter.scale = Scale::Categorical;
        return parameter;
    }
    std::vector<double> points, logs;
    for (const Value& value : parameter.values) points.push_back(std::get<double>(value));
    if (points.size() < 3 || points.front() <= 0.0) return parameter;
    for (const double point : points) logs.push_back(std::log2(point));
    if (unevenness(logs) < unevenness(points)) parameter.scale = Scale::Log;
    return parameter;
}

double Parameter::coordinate(std::size_t value) const {
    if (values.size() < 2) return 0.0;
    if (scale == Scale::Categorical) return static_cast<double>(value) / static_cast<double>(values.size() - 1);
    const auto place = [this](std::size_t i) {
        const double number = std::get<double>(values[i]);
        return scale == Scale::Log ? std::log2(number) : number;
    };
    return (place(value) - place(0)) / (place(values.size() - 1) - place(0));
}

Result<Space> Space::create(std::vector<Parameter> parameters, std::vector<Constraint> constraints) {
    return make(std::move(parameters), std::move(constraints), false);
}

Result<Space> Space::listed(std::vector<Parameter> parameters) { return make(std::move(parameters), {}, true); }

Result<Space> Space::make(std::vector<Parameter> parameters, std::vector<Constraint> constraints, bool is_listed) {
    if (parameters.empty()) return bad_input("The space has no parameter; at least one is needed.");
    Space space;
    std::set<std::string> names;
    for (const Parameter& parameter : parameters) {
        YOLK_TRY_VOID(check_parameter(parameter));
        if (!names.insert(parameter.name).second) {
            return bad_input("Parameter '{}' is there twice; names must differ.", shown(parameter.name));
        }
        const bool too_many = space.combinations_ >= kMostCombinations / parameter.values.size();
        if (too_many && !is_listed)
            return bad_input("The space has 2^63 combinations or more; take parameters or values away.");
        space.combinations_ = too_many ? kMostCombinations : space.combinations_ * parameter.values.size();
    }
    space.checked_at_.resize(parameters.size());
    for (std::size_t c = 0; c < constraints.size(); ++c) {
        std::size_t last = constraints[c].parameters.empty() ? parameters.size() - 1 : 0;
        for (const std::size_t p : constraints[c].parameters) last = std::max(last, p);
        if (last >= parameters.size() || !constraints[c].allows) {
            return bad_input("Constraint '{}' reads parameter {} of {}, or has no condition.",
                             shown(constraints[c].text), last, parameters.size());
        }
        space.checked_at_[last].push_back(c);
    }
    space.parameters_ = std::move(parameters);
    space.constraints_ = std::move(constraints);
    return space;
}

bool Space::allows(ChoiceView choice) const {
    return std::ranges::all_of(constraints_, [&](const Constraint& constraint) { return constraint.allows(choice); });
}

std::uint64_t Space::key(ChoiceView choice) const noexcept {
    if (combinations_ == kMostCombinations) return hash64(std::as_bytes(choice));
    std::uint64_t key = 0;
    for (std::size_t p = 0; p < choice.size(); ++p) key = key * parameters_[p].values.size() + choice[p];
    return key;
}

std::string Space::text(ChoiceView choice) const {
    std::string text;
    for (std::size_t p = 0; p < choice.size(); ++p) {
        text +=
            fmt::format("{}{} {}", p == 0 ? "" : ", ", parameters_[p].name, to_text(parameters_[p].values[choice[p]]));
    }
    return text;
}

Result<std::vector<std::uint16_t>> Space::enumerate(std::size_t limit) const {
    std::vector<std::uint16_t> found;
    const std::size_t last = parameters_.size() - 1;
    Choice choice(parameters_.size(), 0);
    std::size_t p = 0;
    for (;;) {  // counts up; a prefix that breaks a constraint is skipped with all that begins with it
        const bool legal =
            std::ranges::all_of(checked_at_[p], [&](std::size_t c) { return constraints_[c].allows(choice); });
        if (legal && p < last) {
            choice[++p] = 0;
            continue;
        }
        if (legal) {
            if (found.size() / choice.size() >= limit) {
                return bad_input("The space has more than {} legal configurations; sample it.", limit);
            }
            found.insert(found.end(), choice.begin(), choice.end());
        }
        while (++choice[p] == parameters_[p].values.size()) {
            choice[p] = 0;
            if (p == 0) return found;
            --p;
        }
    }
}

std::vector<std::uint16_t> Space::sample(std::size_t count, Random& random) const {
    std::vector<std::uint16_t> found;
    std::unordered_set<std::uint64_t> keys;
    Choice choice(parameters_.size(), 0);
    for (int vain = 0; vain < kVainDraws && keys.size() < count; ++vain) {
        for (std::size_t p = 0; p < choice.size(); ++p) {
            choice[p] = static_cast<std::uint16_t>(random.below(parameters_[p].values.size()));
        }
        if (!allows(choice) || !keys.insert(key(choice)).second) continue;
        found.insert(found.end(), choice.begin(), choice.end());
        vain = -1;
    }
    return found;
}

Result<Space> space_of(const TuningSpace& space) {
    std::vector<Parameter> parameters;
    for (const TuningKnob& knob : space.knobs()) {
        std::vector<Value> values;
        for (const std::uint32_t value : knob.values) values.emplace_back(static_cast<double>(value));
        parameters.push_back(Parameter::of(knob.name, std::move(values)));
    }
    const auto allows = [space](ChoiceView choice) {
        Configuration configuration;
        for (std::size_t p = 0; p < choice.size(); ++p) configuration.push_back(space.knobs()[p].values[choice[p]]);
        return space.check(configuration).has_value();
    };
    return Space::create(std::move(parameters), {{.text = space.family(), .parameters = {}, .allows = allows}});
}

Result<CandidateSet> CandidateSet::of(Space space, std::size_t limit, std::uint64_t seed) {
    Result<std::vector<std::uint16_t>> all = space.enumerate(limit);
    if (all) return of(std::move(space), std::move(*all));
    Random random(seed);
    std::vector<std::uint16_t> drawn = space.sample(limit, random);
    return of(std::move(space), std::move(drawn));
}

Result<CandidateSet> CandidateSet::of(Space space, std::vector<std::uint16_t> choices) {
    CandidateSet set(std::move(space));
    const auto parameters = set.space_.parameters();
    set.choices_ = std::move(choices);
    set.size_ = set.choices_.size() / parameters.size();
    if (set.size_ == 0 || set.choices_.size() % parameters.size() != 0) {
        return bad_input("The space has no legal configuration; loosen its constraints.");
    }
    set.index_.reserve(set.size_);
    for (std::size_t i = 0; i < set.size_; ++i) {
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            if (set[i][p] >= parameters[p].values.size()) {
                return bad_input("Configuration {} takes value {} of parameter '{}', which has {}.", i, set[i][p],
                                 shown(parameters[p].name), parameters[p].values.size());
            }
        }
        const auto [same, is_new] = set.index_.emplace(set.space_.key(set[i]), i);
        if (!is_new && !std::ranges::equal(set[same->second], set[i]))
            return bad_input("Two configurations have one hash; take either away: {}.", set.space_.text(set[i]));
        if (!is_new) {
            return bad_input("The configuration {} is there twice; each may occur once.", set.space_.text(set[i]));
        }
    }
    return set;
}

Result<CandidateSet> CandidateSet::of(const TuningSpace& space, std::span<const Configuration> given) {
    std::vector<std::uint16_t> choices;
    for (const Configuration& configuration : given) {
        for (std::size_t k = 0; k < configuration.size(); ++k) {
            const std::vector<std::uint32_t>& values = space.knobs()[k].values;
            choices.push_back(static_cast<std::uint16_t>(std::ranges::find(values, configuration[k]) - values.begin()));
        }
    }
    YOLK_TRY(Space same, space_of(space));
    return of(std::move(same), std::move(choices));
}

std::optional<std::size_t> CandidateSet::find(ChoiceView choice) const {
    const auto found = index_.find(space_.key(choice));
    // In a space that is too large for keys, another configuration may have the hash.
    const bool is_it = found != index_.end() && std::ranges::equal((*this)[found->second], choice);
    return is_it ? std::optional(found->second) : std::nullopt;
}

std::vector<std::size_t> CandidateSet::neighbours(std::size_t candidate) const {
    std::vector<std::size_t> found;
    const ChoiceView origin = (*this)[candidate];
    Choice choice(origin.begin(), origin.end());
    for (std::size_t p = 0; p < choice.size(); ++p) {
        for (std::size_t value = 0; value < space_.parameters()[p].values.size(); ++value) {
            if (value == origin[p]) continue;
            choice[p] = static_cast<std::uint16_t>(value);
            if (const auto other = find(choice)) found.push_back(*other);
        }
        choice[p] = origin[p];
    }
    return found;
}

}  // namespace yolk::autotune
