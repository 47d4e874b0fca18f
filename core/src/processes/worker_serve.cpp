// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <new>

#include "worker_messages.hpp"
#include "yolk/internal/core/descriptor.hpp"

namespace yolk {
namespace {

/// Set before there are threads.
bool serving = false;

constexpr int kArguments = 7;
constexpr std::uint64_t kMostRequestBytes = std::uint64_t{64} << 20U;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;  // a sanitizer's shadow is terabytes of address space
#else
constexpr bool kLimitsMemory = true;
#endif

std::uint64_t number(const char* text) {
    std::uint64_t value = 0;
    std::from_chars(text, text + std::string_view(text).size(), value);
    return value;
}

void limit(int resource, std::uint64_t value) {
    rlimit now{};
    ::getrlimit(static_cast<__rlimit_resource_t>(resource), &now);
    now.rlim_max = std::min<rlim_t>(now.rlim_max, value);
    now.rlim_cur = now.rlim_max;
    ::setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

[[noreturn]] void out_of_memory() { ::_exit(kOutOfMemoryStatus); }

void take_limits(char** argv) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::set_new_handler(&out_of_memory);
    limit(RLIMIT_CORE, 0);
    if (const std::uint64_t memory = number(argv[2]); memory != 0 && kLimitsMemory) limit(RLIMIT_AS, memory);
    if (const std::uint64_t stack = number(argv[3]); stack != 0) limit(RLIMIT_STACK, stack);
    if (const std::uint64_t seconds = number(argv[4]); seconds != 0) limit(RLIMIT_CPU, seconds);
    if (std::string_view(argv[5]) != "files") limit(RLIMIT_FSIZE, 0);
}

/// The next message on standard input.
Result<WorkerMessage> read_message() {
    std::string bytes;
    std::array<char, 65536> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read()
    while (true) {
        YOLK_TRY(std::optional<WorkerMessage> message, take_message(bytes, kMostRequestBytes));
        if (message) return *std::move(message);
        const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return io_error("The process that started this worker is gone.", EPIPE);
        bytes.append(block.data(), static_cast<std::size_t>(got));
    }
}

/// Tasks and limits mean to a program what they mean to its own version's worker.
Result<void> same_version(char** argv) {
    if (std::string_view(argv[6]) == YOLK_VERSION) return {};
    return io_error(
        fmt::format("'{}' is of Yolk " YOLK_VERSION
                    " and was started by a program of Yolk {}. Install yolk-worker of that version, or give "
                    "its path in $YOLK_WORKER.",
                    argv[0], argv[6]),
        ENOEXEC);
}

Result<void> send(int out, WorkerMessage message, std::string_view kind) {
    message.insert(message.begin(), std::string(kind));
    const std::string packed = pack_message(message);
    return write_all(out, std::as_bytes(std::span(packed)), "standard output");
}

}  // namespace

Result<WorkerMessage> WorkerCall::ask(const WorkerMessage& message) {
    YOLK_TRY_VOID(send(out_, message, kAsks));
    return read_message();
}

bool is_worker() noexcept { return serving; }

int serve_worker(int argc, char** argv, std::span<const WorkerTask> tasks) {
    const auto task =
        argc != kArguments ? tasks.end() : std::ranges::find(tasks, std::string_view(argv[1]), &WorkerTask::name);
    if (task == tasks.end()) {
        std::fputs(
            "yolk-worker is started by yolk, and by programs that use its libraries; by itself it does nothing.\n",
            stderr);
        return 2;
    }
    serving = true;
    take_limits(argv);
    WorkerCall call;
    // Compilers print to standard output; messages have a descriptor of their own.
    call.out_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    if (Result<WorkerMessage> request = read_message(); request) {
        call.request_ = *std::move(request);
        const Result<void> same = same_version(argv);
        const Result<WorkerMessage> answer = same ? task->run(call) : Result<WorkerMessage>(same.error());
        if (answer) {
            (void)send(call.out_, *answer, kAnswers);
        } else {
            WorkerMessage error = message_of(answer.error());
            error.erase(error.begin());
            (void)send(call.out_, std::move(error), kFails);
        }
    }
    ::_exit(0);
}

}  // namespace yolk
