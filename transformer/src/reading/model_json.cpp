// SPDX-License-Identifier: Apache-2.0
#include "model_json.hpp"

#include <fmt/format.h>

#include <utility>

#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"

namespace yolk::transformer {

const Json* ModelJson::find(const char* name) const {
    const auto found = json.find(name);
    return found == json.end() || found->is_null() ? nullptr : &*found;
}

Result<std::uint32_t> ModelJson::whole(const char* name, std::uint32_t most) const {
    const Json* const value = find(name);
    if (value == nullptr) return bad_input("{} has no '{}', which the network needs.", what, name);
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() < 1 || value->get<std::uint64_t>() > most)
        return bad_input("'{}' in {} is {}; it must be a whole number from 1 to {}.", name, what,
                         shown(to_line(*value)), most);
    return static_cast<std::uint32_t>(value->get<std::uint64_t>());
}

Result<std::uint32_t> ModelJson::whole_or(const char* name, std::uint32_t most, std::uint32_t otherwise) const {
    return find(name) == nullptr ? Result(otherwise) : whole(name, most);
}

Result<double> ModelJson::real(const char* name, double least, double most, double otherwise) const {
    const Json* const value = find(name);
    if (value == nullptr) return otherwise;
    const double number = value->is_number() ? value->get<double>() : least - 1.0;
    if (number >= least && number <= most) return number;
    return bad_input("'{}' in {} is {}; it must be a number from {} to {}.", name, what, shown(to_line(*value)), least,
                     most);
}

Result<bool> ModelJson::flag(const char* name, bool otherwise) const {
    const Json* const value = find(name);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    return bad_input("'{}' in {} is {}; it must be true or false.", name, what, shown(to_line(*value)));
}

Result<void> ModelJson::only(const char* name, const Json& allowed) const {
    const Json* const value = find(name);
    if (value == nullptr || *value == allowed) return {};
    return unsupported("'{}' in {} is {}; only {} is supported.", name, what, shown(to_line(*value)), to_line(allowed));
}

Result<ModelJson> read_model_json(const std::filesystem::path& path, bool is_list) {
    std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(const std::string text, read_text(path, kMostJsonBytes));
    YOLK_TRY(Json json, parse_json(text, what));
    if (is_list ? !json.is_array() : !json.is_object())
        return bad_input("{} is not a JSON {}.", what, is_list ? "list" : "object");
    return ModelJson{.json = std::move(json), .what = std::move(what)};
}

}  // namespace yolk::transformer
