// SPDX-License-Identifier: Apache-2.0
// Reading a space file with messages that say where in it something is wrong.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "user_kernel_expression.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// A place in the file, for messages: "space.json: buffers[0]".
struct Place {
    const Json& json;
    std::string where;

    [[nodiscard]] Error wrong(std::string_view what) const { return bad_input("{}: {}", shown(where), shown(what)); }
    template <class First, class... Rest>
    [[nodiscard]] Error wrong(fmt::format_string<First, Rest...> what, First&& first, Rest&&... rest) const {
        return wrong(fmt::format(what, std::forward<First>(first), std::forward<Rest>(rest)...));
    }
    [[nodiscard]] bool has(const char* key) const { return json.contains(key); }
    [[nodiscard]] Place at(const char* key) const { return {json[key], fmt::format("{}.{}", where, key)}; }
    [[nodiscard]] Place at(std::size_t index) const { return {json[index], fmt::format("{}[{}]", where, index)}; }

    /// An object with no other keys than these.
    [[nodiscard]] Result<void> object(std::initializer_list<std::string_view> keys) const;
    [[nodiscard]] Result<Place> need(const char* key) const;
    [[nodiscard]] Result<void> array(std::size_t least, std::size_t most) const;
    [[nodiscard]] Result<std::string> text() const;
    [[nodiscard]] Result<double> number() const;
    [[nodiscard]] Result<std::uint64_t> whole(std::uint64_t most) const;
    [[nodiscard]] Result<bool> truth() const;
    /// A number, truth or text as it stands.
    [[nodiscard]] Result<ExpressionValue> value() const;
    /// The same, but a text is an expression over `scope`.
    [[nodiscard]] Result<Expression> expression(std::span<const std::string> scope) const;
    [[nodiscard]] std::string kind() const;
};

/// Letters, digits and _, a letter first.
[[nodiscard]] bool is_identifier(const std::string& text);

}  // namespace yolk::autotune
