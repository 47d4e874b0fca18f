// SPDX-License-Identifier: Apache-2.0
// The C++ side of an environment's file (docs/environments.md): its functions as a type, so that templates can take any
// of them.
#pragma once

#include <string_view>

#include "yolk/exact/environment_prelude.h"

/// Makes struct `Type` from namespace yolk::exact::name, inside any namespace.
#define YOLK_ENVIRONMENT_TYPE(Type, name)                                                            \
    struct Type {                                                                                    \
        using State = ::yolk::exact::name::State;                                                    \
        static constexpr std::string_view kName = #name;                                             \
        static constexpr std::uint32_t kObservationCount = ::yolk::exact::name::kObservationCount;   \
        static constexpr std::uint32_t kActionCount = ::yolk::exact::name::kActionCount;             \
        static constexpr std::uint32_t kMaxSteps = ::yolk::exact::name::kMaxSteps;                   \
        static State reset(const ::yolk::exact::uvec4& words) {                                      \
            return ::yolk::exact::name::environment_reset(words);                                    \
        }                                                                                            \
        static void observe(const State& state, float (&observation)[kObservationCount]) {           \
            ::yolk::exact::name::environment_observe(state, observation);                            \
        }                                                                                            \
        static constexpr ::yolk::exact::EnvironmentActions kActions = ::yolk::exact::name::kActions; \
        /* Of an index, or of kActionCount floats where the actions are continuous. */               \
        template <class Action>                                                                      \
        static ::yolk::exact::StepResult step(State& state, const Action& action) {                  \
            return ::yolk::exact::name::environment_step(state, action);                             \
        }                                                                                            \
    }
