// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/worker.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "worker_messages.hpp"
#include "yolk/internal/core/child_process.hpp"
#include "yolk/internal/core/memory.hpp"

namespace yolk {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "yolk-worker";
constexpr std::string_view kLibexec = "libexec/yolk";

/// Takes what the worker says off its output.
class Listener {
   public:
    Listener(const WorkerLimits& limits, const WorkerReply& reply) : limits_(limits), reply_(reply) {}

    Result<std::string> operator()(std::string& output) {
        std::string replies;
        while (true) {
            YOLK_TRY(std::optional<WorkerMessage> message, take_message(output, limits_.message_bytes));
            if (!message) return replies;
            if (!message->empty() && message->front() == kAsks && reply_) {
                message->erase(message->begin());
                YOLK_TRY(const WorkerMessage reply, reply_(*std::move(message)));
                replies += pack_message(reply);
            } else {
                last_ = *std::move(message);
            }
        }
    }
    [[nodiscard]] const WorkerMessage& last() const noexcept { return last_; }

   private:
    const WorkerLimits& limits_;
    const WorkerReply& reply_;
    WorkerMessage last_;
};

WorkerFailure failure_of(const ProgramRun& run, const WorkerLimits& limits) {
    if (run.signal == SIGXCPU || (run.signal == SIGKILL && limits.cpu_seconds != 0))
        return {fmt::format("took more than {} s of processor time", limits.cpu_seconds), run.signal};
    if (run.signal != 0) {
        const char* const name = ::sigdescr_np(run.signal);
        return {fmt::format("was ended by signal {} ({})", run.signal, name != nullptr ? name : "unknown"), run.signal};
    }
    if (run.status == kOutOfMemoryStatus)
        return {limits.memory_bytes == 0 ? std::string("could have no more memory")
                                         : fmt::format("needed more than {} of memory", size_text(limits.memory_bytes)),
                0};
    return {fmt::format("ended with status {}.{}", run.status, quoted_errors(run.error_tail)), 0};
}

std::optional<WorkerFailure> failure_of(const Error& error, const WorkerLimits& limits) {
    if (error.kind != ErrorKind::Io) return std::nullopt;
    const auto seconds = [](std::chrono::milliseconds limit) { return static_cast<double>(limit.count()) / 1e3; };
    switch (error.native) {
        case EFBIG: return WorkerFailure{.how = "answered with too much"};
        case ETIMEDOUT: return WorkerFailure{.how = fmt::format("had not ended after {:.1f} s", seconds(limits.time))};
        case ETIME: return WorkerFailure{.how = fmt::format("made no progress for {:.1f} s", seconds(limits.silence))};
        default: return std::nullopt;
    }
}

fs::path folder_of_this_program() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/// The folder of the shared library that contains this code, if an interpreter loaded one; else the program's folder.
fs::path folder_of_this_code() {
    Dl_info found{};
    if (::dladdr(reinterpret_cast<const void*>(&find_worker), &found) == 0 || found.dli_fname == nullptr) return {};
    return fs::path(found.dli_fname).parent_path();
}

}  // namespace

fs::path find_program(const char* name) {
    std::error_code error;
    const fs::path folder = folder_of_this_program();
    for (const fs::path& place : {folder / name, folder / ".." / kLibexec / name, folder / "../.." / kLibexec / name,
                                  folder_of_this_code() / name}) {
        if (fs::is_regular_file(place, error)) return fs::weakly_canonical(place, error);
    }
    return {};
}

Result<fs::path> find_worker() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours sets it
    if (const char* const given = std::getenv("YOLK_WORKER"); given != nullptr && *given != '\0')
        return fs::path(given);
    fs::path found = find_program(kName);
    if (!found.empty()) return found;
    return io_error(
        fmt::format("Users' shaders are compiled, and run on the processor, by the program {}, which is not in "
                    "'{}' nor in '../{}' from there. Install it, or give its path in $YOLK_WORKER.",
                    kName, folder_of_this_program().string(), kLibexec),
        ENOENT);
}

Result<WorkerAnswer> call_worker(std::string_view task, const WorkerMessage& request, const WorkerLimits& limits,
                                 const std::stop_token& stop, const WorkerReply& reply) {
    YOLK_TRY(const fs::path worker, find_worker());
    const ChildProgram program{.command = {worker.string(), std::string(task), std::to_string(limits.memory_bytes),
                                           std::to_string(limits.stack_bytes), std::to_string(limits.cpu_seconds),
                                           limits.writes_files ? "files" : "no-files", YOLK_VERSION},
                               .timeout = limits.time,
                               .silence = limits.silence,
                               .max_output_bytes = limits.message_bytes + 64};
    Listener listener(limits, reply);
    const Result<ProgramRun> run = run_program(program, pack_message(request), stop,
                                               [&listener](std::string& output) { return listener(output); });
    if (listener.last().empty()) {
        std::optional<WorkerFailure> failure = run ? failure_of(*run, limits) : failure_of(run.error(), limits);
        if (!failure) return run.error();
        return WorkerAnswer{.failure = std::move(failure)};
    }
    WorkerMessage last = listener.last();
    if (last.front() == kFails) return error_of(last);
    last.erase(last.begin());
    return WorkerAnswer{.last = std::move(last)};
}

}  // namespace yolk
