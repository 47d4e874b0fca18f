// SPDX-License-Identifier: Apache-2.0
// What a space file says of parameters, sizes and constraints, and the file as a whole.
#include "user_kernel_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "user_kernel_reader.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kMostValues = 4096;
constexpr std::size_t kMostParameters = 64;
constexpr std::uint64_t kMostDeclaredCombinations = std::uint64_t{1} << 62U;

Result<void> check_name(const Place& place, const std::string& name, const std::vector<std::string>& taken) {
    static const std::vector<std::string> kReserved{"true", "false", "and",      "or",       "not",     "min",
                                                    "max",  "abs",   "ceil_div", "round_up", "is_pow2", "log2"};
    if (!is_identifier(name))
        return place.wrong("'{}' is not a valid name: letters, digits and _ are allowed, a letter first.", name);
    if (std::ranges::find(kReserved, name) != kReserved.end())
        return place.wrong("'{}' is a word of expressions; choose another name.", name);
    if (std::ranges::find(taken, name) != taken.end()) return place.wrong("the name '{}' is there twice.", name);
    return {};
}

}  // namespace

Result<KernelSpace> SpaceReader::run() {
    YOLK_TRY_VOID(root_.object({"name", "parameters", "constraints", "default", "sizes", "buffers", "push_constants",
                                "dispatch", "reference", "operations", "optimize", "workgroups_wait"}));
    if (root_.has("name")) {
        YOLK_TRY(space_.name, root_.at("name").text());
    }
    YOLK_TRY_VOID(read_parameters());
    YOLK_TRY_VOID(read_sizes());
    YOLK_TRY_VOID(read_constraints());
    YOLK_TRY_VOID(read_defaults());
    YOLK_TRY_VOID(read_buffers());
    YOLK_TRY(space_.launch, read_launch(root_));
    YOLK_TRY_VOID(read_reference());
    if (root_.has("operations")) {
        YOLK_TRY(space_.operations, root_.at("operations").expression(space_.scope));
        YOLK_TRY_VOID(only_sizes(root_.at("operations"), *space_.operations, "the work"));
        YOLK_TRY_VOID(check_operations(root_.at("operations")));
    }
    if (root_.has("optimize")) {
        YOLK_TRY(space_.optimized, root_.at("optimize").truth());
    }
    if (root_.has("workgroups_wait")) {
        YOLK_TRY(space_.workgroups_wait, root_.at("workgroups_wait").truth());
    }
    YOLK_TRY_VOID(check_effects());
    make_identity();
    return std::move(space_);
}

/// It is what speeds are counted in.
Result<void> SpaceReader::check_operations(const Place& place) const {
    const Result<ExpressionValue> value = space_.operations->evaluate(values());
    if (!value) return place.wrong(value.error().message);
    const auto* const whole = std::get_if<std::int64_t>(&*value);
    const auto* const real = std::get_if<double>(&*value);
    const double operations = whole != nullptr ? static_cast<double>(*whole) : real != nullptr ? *real : -1.0;
    if (operations >= 0.0 && std::isfinite(operations)) return {};
    return place.wrong("it must be a number of operations, 0 or more{}.",
                       whole != nullptr || real != nullptr ? fmt::format("; it is {}", operations) : std::string());
}

Result<KernelParameter> SpaceReader::read_parameter(const Place& place, const std::string& name) const {
    YOLK_TRY_VOID(place.object({"values", "constant_id", "define"}));
    KernelParameter parameter{.name = name, .values = {}};
    YOLK_TRY(const Place values, place.need("values"));
    YOLK_TRY_VOID(values.array(1, kMostValues));
    bool any_real = false;
    for (std::size_t i = 0; i < values.json.size(); ++i) {
        YOLK_TRY(ExpressionValue value, values.at(i).value());
        any_real = any_real || std::holds_alternative<double>(value);
        parameter.values.push_back(std::move(value));
    }
    for (ExpressionValue& value : parameter.values) {
        if (const auto* const whole = std::get_if<std::int64_t>(&value); whole != nullptr && any_real)
            value = static_cast<double>(*whole);
        if (value.index() != parameter.values.front().index())
            return values.wrong("values of different kinds; they are all numbers, all true or false, or all text.");
    }
    if (!std::holds_alternative<std::string>(parameter.values.front())) std::ranges::sort(parameter.values);
    for (std::size_t i = 1; i < parameter.values.size(); ++i) {
        if (std::find(parameter.values.begin(), parameter.values.begin() + static_cast<std::ptrdiff_t>(i),
                      parameter.values[i]) != parameter.values.begin() + static_cast<std::ptrdiff_t>(i))
            return values.wrong("the value {} is there twice.", to_text(parameter.values[i]));
    }
    if (place.has("constant_id")) {
        YOLK_TRY(const std::uint64_t id, place.at("constant_id").whole(UINT32_MAX));
        parameter.constant_id = static_cast<std::uint32_t>(id);
        if (std::holds_alternative<std::string>(parameter.values.front()))
            return place.wrong("text cannot be a specialization constant; give it a 'define', or numbers as values.");
    }
    if (place.has("define")) {
        YOLK_TRY(parameter.define, place.at("define").text());
        if (!is_identifier(parameter.define)) return place.wrong("'{}' is not a valid macro name.", parameter.define);
    }
    for (const KernelParameter& other : space_.parameters) {
        if (parameter.constant_id && other.constant_id == parameter.constant_id)
            return place.wrong("constant {} is '{}' already.", *parameter.constant_id, other.name);
        if (!parameter.define.empty() && other.define == parameter.define)
            return place.wrong("the macro {} is '{}' already.", parameter.define, other.name);
    }
    return parameter;
}

Result<void> SpaceReader::read_parameters() {
    YOLK_TRY(const Place all, root_.need("parameters"));
    if (!all.json.is_object() || all.json.empty() || all.json.size() > kMostParameters)
        return all.wrong("it must be an object with 1 to {} parameters by name.", kMostParameters);
    std::uint64_t combinations = 1;
    for (const auto& [name, json] : all.json.items()) {
        const Place place{json, fmt::format("{}.{}", all.where, name)};
        YOLK_TRY_VOID(check_name(place, name, space_.scope));
        YOLK_TRY(KernelParameter parameter, read_parameter(place, name));
        if (combinations > kMostDeclaredCombinations / parameter.values.size())
            return place.wrong("there are more than 2^62 combinations of values; take fewer.");
        combinations *= parameter.values.size();
        space_.scope.push_back(name);
        space_.parameters.push_back(std::move(parameter));
    }
    return {};
}

Result<void> SpaceReader::only_sizes(const Place& place, const Expression& expression, std::string_view what) const {
    for (std::size_t i = 0; i < space_.parameters.size(); ++i) {
        if (!expression.reads(i)) continue;
        return place.wrong(
            "'{}' uses the parameter '{}'; {} must be the same for all configurations, so only sizes may be used.",
            expression.text(), space_.parameters[i].name, what);
    }
    return {};
}

Result<void> SpaceReader::read_sizes() {
    if (!root_.has("sizes")) return {};
    const Place all = root_.at("sizes");
    if (!all.json.is_object()) return all.wrong("it must be an object: {\"n\": 1024}.");
    for (const auto& [name, json] : all.json.items()) {
        const Place place{json, fmt::format("{}.{}", all.where, name)};
        YOLK_TRY_VOID(check_name(place, name, space_.scope));
        YOLK_TRY(const Expression expression, place.expression(space_.scope));
        YOLK_TRY_VOID(only_sizes(place, expression, "a size"));
        const Result<std::uint64_t> size = expression.evaluate_count(values());
        if (!size) return place.wrong(size.error().message);
        space_.scope.push_back(name);
        space_.sizes.push_back(static_cast<std::int64_t>(*size));
    }
    return {};
}

Result<void> SpaceReader::read_constraints() {
    if (!root_.has("constraints")) return {};
    const Place all = root_.at("constraints");
    YOLK_TRY_VOID(all.array(0, 256));
    for (std::size_t i = 0; i < all.json.size(); ++i) {
        YOLK_TRY_VOID(all.at(i).text());
        YOLK_TRY(Expression constraint, all.at(i).expression(space_.scope));
        // A division by zero is a matter of one configuration; a number where a truth is wanted is one of the file.
        const Result<ExpressionValue> value = constraint.evaluate(values());
        if (value && !std::holds_alternative<bool>(*value))
            return all.at(i).wrong(constraint.evaluate_bool(values()).error().message);
        space_.constraints.push_back(std::move(constraint));
    }
    return {};
}

Result<void> SpaceReader::read_defaults() {
    if (!root_.has("default")) return {};
    const Place all = root_.at("default");
    if (!all.json.is_object()) return all.wrong("it must be an object: {\"wx\": 64}.");
    for (const auto& [name, json] : all.json.items()) {
        const Place place{json, fmt::format("{}.{}", all.where, name)};
        const auto found = std::ranges::find(space_.parameters, name, &KernelParameter::name);
        if (found == space_.parameters.end()) return place.wrong("there is no parameter of this name.");
        YOLK_TRY(ExpressionValue value, place.value());
        if (std::holds_alternative<double>(found->values.front()) && std::holds_alternative<std::int64_t>(value))
            value = static_cast<double>(std::get<std::int64_t>(value));
        const auto position = std::ranges::find(found->values, value);
        if (position == found->values.end())
            return place.wrong("{} is not one of the parameter's values.", to_text(value));
        space_.defaults.emplace_back(found - space_.parameters.begin(), position - found->values.begin());
    }
    return {};
}

/// A parameter that reaches neither the shader nor its launch would be searched for nothing.
Result<void> SpaceReader::check_effects() const {
    for (std::size_t i = 0; i < space_.parameters.size(); ++i) {
        const KernelParameter& parameter = space_.parameters[i];
        const auto reads = [i](const auto& expression) { return expression.reads(i); };
        if (parameter.constant_id || !parameter.define.empty() || std::ranges::any_of(space_.launch.groups, reads) ||
            std::ranges::any_of(space_.launch.push_constants, [&](const KernelPush& p) { return reads(p.value); }))
            continue;
        return bad_input(
            "{}.parameters.{}: it has no effect: give it a 'constant_id' or a 'define', or use it in the dispatch or "
            "in a push constant.",
            root_.where, parameter.name);
    }
    return {};
}

void SpaceReader::make_identity() {
    Json json = root_.json;
    json.erase("sizes");
    // Another list of values is another space of the same kernel: what is known of it stays known. Which of them the
    // default takes is part of it where that one's results are the right ones.
    for (const KernelParameter& parameter : space_.parameters) json["parameters"][parameter.name].erase("values");
    if (space_.reference_is_default) {
        std::vector<std::string> defaults;
        for (const KernelParameter& parameter : space_.parameters)
            defaults.push_back(to_text(parameter.values.front()));
        for (const auto& [parameter, position] : space_.defaults)
            defaults[parameter] = to_text(space_.parameters[parameter].values[position]);
        json["default"] = defaults;
    }
    space_.identity = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto add = [this](const std::vector<std::byte>& bytes) {
        for (const std::byte byte : bytes) space_.identity += static_cast<char>(byte);
    };
    for (const KernelBuffer& buffer : space_.buffers) {
        add(buffer.content.bytes);
        if (buffer.golden) add(*buffer.golden);
    }
}

Result<KernelSpace> parse_kernel_space(std::string_view text, const std::string& file_name,
                                       const std::filesystem::path& folder) {
    YOLK_TRY(const Json json, parse_json(text, fmt::format("'{}'", shown(file_name))));
    const Place root{json, file_name};
    return SpaceReader(root, folder).run();
}

}  // namespace yolk::autotune
