// SPDX-License-Identifier: Apache-2.0
// An environment that is a program of its own.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "program_messages.hpp"
#include "yolk/host_environment.hpp"
#include "yolk/internal/core/child_process.hpp"

namespace yolk::train {
namespace {

constexpr std::chrono::seconds kGrace{2};  // after the end is told, until the process is killed
constexpr std::uint64_t kMostTextBytes = std::uint64_t{1} << 16U;
constexpr std::uint32_t kMostLanesAtOnce = 1024;
constexpr const char* kOneAnswer = "it must write one answer for each message, of the message's kind.";

/// A program that answers questions one at a time. Its conversation (run_program) has a thread of its own, which waits
/// with the last answer for the next question.
class ProgramProcess {
   public:
    explicit ProgramProcess(const HostProgram& program);
    ~ProgramProcess();
    ProgramProcess(const ProgramProcess&) = delete;
    ProgramProcess& operator=(const ProgramProcess&) = delete;

    /// The answer, of at most `most_bytes`. Without a question: what it says first. Errors: it has ended, it was ended.
    [[nodiscard]] Result<ProgramMessage> ask(std::string question, std::uint64_t most_bytes);

   private:
    [[nodiscard]] Result<std::string> take(std::string& output);
    [[nodiscard]] Error ending() const;

    std::string command_;
    std::mutex guard_;
    std::condition_variable changed_;
    std::uint64_t most_bytes_ = kMostTextBytes;  // of the next answer; as all below, under guard_
    std::optional<std::string> question_{};      // that it has not got yet
    std::optional<ProgramMessage> answer_{};     // that nobody has taken yet
    bool told_to_end_ = false;                   // nobody takes an answer or asks any more
    std::optional<Result<ProgramRun>> ended_{};
    std::jthread conversation_{};
};

ProgramProcess::ProgramProcess(const HostProgram& program) : command_(program.command) {
    const ChildProgram child{.command = {"/bin/sh", "-c", "exec " + program.command},
                             .timeout = std::chrono::milliseconds(0),
                             .silence = program.timeout,
                             .passes_errors = true,
                             .max_output_bytes = std::uint64_t{1} << 33U};
    conversation_ = std::jthread([this, child](const std::stop_token& stop) {
        Result<ProgramRun> run = run_program(child, "", stop, [this](std::string& output) { return take(output); });
        const std::scoped_lock lock(guard_);
        ended_ = std::move(run);
        changed_.notify_all();
    });
}

ProgramProcess::~ProgramProcess() {
    std::unique_lock lock(guard_);
    question_ = packed(ProgramMessageKind::End, "");
    told_to_end_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kGrace, [this] { return ended_.has_value(); });
    lock.unlock();
    conversation_.request_stop();
}

/// On the conversation's thread: `output` is what the program has written.
Result<std::string> ProgramProcess::take(std::string& output) {
    std::unique_lock lock(guard_);
    if (told_to_end_) {
        output.clear();
        return std::exchange(question_, std::nullopt).value_or("");
    }
    YOLK_TRY(std::optional<ProgramMessage> message, take_program_message(output, most_bytes_));
    if (!message) return std::string();
    if (!output.empty()) return bad_input("it wrote {} bytes more than one answer; {}", output.size(), kOneAnswer);
    answer_ = std::move(message);
    changed_.notify_all();
    changed_.wait(lock, [this] { return question_.has_value(); });
    return *std::exchange(question_, std::nullopt);
}

Error ProgramProcess::ending() const {
    const Result<ProgramRun>& run = *ended_;
    if (!run) {
        Error error = run.error();
        error.message = fmt::format("Program '{}': {}", command_, error.message);
        return error;
    }
    const std::string how =
        run->signal != 0 ? fmt::format("signal {}", run->signal) : fmt::format("status {}", run->status);
    return io_error(fmt::format("Program '{}' has ended with {}; it must run until it is told to end.{}", command_, how,
                                quoted_errors(run->error_tail)),
                    0);
}

Result<ProgramMessage> ProgramProcess::ask(std::string question, std::uint64_t most_bytes) {
    std::unique_lock lock(guard_);
    most_bytes_ = std::max(most_bytes, kMostTextBytes);
    if (!question.empty()) {
        question_ = std::move(question);
        changed_.notify_all();
    }
    changed_.wait(lock, [this] { return answer_.has_value() || ended_.has_value(); });
    if (!answer_) return ending();
    ProgramMessage answer = *std::exchange(answer_, std::nullopt);
    if (answer.kind != ProgramMessageKind::Error) return answer;
    return failed_work("Program '{}' says: {}", command_, answer.payload);
}

template <class T>
void append(std::string& to, std::span<const T> values) {
    to.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

template <class T>
void take_from(std::string_view& from, std::span<T> to) {
    std::memcpy(to.data(), from.data(), to.size_bytes());
    from.remove_prefix(to.size_bytes());
}

class ProgramEnvironment final : public HostEnvironment {
   public:
    explicit ProgramEnvironment(const HostProgram& program) : process_(program), flags_(program.lanes) {}

    [[nodiscard]] Result<void> begin(std::uint32_t lanes) {
        YOLK_TRY(const ProgramMessage hello, process_.ask("", kMostTextBytes));
        if (hello.kind != ProgramMessageKind::Hello)
            return bad_input("The program begins with another message than its hello.");
        YOLK_TRY(info_, read_hello(hello.payload, lanes));
        std::string payload;
        append(payload, std::span<const std::uint32_t>(&info_.lanes, 1));
        YOLK_TRY_VOID(ask(ProgramMessageKind::Lanes, payload, 0, "nothing"));
        return {};
    }
    [[nodiscard]] const HostEnvironmentInfo& info() const noexcept override { return info_; }
    [[nodiscard]] Result<void> reset(std::span<const std::uint32_t> seeds, std::span<float> observations) override {
        std::string payload;
        append(payload, seeds);
        YOLK_TRY(const std::string answer, ask(ProgramMessageKind::Reset, payload, observations.size_bytes(),
                                               fmt::format("{} observations", info_.observation_count)));
        std::string_view rest = answer;
        take_from(rest, observations);
        return {};
    }
    [[nodiscard]] Result<void> step(const HostStep& step) override {
        std::string payload;
        append(payload, step.actions);
        std::ranges::copy(step.live, flags_.begin());
        append(payload, std::span<const std::uint32_t>(flags_));
        YOLK_TRY(const std::string answer,
                 ask(ProgramMessageKind::Step, payload, step.observations.size_bytes() + 8 * flags_.size(),
                     fmt::format("{} observations, a reward and a flag", info_.observation_count)));
        std::string_view rest = answer;
        take_from(rest, step.observations);
        take_from(rest, step.rewards);
        take_from(rest, std::span(flags_));
        for (std::size_t lane = 0; lane < flags_.size(); ++lane) {
            if (flags_[lane] > 3)
                return bad_input("lane {} ended with flag {}; 0, 1 (terminated), 2 (truncated) or 3 is needed.", lane,
                                 flags_[lane]);
            step.terminated[lane] = flags_[lane] & 1U;
            step.truncated[lane] = flags_[lane] & 2U;
        }
        return {};
    }

   private:
    [[nodiscard]] Result<std::string> ask(ProgramMessageKind kind, std::string_view payload, std::uint64_t bytes,
                                          std::string_view of_each) {
        YOLK_TRY(ProgramMessage answer, process_.ask(packed(kind, payload), bytes));
        if (answer.kind != kind) {
            return bad_input("the program answered a message of kind {} with one of kind {}; {}",
                             static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(answer.kind), kOneAnswer);
        }
        if (answer.payload.size() != bytes) {
            return bad_input("the program answered with {} bytes; {} are expected, {} of each of {} lanes.",
                             answer.payload.size(), bytes, of_each, info_.lanes);
        }
        return std::move(answer.payload);
    }

    ProgramProcess process_;
    HostEnvironmentInfo info_;
    std::vector<std::uint32_t> flags_;
};

}  // namespace

std::uint32_t host_lanes(std::uint32_t members, std::uint32_t processes) {
    const std::uint32_t each = std::max(1U, processes);
    return std::clamp((members + each - 1) / each, 1U, kMostLanesAtOnce);
}

Result<HostEnvironments> start_host_program(const HostProgram& program) {
    constexpr std::uint32_t kMostProcesses = 1024;
    if (program.command.empty()) return bad_input("The program that steps the environments has no command.");
    if (program.processes < 1 || program.processes > kMostProcesses || program.lanes < 1 ||
        program.lanes > kMaxHostLanes || program.timeout.count() <= 0) {
        return bad_input(
            "The program '{}' was to run in {} processes of {} lanes, with {} ms for an answer; from 1 to {} "
            "processes, "
            "from 1 to {} lanes and a time are needed.",
            program.command, program.processes, program.lanes, program.timeout.count(), kMostProcesses, kMaxHostLanes);
    }
    std::vector<std::shared_ptr<ProgramEnvironment>> started;  // all at once, since each may take seconds
    for (std::uint32_t i = 0; i < program.processes; ++i)
        started.push_back(std::make_shared<ProgramEnvironment>(program));
    HostEnvironments all;
    for (auto& environment : started) {
        if (auto begun = environment->begin(program.lanes); !begun) {
            Error error = std::move(begun).error();
            error.message = fmt::format("The program '{}' cannot be used: {}", program.command, error.message);
            return error;
        }
        all.push_back(std::move(environment));
    }
    return all;
}

}  // namespace yolk::train
