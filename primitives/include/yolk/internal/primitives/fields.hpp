// SPDX-License-Identifier: Apache-2.0
// The fields of a description, by name: from their declaration follow its text ("softmax rows=4 columns=3 log=1"), the
// key under which a tuning table knows it, and what a mistake in either is answered with.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// What a field is to the tuner.
enum class FieldRole {
    Extent,   ///< only makes the work larger; near extents share what was measured
    Factor,   ///< an extent that multiplies the next one: the key has their product
    Variant,  ///< makes another kernel of it; a key has it where it is not the default
    Neither,  ///< no key has it
};

/// What can be said of a field without its description's type.
struct FieldInfo {
    std::string name;
    FieldRole role = FieldRole::Extent;
    std::string allowed;      ///< in messages: "a number from 0 to 4294967295", "i32 or f32"
    std::string fallback;     ///< the value that text may leave out; empty for an extent that it must give, above 0
    bool is_list = false;     ///< "4-64-2": each number is an extent; one such field at most
    std::uint32_t least = 0;  ///< of a number
    std::uint32_t most = 0xFFFFFFFFU;
};

/// The words of an enumeration whose values count from 0 are an overload beside it, found by argument-dependent lookup:
/// `constexpr auto enum_words(NoiseFormat) { return std::to_array<std::string_view>({"i32", "f32"}); }`.
template <class E>
concept Worded = std::is_enum_v<E> && requires(E value) {
    enum_words(value);
};

template <Worded E>
[[nodiscard]] constexpr std::string_view word_of(E value) noexcept {
    const auto index = static_cast<std::size_t>(value);
    return index < enum_words(value).size() ? enum_words(value)[index] : std::string_view("?");
}

namespace detail {
/// "i32, f32 or f64".
[[nodiscard]] std::string any_of(std::span<const std::string_view> words);
/// "a number from 1 to 32".
[[nodiscard]] std::string range_text(std::uint32_t least, std::uint32_t most);
}  // namespace detail

/// A field of `Desc`. Plain data.
template <class Desc>
struct Field {
    FieldInfo info;
    std::string (*print)(const Desc&) = nullptr;       ///< "?4" for a number that no word of an enumeration has
    bool (*parse)(Desc&, std::string_view) = nullptr;  ///< false: not a value of it; the description is as before

    /// Multiplies the next extent in the key.
    [[nodiscard]] Field factor() && {
        info.role = FieldRole::Factor;
        return std::move(*this);
    }
    /// Text must give it, whatever the description begins with.
    [[nodiscard]] Field required() && {
        info.fallback.clear();
        return std::move(*this);
    }
    /// What text that leaves it out means, where that is not what the description begins with, or is 0.
    [[nodiscard]] Field otherwise(std::string_view value) && {
        info.fallback = std::string(value);
        return std::move(*this);
    }
    /// The range of a number, both ends included; text and plans refuse what is outside.
    [[nodiscard]] Field from(std::uint32_t least, std::uint32_t most = 0xFFFFFFFFU) && {
        info.least = least;
        info.most = most;
        info.allowed = detail::range_text(least, most);
        return std::move(*this);
    }
    /// In no key: the choice of a configuration does not depend on it.
    [[nodiscard]] Field in_no_key() && {
        info.role = FieldRole::Neither;
        return std::move(*this);
    }
};

namespace detail {

template <class T>
struct MemberPointer;
template <class Owner, class Value>
struct MemberPointer<Value Owner::*> {
    using Desc = Owner;
};
template <auto kMember>
using DescOf = typename MemberPointer<decltype(kMember)>::Desc;
/// What `kAt` is of a description: a pointer to its member, or a function to a member of a member.
template <class Desc, auto kAt>
using TypeOf = std::remove_cvref_t<std::invoke_result_t<decltype(kAt), Desc&>>;

inline bool parse_number(std::string_view text, std::uint32_t& value) noexcept {
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && stop == text.data() + text.size();
}

template <class Desc, auto kAt>
std::string print_member(const Desc& desc) {
    const auto value = std::invoke(kAt, desc);
    if constexpr (Worded<TypeOf<Desc, kAt>>) {
        const std::string_view word = word_of(value);
        return word == "?" ? "?" + std::to_string(static_cast<std::uint32_t>(value)) : std::string(word);
    } else {
        return std::to_string(static_cast<std::uint32_t>(value));
    }
}

/// Enumerations by word, or by number, as files of before have them.
template <class Desc, auto kAt>
bool parse_member(Desc& desc, std::string_view text) {
    using Type = TypeOf<Desc, kAt>;
    std::uint32_t number = 0;
    if constexpr (Worded<Type>) {
        constexpr auto kWords = enum_words(Type{});
        while (number < kWords.size() && kWords[number] != text) ++number;
        if (number == kWords.size() && (!parse_number(text, number) || number >= kWords.size())) return false;
    } else {
        if (!parse_number(text, number) || (std::is_same_v<Type, bool> && number > 1)) return false;
    }
    std::invoke(kAt, desc) = static_cast<Type>(number);
    return true;
}

template <class Desc, auto kAt>
Field<Desc> member_field(std::string_view name, FieldRole role) {
    using Type = TypeOf<Desc, kAt>;
    Field<Desc> field{.info = {.name = std::string(name), .role = role, .allowed = {}, .fallback = {}},
                      .print = &print_member<Desc, kAt>,
                      .parse = &parse_member<Desc, kAt>};
    if constexpr (Worded<Type>) {
        constexpr auto kWords = enum_words(Type{});
        field.info.allowed = any_of(kWords);
    } else {
        static_assert(std::is_same_v<Type, bool> || std::is_same_v<Type, std::uint32_t>, "declare print and parse");
        field.info.allowed = std::is_same_v<Type, bool> ? "0 or 1" : range_text(0, 0xFFFFFFFFU);
    }
    const std::string fallback = print_member<Desc, kAt>(Desc{});
    if (role != FieldRole::Extent || fallback != "0") field.info.fallback = fallback;
    return field;
}

}  // namespace detail

/// A number that only makes the work larger. Text must give it where the description begins with 0.
template <auto kMember>
[[nodiscard]] Field<detail::DescOf<kMember>> extent(std::string_view name) {
    return detail::member_field<detail::DescOf<kMember>, kMember>(name, FieldRole::Extent);
}

/// A switch, an enumeration or a number that makes another kernel of it.
template <auto kMember>
[[nodiscard]] Field<detail::DescOf<kMember>> variant(std::string_view name) {
    return detail::member_field<detail::DescOf<kMember>, kMember>(name, FieldRole::Variant);
}

/// The same of a member's member: `variant_at<MatmulDesc, [](auto& desc) -> auto& { return desc.a.format; }>`.
template <class Desc, auto kAt>
[[nodiscard]] Field<Desc> variant_at(std::string_view name) {
    return detail::member_field<Desc, kAt>(name, FieldRole::Variant);
}

/// name=value, as text and keys have them.
struct FieldText {
    std::string name;
    std::string value;
};
using FieldInfos = std::vector<FieldInfo>;

/// The words of "rows=4 columns=3"; a field that they leave out is missing in the answer.
/// Errors (BadInput), each with what was given, what is allowed and the nearest name: a word that is not name=value, a
/// field that the operation does not have, a field twice, an extent that has no default and is not given.
[[nodiscard]] Result<std::vector<FieldText>> split_fields(std::string_view operation, std::string_view text,
                                                          const FieldInfos& known);
/// Null where it is not given.
[[nodiscard]] const FieldText* find_given(std::span<const FieldText> given, std::string_view name) noexcept;
/// A value that is not allowed.
[[nodiscard]] Error wrong_field(std::string_view operation, const FieldInfo& field, std::string_view value);
/// wrong_field where `value`, as the field prints, is a number outside its range or "?4", an enumeration's unknown one.
[[nodiscard]] Result<void> check_field(std::string_view operation, const FieldInfo& field, std::string_view value);
/// "rows=1 columns log=0 (0 or 1)": the fields as the reference lists them, with the values of those that may be left
/// out and the words of enumerations.
[[nodiscard]] std::string field_summary(const FieldInfos& known);
/// Of `names` the one that the fewest changed letters make of `word`; empty where none is near.
[[nodiscard]] std::string_view nearest_word(std::string_view word, std::span<const std::string_view> names);

/// The key of a description whose fields print as `values`: the extents, each times the factors before it, and
/// name=value of the variants that are not the default, by spaces. A list ("4-64-2") is as many extents.
[[nodiscard]] TuningShape key_of_fields(const FieldInfos& known, std::span<const std::string> values);
/// A key that no description of these fields has.
[[nodiscard]] Error foreign_key(std::string_view operation, const TuningShape& key, const FieldInfos& known);
/// The fields of a key, back again: factors are left to their defaults. Error (BadInput): not a key of these fields.
[[nodiscard]] Result<std::vector<FieldText>> fields_of_key(std::string_view operation, const TuningShape& key,
                                                           const FieldInfos& known);

/// All fields of a description: what is done with them together.
template <class Desc>
class Fields {
   public:
    Fields(std::string_view operation, std::vector<Field<Desc>> fields)
        : operation_(operation), fields_(std::move(fields)) {
        for (const Field<Desc>& field : fields_) infos_.push_back(field.info);
    }

    [[nodiscard]] const FieldInfos& infos() const noexcept { return infos_; }

    /// "rows=4 columns=3 log=1"; variants and others that are the default are left out.
    [[nodiscard]] std::string text(const Desc& desc) const {
        std::string text;
        for (const Field<Desc>& field : fields_) {
            const std::string value = field.print(desc);
            if (field.info.role != FieldRole::Extent && value == field.info.fallback) continue;
            text.append(text.empty() ? "" : " ").append(field.info.name).append("=").append(value);
        }
        return text;
    }
    /// As split_fields, and for a value that is not allowed.
    [[nodiscard]] Result<Desc> parse(std::string_view text) const {
        YOLK_TRY(const std::vector<FieldText> given, split_fields(operation_, text, infos_));
        return assign(given);
    }
    /// Error (BadInput): a number outside its range; an enumeration without such a value, as only a cast makes it.
    [[nodiscard]] Result<void> check(const Desc& desc) const {
        for (const Field<Desc>& field : fields_) YOLK_TRY_VOID(check_field(operation_, field.info, field.print(desc)));
        return {};
    }
    [[nodiscard]] TuningShape key(const Desc& desc) const {
        std::vector<std::string> values;
        for (const Field<Desc>& field : fields_) values.push_back(field.print(desc));
        return key_of_fields(infos_, values);
    }
    /// A description that has this key. Error (BadInput): not a key of these fields.
    [[nodiscard]] Result<Desc> of_key(const TuningShape& key) const {
        YOLK_TRY(const std::vector<FieldText> given, fields_of_key(operation_, key, infos_));
        YOLK_TRY(Desc desc, assign(given));
        if (this->key(desc) != key) return foreign_key(operation_, key, infos_);
        return desc;
    }

   private:
    Result<Desc> assign(std::span<const FieldText> given) const {
        Desc desc{};
        // In the order of the declaration: a field may build on those before it.
        for (const Field<Desc>& field : fields_) {
            const FieldText* found = find_given(given, field.info.name);
            const std::string_view value = found != nullptr ? std::string_view(found->value) : field.info.fallback;
            if (!value.empty() && !field.parse(desc, value)) return wrong_field(operation_, field.info, value);
        }
        YOLK_TRY_VOID(check(desc));
        return desc;
    }

    std::string operation_;
    std::vector<Field<Desc>> fields_;
    FieldInfos infos_;
};

}  // namespace yolk
