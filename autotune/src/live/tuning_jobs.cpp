// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/tuning_jobs.hpp"

#include <string_view>

#include "yolk/internal/autotune/last_run.hpp"
#include "yolk/internal/context/tuning_key.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/oracle/named_problem.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kLargestShapesFile = 1U << 20U;
/// Of the tuner's own job: about as many as a large recorded space has, padded as the device's algebra pads them.
constexpr std::uint32_t kManyCandidates = 18'176;
/// The oracle computes in double precision on the host, before anything is timed: about so much in ten seconds.
constexpr double kMostOperations = 2e10;

Result<std::vector<std::string>> lines_of_file(const std::filesystem::path& path) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLargestShapesFile));
    std::vector<std::string> lines;
    std::string line;
    for (std::size_t i = 0; i <= bytes.size(); ++i) {
        const char c = i < bytes.size() ? static_cast<char>(bytes[i]) : '\n';
        if (c != '\n' && c != '\r') {
            line += c;
            continue;
        }
        if (line.find_first_not_of(" \t") != std::string::npos && !line.starts_with('#')) lines.push_back(line);
        line.clear();
    }
    if (lines.empty()) return bad_input("'{}' names no shape; see docs/autotune.md.", shown(path));
    return lines;
}

Result<std::vector<std::string>> job_lines(const TuningJob& job) {
    if (!job.lines.empty()) return job.lines;
    if (!job.file.empty()) return lines_of_file(job.file);
    if (job.name == "tuner") return oracle::tuner_job(kManyCandidates);
    if (!job.name.empty() && job.name != "cartpole")
        return bad_input("There is no job '{}'; there are cartpole, tuner, and last for the shapes of the last run.",
                         shown(job.name));
    std::vector<std::string> lines;
    for (const std::string_view line : job.name.empty() ? oracle::named_set() : oracle::cartpole_job())
        lines.emplace_back(line);
    return lines;
}

Result<WantedProblems> problems_of_last_run() {
    YOLK_TRY(const std::vector<ShapeRequest> shapes, last_run_shapes());
    WantedProblems wanted;
    for (const ShapeRequest& asked : shapes) {
        auto problem = oracle::make_shape_problem(asked.family, asked.shape);
        const std::string shape = shape_text(asked.family, asked.shape);
        if (!problem) {
            wanted.skipped.push_back({shape, problem.error().message});
        } else if ((*problem)->work().operations > kMostOperations) {
            wanted.skipped.push_back({shape,
                                      "the host would need minutes to compute the expected results; name it in a "
                                      "--shapes file to tune it nevertheless"});
        } else {
            wanted.problems.push_back(*std::move(problem));
        }
    }
    return wanted;
}

}  // namespace

Result<WantedProblems> wanted_problems(const TuningJob& job) {
    if (job.name == "last") return problems_of_last_run();
    YOLK_TRY(const std::vector<std::string> lines, job_lines(job));
    WantedProblems wanted;
    for (const std::string& line : lines) {
        YOLK_TRY(std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(line));
        wanted.problems.push_back(std::move(problem));
    }
    return wanted;
}

}  // namespace yolk::autotune
