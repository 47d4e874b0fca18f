// SPDX-License-Identifier: Apache-2.0
// What flows through systems, to and from Python: arrays, texts, numbers, booleans, dicts and lists of them.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <vector>

#include "yolk/json.hpp"
#include "yolk/system.hpp"

namespace yolk::python {

/// Throws Raised (BadInput) if the object is no value; `what` names it in the message. Needs the interpreter's lock, as
/// all here do.
[[nodiscard]] hyper::Value value_of(nanobind::handle object, const std::string& what);
[[nodiscard]] hyper::Tensor tensor_of(nanobind::handle object, const std::string& what);
/// Throws Raised (BadInput) if a list or a dict inside `depth` others is inside too many.
void check_depth(const std::string& what, std::size_t depth);
[[nodiscard]] nanobind::object python_of(const hyper::Value& value);
[[nodiscard]] nanobind::object python_of(const hyper::Tensor& tensor);

/// As json.loads gives it, with NaN where a number is none.
[[nodiscard]] nanobind::object from_json(const Json& json);

/// {"x": ...} by its keys.
[[nodiscard]] std::map<std::string, hyper::Value> inputs_of(nanobind::handle object);
/// (inputs, expected) each.
[[nodiscard]] std::vector<hyper::Example> examples_of(nanobind::handle list);

}  // namespace yolk::python
