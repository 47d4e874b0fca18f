// SPDX-License-Identifier: Apache-2.0
// Standard output for results, standard error for errors and what goes on meanwhile; numbers as people read them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// Where a standard stream is closed (`>&-`), its number would go to the next file that is opened, a checkpoint say,
/// and output would be written into it. Call it before anything else is opened.
void open_standard_streams();

/// To standard output, flushed. Does not fail here: finish_output tells, and a reader that is gone is a request to end.
void print_text(std::string_view text);
/// Text and a newline to standard output, flushed so that a reader at the other end of a pipe sees it at once.
void print_line(std::string_view text);
/// One line: where a value has newlines, the further ones are indented.
void print_message(std::string_view message);
template <class First, class... Rest>
void print_line(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest) {
    print_message(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...));
}
void print_json(const Json& value);
/// How a command ended: as JSON, else what `print` prints, or a line. 0, the exit code.
int print_outcome(bool as_json, const Json& value, const std::function<void()>& print);
int print_outcome(bool as_json, const Json& value, const std::string& line);
void print_error(std::string_view message);
/// To standard error, as it is; whether it arrives or not.
void print_note(std::string_view text);

/// Whether everything written to standard output arrived; a full disk must not look like success.
[[nodiscard]] Result<void> finish_output();

/// A line of standard output that is rewritten while something goes on. Nothing where that is not a terminal.
class StatusLine {
   public:
    explicit StatusLine(bool wanted);
    void show(std::string_view text) const;
    /// Takes the line away.
    void finish() const { show({}); }

   private:
    bool shown_;
};

[[nodiscard]] bool output_is_terminal();
[[nodiscard]] bool errors_are_terminal();
/// Columns of the terminal behind standard output; 80 where that cannot be told.
[[nodiscard]] std::uint32_t terminal_columns();

/// Rows of cells under a heading, columns padded to their widest cell; the last column is not padded.
[[nodiscard]] std::string table(std::vector<std::vector<std::string>> rows);

[[nodiscard]] std::string bytes_text(std::uint64_t bytes);  ///< "128 MiB", "15.6 GiB"
[[nodiscard]] std::string rate_text(double per_second);     ///< "1.23 M", "450 k", "12"
[[nodiscard]] std::string duration_text(double seconds);    ///< "0:07", "12:34", "1:02:03"

/// How this command was called, for lines that tell what to type next: $YOLK_COMMAND (tools/run sets it), else "yolk".
[[nodiscard]] std::string command_name();
/// Quoted for a shell where it must be.
[[nodiscard]] std::string shell_quoted(const std::string& text);

/// The process's peak resident size (getrusage).
[[nodiscard]] std::uint64_t peak_resident_bytes();

}  // namespace yolk::cli
