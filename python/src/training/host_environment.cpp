// SPDX-License-Identifier: Apache-2.0
#include "training/host_environment.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "base/lock.hpp"

namespace yolk::python {
namespace {

template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Given = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

train::HostActions actions_of(const nb::dict& told) {
    if (told.contains("count")) return {.count = nb::cast<std::uint32_t>(told["count"])};
    return {.low = nb::cast<std::vector<float>>(told["low"]), .high = nb::cast<std::vector<float>>(told["high"])};
}

/// An array that is read during a call only.
template <class T>
nb::object lent(std::span<const T> values) {
    const std::size_t size = values.size();
    return nb::cast(Given<T>(values.data(), 1, &size, nb::none()), nb::rv_policy::reference);
}

template <class T>
Result<void> take(const nb::object& values, const char* what, std::span<T> to) {
    Flat<T> array;
    if (!nb::try_cast(values, array) || array.size() != to.size())
        return failed_work("its {} are not an array of {} values of the expected type.", what, to.size());
    std::copy_n(array.data(), to.size(), to.begin());
    return {};
}

class PythonEnvironment final : public train::HostEnvironment {
   public:
    PythonEnvironment(nb::object object, Callback& raised) : object_(std::move(object)), raised_(raised) {
        const nb::dict told = nb::cast<nb::dict>(object_.attr("told"));
        const nb::object mark = told["solved_return"];
        info_ = {.name = nb::cast<std::string>(told["name"]),
                 .lanes = nb::cast<std::uint32_t>(told["lanes"]),
                 .observation_count = nb::cast<std::uint32_t>(told["observations"]),
                 .actions = actions_of(nb::cast<nb::dict>(told["actions"])),
                 .max_steps = nb::cast<std::uint32_t>(told["max_steps"]),
                 .solved_return = mark.is_none() ? std::numeric_limits<float>::infinity() : nb::cast<float>(mark)};
    }
    [[nodiscard]] const train::HostEnvironmentInfo& info() const noexcept override { return info_; }
    [[nodiscard]] Result<void> reset(std::span<const std::uint32_t> seeds, std::span<float> observations) override {
        return inside(
            [&] { return take(call_python(object_.attr("reset"), lent(seeds)), "observations", observations); });
    }
    [[nodiscard]] Result<void> step(const train::HostStep& step) override {
        return inside([&]() -> Result<void> {
            const nb::object found = call_python(object_.attr("step"), lent(step.actions), lent(step.live));
            YOLK_TRY_VOID(take(found[0], "observations", step.observations));
            YOLK_TRY_VOID(take(found[1], "rewards", step.rewards));
            YOLK_TRY_VOID(take(found[2], "terminated", step.terminated));
            return take(found[3], "truncated", step.truncated);
        });
    }

   private:
    template <class Work>
    Result<void> inside(Work work) {
        const InsideBody inside;
        try {
            return work();
        } catch (nb::python_error& error) {
            std::string words = error.what();
            raised_.remember(std::move(error));
            return failed_work(std::move(words));
        }
    }

    nb::object object_;
    Callback& raised_;
    train::HostEnvironmentInfo info_;
};

}  // namespace

train::HostEnvironments environments_of(const nb::list& objects, Callback& raised) {
    train::HostEnvironments all;
    for (const nb::handle object : objects)
        all.push_back(std::make_shared<PythonEnvironment>(nb::borrow(object), raised));
    return all;
}

}  // namespace yolk::python
