// SPDX-License-Identifier: Apache-2.0
// The child is reaped last: until then its id, and that of its group, cannot become another's.
#include "yolk/internal/core/child_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "spawn.hpp"

namespace yolk {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kErrorTail = 2048;
constexpr std::chrono::milliseconds kTick{10};  // between looks at the child where the kernel has no pidfd

/// Keeps SIGPIPE from this thread while it writes to a child that may have stopped reading; other threads and the
/// process's own handler are left alone.
class NoSigpipe {
   public:
    NoSigpipe() noexcept {
        ::sigemptyset(&sigpipe_);
        ::sigaddset(&sigpipe_, SIGPIPE);
        sigset_t pending;
        ::sigpending(&pending);
        was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
        ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
    }
    ~NoSigpipe() {
        if (!was_pending_) {
            const timespec none{};
            while (::sigtimedwait(&sigpipe_, nullptr, &none) == -1 && errno == EINTR) {}
        }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    NoSigpipe(const NoSigpipe&) = delete;
    NoSigpipe& operator=(const NoSigpipe&) = delete;

   private:
    sigset_t sigpipe_{};
    sigset_t before_{};
    bool was_pending_ = false;
};

/// Whether it has ended; it stays there to be reaped.
bool has_ended(pid_t child) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

/// As waitpid() has it.
int reap(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) == -1 && errno == EINTR) {}
    return status;
}

/// Talks to one child until it has ended or must be.
class Conversation {
   public:
    Conversation(const ChildProgram& program, std::string_view input, const ChildAnswer& answer, Child child)
        : program_(program), input_(input), answer_(answer), child_(std::move(child)) {
        // The kernel tells when a child ends; 434 is pidfd_open, without a flag.
        pidfd_ = Descriptor(static_cast<int>(::syscall(434, child_.id, 0U)));
        wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    }
    ~Conversation() {
        if (child_.id > 0) finish();
    }
    Conversation(const Conversation&) = delete;
    Conversation& operator=(const Conversation&) = delete;

    Result<ProgramRun> run(const std::stop_token& stop);

   private:
    enum class End { Itself, Timeout, Silence, Stop, Output, Answer };
    End talk(const std::stop_token& stop);
    void wait(std::chrono::nanoseconds limit);
    void write_input();
    void read_output();
    [[nodiscard]] Result<void> answer();
    void read_errors();
    void terminate();
    int finish();
    Error error_for(End end) const;

    const ChildProgram& program_;
    std::string_view input_;  ///< what is left of it
    const ChildAnswer& answer_;
    std::string replies_;  ///< to be written after the input
    Result<void> answered_{};
    Child child_;
    Descriptor pidfd_;
    Descriptor wake_;
    ProgramRun run_{};
    bool too_much_ = false;
};

/// Until a descriptor is ready, or the child has ended (with a pidfd), or the limit.
void Conversation::wait(std::chrono::nanoseconds limit) {
    const bool writes = !input_.empty() || !replies_.empty();
    const std::array<pollfd, 5> all{pollfd{writes ? child_.in.get() : -1, POLLOUT, 0},
                                    pollfd{child_.out.get(), POLLIN, 0}, pollfd{child_.err.get(), POLLIN, 0},
                                    pollfd{pidfd_.get(), POLLIN, 0},
                                    pollfd{wake_.get(), POLLIN, 0}};  // those below 0 are left out
    std::array<pollfd, 5> polled = all;
    if (!pidfd_.is_open() || !wake_.is_open()) limit = std::min<std::chrono::nanoseconds>(limit, kTick);
    limit = std::max<std::chrono::nanoseconds>(limit, std::chrono::nanoseconds(0));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
    ::ppoll(polled.data(), polled.size(), &time, nullptr);
}

void Conversation::write_input() {
    if (!child_.in.is_open()) return;
    const NoSigpipe guard;
    while (!input_.empty() || !replies_.empty()) {
        const std::string_view next = input_.empty() ? std::string_view(replies_) : input_;
        const ssize_t written = ::write(child_.in.get(), next.data(), next.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN) return;
        if (written < 0) break;  // it does not read any further, which it need not
        const auto count = static_cast<std::size_t>(written);
        if (input_.empty()) {
            replies_.erase(0, count);
        } else {
            input_.remove_prefix(count);
        }
    }
    if (!answer_ || !input_.empty() || !replies_.empty()) child_.in.close();
}

/// Appends what there is to read; false where that is nothing, at the end of a pipe too, which is closed.
bool read_some(Descriptor& from, std::string& to) {
    std::array<char, 65536> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read()
    ssize_t got = -1;
    do got = ::read(from.get(), block.data(), block.size());
    while (got < 0 && errno == EINTR);
    if (got > 0) to.append(block.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN)) from.close();
    return got > 0;
}

void Conversation::read_output() {
    while (child_.out.is_open() && !too_much_ && read_some(child_.out, run_.output))
        too_much_ = run_.output.size() > program_.max_output_bytes;
}

/// Whoever leads the conversation takes from the output what is whole.
Result<void> Conversation::answer() {
    if (!answer_ || run_.output.empty() || too_much_) return {};
    YOLK_TRY(const std::string reply, answer_(run_.output));
    if (reply.empty()) return {};
    read_output();
    if (!run_.output.empty()) {
        return bad_input(
            "it wrote {} bytes before it got the message that they answer; it must write one answer for "
            "each message.",
            run_.output.size());
    }
    replies_ += reply;
    return {};
}

void Conversation::read_errors() {
    // Bounded, so that a child that never stops writing cannot keep us from looking at the clock.
    for (int i = 0; i < 16 && child_.err.is_open(); ++i) {
        const std::size_t before = run_.error_tail.size();
        if (!read_some(child_.err, run_.error_tail)) break;
        // Where nobody takes it, it is in the tail.
        if (program_.passes_errors) [[maybe_unused]]
            const ssize_t passed = ::write(STDERR_FILENO, &run_.error_tail[before], run_.error_tail.size() - before);
        if (run_.error_tail.size() > kErrorTail) run_.error_tail.erase(0, run_.error_tail.size() - kErrorTail);
    }
}

Conversation::End Conversation::talk(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
    });
    const Clock::time_point begun = Clock::now();
    Clock::time_point heard = begun;
    while (true) {
        const bool ended = has_ended(child_.id);  // asked first: what it wrote before is read below
        write_input();
        const std::size_t before = run_.output.size();
        read_output();
        const bool spoke = run_.output.size() > before;
        if (answered_ = answer(); !answered_) return End::Answer;
        if (spoke) heard = Clock::now();  // after the answer, which is the caller's time
        write_input();
        read_errors();
        if (too_much_) return End::Output;
        if (ended) return End::Itself;
        if (stop.stop_requested()) return End::Stop;
        const Clock::time_point now = Clock::now();
        std::chrono::nanoseconds left = std::chrono::hours(1);
        if (program_.timeout.count() > 0) left = program_.timeout - (now - begun);
        if (left.count() <= 0) return End::Timeout;
        if (program_.silence.count() > 0) {
            const std::chrono::nanoseconds quiet = program_.silence - (now - heard);
            if (quiet.count() <= 0) return End::Silence;
            left = std::min(left, quiet);
        }
        wait(left);
    }
}

/// SIGTERM to the group, and time to clean up; what it prints meanwhile is thrown away.
void Conversation::terminate() {
    ::kill(-child_.id, SIGTERM);
    child_.in.close();
    const Clock::time_point until = Clock::now() + program_.grace;
    while (!has_ended(child_.id) && Clock::now() < until) {
        run_.output.clear();
        too_much_ = false;
        read_output();
        read_errors();
        wake_.close();
        wait(until - Clock::now());
    }
}

/// Nothing of the group is left; the status of the child itself.
int Conversation::finish() {
    ::kill(-child_.id, SIGKILL);
    ::kill(child_.id, SIGKILL);  // it may have moved to another group
    return reap(std::exchange(child_.id, -1));
}

Error Conversation::error_for(End end) const {
    const std::string& name = program_.command.front();
    const std::string errors = quoted_errors(run_.error_tail);
    if (end == End::Timeout) {
        return io_error(fmt::format("Program '{}' had not ended after {} ms and was killed with its children.{}", name,
                                    program_.timeout.count(), errors),
                        ETIMEDOUT);
    }
    if (end == End::Silence) {
        return io_error(fmt::format("Program '{}' had printed nothing for {} ms and was killed with its children.{}",
                                    name, program_.silence.count(), errors),
                        ETIME);
    }
    if (end == End::Stop) {
        return io_error(
            fmt::format("Program '{}' was killed with its children: its caller asked to stop.{}", name, errors),
            ECANCELED);
    }
    return io_error(fmt::format("Program '{}' printed more than {} bytes and was killed with its children; raise "
                                "max_output_bytes or print less.{}",
                                name, program_.max_output_bytes, errors),
                    EFBIG);
}

Result<ProgramRun> Conversation::run(const std::stop_token& stop) {
    const End end = talk(stop);
    if (end != End::Itself) {
        terminate();
        finish();
        return end == End::Answer ? answered_.error() : error_for(end);
    }
    const int status = finish();
    run_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    run_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + run_.signal;
    return std::move(run_);
}

}  // namespace

std::string quoted_errors(std::string_view tail) {
    while (!tail.empty() && (tail.back() == '\n' || tail.back() == '\r')) tail.remove_suffix(1);
    if (tail.empty()) return "";
    constexpr std::size_t kShown = 600;
    if (tail.size() > kShown) tail = tail.substr(tail.size() - kShown);
    return fmt::format(" Its standard error ends with: {}", tail);
}

Result<ProgramRun> run_program(const ChildProgram& program, std::string_view input, const std::stop_token& stop,
                               const ChildAnswer& answer) {
    YOLK_TRY_VOID(check_program(program));
    YOLK_TRY(Child child, spawn(program));
    return Conversation(program, input, answer, std::move(child)).run(stop);
}

}  // namespace yolk
