// SPDX-License-Identifier: Apache-2.0
// The lines of the table in docs/kernels/README.md, as the declarations of the kernels give them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "yolk/internal/oracle/family.hpp"

namespace yolk::oracle {

/// "`log=0` (0 or 1)", "`rank=1` (from 1 to 32)"; nothing in brackets where any number will do.
inline std::string field_cell(const FieldInfo& field) {
    constexpr std::string_view kNumber = "a number ";
    std::string_view allowed = field.allowed;
    if (allowed == yolk::detail::range_text(0, 0xFFFFFFFFU)) allowed = {};
    if (allowed.starts_with(kNumber)) allowed.remove_prefix(kNumber.size());
    return fmt::format("`{}{}{}`{}", field.name, field.fallback.empty() ? "" : "=", field.fallback,
                       allowed.empty() ? "" : fmt::format(" ({})", allowed));
}

/// What multiplies the next extent in a tuning key is before a cross.
inline std::string fields_cell(const Family& family) {
    if (family.operation == nullptr) return "not declared as an operation";
    std::string cell;
    std::string_view between;
    for (const FieldInfo& field : family.operation->fields()) {
        cell.append(between).append(field_cell(field));
        between = field.role == FieldRole::Factor ? " × " : ", ";
    }
    return cell;
}

inline std::string reference_row(const Family& family) {
    return fmt::format("| [{0}]({0}.md) | {1} | {2} |\n", family.name, fields_cell(family), family.exactness);
}

}  // namespace yolk::oracle
