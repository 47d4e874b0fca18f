// SPDX-License-Identifier: Apache-2.0
// What lets one header be GLSL and C++ at once: an ABI header holds constants and parameter structs and nothing else.
// Only 4-byte scalars and fixed arrays of them in structs (scalar block layout), at most 128 bytes where they are push
// constants. One ABI header per kernel family; a shader includes exactly one.
#ifndef YOLK_ABI_PRELUDE_H
#define YOLK_ABI_PRELUDE_H

#ifdef __cplusplus
#include <cstdint>
#define ABI_BEGIN(family)        \
    namespace yolk::abi::family { \
    using uint = std::uint32_t;
#define ABI_END }
#define ABI_CONST inline constexpr
#else
#define ABI_BEGIN(family)
#define ABI_END
#define ABI_CONST const
#endif

#endif
