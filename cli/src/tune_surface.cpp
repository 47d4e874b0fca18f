// SPDX-License-Identifier: Apache-2.0
#include "tune_surface.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "interrupt.hpp"
#include "output.hpp"
#include "tune_algebra.hpp"
#include "tune_prior.hpp"
#include "yolk/autotune/replay.hpp"
#include "yolk/core/log.hpp"

namespace yolk::cli {
namespace {

using autotune::RecordedSurface;
using autotune::Replay;

constexpr std::uint32_t kLargestSurfaceBudget = 1'000'000;
constexpr std::uint64_t kMostMeasurements = 50'000'000;  // of all repeats: their curves are kept, 8 bytes each
constexpr double kLowShare = 0.1;

Result<void> check_numbers(const SurfaceFlags& flags) {
    if (flags.budget == 0 || flags.budget > kLargestSurfaceBudget) {
        return bad_input(
            fmt::format("--budget is {}; 1 to {} measurements are allowed.", flags.budget, kLargestSurfaceBudget));
    }
    const std::uint64_t most = kMostMeasurements / flags.budget;
    if (flags.repeats == 0 || flags.repeats > most) {
        return bad_input(fmt::format("--repeats is {}; with a budget of {}, 1 to {} are allowed.", flags.repeats,
                                     flags.budget, most));
    }
    return {};
}

/// The recordings to transfer from, without the surface itself: it would know the answer.
Result<std::vector<RecordedSurface>> read_others(const SurfaceFlags& flags, const RecordedSurface& surface) {
    std::vector<RecordedSurface> others;
    for (const std::string& path : flags.transfer) {
        YOLK_TRY(RecordedSurface other, RecordedSurface::read(path));
        if (std::ranges::equal(other.costs(), surface.costs())) {
            log_warning(fmt::format("'{}' is the surface itself and is left out of --transfer.", path));
            continue;
        }
        others.push_back(std::move(other));
    }
    return others;
}

/// One line that is rewritten on a terminal; nothing elsewhere, and nothing with --quiet or --json.
class RepeatProgress {
   public:
    RepeatProgress(std::uint32_t repeats, const CommonFlags& common)
        : repeats_(repeats), shown_(output_is_terminal() && !common.json && !common.quiet) {}
    void show(std::size_t done) const {
        if (!shown_) return;
        fmt::print("\r\033[K{} of {} repeats", done, repeats_);
        std::fflush(stdout);
    }
    void finish() const {
        if (!shown_) return;
        fmt::print("\r\033[K");
        std::fflush(stdout);
    }

   private:
    std::uint32_t repeats_;
    bool shown_;
};

Json or_null(std::optional<std::size_t> value) { return value ? Json(*value) : Json(nullptr); }

Json outcome(const SurfaceFlags& flags, const RecordedSurface& surface, const Replay& replay, std::size_t others) {
    Json json{{"surface", flags.surface},    {"strategy", flags.strategy}, {"budgets", Json::array()},
              {"mean", Json::array()},       {"p10", Json::array()},       {"evaluations_to_90", nullptr},
              {"evaluations_to_95", nullptr}};
    Json errors = Json::array();
    for (const std::size_t budget : autotune::reported_budgets(flags.budget)) {
        json["budgets"].push_back(budget);
        json["mean"].push_back(replay.mean(budget));
        json["p10"].push_back(replay.percentile(budget, kLowShare));
        errors.push_back(replay.standard_error(budget));
    }
    json["evaluations_to_90"] = or_null(replay.evaluations_to(0.90));
    json["evaluations_to_95"] = or_null(replay.evaluations_to(0.95));
    json["standard_error"] = std::move(errors);
    json["repeats"] = replay.curves.size();
    json["seed"] = flags.seed;
    json["device"] = surface.device();
    json["kernel"] = surface.kernel();
    json["configurations"] = surface.candidates().size();
    json["valid"] = surface.valid_count();
    json["optimum"] = surface.optimum();
    json["transferred_from"] = others;
    json["interrupted"] = replay.interrupted;
    return json;
}

std::string reached(const Json& evaluations) {
    return evaluations.is_null() ? std::string("not reached") : fmt::format("{}", evaluations.get<std::size_t>());
}

void print_surface_outcome(const Json& json) {
    const auto text = [&json](const char* key) { return json[key].get<std::string>(); };
    print_line(fmt::format("{} on {}{}{}: {} configurations, {} of them valid, optimum {:.6g}", text("strategy"),
                           text("surface"), text("kernel").empty() ? "" : ", ", text("kernel"),
                           json["configurations"].get<std::size_t>(), json["valid"].get<std::size_t>(),
                           json["optimum"].get<double>()));
    std::vector<std::vector<std::string>> rows{{"measurements", "mean", "+-", "tenth percentile"}};
    for (std::size_t i = 0; i < json["budgets"].size(); ++i) {
        rows.push_back({fmt::format("{}", json["budgets"][i].get<std::size_t>()),
                        fmt::format("{:.3f}", json["mean"][i].get<double>()),
                        fmt::format("{:.3f}", json["standard_error"][i].get<double>()),
                        fmt::format("{:.3f}", json["p10"][i].get<double>())});
    }
    print_line(table(rows));
    print_line(fmt::format(
        "fractions of the optimum over {} repeats; measurements to reach .90 on average: {}, .95: {}",
        json["repeats"].get<std::size_t>(), reached(json["evaluations_to_90"]), reached(json["evaluations_to_95"])));
}

Result<void> take_prior(const SurfaceFlags& flags, const RecordedSurface& surface, autotune::TunerOptions& tuner) {
    YOLK_TRY(const autotune::PriorFile file, autotune::read_prior(flags.prior));
    tuner.settings.natural = file.settings;
    std::optional<autotune::DevicePrior> prior = autotune::prior_for(file, surface.candidates(), surface.kernel());
    if (!prior) {
        log_warning(
            fmt::format("'{}' knows nothing of this kernel's parameters; only its settings are taken.", flags.prior));
        return {};
    }
    for (const autotune::SpacePrior& space : file.spaces) {
        if (!surface.device().empty() && std::ranges::find(space.devices, surface.device()) != space.devices.end())
            log_warning(fmt::format("'{}' was made from recordings of '{}', too: it may know the answer.", flags.prior,
                                    surface.device()));
    }
    tuner.prior = std::make_shared<const autotune::DevicePrior>(*std::move(prior));
    return {};
}

Result<autotune::ReplayOptions> replay_options(const SurfaceFlags& flags, const RecordedSurface& surface,
                                               const std::vector<RecordedSurface>& others) {
    autotune::ReplayOptions options;
    options.tuner.strategy = flags.strategy;
    options.tuner.budget = flags.budget;
    options.tuner.seed = flags.seed;
    options.repeats = flags.repeats;
    options.threads = flags.threads;
    if (!flags.step.empty()) {
        YOLK_TRY(options.tuner.settings.step, autotune::step_of(flags.step));
    }
    if (flags.learning_rate < 0.0F) return bad_input("--lr is below 0; a learning rate is above 0.");
    if (flags.learning_rate > 0.0F) options.tuner.settings.learning_rate = double{flags.learning_rate};
    if (!flags.prior.empty()) {
        YOLK_TRY_VOID(take_prior(flags, surface, options.tuner));
    } else if (!others.empty()) {
        YOLK_TRY(autotune::DevicePrior prior, autotune::make_prior(surface.candidates(), others));
        options.tuner.prior = std::make_shared<const autotune::DevicePrior>(std::move(prior));
    }
    return options;
}

}  // namespace

void add_surface_flags(App& app, SurfaceFlags& flags) {
    app.add_option("--surface", flags.surface,
                   "Recorded times instead of a device: a Kernel Tuner cache, T4, KTT results or CSV; gzip too")
        ->type_name("FILE");
    app.add_option("--strategy", flags.strategy, fmt::format("{}", fmt::join(autotune::strategy_names(), ", ")))
        ->type_name("NAME")
        ->default_str("natural");
    app.add_option("--step", flags.step, "Of eggroll and smoothed: plain, identity, inverse-sqrt (default) or natural")
        ->type_name("NAME");
    add_number(app, "--lr", flags.learning_rate, "Of the same; each step has its own default");
    add_number(app, "--budget", flags.budget, "Measurements of one search")->default_str("200");
    add_number(app, "--repeats", flags.repeats, "Searches, each with the next seed")->default_str("100");
    add_number(app, "--seed", flags.seed, "Of the first search")->default_str("1");
    add_number(app, "--threads", flags.threads, "Searches at the same time; the results do not depend on it")
        ->default_str("all");
    app.add_option("--prior", flags.prior,
                   "What natural begins with, as --train-prior writes it (on a device: prior.json beside the table)")
        ->type_name("FILE");
    app.add_list("--transfer", flags.transfer, "Recordings of other devices for natural to begin from")
        ->type_name("FILES...");
}

Result<int> tune_surface(const SurfaceFlags& flags, const CommonFlags& common) {
    YOLK_TRY_VOID(check_numbers(flags));
    YOLK_TRY_VOID(check_algebra(flags.algebra, flags.strategy));
    if (!flags.transfer.empty() && flags.strategy != "natural") {
        return bad_input(
            fmt::format("--transfer is given with --strategy {}; only natural transfers.", flags.strategy));
    }
    if (!flags.prior.empty() && (flags.strategy != "natural" || !flags.transfer.empty())) {
        return bad_input("--prior is given with another strategy or with --transfer; natural alone begins from it.");
    }
    YOLK_TRY(const RecordedSurface surface, RecordedSurface::read(flags.surface));
    YOLK_TRY(const std::vector<RecordedSurface> others, read_others(flags, surface));
    YOLK_TRY(autotune::ReplayOptions options, replay_options(flags, surface, others));
    YOLK_TRY(const ChosenAlgebra algebra, ChosenAlgebra::choose(flags.algebra.empty() ? "host" : flags.algebra,
                                                                flags.strategy, surface.candidates().size(), common));
    options.tuner.settings.linear_algebra = algebra.factory();
    const RepeatProgress progress(flags.repeats, common);
    const InterruptGuard interrupt;
    options.progress = [&progress](std::size_t done) {
        progress.show(done);
        return !InterruptGuard::requested();
    };
    YOLK_TRY(const Replay replay, autotune::replay(surface, options));
    progress.finish();
    if (replay.curves.empty()) return bad_input("The replay was interrupted before its first repeat ended.");
    Json json = outcome(flags, surface, replay, others.size());
    algebra.add_to(json);
    if (common.json) {
        print_json(json);
    } else {
        print_surface_outcome(json);
        if (!algebra.line().empty()) print_line(algebra.line());
    }
    return 0;
}

}  // namespace yolk::cli
