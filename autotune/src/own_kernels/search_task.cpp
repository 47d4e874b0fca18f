// SPDX-License-Identifier: Apache-2.0
// The worker's side of a search.
#include "yolk/internal/autotune/search_task.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "search_messages.hpp"
#include "user_kernel_search.hpp"
#include "yolk/context.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

/// The device that the caller has: the same drivers are enumerated in the same order.
Result<Machine> open_machine(const SearchRequest& request) {
    YOLK_TRY(const Instance instance, Instance::create());
    const auto is_it = [&request](const DeviceInfo& info) {
        return info.index == request.device_index && info.uuid == request.device_uuid &&
               info.name == request.device_name;
    };
    if (std::ranges::none_of(instance.devices(), is_it)) {
        return io_error(
            fmt::format("The worker does not find the device '{}' at index {}; have drivers been installed or "
                        "removed meanwhile?",
                        shown(request.device_name), request.device_index),
            0);
    }
    YOLK_TRY(const Context context,
             Context::create(instance, {.device = std::to_string(request.device_index), .tuning = false}));
    DispatcherOptions options;
    if (request.hang_milliseconds > 0) options.hang_limit = std::chrono::milliseconds(request.hang_milliseconds);
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(context.device(), options));
    return Machine{context.device(), std::move(dispatcher)};
}

}  // namespace

Result<WorkerMessage> search_task(WorkerCall& call) {
    const KernelClock::time_point begun = KernelClock::now();
    YOLK_TRY(const SearchRequest request, search_request(call.request()));
    YOLK_TRY(Machine machine, open_machine(request));
    const auto stage = [&call](std::string_view what) { return call.ask({std::string(kStage), std::string(what)}); };
    YOLK_TRY_VOID(stage(kRunsReference));
    const UserKernelFiles& files = request.files;
    YOLK_TRY(const std::unique_ptr<UserKernel> kernel,
             UserKernel::create(machine.device, machine.dispatcher, files.shader, files.space, files.includes));
    YOLK_TRY_VOID(stage("preparing the search"));
    const DeviceInfo& info = machine.device.info();
    const TuningKey key = tuning_key(info, kernel->space(info));
    if (key.shape.variant != request.kernel)
        return bad_input("The files of '{}' changed while the search began; start it again.", shown(files.shader));
    YOLK_TRY(const TuningFile file, TuningFile::open(request.table));
    TuneUserKernelOptions options{
        .strategy = request.strategy, .budget = request.budget, .seed = request.seed, .again = request.again};
    options.progress = [&call](const std::string&, const LiveProgress& progress) {
        const Result<WorkerMessage> reply = call.ask(message_of(progress));
        return reply && !reply->empty() && reply->front() == kGoOn;
    };
    const UserKernelTuning run{.options = options,
                               .kernel = *kernel,
                               .file = file,
                               .key = key,
                               .end = begun + std::chrono::duration_cast<KernelClock::duration>(
                                                  std::chrono::duration<double>(request.seconds))};
    YOLK_TRY(const TuneLiveOutcome outcome, search_once(run, machine));
    return message_of(outcome);
}

}  // namespace yolk::autotune
