// SPDX-License-Identifier: Apache-2.0
#include "tune_surface.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "tune_flags.hpp"
#include "yolk/internal/autotune/replay.hpp"
#include "yolk/internal/autotune/strategy.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

using autotune::RecordedSurface;
using autotune::Replay;

struct SurfaceTuning {
    std::filesystem::path surface;
    autotune::RecordingOptions recording;
    std::vector<std::string> transfer;
    std::string strategy = "natural";
    autotune::StrategySettings settings;  ///< step and learning rate
    std::uint32_t budget = 200;
    std::uint32_t repeats = 100;
    std::uint64_t seed = 1;
    std::uint32_t threads = 0;
    AlgebraFlags algebra;
    CommonFlags common;
};

constexpr std::uint32_t kLargestReplayBudget = 1'000'000;
constexpr std::uint64_t kMostMeasurements = 50'000'000;  // of all repeats: their curves are kept, 8 bytes each
constexpr double kLowShare = 0.1;

Result<void> check_replay_size(const SurfaceTuning& flags) {
    if (flags.budget == 0 || flags.budget > kLargestReplayBudget) {
        return bad_input("--budget is {}; 1 to {} measurements are allowed.", flags.budget, kLargestReplayBudget);
    }
    const std::uint64_t most = kMostMeasurements / flags.budget;
    if (flags.repeats == 0 || flags.repeats > most) {
        return bad_input("--repeats is {}; with a budget of {}, 1 to {} are allowed.", flags.repeats, flags.budget,
                         most);
    }
    return {};
}

/// The recordings to transfer from, without the surface itself: it would know the answer.
Result<std::vector<RecordedSurface>> read_others(const SurfaceTuning& flags, const RecordedSurface& surface) {
    std::vector<RecordedSurface> others;
    for (const std::string& path : flags.transfer) {
        YOLK_TRY(RecordedSurface other, RecordedSurface::read(path, flags.recording));
        if (std::ranges::equal(other.costs(), surface.costs())) {
            log_warning(fmt::format("'{}' is the surface itself and is left out of --transfer.", shown(path)));
            continue;
        }
        others.push_back(std::move(other));
    }
    return others;
}

/// What is told of a replay, once for people and once as JSON.
struct ReplayOutcome {
    const SurfaceTuning& flags;
    const RecordedSurface& surface;
    const Replay& replay;
    std::size_t others = 0;  ///< recordings transferred from
};

Json replay_json(const ReplayOutcome& outcome) {
    const auto or_null = [](std::optional<std::size_t> value) { return value ? Json(*value) : Json(nullptr); };
    const Replay& replay = outcome.replay;
    const RecordedSurface& surface = outcome.surface;
    Json json{{"surface", outcome.flags.surface.string()},
              {"strategy", outcome.flags.strategy},
              {"budgets", Json::array()},
              {"mean", Json::array()},
              {"p10", Json::array()},
              {"evaluations_to_90", or_null(replay.evaluations_to(0.90))},
              {"evaluations_to_95", or_null(replay.evaluations_to(0.95))}};
    Json errors = Json::array();
    for (const std::size_t budget : autotune::reported_budgets(outcome.flags.budget)) {
        json["budgets"].push_back(budget);
        json["mean"].push_back(replay.mean(budget));
        json["p10"].push_back(replay.percentile(budget, kLowShare));
        errors.push_back(replay.standard_error(budget));
    }
    json["standard_error"] = std::move(errors);
    json["repeats"] = replay.curves.size();
    json["seed"] = outcome.flags.seed;
    json["device"] = surface.device();
    json["kernel"] = surface.kernel();
    json["configurations"] = surface.candidates().size();
    json["valid"] = surface.valid_count();
    json["optimum"] = surface.optimum();
    json["transferred_from"] = outcome.others;
    json["interrupted"] = replay.interrupted;
    return json;
}

void print_replay(const ReplayOutcome& outcome) {
    const Replay& replay = outcome.replay;
    const RecordedSurface& surface = outcome.surface;
    const auto reached = [&](double fraction) {
        const std::optional<std::size_t> evaluations = replay.evaluations_to(fraction);
        return evaluations ? fmt::format("{}", *evaluations) : std::string("not reached");
    };
    const std::size_t size = surface.candidates().size();
    print_line("{} on {}{}{}: {} {}, {} of them valid, optimum {:.6g}", outcome.flags.strategy,
               shown(outcome.flags.surface), surface.kernel().empty() ? "" : ", ", surface.kernel(), size,
               size == 1 ? "configuration" : "configurations", surface.valid_count(), surface.optimum());
    if (size == 1) print_line("There is nothing to choose: every search ends after this one configuration.");
    std::vector<std::vector<std::string>> rows{{"measurements", "mean", "+-", "tenth percentile"}};
    for (const std::size_t budget : autotune::reported_budgets(outcome.flags.budget)) {
        rows.push_back({fmt::format("{}", budget), fmt::format("{:.3f}", replay.mean(budget)),
                        fmt::format("{:.3f}", replay.standard_error(budget)),
                        fmt::format("{:.3f}", replay.percentile(budget, kLowShare))});
    }
    print_line(table(rows));
    print_line("fractions of the optimum over {} repeats; measurements to reach .90 on average: {}, .95: {}",
               replay.curves.size(), reached(0.90), reached(0.95));
}

Result<autotune::ReplayOptions> replay_options(const SurfaceTuning& flags, const RecordedSurface& surface,
                                               const std::vector<RecordedSurface>& others) {
    autotune::ReplayOptions options;
    options.tuner.settings = flags.settings;
    options.tuner.strategy = flags.strategy;
    options.tuner.budget = flags.budget;
    options.tuner.seed = flags.seed;
    options.repeats = flags.repeats;
    options.threads = flags.threads;
    if (!others.empty()) {
        YOLK_TRY(autotune::DevicePrior prior, autotune::make_prior(surface.candidates(), others));
        options.tuner.prior = std::make_shared<const autotune::DevicePrior>(std::move(prior));
    }
    return options;
}

Result<int> replay_searches(const SurfaceTuning& flags) {
    YOLK_TRY_VOID(check_replay_size(flags));
    YOLK_TRY(const RecordedSurface surface, RecordedSurface::read(flags.surface, flags.recording));
    YOLK_TRY(const std::vector<RecordedSurface> others, read_others(flags, surface));
    YOLK_TRY(autotune::ReplayOptions options, replay_options(flags, surface, others));
    YOLK_TRY(
        const autotune::ChosenAlgebra algebra,
        autotune::ChosenAlgebra::choose(flags.algebra.place.value_or(autotune::AlgebraPlace::Host), flags.strategy,
                                        surface.candidates().size(), [&flags] { return open_device(flags.common); }));
    algebra.set(options.tuner.settings);
    const StatusLine status(!flags.common.json && !flags.common.quiet);
    const InterruptGuard interrupt;
    options.progress = [&](std::size_t done) {
        status.show(fmt::format("{} of {} repeats", done, flags.repeats));
        return !InterruptGuard::requested();
    };
    YOLK_TRY(const Replay replay, autotune::replay(surface, options));
    status.finish();
    if (replay.curves.empty()) return cancelled("The replay was interrupted before its first repeat ended.");
    const ReplayOutcome outcome{flags, surface, replay, others.size()};
    if (flags.common.json) {
        Json json = replay_json(outcome);
        add_algebra_to(json, algebra.report());
        print_json(json);
    } else {
        print_replay(outcome);
        print_algebra(algebra.report());
    }
    return 0;
}

}  // namespace

void add_gradient_flags(App& app, autotune::StrategySettings& settings) {
    add_parsed(app, "--step", settings.step, "Of eggroll and smoothed: plain, identity, inverse-sqrt or natural",
               &autotune::step_of)
        ->type_name("NAME")
        ->default_str("inverse-sqrt");
    const auto read = [&settings](const std::string& text) -> Result<void> {
        YOLK_TRY(const float rate, parse_number<float>(text));
        if (!(rate > 0.0F)) return bad_input("'{}' is not a learning rate, which is above 0.", shown(text));
        settings.learning_rate = double{rate};
        return {};
    };
    app.add_value("--lr", read, "Learning rate of the same; each step has its own default")->type_name("NUMBER");
}

Command add_tune_surface(App& tune) {
    const auto flags = std::make_shared<SurfaceTuning>();
    App* const command = tune.add_subcommand(
        "surface", "Try a strategy on recorded times: of Kernel Tuner, KTT, CLBlast, as T4 or CSV; gzip too");
    command->add_option("recording", flags->surface, "The recorded times")->required()->type_name("FILE");
    add_recording_flags(*command, flags->recording);
    add_strategy_flag(*command, flags->strategy);
    command->group(with_strategy(flags->strategy, {"eggroll", "smoothed"}),
                   [&] { add_gradient_flags(*command, flags->settings); });
    add_number(*command, "--budget", flags->budget, "Measurements of one search")->default_str("200");
    add_number(*command, "--repeats", flags->repeats, "Searches, each with the next seed")->default_str("100");
    add_number(*command, "--seed", flags->seed, "Of the first search")->default_str("1");
    add_number(*command, "--threads", flags->threads, "Searches at the same time; the results do not depend on it")
        ->default_str("all");
    command->group(with_strategy(flags->strategy, {"natural"}), [&] {
        command->add_list("--transfer", flags->transfer, "Recordings of other devices for natural to begin from")
            ->type_name("FILES...");
    });
    add_algebra_flags(*command, flags->algebra, flags->strategy, "host", flags->common, true);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return replay_searches(*flags); }};
}

}  // namespace yolk::cli
