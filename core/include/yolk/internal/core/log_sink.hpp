// SPDX-License-Identifier: Apache-2.0
// Where warnings go in a program that has a way of its own to show them.
#pragma once

#include <string_view>

namespace yolk {

/// From now on it gets the warnings of this process, on any thread, unless $YOLK_LOG leaves them out. What it does not
/// take (false) goes to standard error, as all do without one (nullptr). It must not call log().
using WarningSink = bool (*)(std::string_view message);
void send_warnings_to(WarningSink sink) noexcept;

}  // namespace yolk
