// SPDX-License-Identifier: Apache-2.0
#include "training_run.hpp"

#include <cmath>

#include "process_clock.hpp"
#include "run_log_start.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/evolve/state_digest.hpp"
#include "yolk/json.hpp"

namespace yolk::train {

using Clock = std::chrono::steady_clock;

/// The last that can be refused, and then the first change to the folder.
Result<void> Run::begin() {
    if (from) {
        outcome.generations = from->generation;
        outcome.resumed_from = from->generation;
        outcome.solved = from->solved;
    }
    keep_beginning();
    if (options.out.empty()) return {};
    YOLK_TRY_VOID(prepare_output_folder(options.out, lock));
    if (!from) return {};  // what is there is set aside with the first generation, and stays where there is none
    folder_is_taken = true;
    YOLK_TRY(const std::string digest, evolve::state_digest(from->parameters, from->optimizer_state, from->generation));
    YOLK_TRY(const std::string kept,
             kept_metrics(metrics_path(options.out), from->generation, {.hash = from->state_hash, .digest = digest}));
    return metrics.continue_from(settings_json(options, setup, devices.devices()), kept);
}

Result<GenerationReport> Run::step() {
    const Clock::time_point step_start = Clock::now();
    YOLK_TRY(const evolve::GenerationSummary summary, evolution.step());
    const double step_seconds = seconds_since(step_start);
    std::string hash;
    // What was kept before an audit sent the run back may be spoilt, so that this state takes its place.
    if (hash_due(evolution.generations()) || summary.generation < outcome.generations) {
        if (options.hash_every != 1) YOLK_TRY_VOID(evolution.refresh());
        YOLK_TRY(hash, evolution.state_hash());
    }
    YOLK_TRY(std::string digest, evolution.state_digest());
    GenerationReport report = report_of(summary, std::move(hash), std::move(digest));
    report.devices.assign(evolution.shares().begin(), evolution.shares().end());
    count_shares(report.devices);
    count_ranks(report);
    report.evaluations_per_second = static_cast<double>(report.evaluations) / step_seconds;
    if (ranks.writes()) YOLK_TRY_VOID(score_policy(report));  // others have no policy return
    report.seconds = seconds_since(start);
    if (report.generation == outcome.resumed_from) outcome.first_generation_seconds = process_seconds();
    evaluations += report.evaluations;
    outcome.not_finite += report.not_finite;
    outcome.generations_without_finite += summary.has_finite ? 0U : 1U;
    outcome.skipped_elements += report.skipped_elements;
    return report;
}

/// Of environments on the host few episodes are played, and more where these reach the mark: then the mean must be
/// above it by its own standard error, so that fresh episodes stay there although these were the reason to stop.
Result<void> Run::score_policy(GenerationReport& report) {
    if (!setup.host) {
        report.solves = is_solved(setup, report.policy_return);
        return {};
    }
    for (const std::uint32_t episodes : {kHostCheckEpisodeCount, kCheckEpisodeCount}) {
        YOLK_TRY(const std::vector<float> returns,
                 devices.run_policy_on_host(setup, options, evolution.parameters(), report.generation, kCheckEpisodes,
                                            episodes));
        const ReturnStatistics found = statistics_of(returns);
        const double error = found.deviation / std::sqrt(static_cast<double>(episodes));
        report.policy_return = static_cast<float>(found.mean);
        report.solves = is_solved(setup, static_cast<float>(found.mean - error));
        if (!is_solved(setup, report.policy_return)) break;
    }
    return {};
}

Result<void> Run::write_metrics(const GenerationReport& report) {
    if (options.out.empty()) return {};
    YOLK_TRY_VOID(check_folder());
    YOLK_TRY_VOID(take_folder());
    if (report.generation == 0) YOLK_TRY_VOID(metrics.append(settings_json(options, setup, devices.devices())));
    YOLK_TRY_VOID(metrics.append(to_json(report)));
    return write_log(report);
}

/// Sums over all generations, including those that were made again.
void Run::count_shares(std::span<const evolve::WorkerShare> shares) {
    outcome.devices.resize(shares.size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
        evolve::WorkerShare& sum = outcome.devices[i];
        sum.name = shares[i].name;
        sum.dropped = shares[i].dropped;
        sum.members += shares[i].members;
        sum.audited += shares[i].audited;
        sum.chunks += shares[i].chunks;
        sum.busy_seconds += shares[i].busy_seconds;
        sum.rate = shares[i].rate;
    }
}

void Run::count_ranks(GenerationReport& report) {
    report.ranks.assign(evolution.rank_shares().begin(), evolution.rank_shares().end());
    report.traffic = ranks.traffic() - traffic_before;
    traffic_before = ranks.traffic();
    outcome.traffic = outcome.traffic + report.traffic;
    outcome.ranks.resize(report.ranks.size());
    for (std::size_t i = 0; i < report.ranks.size(); ++i) {
        outcome.ranks[i].members += report.ranks[i].members;
        outcome.ranks[i].seconds += report.ranks[i].seconds;
    }
}

/// An audit found a device that computed wrongly, and what came after this generation may be its doing.
bool Run::has_gone_back(const GenerationReport& report) const { return report.generation < outcome.generations; }

/// Nothing of what may be spoilt stays in the folder, or is written to it again. The next checkpoint is due at once.
Result<void> Run::go_back(std::uint32_t generation) {
    outcome.generations = generation;
    if (last.generations > generation) keep_beginning();
    return options.out.empty() ? Result<void>() : cut_files(generation);
}

/// In an order in which a kill at any point leaves something to go on from that is not spoilt, or nothing: a log that
/// ends before the checkpoint would be passed over, and the metrics lead no further than a log that is there.
Result<void> Run::cut_files(std::uint32_t generation) {
    checkpoint_is_due = true;
    if (in_checkpoint > generation) {
        YOLK_TRY_VOID(remove_file(checkpoint_path(options.out)));
        in_checkpoint = 0;
    }
    if (log) {
        YOLK_TRY(const evolve::RunLogReader written, evolve::RunLogReader::open(log->path()));
        YOLK_TRY(log, evolve::RunLogWriter::continue_after(written, generation));
        YOLK_TRY_VOID(log->cut());
    }
    if (generation == 0) {
        metrics = MetricsFile(metrics_path(options.out));
        return {};
    }
    YOLK_TRY(const std::string kept, first_metrics(metrics_path(options.out), generation));
    return metrics.continue_from(settings_json(options, setup, devices.devices()), kept);
}

bool Run::checkpoint_due(std::uint32_t generations) const {
    return checkpoint_is_due || (options.checkpoint_every != 0 && generations % options.checkpoint_every == 0);
}

/// Where a run is solved or ended by its callback, its last generation is hashed as well, but only its line is written
/// by then.
bool Run::hash_due(std::uint32_t generations) const {
    return (options.hash_every != 0 && generations % options.hash_every == 0) || checkpoint_due(generations) ||
           generations >= options.generations;
}

bool Run::at_its_end() const {
    return outcome.generations >= options.generations || (outcome.solved && options.stop_when_solved);
}

Result<RunEnd> Run::after_generation(const GenerationReport& report, const OnGeneration& on_generation) {
    if (has_gone_back(report)) YOLK_TRY_VOID(go_back(report.generation));
    YOLK_TRY_VOID(write_metrics(report));
    ++outcome.generations;
    outcome.solved = report.solves;
    if (!report.state_hash.empty()) keep_state(report.state_hash);
    if (checkpoint_due(outcome.generations)) YOLK_TRY_VOID(save_checkpoint(at_its_end()));
    if (on_generation && !on_generation(report)) return RunEnd::Callback;
    return at_its_end() ? RunEnd::Own : RunEnd::NotYet;
}

Result<void> Run::loop(const OnGeneration& on_generation) {
    for (RunEnd end = at_its_end() ? RunEnd::Own : RunEnd::NotYet; end == RunEnd::NotYet;) {
        YOLK_TRY(const GenerationReport report, step());
        YOLK_TRY(end, ranks.agree_on_end(after_generation(report, on_generation)));
        outcome.interrupted = end == RunEnd::Callback;
    }
    return {};
}

}  // namespace yolk::train
