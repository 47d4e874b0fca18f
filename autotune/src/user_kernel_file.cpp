// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "yolk/core/file.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/shape.hpp"

namespace yolk::autotune {
namespace {

using oracle::BufferRole;
using oracle::ElementType;

constexpr std::size_t kLargestFile = std::size_t{1} << 32U;
constexpr std::size_t kMostValues = 4096;
constexpr std::size_t kMostParameters = 64;
constexpr std::uint32_t kMostBindings = 32;
constexpr std::uint64_t kMostCombinations = std::uint64_t{1} << 62U;
constexpr KernelTolerance kFloatTolerance{.absolute = 1e-5, .relative = 1e-4};

/// A place in the file, for messages: "space.json: buffers[0]".
struct Place {
    const Json& json;
    std::string where;

    [[nodiscard]] Error wrong(std::string_view what) const { return bad_input(fmt::format("{}: {}", where, what)); }
    [[nodiscard]] bool has(const char* key) const { return json.contains(key); }
    [[nodiscard]] Place at(const char* key) const { return {json[key], fmt::format("{}.{}", where, key)}; }
    [[nodiscard]] Place at(std::size_t index) const { return {json[index], fmt::format("{}[{}]", where, index)}; }

    /// An object with no other keys than these.
    [[nodiscard]] Result<void> object(std::initializer_list<std::string_view> keys) const {
        if (!json.is_object())
            return wrong(fmt::format("it is {}; an object with {} is expected.", kind(), fmt::join(keys, ", ")));
        for (const auto& [key, value] : json.items()) {
            if (std::ranges::find(keys, std::string_view(key)) == keys.end())
                return wrong(fmt::format("it has '{}'; there are {}.", key, fmt::join(keys, ", ")));
        }
        return {};
    }
    [[nodiscard]] Result<Place> need(const char* key) const {
        if (has(key)) return at(key);
        return wrong(fmt::format("it needs '{}'.", key));
    }
    [[nodiscard]] Result<void> array(std::size_t least, std::size_t most) const {
        if (json.is_array() && json.size() >= least && json.size() <= most) return {};
        const std::string given = json.is_array() ? fmt::format("a list of {}", json.size()) : kind();
        return wrong(fmt::format("it is {}; a list of {} to {} is expected.", given, least, most));
    }
    [[nodiscard]] Result<std::string> text() const {
        if (json.is_string() && !json.get<std::string>().empty()) return json.get<std::string>();
        return wrong(fmt::format("it is {}; a text is expected.", kind()));
    }
    [[nodiscard]] Result<double> number() const {
        if (json.is_number() && std::isfinite(json.get<double>())) return json.get<double>();
        return wrong(fmt::format("it is {}; a number is expected.", kind()));
    }
    [[nodiscard]] Result<std::uint64_t> whole(std::uint64_t most) const {
        if (json.is_number_unsigned() && json.get<std::uint64_t>() <= most) return json.get<std::uint64_t>();
        return wrong(fmt::format("it is {}; an integer from 0 to {} is expected.", kind(), most));
    }
    [[nodiscard]] Result<bool> truth() const {
        if (json.is_boolean()) return json.get<bool>();
        return wrong(fmt::format("it is {}; true or false is expected.", kind()));
    }
    /// A number, truth or text as it stands.
    [[nodiscard]] Result<ExpressionValue> value() const {
        if (json.is_boolean()) return ExpressionValue(json.get<bool>());
        if (json.is_string()) return ExpressionValue(json.get<std::string>());
        if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
            return wrong("the integer has more than 63 bits.");
        if (json.is_number_integer()) return ExpressionValue(json.get<std::int64_t>());
        YOLK_TRY(const double real, number());
        return ExpressionValue(real);
    }
    /// The same, but a text is an expression over `scope`.
    [[nodiscard]] Result<Expression> expression(std::span<const std::string> scope) const {
        if (!json.is_string()) {
            YOLK_TRY(ExpressionValue constant, value());
            return Expression::constant(std::move(constant));
        }
        Result<Expression> parsed = Expression::parse(json.get<std::string>(), scope);
        if (!parsed) return wrong(parsed.error().message);
        return parsed;
    }
    [[nodiscard]] std::string kind() const {
        if (json.is_object() || json.is_array()) return fmt::format("a list or object ({} entries)", json.size());
        std::string dumped = json.dump(-1, ' ', false, Json::error_handler_t::replace);
        if (dumped.size() > 40) dumped = dumped.substr(0, 40) + "...";
        return dumped;
    }
};

bool is_identifier(const std::string& text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !text.empty() && letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Result<void> check_name(const Place& place, const std::string& name, const std::vector<std::string>& taken) {
    static const std::vector<std::string> kReserved{"true", "false", "and",      "or",       "not",     "min",
                                                    "max",  "abs",   "ceil_div", "round_up", "is_pow2", "log2"};
    if (!is_identifier(name))
        return place.wrong(fmt::format("'{}' is no name: letters, digits and _ are allowed, a letter first.", name));
    if (std::ranges::find(kReserved, name) != kReserved.end())
        return place.wrong(fmt::format("'{}' is a word of expressions; choose another name.", name));
    if (std::ranges::find(taken, name) != taken.end())
        return place.wrong(fmt::format("the name '{}' is there twice.", name));
    return {};
}

Result<ElementType> parse_type(const Place& place) {
    YOLK_TRY(const std::string text, place.text());
    if (text == "f32") return ElementType::F32;
    if (text == "i32") return ElementType::I32;
    if (text == "u32") return ElementType::U32;
    return place.wrong(fmt::format("there is no type '{}'; there are f32, i32, u32 (others as words of u32).", text));
}

Result<std::vector<std::byte>> read_named(const Place& place, const std::filesystem::path& folder,
                                          std::uint64_t size_bytes) {
    YOLK_TRY(const std::string name, place.text());
    Result<std::vector<std::byte>> bytes = read_file(folder / name, kLargestFile);
    if (!bytes) return std::move(bytes).error().while_doing(place.where);
    if (bytes->size() != size_bytes)
        return place.wrong(fmt::format("'{}' has {} bytes; the buffer has {}.", name, bytes->size(), size_bytes));
    return bytes;
}

/// From places to a KernelSpace, part by part.
class SpaceReader {
   public:
    SpaceReader(const Place& root, const std::filesystem::path& folder) : root_(root), folder_(folder) {}

    Result<KernelSpace> run() {
        YOLK_TRY_VOID(root_.object({"name", "parameters", "constraints", "default", "sizes", "buffers",
                                    "push_constants", "dispatch", "reference", "operations", "optimize"}));
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
        }
        if (root_.has("optimize")) {
            YOLK_TRY(space_.optimized, root_.at("optimize").truth());
        }
        YOLK_TRY_VOID(check_effects());
        make_identity();
        return std::move(space_);
    }

   private:
    Result<void> read_parameters();
    Result<KernelParameter> read_parameter(const Place& place, const std::string& name) const;
    Result<void> read_sizes();
    Result<void> read_constraints();
    Result<void> read_defaults();
    Result<void> read_buffers();
    Result<KernelBuffer> read_buffer(const Place& place) const;
    Result<void> read_held(const Place& place, KernelBuffer& buffer) const;
    Result<KernelContent> read_content(const Place& place, const KernelBuffer& buffer) const;
    Result<KernelLaunch> read_launch(const Place& place) const;
    Result<void> read_reference();
    Result<void> check_effects() const;
    Result<void> only_sizes(const Place& place, const Expression& expression, std::string_view what) const;
    void make_identity();
    /// One per name in the scope; parameters have their first values.
    [[nodiscard]] std::vector<ExpressionValue> values() const {
        std::vector<ExpressionValue> all;
        for (const KernelParameter& parameter : space_.parameters) all.push_back(parameter.values.front());
        all.insert(all.end(), space_.sizes.begin(), space_.sizes.end());
        return all;
    }

    const Place& root_;
    const std::filesystem::path& folder_;
    KernelSpace space_;
};

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
            return values.wrong(fmt::format("the value {} is there twice.", to_text(parameter.values[i])));
    }
    if (place.has("constant_id")) {
        YOLK_TRY(const std::uint64_t id, place.at("constant_id").whole(UINT32_MAX));
        parameter.constant_id = static_cast<std::uint32_t>(id);
        if (std::holds_alternative<std::string>(parameter.values.front()))
            return place.wrong("text cannot be a specialization constant; give it a 'define', or numbers as values.");
    }
    if (place.has("define")) {
        YOLK_TRY(parameter.define, place.at("define").text());
        if (!is_identifier(parameter.define))
            return place.wrong(fmt::format("'{}' is no name of a macro.", parameter.define));
    }
    for (const KernelParameter& other : space_.parameters) {
        if (parameter.constant_id && other.constant_id == parameter.constant_id)
            return place.wrong(fmt::format("constant {} is '{}' already.", *parameter.constant_id, other.name));
        if (!parameter.define.empty() && other.define == parameter.define)
            return place.wrong(fmt::format("the macro {} is '{}' already.", parameter.define, other.name));
    }
    return parameter;
}

Result<void> SpaceReader::read_parameters() {
    YOLK_TRY(const Place all, root_.need("parameters"));
    if (!all.json.is_object() || all.json.empty() || all.json.size() > kMostParameters)
        return all.wrong(fmt::format("it must be an object with 1 to {} parameters by name.", kMostParameters));
    std::uint64_t combinations = 1;
    for (const auto& [name, json] : all.json.items()) {
        const Place place{json, fmt::format("{}.{}", all.where, name)};
        YOLK_TRY_VOID(check_name(place, name, space_.scope));
        YOLK_TRY(KernelParameter parameter, read_parameter(place, name));
        if (combinations > kMostCombinations / parameter.values.size())
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
            fmt::format("'{}' uses the parameter '{}'; {} must be the same for all configurations, so only sizes may "
                        "be used.",
                        expression.text(), space_.parameters[i].name, what));
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
            return place.wrong(fmt::format("{} is none of the parameter's values.", to_text(value)));
        space_.defaults.emplace_back(found - space_.parameters.begin(), position - found->values.begin());
    }
    return {};
}

Result<KernelContent> SpaceReader::read_content(const Place& place, const KernelBuffer& buffer) const {
    constexpr const char* kForms =
        "it is \"zeros\" or one of {\"constant\": 1}, {\"ramp\": [start, step]}, {\"uniform\": [low, high], \"seed\": "
        "1}, {\"normal\": [mean, deviation], \"seed\": 1}, {\"file\": \"x.bin\"}.";
    if (place.json.is_string() && place.json.get<std::string>() == "zeros")
        return KernelContent{.kind = ContentKind::Constant};
    if (!place.json.is_object()) return place.wrong(kForms);
    YOLK_TRY_VOID(place.object({"constant", "ramp", "uniform", "normal", "file", "seed"}));
    if (place.json.size() - (place.has("seed") ? 1U : 0U) != 1) return place.wrong(kForms);
    KernelContent content;
    if (place.has("seed")) {
        YOLK_TRY(content.seed, place.at("seed").whole(UINT64_MAX));
    }
    if (place.has("constant")) {
        content.kind = ContentKind::Constant;
        YOLK_TRY(content.first, place.at("constant").number());
    }
    if (place.has("file")) {
        content.kind = ContentKind::File;
        YOLK_TRY(content.bytes, read_named(place.at("file"), folder_, buffer.size_bytes()));
    }
    using Form = std::pair<const char*, ContentKind>;
    for (const auto& [name, kind] : {Form{"ramp", ContentKind::Ramp}, Form{"uniform", ContentKind::Uniform},
                                     Form{"normal", ContentKind::Normal}}) {
        if (!place.has(name)) continue;
        const Place pair = place.at(name);
        YOLK_TRY_VOID(pair.array(2, 2));
        content.kind = kind;
        YOLK_TRY(content.first, pair.at(std::size_t{0}).number());
        YOLK_TRY(content.second, pair.at(std::size_t{1}).number());
        if (kind == ContentKind::Uniform && content.first > content.second)
            return pair.wrong("the lower bound is above the upper one.");
        if (kind == ContentKind::Normal && content.second < 0.0) return pair.wrong("the deviation is below 0.");
    }
    return content;
}

/// What an output is held against.
Result<void> SpaceReader::read_held(const Place& place, KernelBuffer& buffer) const {
    if (buffer.element == ElementType::F32) buffer.tolerance = kFloatTolerance;
    if (place.has("tolerance")) {
        const Place tolerance = place.at("tolerance");
        YOLK_TRY_VOID(tolerance.object({"absolute", "relative"}));
        buffer.tolerance = {};
        const auto part = [&](const char* name, double& to) -> Result<void> {
            if (!tolerance.has(name)) return {};
            YOLK_TRY(to, tolerance.at(name).number());
            return to >= 0.0 ? Result<void>() : tolerance.wrong("it is below 0.");
        };
        YOLK_TRY_VOID(part("absolute", buffer.tolerance.absolute));
        YOLK_TRY_VOID(part("relative", buffer.tolerance.relative));
    }
    if (place.has("golden")) {
        YOLK_TRY(buffer.golden, read_named(place.at("golden"), folder_, buffer.size_bytes()));
    }
    if (!buffer.is_checked() && (place.has("tolerance") || place.has("golden")))
        return place.wrong("only roles output and in_out have 'tolerance' and 'golden'.");
    return {};
}

Result<KernelBuffer> SpaceReader::read_buffer(const Place& place) const {
    YOLK_TRY_VOID(place.object({"name", "binding", "type", "elements", "role", "content", "tolerance", "golden"}));
    KernelBuffer buffer;
    YOLK_TRY(const Place name, place.need("name"));
    YOLK_TRY(buffer.name, name.text());
    YOLK_TRY(const Place binding, place.need("binding"));
    YOLK_TRY(const std::uint64_t number, binding.whole(kMostBindings - 1));
    buffer.binding = static_cast<std::uint32_t>(number);
    YOLK_TRY(const Place type, place.need("type"));
    YOLK_TRY(buffer.element, parse_type(type));
    YOLK_TRY(const Place elements, place.need("elements"));
    YOLK_TRY(const Expression count, elements.expression(space_.scope));
    YOLK_TRY_VOID(only_sizes(elements, count, "a buffer"));
    const Result<std::uint64_t> counted = count.evaluate_count(values());
    if (!counted) return elements.wrong(counted.error().message);
    if (*counted == 0 || !checked_multiply(*counted, sizeof(std::uint32_t), "a buffer"))
        return elements.wrong(
            fmt::format("{} elements of 4 bytes; at least 1 and less than 2^64 bytes are allowed.", *counted));
    buffer.elements = *counted;
    YOLK_TRY(const Place role, place.need("role"));
    YOLK_TRY(const std::string role_name, role.text());
    if (role_name == "in_out") {
        buffer.role = BufferRole::InOut;
    } else if (role_name == "output" || role_name == "scratch") {
        buffer.role = BufferRole::Output;
        buffer.is_scratch = role_name == "scratch";
    } else if (role_name != "input") {
        return role.wrong(fmt::format("there is no role '{}'; there are input, output, in_out, scratch.", role_name));
    }
    if (place.has("content") != (buffer.role != BufferRole::Output))
        return place.wrong("roles input and in_out need 'content'; output and scratch have none.");
    if (place.has("content")) {
        YOLK_TRY(buffer.content, read_content(place.at("content"), buffer));
    }
    YOLK_TRY_VOID(read_held(place, buffer));
    return buffer;
}

Result<void> SpaceReader::read_buffers() {
    YOLK_TRY(const Place all, root_.need("buffers"));
    YOLK_TRY_VOID(all.array(1, kMostBindings));
    for (std::size_t i = 0; i < all.json.size(); ++i) {
        YOLK_TRY(KernelBuffer buffer, read_buffer(all.at(i)));
        for (const KernelBuffer& other : space_.buffers) {
            if (other.binding == buffer.binding)
                return all.at(i).wrong(fmt::format("binding {} is '{}' already.", buffer.binding, other.name));
        }
        space_.buffers.push_back(std::move(buffer));
    }
    if (std::ranges::none_of(space_.buffers, &KernelBuffer::is_checked))
        return all.wrong("no buffer has the role output or in_out, so the kernel computes nothing.");
    return {};
}

Result<KernelLaunch> SpaceReader::read_launch(const Place& place) const {
    KernelLaunch launch{.groups = {Expression::constant(std::int64_t{1}), Expression::constant(std::int64_t{1}),
                                   Expression::constant(std::int64_t{1})},
                        .push_constants = {}};
    YOLK_TRY(const Place dispatch, place.need("dispatch"));
    YOLK_TRY_VOID(dispatch.array(1, 3));
    for (std::size_t i = 0; i < dispatch.json.size(); ++i) {
        YOLK_TRY(launch.groups[i], dispatch.at(i).expression(space_.scope));
    }
    if (!place.has("push_constants")) return launch;
    const Place all = place.at("push_constants");
    YOLK_TRY_VOID(all.array(0, 64));
    for (std::size_t i = 0; i < all.json.size(); ++i) {
        const Place entry = all.at(i);
        YOLK_TRY_VOID(entry.object({"type", "value"}));
        YOLK_TRY(const Place type, entry.need("type"));
        YOLK_TRY(const Place value, entry.need("value"));
        YOLK_TRY(const ElementType element, parse_type(type));
        YOLK_TRY(Expression expression, value.expression(space_.scope));
        launch.push_constants.push_back({.type = element, .value = std::move(expression)});
    }
    return launch;
}

Result<void> SpaceReader::read_reference() {
    if (!root_.has("reference")) return {};
    const Place place = root_.at("reference");
    if (place.json.is_string()) {
        if (place.json.get<std::string>() != "default")
            return place.wrong("it is \"default\" or an object with 'shader' and 'dispatch'.");
        space_.reference_is_default = true;
        return {};
    }
    YOLK_TRY_VOID(place.object({"shader", "dispatch", "push_constants", "constants", "defines"}));
    KernelReference reference;
    YOLK_TRY(const Place shader, place.need("shader"));
    YOLK_TRY(const std::string name, shader.text());
    reference.shader = folder_ / name;
    YOLK_TRY(reference.launch, read_launch(place));
    for (const Expression& groups : reference.launch.groups)
        YOLK_TRY_VOID(only_sizes(place, groups, "the reference's dispatch"));
    for (const KernelPush& push : reference.launch.push_constants)
        YOLK_TRY_VOID(only_sizes(place, push.value, "a push constant of the reference"));
    if (place.has("constants")) {
        const Place all = place.at("constants");
        if (!all.json.is_object()) return all.wrong("it must be an object: {\"0\": 64}.");
        for (const auto& [key, json] : all.json.items()) {
            const Json id = Json::parse(key, nullptr, false);
            if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX)
                return all.wrong(fmt::format("'{}' is no constant's id; they are numbers: {{\"0\": 64}}.", key));
            YOLK_TRY(ExpressionValue value, (Place{json, fmt::format("{}.{}", all.where, key)}.value()));
            reference.constants.emplace_back(id.get<std::uint32_t>(), std::move(value));
        }
    }
    if (place.has("defines")) {
        const Place all = place.at("defines");
        if (!all.json.is_object()) return all.wrong("it must be an object: {\"TILE\": 8}.");
        for (const auto& [key, json] : all.json.items()) {
            if (!is_identifier(key)) return all.wrong(fmt::format("'{}' is no name of a macro.", key));
            YOLK_TRY(const ExpressionValue value, (Place{json, fmt::format("{}.{}", all.where, key)}.value()));
            reference.defines.emplace_back(key, to_text(value));
        }
    }
    space_.reference = std::move(reference);
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
            fmt::format("{}.parameters.{}: it has no effect: give it a 'constant_id' or a 'define', or use it in the "
                        "dispatch or in a push constant.",
                        root_.where, parameter.name));
    }
    return {};
}

void SpaceReader::make_identity() {
    Json json = root_.json;
    json.erase("sizes");
    space_.identity = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto add = [this](const std::vector<std::byte>& bytes) {
        for (const std::byte byte : bytes) space_.identity += static_cast<char>(byte);
    };
    for (const KernelBuffer& buffer : space_.buffers) {
        add(buffer.content.bytes);
        if (buffer.golden) add(*buffer.golden);
    }
}

}  // namespace

Result<KernelSpace> parse_kernel_space(std::string_view text, const std::string& file_name,
                                       const std::filesystem::path& folder) {
    YOLK_TRY(const Json json, parse_json(text, fmt::format("'{}'", file_name)));
    const Place root{json, file_name};
    return SpaceReader(root, folder).run();
}

}  // namespace yolk::autotune
