// SPDX-License-Identifier: Apache-2.0
// Starting child processes: what they need of the operating system. POSIX, as Linux has it.
#pragma once

#include <sys/types.h>

#include "yolk/internal/core/child_process.hpp"
#include "yolk/internal/core/descriptor.hpp"

namespace yolk {

/// The parent's ends.
struct Child {
    pid_t id = -1;
    Descriptor in;
    Descriptor out;
    Descriptor err;
};

/// Errors: as check_program's, the operating system's.
[[nodiscard]] Result<Child> spawn(const ChildProgram& program);

}  // namespace yolk
