// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/parameters.hpp"
#include "yolk/internal/core/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>

#include "yolk/internal/abi/noise.h"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/utf8.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

const std::string& name_of(const ParameterGroup& group) { return group.spec.name; }

std::string named(const Field& field) {
    return field.name.empty() ? "A field" : fmt::format("Field '{}'", shown(field.name));
}

// Distances in coordinates, against the default sigma of .05 and draws of at most 3.25 sigma: noise that does not reach
// the next value says nothing of it, and the search stands still.
constexpr double kReach = 0.05;      ///< of a boolean or an integer, at most: 16 % of the members have the next value
constexpr double kChoiceLead = 0.1;  ///< 8 % have a given other option: two coordinates draw

/// What one unit of a search coordinate is: half the range, and more where few values are in it.
double unit_of(const Field& field) {
    if (field.kind == FieldKind::Boolean) return 0.5 / kReach;
    const bool is_log = field.scale == FieldScale::Log;
    const double half = 0.5 * (is_log ? std::log(field.upper / field.lower) : field.upper - field.lower);
    if (field.kind != FieldKind::Integer) return half;
    const double least = std::ceil(field.lower);  // where values are furthest apart on a log scale
    const double step = is_log ? std::log((least + 0.5) / least) : 0.5;
    return std::max(half, step / kReach);
}

double coordinate_of(const Field& field, double natural) {
    return (field.scale == FieldScale::Log ? std::log(natural) : natural) / unit_of(field);
}

std::pair<float, float> bounds_of_coordinates(const Field& field) {
    if (field.kind == FieldKind::Choice) return {0.0F, static_cast<float>(kChoiceLead)};
    return {static_cast<float>(coordinate_of(field, field.lower)),
            static_cast<float>(coordinate_of(field, field.upper))};
}

double natural_of(const Field& field, double coordinate) {
    const double scaled = coordinate * unit_of(field);
    const double value =
        std::clamp(field.scale == FieldScale::Log ? std::exp(scaled) : scaled, field.lower, field.upper);
    if (field.kind == FieldKind::Real) return value;
    return std::clamp(std::round(value), std::ceil(field.lower), std::floor(field.upper));
}

std::uint32_t coordinates_of(const Field& field) {
    return field.kind == FieldKind::Choice ? static_cast<std::uint32_t>(field.choices.size()) : 1;
}

/// Bounds are doubles, natural values of reals floats: the bounds' own floats are inside.
bool is_inside(const Field& field, double number) {
    if (field.kind == FieldKind::Integer) return number >= field.lower && number <= field.upper;
    const auto value = static_cast<float>(number);
    return value >= static_cast<float>(field.lower) && value <= static_cast<float>(field.upper);
}

constexpr double kMostInteger = 0x1p53;  // above it doubles, which fields are held in, skip integers

Result<void> validate(const Field& field) {
    if (field.kind == FieldKind::Choice && field.choices.empty())
        return bad_input("{} is a choice without any; name at least one.", named(field));
    if (field.kind == FieldKind::Choice || field.kind == FieldKind::Boolean) {
        const double last = field.kind == FieldKind::Boolean ? 1.0 : static_cast<double>(field.choices.size() - 1);
        if (field.lower != 0.0 || field.upper != last || field.scale == FieldScale::Log)
            return bad_input("{}: a boolean or choice has linear bounds from 0 to {}.", named(field), last);
    } else if (!std::isfinite(field.lower) || !std::isfinite(field.upper) || field.lower >= field.upper) {
        return bad_input(
            "{} has bounds {} to {}; give it finite ones, the lower below the upper, with between(). "
            "Parameters are numbers, booleans and choices.",
            named(field), field.lower, field.upper);
    }
    if (field.scale == FieldScale::Log && field.lower <= 0.0)
        return bad_input("{} has a log scale and the lower bound {}; it must be above 0.", named(field), field.lower);
    if (field.kind == FieldKind::Integer && (field.lower < -kMostInteger || field.upper > kMostInteger))
        return bad_input("{} is an integer with bounds {} to {}; they may be as far as 2^53 from 0.", named(field),
                         field.lower, field.upper);
    if (field.kind == FieldKind::Integer && std::ceil(field.lower) > std::floor(field.upper))
        return bad_input("{}: there is no integer from {} to {}.", named(field), field.lower, field.upper);
    if (!is_inside(field, field.initial))
        return bad_input("{} has the default {}; its bounds are {} to {}.", named(field), field.initial, field.lower,
                         field.upper);
    return {};
}

Result<void> validate(const ParameterSpec& spec) {
    if (spec.name.empty()) return bad_input("A hyperfunction has no name; give it one.");
    const std::string who = fmt::format("Hyperfunction '{}'", shown(spec.name));
    if (spec.is_text) {
        if (spec.has_numbers() || !spec.fields.empty())
            return bad_input("{} has a text and numbers; give the numbers to a hyperfunction of their own.", who);
        if (spec.most_bytes == 0) return bad_input("{} has a text of at most 0 bytes; allow at least 1.", who);
        return {};
    }
    if (!spec.fields.empty()) {
        if (auto valid = validate(std::span<const Field>(spec.fields)); !valid)
            return std::move(valid).error().while_doing(
                fmt::format("registering hyperfunction '{}'", shown(spec.name)));
        if (spec.shape != Shape{spec.fields.size()})
            return bad_input("{} has {} fields and the shape {}; it must be [{}].", who, spec.fields.size(),
                             spec.shape.to_string(), spec.fields.size());
        return {};
    }
    if (spec.shape.rank() != 1 && spec.shape.rank() != 2)
        return bad_input("{} has parameters {}; a matrix [out, in] or a vector [n] is allowed.", who,
                         spec.shape.to_string());
    if (spec.is_matrix() && (spec.shape[0] == 0 || spec.shape[1] == 0))
        return bad_input("{} has a matrix {}; neither extent may be 0.", who, spec.shape.to_string());
    if (spec.noise_rank > kMaxRank) {
        return bad_input("{} has the noise rank {}; it must be from 1 to {}, or 0 for the rank of the run.", who,
                         spec.noise_rank, kMaxRank);
    }
    return {};
}

Result<void> validate_values(const ParameterSpec& spec, const Tensor& values) {
    if (values.shape() != spec.shape) {
        return bad_input("Values {} were given for '{}', which is {} of shape {}.", values.shape().to_string(),
                         shown(spec.name), described(spec), spec.shape.to_string());
    }
    const std::vector<double> numbers = spec.fields.empty() ? std::vector<double>() : written_numbers(values);
    for (std::size_t i = 0; i < values.values().size(); ++i) {
        const double value = numbers.empty() ? double{values.values()[i]} : numbers[i];
        if (!std::isfinite(values.values()[i]))
            return bad_input("Value {} of '{}' is {}; parameters are finite.", i, shown(spec.name), value);
        if (spec.fields.empty()) continue;
        const Field& field = spec.fields[i];
        if (!is_inside(field, value))
            return bad_input("'{}' of '{}' is {}; its bounds are {} to {}.", shown(field.name), shown(spec.name), value,
                             field.lower, field.upper);
        if (field.kind != FieldKind::Real && value != std::round(value))
            return bad_input("'{}' of '{}' is {}; it is a whole number.", shown(field.name), shown(spec.name), value);
    }
    return {};
}

Result<void> validate_text(const ParameterSpec& spec, std::string_view text) {
    if (text.size() > spec.most_bytes) {
        return bad_input("A text of {} bytes was given for '{}', which takes at most {} (TextParameter::most_bytes).",
                         text.size(), shown(spec.name), spec.most_bytes);
    }
    if (!is_utf8(text))
        return bad_input("The text that was given for '{}' is not UTF-8. Convert it first.", shown(spec.name));
    return {};
}

}  // namespace

std::string described(const ParameterSpec& spec) {
    if (spec.is_text) return "a text";
    if (!spec.fields.empty()) return fmt::format("a struct of {} fields", spec.fields.size());
    if (spec.shape == Shape{0}) return "without parameters";
    return fmt::format("{} {}", spec.is_matrix() ? "a matrix" : "a vector", spec.shape.to_string());
}

Value ParameterGroup::value() const { return spec.is_text ? Value(text) : Value(values); }
Value ParameterGroup::initial_value() const { return spec.is_text ? Value(initial_text) : Value(initial); }

Result<void> validate(std::span<const Field> fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name.empty()) return bad_input("Field {} has no name.", i);
        for (std::size_t j = 0; j < i; ++j) {
            if (fields[i].name == fields[j].name)
                return bad_input("Fields {} and {} are both called '{}'.", j, i, shown(fields[i].name));
        }
        YOLK_TRY_VOID(validate(fields[i]));
    }
    return {};
}

std::uint32_t coordinate_count(std::span<const Field> fields) {
    std::uint32_t count = 0;
    for (const Field& field : fields) count += coordinates_of(field);
    return count;
}

std::vector<float> to_coordinates(std::span<const Field> fields, std::span<const float> natural) {
    std::vector<float> coordinates;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const Field& field = fields[i];
        if (field.kind == FieldKind::Choice) {
            for (std::size_t c = 0; c < field.choices.size(); ++c)
                coordinates.push_back(static_cast<float>(c) == natural[i] ? static_cast<float>(kChoiceLead) : 0.0F);
        } else {
            const double inside = std::clamp(double{natural[i]}, field.lower, field.upper);
            coordinates.push_back(static_cast<float>(coordinate_of(field, inside)));
        }
    }
    return coordinates;
}

std::vector<float> to_natural(std::span<const Field> fields, std::span<const float> coordinates) {
    std::vector<float> natural;
    std::size_t next = 0;
    for (const Field& field : fields) {
        const auto own = coordinates.subspan(next, coordinates_of(field));
        next += own.size();
        if (field.kind == FieldKind::Choice) {
            natural.push_back(static_cast<float>(std::ranges::max_element(own) - own.begin()));
        } else {
            natural.push_back(static_cast<float>(natural_of(field, own[0])));
        }
    }
    return natural;
}

std::vector<double> to_numbers(std::span<const Field> fields, std::span<const float> coordinates) {
    const std::vector<float> natural = to_natural(fields, coordinates);
    std::vector<double> numbers;
    std::size_t next = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const Field& field = fields[i];
        const bool is_integer = field.kind == FieldKind::Integer;
        numbers.push_back(is_integer ? natural_of(field, coordinates[next])
                                     : std::clamp(shortest(natural[i]), field.lower, field.upper));
        next += coordinates_of(field);
    }
    return numbers;
}

std::vector<double> written_numbers(const Tensor& values) {
    if (!values.numbers().empty()) return {values.numbers().begin(), values.numbers().end()};
    std::vector<double> numbers;
    for (const float value : values.values()) numbers.push_back(shortest(value));
    return numbers;
}

Value field_value(const Field& field, double number) {
    switch (field.kind) {
        case FieldKind::Integer: return static_cast<std::int64_t>(std::llround(number));
        case FieldKind::Boolean: return number > 0.5;
        case FieldKind::Choice: {
            const auto index = static_cast<std::size_t>(std::max(std::lround(number), 0L));
            return field.choices.at(std::min(index, field.choices.size() - 1));
        }
        case FieldKind::Real: break;
    }
    return number;
}

std::vector<std::pair<float, float>> coordinate_bounds(std::span<const Field> fields) {
    std::vector<std::pair<float, float>> bounds;
    for (const Field& field : fields) bounds.insert(bounds.end(), coordinates_of(field), bounds_of_coordinates(field));
    return bounds;
}

Result<void> ParameterSet::add(ParameterSpec spec, Value first) {
    YOLK_TRY_VOID(validate(spec));
    if (const ParameterGroup* other = find(spec.name)) {
        return bad_input(
            "Two hyperfunctions are called '{}': one is {}, the other {}. Names are unique in a system; rename one.",
            shown(spec.name), described(other->spec), described(spec));
    }
    groups_.push_back({.spec = std::move(spec)});
    ParameterGroup& group = groups_.back();
    if (Result<void> valid = set_value(group.spec.name, std::move(first)); !valid) {
        groups_.pop_back();
        return valid;
    }
    group.initial = group.values;
    group.initial_text = group.text;
    return {};
}

const ParameterGroup* ParameterSet::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(groups_, name, name_of);
    return found == groups_.end() ? nullptr : &*found;
}

Result<ParameterGroup*> ParameterSet::group(std::string_view name) {
    if (const auto found = std::ranges::find(groups_, name, name_of); found != groups_.end()) return &*found;
    const auto known = groups_ | std::views::transform(name_of);
    return bad_input("There is no hyperfunction '{}'; registered are {}.", shown(name),
                     known.empty() ? "none" : shown(fmt::format("{}", fmt::join(known, ", "))));
}

Result<void> ParameterSet::set(std::string_view name, Tensor values) {
    YOLK_TRY(ParameterGroup* const known, group(name));
    if (known->spec.is_text) {
        return bad_input("Values {} were given for '{}', which is a text; give it one with set_text().",
                         values.shape().to_string(), shown(name));
    }
    YOLK_TRY_VOID(validate_values(known->spec, values));
    known->values = std::move(values);
    return {};
}

Result<void> ParameterSet::set_text(std::string_view name, std::string text) {
    YOLK_TRY(ParameterGroup* const known, group(name));
    if (!known->spec.is_text) {
        return bad_input("A text was given for '{}', which is {}; give it numbers with set().", shown(name),
                         described(known->spec));
    }
    YOLK_TRY_VOID(validate_text(known->spec, text));
    known->text = std::move(text);
    return {};
}

Result<void> ParameterSet::set_value(std::string_view name, Value value) {
    if (const std::string* text = value.text()) return set_text(name, *text);
    if (const Tensor* values = value.tensor()) return set(name, *values);
    return bad_input("{} was given for '{}'; parameters are a tensor or a text.", to_string(type_of(value)),
                     shown(name));
}

Result<void> ParameterSet::set_optimized(std::string_view name, bool optimize) {
    YOLK_TRY(ParameterGroup* const known, group(name));
    known->spec.optimize = optimize;
    return {};
}

Tensor initial_weights(const ParameterSpec& spec, std::uint64_t seed) {
    const std::uint64_t count = spec.shape.element_count().value_or(0);
    std::vector<float> values(count, 0.0F);
    if (spec.is_matrix()) {
        const auto noise_scale = std::bit_cast<float>(abi::noise::kNoiseScaleBits);
        const float scale = noise_scale * (1.0F / std::sqrt(static_cast<float>(spec.shape[1])));
        const std::uint64_t hash = hash64(std::as_bytes(std::span(spec.name)));
        const NoiseStream stream{.seed = seed,
                                 .parameter = static_cast<std::uint32_t>(hash & kMaxParameterId),
                                 .domain = Domain::Initialization};
        for (std::uint64_t first = 0; first < count; first += kNoiseElementsPerBlock) {
            const auto block = noise_block(stream, static_cast<std::uint32_t>(first / kNoiseElementsPerBlock));
            for (std::uint64_t i = 0; i < std::min<std::uint64_t>(kNoiseElementsPerBlock, count - first); ++i)
                values[first + i] = static_cast<float>(block[i]) * scale;
        }
    }
    return Tensor::create(spec.shape, std::move(values)).value();
}

}  // namespace yolk::hyper
