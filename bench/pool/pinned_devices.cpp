// SPDX-License-Identifier: Apache-2.0
#include "pinned_devices.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "yolk/noise.hpp"

namespace yolk::bench {
namespace {

std::set<pid_t> threads_of_process() {
    std::set<pid_t> threads;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        const std::string name = entry.path().filename().string();
        pid_t id = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), id).ec == std::errc()) threads.insert(id);
    }
    return threads;
}

/// A thread that has ended by now is no error.
Result<void> hold_to(pid_t thread, const cpu_set_t& cores) {
    if (sched_setaffinity(thread, sizeof(cores), &cores) == 0 || errno == ESRCH) return {};
    return io_error(fmt::format("A thread cannot be held to a core: {}.", std::strerror(errno)), errno);
}
Result<void> hold_to(pid_t thread, std::size_t core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    return hold_to(thread, cores);
}

/// That this process may use, which need not begin at core 0 and need not be all of the machine's.
Result<cpu_set_t> cores_of_process() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return cores;
    return io_error(fmt::format("The cores of this process cannot be listed: {}.", std::strerror(errno)), errno);
}

std::vector<std::size_t> listed(const cpu_set_t& cores) {
    std::vector<std::size_t> numbers;
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &cores)) numbers.push_back(core);
    }
    return numbers;
}

/// Any dispatch makes a driver start its threads.
Result<void> work_a_little(const Context& context) {
    YOLK_TRY(const NoisePlan plan, plan_noise(context.device(), {.element_count = 64}));
    YOLK_TRY(const Buffer out, context.allocate<std::int32_t>(64));
    YOLK_TRY(const BoundNoise bound, plan.bind({.out = out}));
    return context.run([&](Recorder& recorder) { bound.record(recorder, {.seed = 1}); });
}

Result<Context> open_on(const std::string& name, std::size_t core) {
    const std::set<pid_t> before = threads_of_process();
    YOLK_TRY_VOID(hold_to(0, core));  // threads inherit it
    YOLK_TRY(Context context, Context::create({.device = name}));
    YOLK_TRY_VOID(work_a_little(context));
    for (const pid_t thread : threads_of_process()) {
        if (!before.contains(thread)) YOLK_TRY_VOID(hold_to(thread, core));
    }
    return context;
}

}  // namespace

Result<std::vector<Context>> open_pinned() {
    YOLK_TRY(const cpu_set_t all, cores_of_process());
    const std::vector<std::size_t> cores = listed(all);
    if (cores.size() < 2)
        return unsupported("This process may use one core; a core for each of two devices takes two.");
    std::vector<Context> contexts;
    for (const char* name : {"llvmpipe", "SwiftShader"}) {
        YOLK_TRY(Context context, open_on(name, cores[contexts.size()]));
        contexts.push_back(std::move(context));
    }
    YOLK_TRY_VOID(hold_to(0, all));
    return contexts;
}

}  // namespace yolk::bench
