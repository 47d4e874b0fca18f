// SPDX-License-Identifier: Apache-2.0
#include "ops/tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/options.hpp"
#include "tracing/callables.hpp"
#include "yolk/context.hpp"
#include "yolk/internal/autotune/strategy.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/json.hpp"
#include "yolk/tune_kernel.hpp"

namespace yolk::python {
namespace {

using autotune::Machine;
using autotune::TuneUserKernelOutcome;
using autotune::UserKernel;

constexpr std::size_t kMostReasons = 3;

/// What is tuned and on what; Python has checked the types.
struct Files {
    std::filesystem::path shader;
    std::filesystem::path space;
    std::vector<std::filesystem::path> includes;
    std::string device;
};

Files files_of(const std::string& shader, const std::string& space, const std::vector<std::string>& includes,
               const std::string& device) {
    return {shader, space, {includes.begin(), includes.end()}, device};
}

/// Candidates name their configurations, so a table must not.
Result<Machine> open_machine(const std::string& device) {
    YOLK_TRY_VOID(check_not_forked());
    YOLK_TRY(const Context context, Context::create({.device = device, .tuning = false}));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(context.device()));
    return Machine{context.device(), std::move(dispatcher)};
}

/// ([(name, elements, contents or None)], sizes as JSON), as the space file declares them.
nb::tuple buffers_of(const std::string& shader, const std::string& space, const std::vector<std::string>& includes,
                     const std::string& device) {
    const Files files = files_of(shader, space, includes, device);
    std::string sizes;
    std::optional<Result<std::vector<oracle::ProblemBuffer>>> found;
    {
        const WithoutLock released;
        found = [&]() -> Result<std::vector<oracle::ProblemBuffer>> {
            YOLK_TRY(const Machine machine, open_machine(files.device));
            YOLK_TRY(const std::unique_ptr<UserKernel> kernel,
                     UserKernel::create_to_inspect(machine.device, files.shader, files.space, files.includes));
            sizes = kernel->sizes().dump();
            return kernel->buffers();
        }();
    }
    nb::list all;
    for (const oracle::ProblemBuffer& buffer : unwrap(std::move(*found))) {
        nb::object contents = nb::none();
        if (buffer.role != oracle::BufferRole::Output)
            contents = nb::bytes(reinterpret_cast<const char*>(buffer.contents.data()), buffer.contents.size());
        all.append(nb::make_tuple(buffer.name, buffer.size_bytes / sizeof(std::uint32_t), contents));
    }
    return nb::make_tuple(all, sizes);
}

Fields tuning_fields(autotune::TuneUserKernelOptions& o) {
    Fields fields;
    fields["strategy"] = [&o](std::string_view name, nb::handle value) { o.strategy = text(name, value); };
    fields["budget"] = [&o](std::string_view name, nb::handle value) {
        o.budget = static_cast<std::uint32_t>(whole_number(name, value, 100'000));
        if (o.budget == 0) throw Raised(bad_input("budget is 0; at least 1 measurement is needed."));
    };
    fields["seed"] = [&o](std::string_view name, nb::handle value) {
        o.seed = whole_number(name, value, std::numeric_limits<std::uint64_t>::max());
    };
    fields["seconds"] = [&o](std::string_view name, nb::handle value) {
        const double seconds = real_number(name, value);
        if (!(seconds > 0.0 && seconds < 1e7))
            throw Raised(bad_input("seconds is {}; it is above 0 and below 10,000,000.", seconds));
        o.time = std::chrono::duration<double>(seconds);
    };
    fields["again"] = [&o](std::string_view name, nb::handle value) { o.again = yes_or_no(name, value); };
    fields["record"] = [&o](std::string_view name, nb::handle value) { o.record = text(name, value); };
    return fields;
}

/// False, or an exception, ends the search; what it raises comes out of tune_kernel.
auto told(nb::object function, Callback& callback) {
    return [function = keep(std::move(function)), &callback](const std::string& /*shape*/,
                                                             const autotune::LiveProgress& at) {
        if (Interruptible::requested()) return false;
        const InsideBody inside;
        try {
            Interruptible::raise_if_requested();
            if (function->is_none()) return true;
            nb::dict progress;
            progress["evaluations"] = at.evaluations;
            progress["rejected"] = at.rejected;
            progress["budget"] = at.budget;
            progress["best_milliseconds"] = at.best_milliseconds;
            progress["default_milliseconds"] = at.heuristic_milliseconds;
            return !call_python(*function, progress).is(nb::bool_(false));
        } catch (nb::python_error& raised) {
            callback.remember(std::move(raised));
            return false;
        }
    };
}

Json outcome_json(const UserKernel& kernel, const TuneUserKernelOutcome& outcome, const Files& files) {
    const autotune::UserKernelSpace& counts = kernel.counts();
    Json json = autotune::winner_json(kernel, outcome, files.shader);
    json["table"] = outcome.table.string();
    json["combinations"] = counts.combinations;
    json["legal"] = counts.counted ? Json(counts.legal) : Json();
    json["measured"] = outcome.search ? outcome.search->measured : 0;
    json["rejected"] = outcome.search ? outcome.search->rejected : 0;
    json["interrupted"] = outcome.search && outcome.search->interrupted;
    json["decided"] = outcome.decided;
    json["untried"] = outcome.untried;
    json["seconds"] = outcome.seconds;
    json["unchecked"] = kernel.unchecked_outputs();
    return json;
}

Result<Json> tune(const Files& files, autotune::TuneUserKernelOptions& options, std::filesystem::path table) {
    if (table.empty()) table = default_table_path();
    if (table.empty()) return bad_input("There is no folder for a tuning table; name a file: table=, or $YOLK_TABLE.");
    std::optional<Machine> machine;
    YOLK_TRY(machine, open_machine(files.device));
    YOLK_TRY(
        const std::unique_ptr<UserKernel> kernel,
        UserKernel::create_to_tune(machine->device, machine->dispatcher, files.shader, files.space, files.includes));
    options.open_machine = [&files] { return open_machine(files.device); };
    options.goes_on = [] { return !Interruptible::requested(); };
    YOLK_TRY(const TuneUserKernelOutcome outcome, autotune::tune_user_kernel(machine, *kernel, table, options));
    if (outcome.configuration) return outcome_json(*kernel, outcome, files);
    if (outcome.search && outcome.search->interrupted)
        return Error{ErrorKind::Cancelled, "The search was ended before a right configuration was measured."};
    std::vector<std::string> reasons = outcome.reasons;
    reasons.resize(std::min(reasons.size(), kMostReasons));
    return failed_work("No configuration of '{}' that was tried is right. Reasons:\n  {}", files.shader.string(),
                       fmt::join(reasons, "\n  "));
}

std::string tune_kernel(const std::string& shader, const std::string& space, const std::vector<std::string>& includes,
                        const std::string& device, const std::string& table, const nb::dict& settings,
                        nb::object on_progress) {
    const Files files = files_of(shader, space, includes, device);
    autotune::TuneUserKernelOptions options;
    set_fields(tuning_fields(options), settings);
    const std::vector<std::string> strategies(autotune::strategy_names().begin(), autotune::strategy_names().end());
    if (std::ranges::find(strategies, options.strategy) == strategies.end())
        throw Raised(
            bad_input("There is no strategy '{}'; there are {}.", options.strategy, fmt::join(strategies, ", ")));
    Callback callback;
    options.progress = told(std::move(on_progress), callback);
    std::optional<Result<Json>> result;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        result = tune(files, options, table);
    }
    callback.raise();
    Interruptible::raise_if_requested();
    return unwrap(std::move(*result)).dump();
}

}  // namespace

void bind_tuning(nb::module_& module) {
    module.def("kernel_buffers", &buffers_of, nb::arg("shader"), nb::arg("space"), nb::arg("includes"),
               nb::arg("device"));
    module.def("tune_kernel", &tune_kernel, nb::arg("shader"), nb::arg("space"), nb::arg("includes"), nb::arg("device"),
               nb::arg("table"), nb::arg("settings"), nb::arg("on_progress").none());
}

}  // namespace yolk::python
