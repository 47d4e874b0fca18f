// SPDX-License-Identifier: Apache-2.0
#include "base/warnings.hpp"

#include <string>
#include <string_view>

#include "base/lock.hpp"
#include "base/words.hpp"
#include "yolk/internal/core/log_sink.hpp"

namespace yolk::python {
namespace {

/// Only in a thread that let the lock go: of others nobody knows what they hold.
bool warn(std::string_view message) {
    if (!WithoutLock::is_on()) return false;
    const InsideBody inside;
    try {
        call_python("yolk._lines", "warn", nb::str(in_python(std::string(message)).c_str()));
    } catch (nb::python_error& raised) {
        raised.discard_as_unraisable("a warning of yolk's");  // where warnings are errors
    }
    return true;
}

}  // namespace

void warn_in_python() { send_warnings_to(warn); }

}  // namespace yolk::python
