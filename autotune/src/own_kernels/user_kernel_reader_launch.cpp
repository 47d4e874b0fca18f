// SPDX-License-Identifier: Apache-2.0
// What a space file says of buffers, of the launch and of the reference.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "user_kernel_reader.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/json.hpp"

namespace yolk::autotune {
namespace {

using oracle::BufferRole;
using oracle::ElementType;

constexpr std::size_t kLargestBufferFile = std::size_t{1} << 32U;
constexpr std::uint32_t kMostBindings = 32;
constexpr KernelTolerance kFloatTolerance{.absolute = 1e-5, .relative = 1e-4};

Result<ElementType> parse_type(const Place& place) {
    YOLK_TRY(const std::string text, place.text());
    if (text == "f32") return ElementType::F32;
    if (text == "i32") return ElementType::I32;
    if (text == "u32") return ElementType::U32;
    return place.wrong("there is no type '{}'; there are f32, i32, u32 (others as words of u32).", text);
}

Result<std::vector<std::byte>> read_named(const Place& place, const std::filesystem::path& folder,
                                          std::uint64_t size_bytes) {
    YOLK_TRY(const std::string name, place.text());
    Result<std::vector<std::byte>> bytes = read_file(folder / name, kLargestBufferFile);
    if (!bytes) return std::move(bytes).error().while_doing(place.where);
    if (bytes->size() != size_bytes)
        return place.wrong("'{}' has {} bytes; the buffer has {}.", name, bytes->size(), size_bytes);
    return bytes;
}

}  // namespace

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

/// What an output is compared with.
Result<void> SpaceReader::read_held(const Place& place, KernelBuffer& buffer) const {
    if (buffer.element == ElementType::F32) buffer.tolerance = kFloatTolerance;
    if (place.has("tolerance")) {
        const Place tolerance = place.at("tolerance");
        YOLK_TRY_VOID(tolerance.object({"absolute", "relative"}));
        buffer.tolerance = {};
        const auto part = [&](const char* name, double& to, double below) -> Result<void> {
            if (!tolerance.has(name)) return {};
            YOLK_TRY(to, tolerance.at(name).number());
            if (to >= 0.0 && to < below) return {};
            return tolerance.at(name).wrong(
                "it is {}; it must be from 0 to below {}: above that every result is right.", to, below);
        };
        YOLK_TRY_VOID(
            part("absolute", buffer.tolerance.absolute, static_cast<double>(std::numeric_limits<float>::max())));
        YOLK_TRY_VOID(part("relative", buffer.tolerance.relative, 1.0));
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
        return elements.wrong("{} elements of 4 bytes; at least 1 and less than 2^64 bytes are allowed.", *counted);
    buffer.elements = *counted;
    YOLK_TRY(const Place role, place.need("role"));
    YOLK_TRY(const std::string role_name, role.text());
    if (role_name == "in_out") {
        buffer.role = BufferRole::InOut;
    } else if (role_name == "output" || role_name == "scratch") {
        buffer.role = BufferRole::Output;
        buffer.is_scratch = role_name == "scratch";
    } else if (role_name != "input") {
        return role.wrong("there is no role '{}'; there are input, output, in_out, scratch.", role_name);
    }
    if (place.has("content") != (buffer.role != BufferRole::Output))
        return place.wrong("roles input and in_out need 'content'; output and scratch must not have it.");
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
                return all.at(i).wrong("binding {} is '{}' already.", buffer.binding, other.name);
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
            const Json id = parse_json(key, key).value_or(nullptr);
            if (!id.is_number_unsigned() || id.get<std::uint64_t>() > UINT32_MAX)
                return all.wrong("'{}' is not a constant's id; ids are numbers: {{\"0\": 64}}.", key);
            YOLK_TRY(ExpressionValue value, (Place{json, fmt::format("{}.{}", all.where, key)}.value()));
            reference.constants.emplace_back(id.get<std::uint32_t>(), std::move(value));
        }
    }
    if (place.has("defines")) {
        const Place all = place.at("defines");
        if (!all.json.is_object()) return all.wrong("it must be an object: {\"TILE\": 8}.");
        for (const auto& [key, json] : all.json.items()) {
            if (!is_identifier(key)) return all.wrong("'{}' is not a valid macro name.", key);
            YOLK_TRY(const ExpressionValue value, (Place{json, fmt::format("{}.{}", all.where, key)}.value()));
            reference.defines.emplace_back(key, to_text(value));
        }
    }
    space_.reference = std::move(reference);
    return {};
}

}  // namespace yolk::autotune
