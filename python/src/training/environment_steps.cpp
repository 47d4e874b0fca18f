// SPDX-License-Identifier: Apache-2.0
#include "training/environment_steps.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "base/errors.hpp"
#include "yolk/internal/shaders/environments.hpp"
#include "yolk/rollout.hpp"

namespace nb = nanobind;

namespace yolk::python {
namespace {

#define YOLK_PYTHON_TYPE(name, ...) YOLK_ENVIRONMENT_TYPE(name, name);
namespace environment_types {
YOLK_ENVIRONMENTS(YOLK_PYTHON_TYPE)
}  // namespace environment_types
#undef YOLK_PYTHON_TYPE

void need(const char* what, std::size_t given, std::size_t wanted) {
    if (given != wanted) throw Raised(bad_input("{} has {} numbers; {} are needed.", what, given, wanted));
}

template <class Environment>
nb::dict seen(const typename Environment::State& state) {
    std::vector<float> words(sizeof(state) / sizeof(float));
    std::memcpy(words.data(), &state, sizeof(state));
    float observation[Environment::kObservationCount];
    Environment::observe(state, observation);
    nb::dict all;
    all["state"] = nb::cast(words);
    all["observation"] = nb::cast(std::vector<float>(observation, observation + Environment::kObservationCount));
    return all;
}

template <class Environment>
nb::dict start(const std::vector<std::uint32_t>& words) {
    need("words", words.size(), 4);
    return seen<Environment>(Environment::reset({words[0], words[1], words[2], words[3]}));
}

template <class Environment>
nb::dict step(const std::vector<float>& from, const std::vector<float>& action) {
    typename Environment::State state;
    need("state", from.size(), sizeof(state) / sizeof(float));
    std::memcpy(&state, from.data(), sizeof(state));
    exact::StepResult result;
    if constexpr (Environment::kActions.continuous) {
        need("action", action.size(), Environment::kActionCount);
        float values[Environment::kActionCount];
        std::copy(action.begin(), action.end(), values);
        result = Environment::step(state, values);
    } else {
        need("action", action.size(), 1);
        if (!(action[0] >= 0.0F && action[0] < static_cast<float>(Environment::kActionCount)))
            throw Raised(bad_input("action is {}; from 0, below {}.", action[0], Environment::kActionCount));
        result = Environment::step(state, static_cast<std::uint32_t>(action[0]));
    }
    nb::dict all = seen<Environment>(state);
    all["reward"] = result.reward;
    all["terminated"] = result.terminated;
    return all;
}

[[noreturn]] void refuse_unknown(const std::string& name) { throw Raised(find_environment(name).error()); }

}  // namespace

#define YOLK_PYTHON_START(one, ...) \
    if (name == environment_types::one::kName) return start<environment_types::one>(words);
nb::dict environment_start(const std::string& name, const std::vector<std::uint32_t>& words) {
    YOLK_ENVIRONMENTS(YOLK_PYTHON_START)
    refuse_unknown(name);
}
#undef YOLK_PYTHON_START

#define YOLK_PYTHON_STEP(one, ...) \
    if (name == environment_types::one::kName) return step<environment_types::one>(state, action);
nb::dict environment_step(const std::string& name, const std::vector<float>& state, const std::vector<float>& action) {
    YOLK_ENVIRONMENTS(YOLK_PYTHON_STEP)
    refuse_unknown(name);
}
#undef YOLK_PYTHON_STEP

}  // namespace yolk::python
