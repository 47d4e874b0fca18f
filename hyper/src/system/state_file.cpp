// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/state_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <vector>

#include "yolk/core/file.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/printable.hpp"
#include "yolk/core/safetensors.hpp"
#include "yolk/core/utf8.hpp"

namespace yolk::hyper {
namespace {

constexpr std::string_view kFormat = "yolk-system-2";
constexpr std::string_view kUnsealedFormat = "yolk-system-1";
constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30U;

std::string_view kind_name(FieldKind kind) {
    constexpr std::array<std::string_view, 4> kWords{"real", "integer", "boolean", "choice"};
    return kWords.at(static_cast<std::size_t>(kind));
}

/// A field as the file describes it; bounds are the reading system's own business, its values have to lie in them.
struct StoredField {
    std::string name, kind;
    std::vector<std::string> choices;
};
struct StoredGroup {
    std::string name;
    std::vector<StoredField> fields;
    const StoredTensor* values = nullptr;  ///< one of the two
    const std::string* text = nullptr;
    std::vector<double> numbers{};  ///< of fields, before they were rounded to fp32; empty: no file of before has them
};

bool is_stored(const ParameterGroup& group) { return group.spec.is_text || !group.values.values().empty(); }

/// Where the metadata have a group's text.
std::string text_key(const std::string& group) { return "text of " + group; }

Json describe(const ParameterGroup& group) {
    const ParameterSpec& spec = group.spec;
    Json fields = Json::array();
    for (const Field& field : spec.fields) {
        Json described{{"name", field.name},
                       {"kind", kind_name(field.kind)},
                       {"scale", field.scale == FieldScale::Log ? "log" : "linear"},
                       {"lower", field.lower},
                       {"upper", field.upper}};
        if (!field.choices.empty()) described["choices"] = field.choices;
        fields.push_back(std::move(described));
    }
    Json described{{"name", spec.name}, {"optimize", spec.optimize}, {"fields", std::move(fields)}};
    if (spec.noise_rank != 0) described["noise_rank"] = spec.noise_rank;
    if (spec.is_text) described["kind"] = "text";
    if (!spec.fields.empty()) described["numbers"] = written_numbers(group.values);
    return described;
}

std::vector<std::uint64_t> extents_of(const Shape& shape) { return {shape.extents().begin(), shape.extents().end()}; }

Error damaged(std::string_view what, std::string_view why) {
    return bad_input("{} cannot be read as a tuned system: {}. Restore it from a copy, or save it again.", what, why);
}

Result<std::string> text_member(const Json& json, const char* key, std::string_view what, std::string_view of) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return damaged(what, fmt::format("{} has no text '{}'", of, key));
    return found->get<std::string>();
}

Result<std::vector<StoredField>> read_fields(const Json& group, std::string_view what, const std::string& name) {
    const std::string of = fmt::format("a field of '{}'", name);
    const auto list = group.find("fields");
    if (list == group.end() || !list->is_array()) return damaged(what, fmt::format("'{}' has no list of fields", name));
    std::vector<StoredField> fields;
    for (const Json& json : *list) {
        if (!json.is_object()) return damaged(what, of + " is not an object");
        StoredField field;
        YOLK_TRY(field.name, text_member(json, "name", what, of));
        YOLK_TRY(field.kind, text_member(json, "kind", what, of));
        if (const auto choices = json.find("choices"); choices != json.end()) {
            if (!choices->is_array()) return damaged(what, of + " has choices that are not a list");
            for (const Json& choice : *choices) {
                if (!choice.is_string()) return damaged(what, of + " has a choice that is not text");
                field.choices.push_back(choice.get<std::string>());
            }
        }
        fields.push_back(std::move(field));
    }
    return fields;
}

/// Its tensor, or its text. Errors: neither, both, values that are not finite.
Result<void> find_values(StoredGroup& group, const Json& described, const TensorFile& file, std::string_view what) {
    const auto kind = described.find("kind");
    const bool is_text = kind != described.end();
    if (is_text && *kind != "text") return damaged(what, fmt::format("'{}' is of an unknown kind", group.name));
    group.values = file.find_tensor(group.name);
    if (is_text) {
        group.text = file.find_metadata(text_key(group.name));
        if (group.text == nullptr) return damaged(what, fmt::format("it has no text of '{}'", group.name));
        if (group.values != nullptr) return damaged(what, fmt::format("it has a text and values of '{}'", group.name));
        return {};
    }
    if (group.values == nullptr) return damaged(what, fmt::format("it has no values of '{}'", group.name));
    if (!std::ranges::all_of(group.values->values, [](float value) { return std::isfinite(value); }))
        return damaged(what, fmt::format("a value of '{}' is not finite", group.name));
    return {};
}

/// The numbers of its fields. Errors: others than the tensor has in fp32.
Result<void> find_numbers(StoredGroup& group, const Json& described, std::string_view what) {
    const auto list = described.find("numbers");
    if (list == described.end() || group.values == nullptr) return {};
    const auto refused = [&] {
        return damaged(what, fmt::format("the numbers of '{}' are not its values", group.name));
    };
    if (!list->is_array() || list->size() != group.values->values.size()) return refused();
    for (const Json& number : *list) {
        if (!number.is_number()) return refused();
        group.numbers.push_back(number.get<double>());
        if (static_cast<float>(group.numbers.back()) != group.values->values[group.numbers.size() - 1])
            return refused();
    }
    return {};
}

Result<std::vector<StoredGroup>> read_groups(const TensorFile& file, std::string_view what) {
    const std::string* const text = file.find_metadata("groups");
    if (text == nullptr) return damaged(what, "it has no list of groups");
    YOLK_TRY(const Json json, parse_json(*text, fmt::format("the list of groups in {}", what)));
    if (!json.is_array()) return damaged(what, "its groups are not a list");
    std::vector<StoredGroup> groups;
    std::set<std::string> names;
    for (const Json& described : json) {
        if (!described.is_object()) return damaged(what, "one of its groups is not an object");
        StoredGroup group;
        YOLK_TRY(group.name, text_member(described, "name", what, "one of its groups"));
        YOLK_TRY(group.fields, read_fields(described, what, group.name));
        if (!names.insert(group.name).second) return damaged(what, fmt::format("it names '{}' twice", group.name));
        YOLK_TRY_VOID(find_values(group, described, file, what));
        YOLK_TRY_VOID(find_numbers(group, described, what));
        groups.push_back(std::move(group));
    }
    const auto numeric = static_cast<std::size_t>(
        std::ranges::count_if(groups, [](const StoredGroup& group) { return group.values != nullptr; }));
    if (numeric != file.tensors.size())
        return damaged(what, fmt::format("it has {} tensors for {} groups", file.tensors.size(), numeric));
    return groups;
}

Result<StateInfo> read_info(const TensorFile& file, std::string_view what) {
    StateInfo info;
    if (file.find_metadata("format") == nullptr) return damaged(what, "it is not the file of a tuned system");
    YOLK_TRY_VOID(check_format(file, kFormat, kUnsealedFormat, what));
    if (const std::string* const name = file.find_metadata("system")) info.system = *name;
    if (const std::string* const seed = file.find_metadata("seed")) {
        std::uint64_t value = 0;
        const auto [end, code] = std::from_chars(seed->data(), seed->data() + seed->size(), value);
        if (code != std::errc() || end != seed->data() + seed->size() || seed->empty())
            return damaged(what, "its seed is not a number");
        info.seed = value;
    }
    if (const std::string* const scores = file.find_metadata("scores")) {
        YOLK_TRY(const Json json, parse_json(*scores, fmt::format("the scores in {}", what)));
        if (!json.is_object()) return damaged(what, "its scores are not an object");
        for (const auto& [key, value] : json.items()) {
            if (!value.is_number()) return damaged(what, fmt::format("its score '{}' is not a number", key));
            info.scores[key] = value.get<double>();
        }
    }
    return info;
}

std::string misfit_of_field(const ParameterGroup& group, const Field& field, const StoredGroup& stored, std::size_t at,
                            float value) {
    const StoredField& old = stored.fields[at];
    const std::string label = fmt::format("'{}.{}'", group.spec.name, field.name);
    if (old.kind != kind_name(field.kind))
        return fmt::format("{} was '{}' and is '{}'", label, old.kind, kind_name(field.kind));
    if (old.choices != field.choices) {
        return fmt::format("{} chose among [{}] and chooses among [{}]", label, fmt::join(old.choices, ", "),
                           fmt::join(field.choices, ", "));
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
        misfits.push_back(group.spec.is_text ? fmt::format("'{}' had numbers and is a text", name)
                                             : fmt::format("'{}' was a text and has numbers", name));
        return;
    }
    if (stored.text != nullptr) {
        if (stored.text->size() > group.spec.most_bytes) {
            misfits.push_back(fmt::format("'{}' had a text of {} bytes and takes at most {}", name, stored.text->size(),
                                          group.spec.most_bytes));
        }
        if (!is_utf8(*stored.text)) misfits.push_back(fmt::format("the text of '{}' is not UTF-8", name));
        return;
    }
    std::vector<std::string> now, then;
    for (const Field& field : group.spec.fields) now.push_back(field.name);
    for (const StoredField& field : stored.fields) then.push_back(field.name);
    if (now != then) {
        misfits.push_back(fmt::format("'{}' had the fields [{}] and has [{}]", group.spec.name, fmt::join(then, ", "),
                                      fmt::join(now, ", ")));
        return;
    }
    if (stored.values->shape != extents_of(group.values.shape())) {
        misfits.push_back(fmt::format("'{}' had the shape {} and has {}", group.spec.name,
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
            misfits.push_back(fmt::format("'{}' is not in the system", group.name));
        } else {
            find_misfits(*now, group, misfits);
        }
    }
    for (const ParameterGroup& group : set.groups()) {
        if (is_stored(group) && std::ranges::find(stored, group.spec.name, &StoredGroup::name) == stored.end())
            misfits.push_back(fmt::format("'{}' is not in the file", group.spec.name));
    }
    if (misfits.empty()) return {};
    return bad_input("{} no longer fits the system: {}. Nothing was changed.", what, fmt::join(misfits, "; "));
}

}  // namespace

Result<void> save_state(const System& system, const std::filesystem::path& path, StateInfo info) {
    TensorFile file;
    std::vector<std::pair<std::string, std::string>> texts;
    Json groups = Json::array();
    for (const ParameterGroup& group : system.parameters().groups()) {
        if (!is_stored(group)) continue;
        groups.push_back(describe(group));
        if (group.spec.is_text) {
            texts.emplace_back(text_key(group.spec.name), group.text);
            continue;
        }
        const std::span<const float> values = group.values.values();
        if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
            return bad_input("A value of '{}' is not finite, so the system is not saved.", group.spec.name);
        }
        file.tensors.push_back({.name = group.spec.name,
                                .shape = extents_of(group.values.shape()),
                                .values = {values.begin(), values.end()}});
    }
    Json scores = Json::object();
    for (const auto& [name, score] : info.scores) {
        if (!std::isfinite(score)) return bad_input("The score '{}' is {}, so the system is not saved.", name, score);
        scores[name] = score;
    }
    file.metadata = {{"format", std::string(kFormat)},
                     {"system", system.name()},
                     {"groups", to_line(groups)},
                     {"scores", to_line(scores)}};
    if (info.seed) file.metadata.emplace_back("seed", std::to_string(*info.seed));
    file.metadata.insert(file.metadata.end(), texts.begin(), texts.end());
    YOLK_TRY(const std::vector<std::byte> bytes, encode_safetensors(file));
    return write_file_atomically(path, bytes);
}

Result<StateInfo> load_state(System& system, const std::filesystem::path& path) {
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kMaxFileBytes));
    YOLK_TRY(const TensorFile file, decode_safetensors(bytes, what));
    YOLK_TRY(const StateInfo info, read_info(file, what));
    YOLK_TRY(const std::vector<StoredGroup> stored, read_groups(file, what));
    YOLK_TRY_VOID(check_fit(system.parameters(), stored, what));
    ParameterSet set = system.parameters();
    for (const StoredGroup& group : stored) {
        if (group.text != nullptr) {
            YOLK_TRY_VOID(set.set_text(group.name, *group.text));
            continue;
        }
        YOLK_TRY(Tensor values, Tensor::create(Shape(group.values->shape), group.values->values));
        if (!group.numbers.empty()) values = Tensor::of_numbers(group.numbers);
        YOLK_TRY_VOID(set.set(group.name, std::move(values)));
    }
    system.parameters() = std::move(set);
    return info;
}

}  // namespace yolk::hyper
