// SPDX-License-Identifier: Apache-2.0
#include "tune_prior.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "tune_flags.hpp"
#include "yolk/autotune/portfolio.hpp"
#include "yolk/autotune/prior_file.hpp"
#include "yolk/autotune/train_prior.hpp"
#include "yolk/core/file.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/printable.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kLargestTrainingBudget = 1000;
constexpr std::uint32_t kMostTrainingGenerations = 100'000;
constexpr std::uint32_t kLargestTrainingPopulation = 4096;

struct PriorTraining {
    std::vector<std::string> recordings;
    std::vector<std::string> held_out;
    autotune::RecordingOptions recording;
    std::filesystem::path out;
    std::uint32_t generations = 10;
    std::uint32_t population = 16;
    bool portfolio_only = false;
    std::uint32_t budget = 50;
    std::uint64_t seed = 1;
    std::uint32_t threads = 0;
    CommonFlags common;
};

Result<void> check_training(const PriorTraining& flags) {
    if (flags.population < 2 || flags.population > kLargestTrainingPopulation || flags.population % 2 != 0) {
        return bad_input("--population is {}; 2 to {}, even, are allowed: members come in pairs.", flags.population,
                         kLargestTrainingPopulation);
    }
    if (flags.generations > kMostTrainingGenerations) {
        return bad_input("--generations is {}; at most {} are allowed.", flags.generations, kMostTrainingGenerations);
    }
    if (flags.budget == 0 || flags.budget > kLargestTrainingBudget) {
        return bad_input("--budget is {}; a replay of a training makes 1 to {} measurements.", flags.budget,
                         kLargestTrainingBudget);
    }
    return {};
}

Result<std::vector<autotune::RecordedSurface>> read_recordings(const std::vector<std::string>& paths,
                                                               const autotune::RecordingOptions& options) {
    std::vector<autotune::RecordedSurface> surfaces;
    for (const std::string& path : paths) {
        YOLK_TRY(autotune::RecordedSurface surface, autotune::RecordedSurface::read(path, options));
        surfaces.push_back(std::move(surface));
    }
    return surfaces;
}

/// A score is a mean of log fractions.
double fraction(double score) { return std::exp(score); }

Result<void> write_trained(const PriorTraining& flags, const autotune::PriorFile& file) {
    if (!flags.portfolio_only) return autotune::write_prior(flags.out, file);
    YOLK_TRY(const autotune::PriorFile reduced, autotune::only_portfolios(file));
    return autotune::write_prior(flags.out, reduced);
}

Json training_json(const PriorTraining& flags, const autotune::TrainPriorOutcome& outcome) {
    Json spaces = Json::array();
    for (const autotune::SpacePrior& space : outcome.file.spaces) {
        spaces.push_back({{"kernel", space.kernel},
                          {"devices", space.devices},
                          {"configurations", space.candidates.size()},
                          {"rank", space.prior.factors.size()},
                          {"portfolio", space.prior.portfolio.size()}});
    }
    return {{"train_prior", flags.out.string()},
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

void print_training(const PriorTraining& flags, const autotune::TrainPriorOutcome& outcome) {
    if (outcome.interrupted) {
        print_line("Stopped; {} is kept, and the same command continues from it.",
                   shown(path_beside(flags.out, ".checkpoint")));
        return;
    }
    for (const autotune::SpacePrior& space : outcome.file.spaces) {
        print_line("{}: {} configurations, {} recordings, rank {}, a portfolio of {}",
                   space.kernel.empty() ? "a kernel without a name" : space.kernel, space.candidates.size(),
                   space.devices.size(), space.prior.factors.size(), space.prior.portfolio.size());
    }
    if (flags.generations > 0) {
        print_line(
            "{}: {:.4f} of the optimum untrained, {:.4f} trained, over {} searches each; log difference {:+.4f} +- "
            "{:.4f}",
            flags.held_out.empty() ? "other searches on the same devices, each left out of its prior"
                                   : "devices held out",
            fraction(outcome.untrained_score), fraction(outcome.trained_score), outcome.compared,
            outcome.trained_score - outcome.untrained_score, outcome.standard_error);
        print_line(outcome.trained ? "The trained parameters are better beyond the noise and were written."
                                   : "The trained parameters are not better beyond the noise: the untrained ones were "
                                     "written.");
    }
    print_line("written to {}", shown(flags.out));
}

Result<int> train_and_write(const PriorTraining& flags) {
    const CommonFlags& common = flags.common;
    YOLK_TRY_VOID(check_training(flags));
    YOLK_TRY(const std::vector<autotune::RecordedSurface> recordings,
             read_recordings(flags.recordings, flags.recording));
    YOLK_TRY(const std::vector<autotune::RecordedSurface> held_out, read_recordings(flags.held_out, flags.recording));
    YOLK_TRY(const Device device, open_device(common));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    const InterruptGuard interrupt;
    const autotune::TrainPriorOptions options{
        .seed = flags.seed,
        .generations = flags.generations,
        .population = flags.population,
        .budget = flags.budget,
        .threads = flags.threads,
        .checkpoint = path_beside(flags.out, ".checkpoint"),
        .progress = [&](const autotune::TrainPriorProgress& progress) {
            if (common.json && !common.quiet) {
                print_json({{"generation", progress.generation},
                            {"centre", fraction(progress.centre)},
                            {"mean", fraction(progress.mean)},
                            {"best", fraction(progress.best)}});
            } else if (!common.quiet) {
                print_line("generation {:>3} of {}: centre {:.4f}, mean {:.4f}, best {:.4f}", progress.generation,
                           progress.generations, fraction(progress.centre), fraction(progress.mean),
                           fraction(progress.best));
            }
            return !InterruptGuard::requested();
        }};
    YOLK_TRY(const autotune::TrainPriorOutcome outcome,
             autotune::train_prior(device, dispatcher, recordings, held_out, options));
    if (!outcome.interrupted) YOLK_TRY_VOID(write_trained(flags, outcome.file));
    print_outcome(common.json, training_json(flags, outcome), [&] { print_training(flags, outcome); });
    return outcome.interrupted ? 1 : 0;
}

}  // namespace

Command add_tune_prior(App& tune) {
    App* const prior = tune.add_subcommand("prior", "Train the prior of the house strategy");
    const auto flags = std::make_shared<PriorTraining>();
    App* const train = prior->add_subcommand("train", "Train a prior by EGGROLL over recordings of several devices");
    train->add_list("recordings", flags->recordings, "Recorded surfaces")->required()->type_name("FILES...");
    add_recording_flags(*train, flags->recording);
    train->add_option("--out", flags->out, "Where the prior is written")->required()->type_name("FILE");
    add_number(*train, "--generations", flags->generations, "0: the untrained prior")->default_str("10");
    train->add_flag("--portfolio-only", flags->portfolio_only,
                    "Write nothing but the configurations to try first, eight per kernel");
    train->group({"goes with --generations above 0", [flags = flags.get()] { return flags->generations > 0; }}, [&] {
        train->add_list("--held-out", flags->held_out, "Recordings that only the comparison at the end is made on")
            ->type_name("FILES...");
        add_number(*train, "--population", flags->population, "Members of a generation, even")->default_str("16");
        add_number(*train, "--budget", flags->budget, "Measurements of one search")->default_str("50");
        add_number(*train, "--seed", flags->seed, "Of the noise and the searches")->default_str("1");
        add_number(*train, "--threads", flags->threads, "Searches at the same time; the result does not depend on it")
            ->default_str("all");
        add_device_flag(*train, flags->common);
    });
    add_output_flags(*train, flags->common);
    const std::vector<Command> commands{{train, [flags] { return train_and_write(*flags); }}};
    return {prior, [commands] {
                return run_named(commands, "tune prior needs a subcommand: train (see yolk tune prior --help).");
            }};
}

}  // namespace yolk::cli
