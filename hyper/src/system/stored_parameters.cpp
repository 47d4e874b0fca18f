// SPDX-License-Identifier: Apache-2.0
#include "stored_parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/utf8.hpp"

namespace yolk::hyper {
namespace {

std::string_view kind_name(FieldKind kind) {
    constexpr std::array<std::string_view, 4> kWords{"real", "integer", "boolean", "choice"};
    return kWords.at(static_cast<std::size_t>(kind));
}

/// A field as a file describes it. Bounds are the reading system's own business: values have to lie in them.
struct StoredField {
    std::string name, kind, scale;
    double lower = 0.0, upper = 0.0;
    std::vector<std::string> choices{};
};
template <class Fields>
void each_field(Fields& fields, StoredField& field) {
    fields("name", field.name);
    fields("kind", field.kind);
    fields.note("scale", field.scale);
    fields.note("lower", field.lower);
    fields.note("upper", field.upper);
    fields.maybe("choices", field.choices);
}

struct StoredGroup {
    std::string name;
    bool optimize = false;
    std::vector<StoredField> fields{};
    std::uint32_t noise_rank = 0;
    std::string kind{};                    ///< "text", or nothing
    std::vector<double> numbers{};         ///< of fields, before they were rounded to fp32; older files have none
    const StoredTensor* values = nullptr;  ///< of the file: one of the two
    const std::string* text = nullptr;
};
template <class Fields>
void each_field(Fields& fields, StoredGroup& group) {
    fields("name", group.name);
    fields.note("optimize", group.optimize);
    fields("fields", group.fields);
    if (group.noise_rank != 0) fields.note("noise_rank", group.noise_rank);
    fields.maybe("kind", group.kind);
    fields.maybe("numbers", group.numbers);
}

bool is_stored(const ParameterGroup& group) { return group.spec.is_text || !group.values.values().empty(); }

/// Where the metadata have a group's text.
std::string text_key(const std::string& group) { return "text of " + group; }

StoredGroup description_of(const ParameterGroup& group) {
    const ParameterSpec& spec = group.spec;
    StoredGroup described{.name = spec.name,
                          .optimize = spec.optimize,
                          .noise_rank = spec.noise_rank,
                          .kind = spec.is_text ? "text" : ""};
    if (!spec.fields.empty()) described.numbers = written_numbers(group.values);
    for (const Field& field : spec.fields) {
        described.fields.push_back({.name = field.name,
                                    .kind = std::string(kind_name(field.kind)),
                                    .scale = field.scale == FieldScale::Log ? "log" : "linear",
                                    .lower = field.lower,
                                    .upper = field.upper,
                                    .choices = field.choices});
    }
    return described;
}

std::vector<std::uint64_t> extents_of(const Shape& shape) { return {shape.extents().begin(), shape.extents().end()}; }

/// What is wrong with a group's tensor or text, or nothing.
std::string fault_of(const StoredGroup& group) {
    const std::string& name = group.name;
    if (!group.kind.empty() && group.kind != "text") return fmt::format("'{}' is of an unknown kind", shown(name));
    if (!group.kind.empty() && group.text == nullptr) return fmt::format("it has no text of '{}'", shown(name));
    if (!group.kind.empty())
        return group.values == nullptr ? "" : fmt::format("it has a text and values of '{}'", shown(name));
    if (group.values == nullptr) return fmt::format("it has no values of '{}'", shown(name));
    const std::vector<float>& values = group.values->values;
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
        return fmt::format("a value of '{}' is not finite", shown(name));
    const auto rounds_to = [](double number, float value) { return static_cast<float>(number) == value; };
    if (!group.numbers.empty() && !std::ranges::equal(group.numbers, values, rounds_to))
        return fmt::format("the numbers of '{}' are not its values", shown(name));
    return {};
}

/// They point into the file.
Result<std::vector<StoredGroup>> read_stored_groups(const StateFile& file, const StateKind& kind,
                                                    std::string_view what) {
    std::map<std::string_view, const StoredTensor*> tensors;
    for (const StoredTensor& tensor : file.tensors) tensors.emplace(tensor.name, &tensor);
    std::map<std::string_view, const std::string*> texts;
    for (const auto& [name, text] : file.fields.items()) texts.emplace(name, text.get_ptr<const std::string*>());
    FieldReader reader(file.fields);
    std::vector<StoredGroup> groups;
    reader("groups", groups);
    YOLK_TRY_VOID(check_fields(reader, kind, what));
    std::set<std::string_view> names;
    for (StoredGroup& group : groups) {
        if (!names.insert(group.name).second)
            return unreadable_state(kind, what, fmt::format("it names '{}' twice", shown(group.name)));
        if (const auto found = tensors.find(group.name); found != tensors.end()) group.values = found->second;
        const auto text = texts.find(text_key(group.name));
        if (!group.kind.empty() && text != texts.end()) group.text = text->second;
        if (const std::string fault = fault_of(group); !fault.empty()) return unreadable_state(kind, what, fault);
    }
    const std::ptrdiff_t numeric = std::ranges::count(groups, std::string(), &StoredGroup::kind);
    if (static_cast<std::size_t>(numeric) != file.tensors.size())
        return unreadable_state(kind, what,
                                fmt::format("it has {} tensors for {} groups", file.tensors.size(), numeric));
    return groups;
}

std::string misfit_of_field(const ParameterGroup& group, const Field& field, const StoredGroup& stored, std::size_t at,
                            float value) {
    const StoredField& old = stored.fields[at];
    const std::string label = shown(fmt::format("'{}.{}'", group.spec.name, field.name));
    if (old.kind != kind_name(field.kind))
        return fmt::format("{} was '{}' and is '{}'", label, shown(old.kind), kind_name(field.kind));
    if (old.choices != field.choices) {
        return fmt::format("{} chose among [{}] and chooses among [{}]", label,
                           shown(fmt::format("{}", fmt::join(old.choices, ", "))),
                           shown(fmt::format("{}", fmt::join(field.choices, ", "))));
    }
    const auto number = static_cast<double>(value);
    const double upper = field.kind == FieldKind::Choice    ? static_cast<double>(field.choices.size()) - 1.0
                         : field.kind == FieldKind::Boolean ? 1.0
                                                            : field.upper;
    const double lower = field.kind == FieldKind::Real || field.kind == FieldKind::Integer ? field.lower : 0.0;
    // Bounds are doubles and values floats: a value at a bound may be its neighbour.
    if (number < lower && static_cast<float>(lower) != value)
        return fmt::format("{} is {}, below its bound {}", label, value, lower);
    if (number > upper && static_cast<float>(upper) != value)
        return fmt::format("{} is {}, above its bound {}", label, value, upper);
    if (field.kind != FieldKind::Real && std::nearbyint(number) != number)
        return fmt::format("{} is {}, but it takes whole numbers", label, value);
    return {};
}

void find_misfits(const ParameterGroup& group, const StoredGroup& stored, std::vector<std::string>& misfits) {
    const std::string& name = group.spec.name;
    if (group.spec.is_text != (stored.text != nullptr)) {
        misfits.push_back(group.spec.is_text ? fmt::format("'{}' had numbers and is a text", shown(name))
                                             : fmt::format("'{}' was a text and has numbers", shown(name)));
        return;
    }
    if (stored.text != nullptr) {
        if (stored.text->size() > group.spec.most_bytes) {
            misfits.push_back(fmt::format("'{}' had a text of {} bytes and takes at most {}", shown(name),
                                          stored.text->size(), group.spec.most_bytes));
        }
        if (!is_utf8(*stored.text)) misfits.push_back(fmt::format("the text of '{}' is not UTF-8", shown(name)));
        return;
    }
    std::vector<std::string> now, then;
    for (const Field& field : group.spec.fields) now.push_back(field.name);
    for (const StoredField& field : stored.fields) then.push_back(field.name);
    if (now != then) {
        misfits.push_back(fmt::format("'{}' had the fields [{}] and has [{}]", shown(group.spec.name),
                                      shown(fmt::format("{}", fmt::join(then, ", "))),
                                      shown(fmt::format("{}", fmt::join(now, ", ")))));
        return;
    }
    if (stored.values->shape != extents_of(group.values.shape())) {
        misfits.push_back(fmt::format("'{}' had the shape {} and has {}", shown(group.spec.name),
                                      Shape(stored.values->shape).to_string(), group.values.shape().to_string()));
        return;
    }
    for (std::size_t i = 0; i < group.spec.fields.size(); ++i) {
        std::string misfit = misfit_of_field(group, group.spec.fields[i], stored, i, stored.values->values[i]);
        if (!misfit.empty()) misfits.push_back(std::move(misfit));
    }
}

Result<void> check_fit(const ParameterSet& set, std::span<const StoredGroup> stored, std::string_view what) {
    std::vector<std::string> misfits;
    for (const StoredGroup& group : stored) {
        const ParameterGroup* const now = set.find(group.name);
        if (now == nullptr || !is_stored(*now)) {
            misfits.push_back(fmt::format("'{}' is not in the system", shown(group.name)));
        } else {
            find_misfits(*now, group, misfits);
        }
    }
    for (const ParameterGroup& group : set.groups()) {
        if (is_stored(group) && std::ranges::find(stored, group.spec.name, &StoredGroup::name) == stored.end())
            misfits.push_back(fmt::format("'{}' is not in the file", shown(group.spec.name)));
    }
    if (misfits.empty()) return {};
    return bad_input("{} no longer fits the system: {}. Nothing was changed.", what, fmt::join(misfits, "; "));
}

}  // namespace

Result<void> store_parameters(const ParameterSet& set, StateFile& file) {
    std::vector<StoredGroup> groups;
    for (const ParameterGroup& group : set.groups()) {
        if (!is_stored(group)) continue;
        groups.push_back(description_of(group));
        if (group.spec.is_text) {
            file.fields[text_key(group.spec.name)] = group.text;
            continue;
        }
        const std::span<const float> values = group.values.values();
        if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
            return bad_input("A value of '{}' is not finite, so the system is not saved.", shown(group.spec.name));
        }
        file.tensors.push_back({.name = group.spec.name,
                                .shape = extents_of(group.values.shape()),
                                .values = {values.begin(), values.end()}});
    }
    file.fields["groups"] = FieldWriter::json_of(groups);
    return {};
}

Result<void> restore_parameters(ParameterSet& set, const StateFile& file, const StateKind& kind,
                                std::string_view what) {
    YOLK_TRY(const std::vector<StoredGroup> stored, read_stored_groups(file, kind, what));
    YOLK_TRY_VOID(check_fit(set, stored, what));
    ParameterSet changed = set;
    for (const StoredGroup& group : stored) {
        if (group.text != nullptr) {
            YOLK_TRY_VOID(changed.set_text(group.name, *group.text));
            continue;
        }
        YOLK_TRY(Tensor values, Tensor::create(Shape(group.values->shape), group.values->values));
        if (!group.numbers.empty()) values = Tensor::of_numbers(group.numbers);
        YOLK_TRY_VOID(changed.set(group.name, std::move(values)));
    }
    set = std::move(changed);
    return {};
}

}  // namespace yolk::hyper
