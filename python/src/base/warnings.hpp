// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace yolk::python {

/// The library's warnings become Python's, where a thread of Python's is in its work; others go to standard error.
void warn_in_python();

}  // namespace yolk::python
