// SPDX-License-Identifier: Apache-2.0
// Settings by name, as Python gives them.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "yolk/internal/evolve/options.hpp"

namespace yolk::python {

/// Sets one field, or throws Raised (BadInput) that says what was given and what is needed.
using Setter = std::function<void(std::string_view name, nb::handle value)>;
/// Setters by the field's name.
using Fields = std::map<std::string, Setter, std::less<>>;

/// From 0 to the type's largest, of anything with __index__ that is not a bool.
[[nodiscard]] std::uint64_t whole_number(std::string_view name, nb::handle value, std::uint64_t most);
[[nodiscard]] double real_number(std::string_view name, nb::handle value);
[[nodiscard]] bool yes_or_no(std::string_view name, nb::handle value);
[[nodiscard]] std::string text(std::string_view name, nb::handle value);
[[nodiscard]] std::vector<std::string> texts(std::string_view name, nb::handle value);
[[nodiscard]] std::vector<std::uint32_t> whole_numbers(std::string_view name, nb::handle value);

/// Those of evolve::EvolutionOptions.
[[nodiscard]] Fields evolution_fields(evolve::EvolutionOptions& options);
/// Sets all that are given. Throws BadInput for a name that is not among the fields (lists them).
void set_fields(const Fields& fields, const nb::dict& given);

/// Names and values, as evolution_fields() takes them.
[[nodiscard]] nb::dict to_dict(const evolve::EvolutionOptions& options);

}  // namespace yolk::python
