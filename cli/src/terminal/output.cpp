// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "interrupt.hpp"

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

/// Of the first write to standard output that failed; 0: none did.
int& output_failure() {
    static int error_number = 0;
    return error_number;
}

}  // namespace

void open_standard_streams() {
    // Opened the wrong way round, so that using them fails as it does where they are closed.
    for (const auto& [stream, mode] :
         {std::pair(STDIN_FILENO, O_WRONLY), {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDONLY}}) {
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) static_cast<void>(open_nowhere(mode).release());
    }
}

void print_text(std::string_view text) {
    errno = 0;
    const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (std::fflush(stdout) == 0 && whole) return;
    if (output_failure() == 0) output_failure() = errno != 0 ? errno : EIO;
    if (errno == EPIPE) InterruptGuard::output_closed();
}

void print_line(std::string_view text) { print_text(printable(text) + '\n'); }
void print_message(std::string_view message) { print_text(printable_message(message) + '\n'); }

void print_json(const Json& value) { print_text(to_line(value) + '\n'); }

int print_outcome(bool as_json, const Json& value, const std::function<void()>& print) {
    if (as_json)
        print_json(value);
    else
        print();
    return 0;
}
int print_outcome(bool as_json, const Json& value, const std::string& line) {
    return print_outcome(as_json, value, [&line] { print_line(line); });
}

void print_note(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

void print_error(std::string_view message) {
    std::fflush(stdout);
    print_note(fmt::format("yolk: error: {}\n", printable_message(message)));
}

Result<void> finish_output() {
    if (InterruptGuard::ended_by_closed_output()) return {};  // that was answered by ending the work
    errno = 0;
    const bool flushed = std::fflush(stdout) == 0;
    if (flushed && std::ferror(stdout) == 0 && output_failure() == 0) return {};
    const int error_number = output_failure() != 0 ? output_failure() : errno;
    return io_error(fmt::format("Standard output could not be written: {}.", std::strerror(error_number)),
                    error_number);
}

StatusLine::StatusLine(bool wanted) : shown_(wanted && output_is_terminal()) {}
void StatusLine::show(std::string_view text) const {
    if (shown_) print_text(fmt::format("\r\033[K{}", text));
}

namespace {

/// That takes the codes which rewrite a line.
bool is_terminal(int stream) {
    const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nothing of ours sets variables
    return ::isatty(stream) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace

bool output_is_terminal() { return is_terminal(STDOUT_FILENO); }
bool errors_are_terminal() { return is_terminal(STDERR_FILENO); }

std::uint32_t terminal_columns() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

std::string table(std::vector<std::vector<std::string>> rows) {
    std::vector<std::size_t> widths;
    for (auto& row : rows) {
        for (std::string& cell : row) cell = shown(cell);
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
        }
        text += '\n';
    }
    if (!text.empty()) text.pop_back();
    return text;
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024.0 && unit + 1 < kUnits.size(); ++unit) value /= 1024.0;
    const bool whole = value == std::floor(value);
    return whole ? fmt::format("{:.0f} {}", value, kUnits[unit]) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string rate_text(double per_second) {
    if (!std::isfinite(per_second)) return "?";
    if (per_second >= 1e9) return fmt::format("{:.2f} G", per_second / 1e9);
    if (per_second >= 1e6) return fmt::format("{:.2f} M", per_second / 1e6);
    if (per_second >= 1e3) return fmt::format("{:.0f} k", per_second / 1e3);
    return fmt::format("{:.0f}", per_second);
}

std::string duration_text(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0.0 || seconds > 3.6e9) return "?";
    const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
    const std::uint64_t minutes = whole / 60 % 60;
    if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, minutes, whole % 60);
    return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string command_name() {
    const char* name = std::getenv("YOLK_COMMAND");  // NOLINT(concurrency-mt-unsafe): nothing of ours sets variables
    return name != nullptr && *name != '\0' ? name : "yolk";
}

std::string shell_quoted(const std::string& text) {
    constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:=@%";
    if (!text.empty() && text.find_first_not_of(kSafe) == std::string::npos) return text;
    if (shown(text) != text) {  // in bash's form with escapes, which a terminal shows and a shell takes
        std::string escaped;
        for (const char c : text) escaped += c == '\\' || c == '\'' ? std::string{'\\', c} : std::string(1, c);
        return "$'" + shown(escaped) + "'";
    }
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::uint64_t peak_resident_bytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts it in KiB
}

}  // namespace yolk::cli
