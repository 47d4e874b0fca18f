// SPDX-License-Identifier: Apache-2.0
// Bugs in our own code, never a user's mistake (that is an Error). YOLK_CHECK stays on in release builds: it is for the
// one or two instructions that protect memory. YOLK_ASSERT is for debug builds. Neither is ever an assumption.
#pragma once

namespace yolk::detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;
}

#define YOLK_CHECK(condition) \
    (static_cast<bool>(condition) ? void(0) : ::yolk::detail::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define YOLK_ASSERT(condition) void(sizeof(static_cast<bool>(condition)))
#else
#define YOLK_ASSERT(condition) YOLK_CHECK(condition)
#endif
