// SPDX-License-Identifier: Apache-2.0
// Environments at run time: the roll-out's kernels around an environment's source that was not there when Yolk was
// built (docs/environments.md, docs/adr/0005). The other sources and the options are the build's, so a built-in
// environment compiled here gives the build's own SPIR-V, word by word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/exact/environment_prelude.h"
#include "yolk/result.hpp"

namespace yolk {

/// What an environment's source says of it, read from its SPIR-V.
struct EnvironmentFacts {
    std::uint32_t observation_count = 0;
    std::uint32_t action_count = 0;
    std::uint32_t state_words = 0;
    std::uint32_t max_steps = 0;
    float solved_return = 0.0F;
    float best_return = 0.0F;
    exact::EnvironmentActions actions{};
};

struct CompiledEnvironment {
    EnvironmentFacts facts;
    /// Why it is not of class P, with file and line; empty where every instruction of it is. (That no value is denormal
    /// cannot be seen from instructions: the file's author vouches for it.)
    std::string inexact_reason;
    std::vector<std::uint32_t> looped;                                   ///< SPIR-V of rollout.comp
    std::vector<std::uint32_t> unrolled;                                 ///< with ROLLOUT_UNROLL
    std::vector<std::uint32_t> packed;                                   ///< with ROLLOUT_PACKED
    std::vector<std::uint32_t> looped_fast, unrolled_fast, packed_fast;  ///< the same with ROLLOUT_FAST
};

/// `file_name` is the source's in messages. Errors, all BadInput, with the file's own line wherever there is one: what
/// the compiler reports (warnings count as errors, as in the build); parts of the interface that are missing or of
/// another form; an #include of anything but yolk/exact/ (an environment is one file); loops; state outside of State;
/// more than 32-bit float and integer arithmetic; constants outside their ranges. Thread-safe.
[[nodiscard]] Result<CompiledEnvironment> compile_environment(std::string_view source, std::string_view file_name);

}  // namespace yolk
