// SPDX-License-Identifier: Apache-2.0
#include "tune_jobs.hpp"

#include <fmt/format.h>

#include <string_view>

#include "last_run.hpp"
#include "yolk/autotune/tuning_key.hpp"
#include "yolk/core/file.hpp"
#include "yolk/oracle/named_problem.hpp"
#include "yolk/oracle/shape_problem.hpp"

namespace yolk::cli {
namespace {

constexpr std::size_t kLargestShapesFile = 1U << 20U;
/// Of the tuner's own job: about as many as a large recorded space has, padded as the device's algebra pads them.
constexpr std::uint32_t kManyCandidates = 18'176;
/// The oracle computes in double precision on the host, before anything is timed: about so much in ten seconds.
constexpr double kMostOperations = 2e10;

Result<std::vector<std::string>> shape_lines(const LiveFlags& flags) {
    std::vector<std::string> lines;
    if (!flags.shapes.empty()) {
        YOLK_TRY(const std::vector<std::byte> bytes, read_file(flags.shapes, kLargestShapesFile));
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
        if (lines.empty()) return bad_input(fmt::format("'{}' names no shape; see docs/autotune.md.", flags.shapes));
        return lines;
    }
    if (flags.job == "tuner") return oracle::tuner_job(kManyCandidates);
    if (!flags.job.empty() && flags.job != "cartpole")
        return bad_input(fmt::format(
            "There is no job '{}'; there are cartpole, tuner, and last for the shapes of the last run.", flags.job));
    for (const std::string_view line : flags.job.empty() ? oracle::named_set() : oracle::cartpole_job())
        lines.emplace_back(line);
    return lines;
}

Result<WantedProblems> problems_of_last_run(const Device& device) {
    YOLK_TRY(const std::vector<ShapeRequest> shapes, last_run_shapes());
    WantedProblems wanted;
    for (const ShapeRequest& asked : shapes) {
        auto problem = oracle::make_shape_problem(device.usable_info(), asked.family, asked.shape);
        const std::string shape = autotune::shape_text(asked.family, asked.shape);
        if (!problem) {
            wanted.skipped.push_back({shape, problem.error().message});
        } else if ((*problem)->work().operations > kMostOperations) {
            wanted.skipped.push_back(
                {shape,
                 "the host would compute for minutes what it is held against; name it in a --shapes file to tune "
                 "it nevertheless"});
        } else {
            wanted.problems.push_back(*std::move(problem));
        }
    }
    return wanted;
}

}  // namespace

Result<WantedProblems> wanted_problems(const LiveFlags& flags, const Device& device) {
    if (flags.job == "last") return problems_of_last_run(device);
    YOLK_TRY(const std::vector<std::string> lines, shape_lines(flags));
    WantedProblems wanted;
    for (const std::string& line : lines) {
        YOLK_TRY(std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(line));
        wanted.problems.push_back(std::move(problem));
    }
    return wanted;
}

}  // namespace yolk::cli
