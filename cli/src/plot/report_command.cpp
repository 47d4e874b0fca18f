// SPDX-License-Identifier: Apache-2.0
#include "report_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "interrupt.hpp"
#include "output.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/report.hpp"

namespace yolk::cli {
namespace {

struct ReportFlags {
    std::vector<std::string> runs;
    std::string out = "report.html";
    bool json = false;
};

std::string count_text(std::size_t count, std::string_view one, std::string_view several) {
    return fmt::format("{} {}", count, count == 1 ? one : several);
}

/// "5 runs of cartpole, 3 tuned shapes in page.html"
std::string report_line(const tasks::ReportContents& contents, const std::string& page) {
    std::vector<std::string> parts;
    if (contents.runs > 0) {
        parts.push_back(
            fmt::format("{} of {}", count_text(contents.runs, "run", "runs"), fmt::join(contents.tasks, ", ")));
    }
    if (contents.shapes > 0) parts.push_back(count_text(contents.shapes, "tuned shape", "tuned shapes"));
    if (contents.searches > 0) {
        parts.push_back(fmt::format("{} of {}", count_text(contents.prompts, "prompt", "prompts"),
                                    count_text(contents.searches, "search", "searches")));
    }
    if (contents.rows > 0) parts.push_back(count_text(contents.rows, "row beside others", "rows beside others"));
    if (contents.bench_rows > 0) parts.push_back(count_text(contents.bench_rows, "rate", "rates"));
    return fmt::format("{} in {}", parts.empty() ? "nothing measured yet" : fmt::format("{}", fmt::join(parts, ", ")),
                       page);
}

}  // namespace

Result<void> check_output_name(const std::string& out, std::string_view ending, std::string_view else_text) {
    const std::filesystem::path path(out);
    if (path.extension() != ending)
        return bad_input("--out is '{}'; a file name that ends in {} is needed{}.", shown(out), ending, else_text);
    std::error_code code;
    const std::filesystem::file_status status = std::filesystem::status(path, code);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        return bad_input("--out '{}' is in the way: it is not a regular file. Move it, or choose another name.",
                         shown(out));
    }
    return {};
}

Result<int> write_report_page(const std::vector<std::string>& runs, const std::string& page, bool json) {
    YOLK_TRY_VOID(check_output_name(page, ".html"));
    const InterruptGuard interrupt;
    const std::vector<std::filesystem::path> paths(runs.begin(), runs.end());
    YOLK_TRY(const tasks::ReportContents contents,
             tasks::write_report(paths, page, {.goes_on = [] { return !InterruptGuard::requested(); }}));
    return print_outcome(json,
                         {{"page", page},
                          {"runs", contents.runs},
                          {"tasks", contents.tasks},
                          {"searches", contents.searches},
                          {"prompts", contents.prompts},
                          {"shapes", contents.shapes},
                          {"rows", contents.rows},
                          {"bench_rows", contents.bench_rows}},
                         report_line(contents, page));
}

Command add_report_command(App& app) {
    const auto flags = std::make_shared<ReportFlags>();
    App* command = app.add_subcommand("report",
                                      "Write a page about runs: curves over seeds, throughput, devices, "
                                      "tuning, prompts, and others beside them");
    command
        ->add_list("runs", flags->runs,
                   "Folders or metrics.jsonl files that train wrote, logs of `yolk system NAME optimize --log`, tuning "
                   "tables and recordings, rows of bench/peers")
        ->required()
        ->type_name("RUN");
    command->add_option("--out", flags->out, "The page to write, a name that ends in .html")
        ->default_str("report.html")
        ->type_name("FILE");
    command->add_flag("--json", flags->json, "Standard output is one JSON object");
    return {command, [flags] { return write_report_page(flags->runs, flags->out, flags->json); }};
}

}  // namespace yolk::cli
