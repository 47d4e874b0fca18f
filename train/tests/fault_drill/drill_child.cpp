// SPDX-License-Identifier: Apache-2.0
#include "drill_child.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "yolk/internal/runtime/instance.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/internal/train/processes.hpp"

namespace yolk::train {
namespace {

using testing::FaultInjector;
using testing::FaultKind;

/// After a while, wherever the run is by then.
void kill_soon(std::uint32_t microseconds) {
    std::thread([microseconds] {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        ::kill(::getpid(), SIGKILL);
    }).detach();
}

void limit_files(std::uint32_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);  // writing fails instead
    const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
}

void begin(const DrillFault& fault, FaultInjector& faults) {
    if (fault.kind == "kill") kill_soon(fault.number);
    if (fault.kind == "lost") faults.fail_nth_call(1 + fault.number, FaultKind::DeviceLost);
    if (fault.kind == "hung") {
        faults.only_on_device(fault.device);
        faults.hang_submissions(true);
    }
    if (fault.kind == "wrong") {
        faults.only_on_device(fault.device);
        faults.spoil_multiplications(true);
    }
    if (fault.kind == "full") limit_files(fault.number);
}

/// What an earlier process has specialized: most of the start of the hundreds that a drill of 50 takes.
std::filesystem::path kept_kernels() {
    const char* const folder = std::getenv("YOLK_TEST_KERNELS");  // NOLINT(concurrency-mt-unsafe): nothing sets it
    return folder == nullptr ? "" : folder;
}

/// One process uses both drivers, or the only one twice; of two ranks each has one of these devices, or both.
Result<std::vector<Device>> open_devices(const Instance& instance, const Processes* ranks, bool both) {
    std::vector<Device> devices;
    const auto present = static_cast<std::uint32_t>(instance.devices().size());
    for (std::uint32_t i = 0; i < 2 && present != 0; ++i) {
        if (ranks != nullptr && !both && i != ranks->rank() % 2) continue;
        YOLK_TRY(const Device device, Device::create(instance, i % present, {.pipeline_cache_folder = kept_kernels()}));
        YOLK_TRY_VOID(probe(device));
        devices.push_back(device);
    }
    return devices;
}

Result<std::string> run_once(const std::filesystem::path& out, const DrillFault& fault, bool resume, Processes* ranks) {
    FaultInjector faults;
    YOLK_TRY(const Instance instance, Instance::create());
    YOLK_TRY(const std::vector<Device> devices, open_devices(instance, ranks, fault.both));
    const bool strikes_here = ranks == nullptr || ranks->rank() == fault.rank;
    Strike strike{.devices = devices, .exchange = ranks};
    if (fault.kind == "wrong") strike.audit = 1.0;
    // Elsewhere a busy machine is no reason to give a device up.
    if (fault.kind == "hung" && strikes_here) strike.hang_limit = std::chrono::seconds(3);
    // Kernels are spoilt when they are made, so this one begins with the run.
    if (strikes_here && (fault.generation == 0 || fault.kind == "wrong")) begin(fault, faults);
    strike.on_generation = [&](std::uint32_t generations) {
        if (strikes_here && fault.kind != "wrong" && generations == fault.generation) begin(fault, faults);
    };
    if (fault.system) return drill_system(out, resume, strike);
    TrainOptions options = drill_options(out);
    options.resume = resume;
    options.audit = strike.audit;
    options.hang_limit = strike.hang_limit;
    const evolve::Devices here(devices);
    YOLK_TRY(const TrainOutcome outcome,
             train(ranks == nullptr ? here : here.with(*ranks), options, [&](const GenerationReport& report) {
                 strike.on_generation(report.generation + 1);
                 return true;
             }));
    if (!outcome.losses.empty()) std::printf("dropped: %s\n", outcome.losses.c_str());
    return outcome.state_hash;
}

}  // namespace

std::string to_text(const DrillFault& fault) {
    return fmt::format("{} {} {} {} {} {} {}", fault.kind, fault.number, fault.generation, fault.rank, fault.device,
                       fault.both ? 1 : 0, fault.system ? 1 : 0);
}

DrillFault parse_fault(const std::string& text) {
    DrillFault fault;
    std::istringstream words(text);
    words >> fault.kind >> fault.number >> fault.generation >> fault.rank >> fault.device >> fault.both >> fault.system;
    return fault;
}

TrainOptions drill_options(const std::filesystem::path& out) {
    return {.evolution = {.population = 64, .optimizer = OptimizerRule::Momentum, .seed = 5},
            .network = {.widths = {4, 8, 2}},
            .generations = 8,
            .stop_when_solved = false,
            .max_steps = 25,
            .out = out,
            .checkpoint_every = 3,
            .evaluation_episodes = 4,
            .rollout_config = RolloutConfig{.unrolled = false}};  // quick to compile
}

int run_drill_child(int argc, char** argv) {
    if (argc != 4) return 2;
    std::unique_ptr<Processes> ranks;
    if (const std::optional<Launch> launch = seen_launch()) {
        Result<std::unique_ptr<Processes>> joined = join_processes(*launch);
        if (!joined) return std::fprintf(stderr, "%s\n", joined.error().message.c_str()), 1;
        ranks = std::move(joined).value();
    }
    const Result<std::string> hash =
        run_once(argv[1], parse_fault(argv[2]), std::string(argv[3]) == "resume", ranks.get());
    if (hash) {
        if (!ranks || ranks->rank() == 0) std::printf("state %s\n", hash->c_str());
        return 0;
    }
    std::fprintf(stderr, "%s\n", hash.error().message.c_str());
    // The other rank may wait for what does not come.
    if (ranks) ranks->abort(1);
    return 1;
}

}  // namespace yolk::train
