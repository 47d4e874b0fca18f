// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/check.hpp"

#include <cstdio>
#include <cstdlib>

void yolk::detail::check_failed(const char* condition, const char* file, int line) noexcept {
    std::fprintf(stderr, "yolk: internal check failed at %s:%d: %s. This is a bug in yolk; please report it.\n", file,
                 line, condition);
    std::abort();
}
