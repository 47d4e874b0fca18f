// SPDX-License-Identifier: Apache-2.0
#include "tune_prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "yolk/autotune/portfolio.hpp"
#include "yolk/autotune/train_prior.hpp"
#include "yolk/autotune/tuning_file.hpp"
#include "yolk/core/log.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kDefaultPriorBudget = 50;
constexpr std::uint32_t kLargestPriorBudget = 1000;
constexpr std::uint32_t kLargestGenerations = 100'000;
constexpr std::uint32_t kLargestPriorPopulation = 4096;

Result<void> check_prior_flags(const PriorFlags& flags) {
    if (flags.out.empty()) return bad_input("--train-prior needs --out FILE, where the prior is written.");
    if (flags.population < 2 || flags.population > kLargestPriorPopulation || flags.population % 2 != 0) {
        return bad_input(fmt::format("--population is {}; 2 to {}, even, are allowed: members come in pairs.",
                                     flags.population, kLargestPriorPopulation));
    }
    if (flags.generations > kLargestGenerations) {
        return bad_input(
            fmt::format("--generations is {}; at most {} are allowed.", flags.generations, kLargestGenerations));
    }
    if (flags.budget > kLargestPriorBudget) {
        return bad_input(fmt::format("--budget is {}; a replay of a training makes at most {} measurements.",
                                     flags.budget, kLargestPriorBudget));
    }
    return {};
}

Result<std::vector<autotune::RecordedSurface>> read_all(const std::vector<std::string>& paths) {
    std::vector<autotune::RecordedSurface> surfaces;
    for (const std::string& path : paths) {
        YOLK_TRY(autotune::RecordedSurface surface, autotune::RecordedSurface::read(path));
        surfaces.push_back(std::move(surface));
    }
    return surfaces;
}

/// A score is a mean of log fractions.
double fraction(double score) { return std::exp(score); }

Result<void> write(const PriorFlags& flags, const autotune::PriorFile& file) {
    if (!flags.portfolio_only) return autotune::write_prior(flags.out, file);
    YOLK_TRY(const autotune::PriorFile reduced, autotune::only_portfolios(file));
    return autotune::write_prior(flags.out, reduced);
}

Json prior_outcome_json(const PriorFlags& flags, const autotune::TrainPriorOutcome& outcome) {
    Json spaces = Json::array();
    for (const autotune::SpacePrior& space : outcome.file.spaces) {
        spaces.push_back({{"kernel", space.kernel},
                          {"devices", space.devices},
                          {"configurations", space.candidates.size()},
                          {"rank", space.prior.factors.size()},
                          {"portfolio", space.prior.portfolio.size()}});
    }
    return {{"train_prior", flags.out},
            {"generations", flags.generations},
            {"population", flags.population},
            {"seed", flags.seed},
            {"replays", outcome.replays},
            {"resumed_at", outcome.resumed_at},
            {"held_out", flags.held_out.size()},
            {"compared", outcome.compared},
            {"untrained_fraction", fraction(outcome.untrained_score)},
            {"trained_fraction", fraction(outcome.trained_score)},
            {"gain", outcome.trained_score - outcome.untrained_score},
            {"standard_error", outcome.standard_error},
            {"trained", outcome.trained},
            {"interrupted", outcome.interrupted},
            {"spaces", std::move(spaces)}};
}

void print_prior_outcome(const PriorFlags& flags, const autotune::TrainPriorOutcome& outcome) {
    if (outcome.interrupted) {
        print_line(fmt::format("Stopped; {}.checkpoint is kept, and the same command goes on from it.", flags.out));
        return;
    }
    for (const autotune::SpacePrior& space : outcome.file.spaces) {
        print_line(fmt::format("{}: {} configurations, {} recordings, rank {}, a portfolio of {}",
                               space.kernel.empty() ? "a kernel without a name" : space.kernel, space.candidates.size(),
                               space.devices.size(), space.prior.factors.size(), space.prior.portfolio.size()));
    }
    if (flags.generations > 0) {
        print_line(fmt::format(
            "{}: {:.4f} of the optimum untrained, {:.4f} trained, over {} searches each; log difference {:+.4f} +- "
            "{:.4f}",
            flags.held_out.empty() ? "other searches on the same devices, each left out of its prior"
                                   : "devices held out",
            fraction(outcome.untrained_score), fraction(outcome.trained_score), outcome.compared,
            outcome.trained_score - outcome.untrained_score, outcome.standard_error));
        print_line(outcome.trained ? "The trained parameters are better beyond the noise and were written."
                                   : "The trained parameters are not better beyond the noise: the untrained ones were "
                                     "written.");
    }
    print_line(fmt::format("written to {}", flags.out));
}

}  // namespace

void add_prior_flags(App& app, PriorFlags& flags) {
    app.add_list("--train-prior", flags.train,
                 "Train what natural begins with by EGGROLL over recordings of several devices, for --prior")
        ->type_name("FILES...");
    app.add_list("--held-out", flags.held_out,
                 "Of --train-prior: recordings that only the comparison at the end is made on")
        ->type_name("FILES...");
    add_number(app, "--generations", flags.generations, "Of --train-prior; 0: the untrained prior")->default_str("10");
    add_number(app, "--population", flags.population, "Of --train-prior")->default_str("16");
    app.add_flag("--portfolio-only", flags.portfolio_only,
                 "Of --train-prior: write nothing but the configurations to try first, eight per kernel");
}

Result<int> train_prior(const PriorFlags& flags, const CommonFlags& common) {
    YOLK_TRY_VOID(check_prior_flags(flags));
    YOLK_TRY(const std::vector<autotune::RecordedSurface> recordings, read_all(flags.train));
    YOLK_TRY(const std::vector<autotune::RecordedSurface> held_out, read_all(flags.held_out));
    YOLK_TRY(const Device device, open_device(common));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    const InterruptGuard interrupt;
    const autotune::TrainPriorOptions options{
        .seed = flags.seed,
        .generations = flags.generations,
        .population = flags.population,
        .budget = flags.budget == 0 ? kDefaultPriorBudget : flags.budget,
        .threads = flags.threads,
        .checkpoint = flags.out + ".checkpoint",
        .progress = [&](const autotune::TrainPriorProgress& progress) {
            if (common.json && !common.quiet) {
                print_json({{"generation", progress.generation},
                            {"centre", fraction(progress.centre)},
                            {"mean", fraction(progress.mean)},
                            {"best", fraction(progress.best)}});
            } else if (!common.quiet) {
                print_line(fmt::format("generation {:>3} of {}: centre {:.4f}, mean {:.4f}, best {:.4f}",
                                       progress.generation, progress.generations, fraction(progress.centre),
                                       fraction(progress.mean), fraction(progress.best)));
            }
            return !InterruptGuard::requested();
        }};
    YOLK_TRY(const autotune::TrainPriorOutcome outcome,
             autotune::train_prior(device, dispatcher, recordings, held_out, options));
    if (!outcome.interrupted) YOLK_TRY_VOID(write(flags, outcome.file));
    if (common.json) {
        print_json(prior_outcome_json(flags, outcome));
    } else {
        print_prior_outcome(flags, outcome);
    }
    return outcome.interrupted ? 1 : 0;
}

Result<std::optional<autotune::PriorFile>> find_prior(const std::string& named) {
    using Found = std::optional<autotune::PriorFile>;
    if (!named.empty()) {
        YOLK_TRY(autotune::PriorFile file, autotune::read_prior(named));
        return Found(std::move(file));
    }
    std::filesystem::path path = autotune::default_table_path();
    if (path.empty()) return Found();
    path.replace_filename("prior.json");
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return Found();
    Result<autotune::PriorFile> file = autotune::read_prior(path);
    if (file) return Found(*std::move(file));
    log_warning(fmt::format("{} Tuning goes on without a prior.", file.error().message));  // nobody asked for it
    return Found();
}

}  // namespace yolk::cli
