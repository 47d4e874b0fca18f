// SPDX-License-Identifier: Apache-2.0
// Child processes: what external programs need of the operating system. POSIX, as Linux has it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "yolk/core/descriptor.hpp"
#include "yolk/hyper/external_program.hpp"

namespace yolk::hyper {

/// " Its standard error ends with: ..." or nothing.
[[nodiscard]] std::string quoted_errors(std::string_view tail);

/// The parent's ends.
struct Child {
    pid_t id = -1;
    Descriptor in;
    Descriptor out;
    Descriptor err;
};

/// Errors: as check_program's, the operating system's.
[[nodiscard]] Result<Child> spawn(const Program& program);

}  // namespace yolk::hyper
