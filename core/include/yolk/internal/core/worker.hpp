// SPDX-License-Identifier: Apache-2.0
// Foreign code (a user's shader in a compiler, in a driver of the processor) runs in a program of its own, yolk-worker,
// with limits, so that a crash or an excess of it is an error here (docs/adr/0039). Messages are lists of byte strings.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

using WorkerMessage = std::vector<std::string>;

/// What the worker takes at most; 0: no limit of its own.
struct WorkerLimits {
    std::uint64_t memory_bytes = 0;  ///< of its address space
    std::uint64_t stack_bytes = 0;   ///< of its first thread
    std::uint64_t cpu_seconds = 0;
    std::chrono::milliseconds time{0};
    std::chrono::milliseconds silence{0};  ///< between two of its messages
    std::uint64_t message_bytes = std::uint64_t{64} << 20U;
    bool writes_files = false;
};

/// How a worker that gave no whole answer ended: "ended by signal 11 (Segmentation fault)", "needed more than 2.0 GiB
/// of memory". The start of a sentence is the caller's.
struct WorkerFailure {
    std::string how{};
    int signal = 0;
};

struct WorkerAnswer {
    WorkerMessage last{};  ///< its last message; empty where there is a failure
    std::optional<WorkerFailure> failure{};
};

/// Told each message but the last; what it gives is the reply that the worker waits for.
using WorkerReply = std::function<Result<WorkerMessage>(WorkerMessage)>;

/// A program of Yolk's beside the running one, in ../libexec/yolk or in ../../libexec/yolk from there, or beside the
/// shared library that has this code. Empty: it is in none of these.
[[nodiscard]] std::filesystem::path find_program(const char* name);
/// $YOLK_WORKER; else where find_program() finds yolk-worker. Error (Io): nowhere.
[[nodiscard]] Result<std::filesystem::path> find_worker();

/// Starts a worker for one task and waits for its end. Any thread. Errors: find_worker's, no process to be had, `stop`,
/// a worker of another version of Yolk, reply's, and those that the worker itself answered with.
[[nodiscard]] Result<WorkerAnswer> call_worker(std::string_view task, const WorkerMessage& request,
                                               const WorkerLimits& limits,
                                               const std::stop_token& stop = std::stop_token{},
                                               const WorkerReply& reply = {});

struct WorkerTask;

/// The worker's side of a call.
class WorkerCall {
   public:
    [[nodiscard]] const WorkerMessage& request() const noexcept { return request_; }
    /// Sends a message and waits for the reply to it. Error (Io): the caller is gone.
    [[nodiscard]] Result<WorkerMessage> ask(const WorkerMessage& message);

   private:
    friend int serve_worker(int, char**, std::span<const WorkerTask>);
    WorkerMessage request_;
    int out_ = -1;
};

struct WorkerTask {
    std::string_view name;
    Result<WorkerMessage> (*run)(WorkerCall& call);
};

/// The whole of yolk-worker's main(): takes its limits, runs the task that it was started for, answers, and ends the
/// process without destructors, whatever threads a driver has left. Returns where it was started by hand.
int serve_worker(int argc, char** argv, std::span<const WorkerTask> tasks);

/// Whether this process is one: what would start another then does its work itself.
[[nodiscard]] bool is_worker() noexcept;

}  // namespace yolk
