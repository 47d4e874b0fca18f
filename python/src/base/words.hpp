// SPDX-License-Identifier: Apache-2.0
// The library's messages name its own functions and options. Users of Python are told theirs.
#pragma once

#include <string>

namespace yolk::python {

/// The message with C++ names replaced by what Python calls the same.
[[nodiscard]] std::string in_python(std::string message);

}  // namespace yolk::python
