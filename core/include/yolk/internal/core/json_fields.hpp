// SPDX-License-Identifier: Apache-2.0
// Structs as JSON objects, written and read by one list of their fields. The list is a function beside the struct:
//
//     template <class Fields>
//     void each_field(Fields& fields, Policy& policy) {
//         fields("task", policy.task);                          // must be there
//         fields.maybe("source", policy.source);                // not written where it is T(), may be missing
//     }
//
// Fields are texts, booleans, unsigned integers, doubles (NaN for null, as JSON has no number that is not finite),
// Json, structs with a list, and std::optional, vectors, maps by text and NamedTexts of these.
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/json.hpp"

namespace yolk {

/// An object of texts that keeps its order.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

class FieldWriter {
   public:
    template <class T>
    void operator()(std::string_view name, const T& value) {
        json_[std::string(name)] = json_of(value);
    }
    template <class T>
    void maybe(std::string_view name, const T& value) {
        if (value != T()) (*this)(name, value);
    }
    /// Only written, for other readers.
    template <class T>
    void note(std::string_view name, const T& value) {
        (*this)(name, value);
    }

    [[nodiscard]] static Json json_of(const NamedTexts& texts) {
        Json json = Json::object();
        for (const auto& [name, text] : texts) json[name] = text;
        return json;
    }
    template <class T>
    [[nodiscard]] static Json json_of(const std::vector<T>& values) {
        Json json = Json::array();
        for (const T& value : values) json.push_back(json_of(value));
        return json;
    }
    template <class T>
    [[nodiscard]] static Json json_of(const std::optional<T>& value) {
        return value ? json_of(*value) : Json();
    }
    template <class T>
    [[nodiscard]] static Json json_of(const T& value) {
        if constexpr (requires(FieldWriter & fields, T & listed) { each_field(fields, listed); }) {
            FieldWriter fields;
            each_field(fields, const_cast<T&>(value));  // one list serves both ways; a writer changes nothing
            return std::move(fields.json_);
        } else {
            return Json(value);
        }
    }

   private:
    Json json_ = Json::object();
};

/// Keeps the name of the first field that is missing or not as it should be; what is read in its place is arbitrary.
class FieldReader {
   public:
    /// Of an object that outlives the reader; anything else has no fields.
    explicit FieldReader(const Json& object) : object_(&object) {}

    /// A value that is no text may also be given as a text of JSON, as in the header of a state file.
    template <class T>
    void operator()(std::string_view name, T& value) {
        const Json* const found = find(name);
        if (found == nullptr) return fail(name);
        bool is_good = false;
        if (std::same_as<T, std::string> || !found->is_string()) {
            is_good = take(*found, value);
        } else if (const Result<Json> parsed = parse_json(found->get_ref<const std::string&>(), name)) {
            is_good = take(*parsed, value);
        }
        if (!is_good) fail(name);
    }
    template <class T>
    void maybe(std::string_view name, T& value) {
        if (find(name) != nullptr) (*this)(name, value);
    }
    template <class T>
    void note(std::string_view /*name*/, T& /*value*/) {}

    void fail(std::string_view name) {
        if (!failure_) failure_ = std::string(name);
    }
    [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }

   private:
    [[nodiscard]] const Json* find(std::string_view name) const {
        if (!object_->is_object()) return nullptr;
        const auto found = object_->find(name);
        return found == object_->end() ? nullptr : &*found;
    }
    template <class T>
    [[nodiscard]] bool take(const Json& json, std::optional<T>& value) {
        return take(json, value.emplace());
    }
    template <class T>
    [[nodiscard]] bool take(const Json& json, std::vector<T>& values) {
        if (!json.is_array()) return false;
        for (const Json& each : json) {
            if (!take(each, values.emplace_back())) return false;
        }
        return true;
    }
    template <class T>
    [[nodiscard]] bool take(const Json& json, std::map<std::string, T>& values) {
        if (!json.is_object()) return false;
        for (const auto& [name, value] : json.items()) {
            if (!take(value, values[name])) return false;
        }
        return true;
    }
    [[nodiscard]] bool take(const Json& json, NamedTexts& texts) {
        if (!json.is_object()) return false;
        for (const auto& [name, value] : json.items()) {
            if (!take(value, texts.emplace_back(name, std::string()).second)) return false;
        }
        return true;
    }
    template <class T>
    [[nodiscard]] bool take(const Json& json, T& value) {
        if constexpr (std::same_as<T, Json>) {
            value = json;
            return true;
        } else if constexpr (std::same_as<T, std::string> || std::same_as<T, bool>) {
            if (std::same_as<T, bool> ? !json.is_boolean() : !json.is_string()) return false;
            value = json.get<T>();
            return true;
        } else if constexpr (std::unsigned_integral<T>) {
            if (!json.is_number_unsigned() || json.get<std::uint64_t>() > std::numeric_limits<T>::max()) return false;
            value = json.get<T>();
            return true;
        } else if constexpr (std::same_as<T, double>) {
            value = json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
            return json.is_number() || json.is_null();
        } else {
            FieldReader fields(json);
            each_field(fields, value);
            if (fields.failure_) fail(*fields.failure_);
            return !fields.failure_;
        }
    }

    const Json* object_;
    std::optional<std::string> failure_{};
};

}  // namespace yolk
