// SPDX-License-Identifier: Apache-2.0
// Prompt searches, and models that are Python's functions.
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <string>

#include "yolk/models.hpp"
#include "yolk/optimize.hpp"

namespace yolk::python {

/// Reads what yolk/_prompts.py passes: {"gepa": {...}, "budget": {...}, "reflector": a model or None, "rounds",
/// "numbers", "failed_score"}. Throws Raised (BadInput). Needs the interpreter's lock, as all here do.
[[nodiscard]] hyper::TextOptions text_options(const nanobind::dict& given);

/// Asks yolk._models.answer, which calls the user's function.
[[nodiscard]] hyper::Model model_of(nanobind::object model);

using Feedback = std::function<Result<std::string>(const hyper::Value&, const hyper::Value&, double)>;
/// Calls function(prediction, expected, score).
[[nodiscard]] Feedback feedback_of(nanobind::object function);

void bind_prompts(nanobind::module_& module);

}  // namespace yolk::python
