// SPDX-License-Identifier: Apache-2.0
#include "pinned_devices.hpp"

#include <sched.h>

#include <charconv>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "yolk/primitives/noise.hpp"

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

void hold_to(pid_t thread, int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<std::size_t>(core), &cores);
    static_cast<void>(sched_setaffinity(thread, sizeof(cores), &cores));  // a thread that has ended by now
}

/// Any dispatch makes a driver start its threads.
Result<void> work_a_little(const Context& context) {
    YOLK_TRY(const NoisePlan plan, plan_noise(context.device(), {.element_count = 64}));
    YOLK_TRY(const Buffer out, context.allocate<std::int32_t>(64));
    YOLK_TRY(const BoundNoise bound, plan.bind({.out = out}));
    return context.run([&](Recorder& recorder) { bound.record(recorder, {.seed = 1}); });
}

Result<Context> open_on(const std::string& name, int core) {
    const std::set<pid_t> before = threads_of_process();
    hold_to(0, core);  // threads inherit it
    YOLK_TRY(Context context, Context::create({.device = name}));
    YOLK_TRY_VOID(work_a_little(context));
    for (const pid_t thread : threads_of_process()) {
        if (!before.contains(thread)) hold_to(thread, core);
    }
    return context;
}

}  // namespace

Result<std::vector<Context>> open_pinned() {
    if (std::thread::hardware_concurrency() < 2)
        return unsupported("This machine has one core; a core for each of two devices takes two.");
    cpu_set_t all;
    CPU_ZERO(&all);
    static_cast<void>(sched_getaffinity(0, sizeof(all), &all));
    std::vector<Context> contexts;
    for (const char* name : {"llvmpipe", "SwiftShader"}) {
        YOLK_TRY(Context context, open_on(name, static_cast<int>(contexts.size())));
        contexts.push_back(std::move(context));
    }
    static_cast<void>(sched_setaffinity(0, sizeof(all), &all));
    return contexts;
}

}  // namespace yolk::bench
