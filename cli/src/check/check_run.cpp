// SPDX-License-Identifier: Apache-2.0
#include "check_run.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "select_device.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

struct Tiles {
    const char* name;
    std::optional<RolloutConfig> rollout;
    std::optional<std::uint32_t> pairs_per_slice;
};

/// The defaults, and one that shares no value with them.
const std::array<Tiles, 2>& tile_configurations() {
    static const std::array<Tiles, 2> kTiles{{
        {"default", std::nullopt, std::nullopt},
        {"workgroup 8, slices of 32 pairs", RolloutConfig{.workgroup_size = 8}, 32U},
    }};
    return kTiles;
}

struct RunOutcome {
    std::string device;
    std::string driver;
    std::string configuration;
    std::vector<std::string> hashes{};
    std::uint64_t mismatches = 0;  ///< generations whose state differs from the twin's
    std::optional<std::size_t> first_mismatch{};
    bool interrupted = false;
    double seconds = 0.0;
};

/// A bar per run on a terminal; elsewhere the table at the end says enough.
class RunProgress {
   public:
    RunProgress(bool wanted, std::uint32_t generations, const std::string& what)
        : bar_(generations), shown_(wanted && output_is_terminal()) {
        if (wanted) print_line(what);
    }
    ~RunProgress() { bar_.finish(); }
    RunProgress(const RunProgress&) = delete;
    RunProgress& operator=(const RunProgress&) = delete;
    void show(const train::GenerationReport& report) {
        if (shown_) bar_.show(report);
    }

   private:
    Progress bar_;
    bool shown_;
};

Result<RunOutcome> run_with_tiles(const Device& device, train::TrainOptions options, const Tiles& tiles,
                                  const std::vector<std::string>& expected, bool human) {
    options.rollout_config = tiles.rollout;
    options.pairs_per_slice = tiles.pairs_per_slice;
    RunOutcome outcome{.device = device.info().name, .driver = driver_text(device.info()), .configuration = tiles.name};
    RunProgress progress(human, options.generations, fmt::format("{}, tiles: {}", device.info().name, tiles.name));
    YOLK_TRY(const train::TrainOutcome trained,
             train::train(device, options, [&](const train::GenerationReport& report) {
                 progress.show(report);
                 outcome.hashes.push_back(report.state_hash);
                 return !InterruptGuard::requested();
             }));
    outcome.seconds = trained.seconds;
    outcome.interrupted = trained.interrupted;
    const std::size_t made = trained.interrupted ? outcome.hashes.size() : expected.size();
    for (std::size_t i = 0; i < made; ++i) {
        if (i < outcome.hashes.size() && outcome.hashes[i] == expected[i]) continue;
        ++outcome.mismatches;
        if (!outcome.first_mismatch) outcome.first_mismatch = i;
    }
    return outcome;
}

Json run_outcome_json(const RunOutcome& outcome) {
    return {{"device", outcome.device},
            {"driver", outcome.driver},
            {"configuration", outcome.configuration},
            {"generations", outcome.hashes.size()},
            {"mismatches", outcome.mismatches},
            {"first_mismatch", outcome.first_mismatch ? Json(*outcome.first_mismatch) : Json()},
            {"interrupted", outcome.interrupted},
            {"state_hashes", outcome.hashes},
            {"seconds", outcome.seconds}};
}

Result<std::vector<RunOutcome>> run_all(const std::vector<Device>& devices, const train::TrainOptions& options,
                                        const std::vector<std::string>& expected, bool json, bool human) {
    std::vector<RunOutcome> outcomes;
    for (const Device& device : devices) {
        for (const Tiles& tiles : tile_configurations()) {
            if (InterruptGuard::requested()) return outcomes;
            Result<RunOutcome> outcome = run_with_tiles(device, options, tiles, expected, human);
            if (!outcome)
                return std::move(outcome).error().while_doing(fmt::format("training on '{}'", device.info().name));
            if (json) print_json(run_outcome_json(*outcome));
            outcomes.push_back(*std::move(outcome));
        }
    }
    return outcomes;
}

void print_run_outcomes(const std::vector<RunOutcome>& outcomes, const std::vector<std::string>& expected) {
    std::vector<std::vector<std::string>> rows{{"where", "tiles", "generations", "last state", "result"}};
    rows.push_back(
        {"exact twin (host)", "", fmt::format("{}", expected.size()), expected.empty() ? "" : expected.back(), ""});
    for (const RunOutcome& outcome : outcomes) {
        const std::string result = outcome.first_mismatch
                                       ? fmt::format("DIFFERS from generation {}", *outcome.first_mismatch)
                                   : outcome.interrupted ? "the same, interrupted"
                                                         : "the same";
        rows.push_back({outcome.device, outcome.configuration, fmt::format("{}", outcome.hashes.size()),
                        outcome.hashes.empty() ? "" : outcome.hashes.back(), result});
    }
    print_line(table(rows));
}

Result<std::vector<std::string>> run_twin(const train::TrainOptions& options, bool human) {
    RunProgress progress(
        human, options.generations,
        fmt::format("the exact twin on the host, {} generations of {}", options.generations, options.task));
    return train::train_twin(options, [&](const train::GenerationReport& report) {
        progress.show(report);
        return !InterruptGuard::requested();
    });
}

}  // namespace

Result<int> check_run(const std::vector<Device>& devices, train::TrainOptions options, bool json, bool quiet) {
    options.stop_when_solved = false;
    options.out.clear();
    options.evaluation_episodes = 1;  // returns are not what is held here
    const bool human = !json && !quiet;
    YOLK_TRY(const std::vector<std::string> expected, run_twin(options, human));
    if (expected.size() != options.generations && !InterruptGuard::requested()) {
        return Error{ErrorKind::Driver, fmt::format("The exact twin gave {} state hashes for {} generations.",
                                                    expected.size(), options.generations)};
    }
    YOLK_TRY(const std::vector<RunOutcome> outcomes, run_all(devices, options, expected, json, human));
    const std::size_t runs_in_all = devices.size() * tile_configurations().size();
    std::uint64_t failed = 0;
    for (const RunOutcome& outcome : outcomes) failed += outcome.mismatches == 0 ? 0U : 1U;
    print_outcome(json,
                  {{"task", options.task},
                   {"seed", options.evolution.seed},
                   {"population", options.evolution.population},
                   {"generations", options.generations},
                   {"runs", outcomes.size()},
                   {"twin_state_hashes", expected},
                   {"interrupted", InterruptGuard::requested()},
                   {"failed", failed}},
                  [&] {
                      print_run_outcomes(outcomes, expected);
                      if (InterruptGuard::requested())
                          print_line("interrupted: {} of {} runs were made", outcomes.size(), runs_in_all);
                  });
    return failed == 0 && !InterruptGuard::requested() ? 0 : 1;
}

}  // namespace yolk::cli
