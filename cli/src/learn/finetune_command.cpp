// SPDX-License-Identifier: Apache-2.0
#include "finetune_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compile_notice.hpp"
#include "evolution_flags.hpp"
#include "interrupt.hpp"
#include "last_run.hpp"
#include "learn_run.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "search_places.hpp"
#include "select_device.hpp"
#include "text_lines.hpp"
#include "yolk/finetune.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

struct FinetuneFlags {
    std::filesystem::path model, unrelated;
    transformer::FinetuneOptions options;
    LearnFlags run;
    bool no_log = false;
};

void show_tuning(const hyper::GenerationReport& report, std::uint32_t generations) {
    std::string looks = report.held_out ? fmt::format(", held out {:.4f}", *report.held_out) : "";
    if (report.looked.contains("drift")) {
        looks += fmt::format(", update norm {:.4f}, drift {:.5f}", report.looked.at("update_norm"),
                             report.looked.at("drift"));
    }
    print_line("generation {}/{}, NDCG@10 {:.4f}, population {:.4f}{}, {:.1f} s", report.generation + 1, generations,
               report.unperturbed, report.mean, looks, report.seconds);
}

Json tuned_json(const FinetuneFlags& flags, std::span<const Device> devices,
                const transformer::FinetuneOutcome& outcome) {
    const evolve::SystemEvolutionOptions& evolution = flags.options.evolution;
    Json json{{"model", flags.model.string()},
              {"device", names_of(devices)},
              {"driver", drivers_of(devices)},
              {"seed", evolution.seed},
              {"population", evolution.population},
              {"generations", outcome.search.generations},
              {"resumed_from", outcome.search.resumed_from},
              {"interrupted", outcome.search.stopped_by == "caller"},
              {"training_pairs", outcome.training_pairs},
              {"held_out_pairs", outcome.held_out_pairs},
              {"test_pairs", outcome.test_pairs},
              {"numbers", outcome.search.cost.numbers},
              {"before", to_json(outcome.before)},
              {"after", to_json(outcome.after)},
              {"adapted", to_json(outcome.adapted)},
              {"adapter_rank", flags.options.adapter_rank},
              {"residual", outcome.residual},
              {"state_hash", outcome.search.state_hash},
              {"seconds", outcome.seconds},
              {"peak_memory_bytes", peak_resident_bytes()},
              {"adapter", outcome.adapter.string()}};
    json.update(places_json(outcome.search));
    if (outcome.search.held_out_start) json["before"]["held_out"] = *outcome.search.held_out_start;
    if (outcome.search.held_out_best) json["after"]["held_out"] = *outcome.search.held_out_best;
    if (!outcome.previous.empty()) json["previous"] = outcome.previous.string();
    return json;
}

void print_figures(const char* what, const transformer::FinetuneFigures& figures,
                   const std::optional<double>& held_out) {
    const auto number = [](const std::optional<double>& of) { return of ? fmt::format("{:.4f}", *of) : "-"; };
    print_line("{:<14}  test {}, held out {}, update norm {:.4f}, drift {:.5f}", what, number(figures.test),
               number(held_out), figures.update_norm, figures.drift);
}

void print_tuned(const FinetuneFlags& flags, const transformer::FinetuneOutcome& outcome) {
    print_line("{} after {} generation{} and {:.1f} s; {} numbers tuned by {} pairs, state {}",
               outcome.search.stopped_by == "caller" ? "interrupted" : "done", outcome.search.generations,
               outcome.search.generations == 1 ? "" : "s", outcome.seconds, outcome.search.cost.numbers,
               outcome.training_pairs, outcome.search.state_hash);
    print_line("NDCG@10 of {} pairs in the test and {} held out:", outcome.test_pairs, outcome.held_out_pairs);
    print_figures("before", outcome.before, outcome.search.held_out_start);
    print_figures("after", outcome.after, outcome.search.held_out_best);
    print_figures("by the adapter", outcome.adapted, {});
    print_line("The adapter's rank of {} leaves out {:.1f} % of the change.", flags.options.adapter_rank,
               100.0 * outcome.residual);
    print_places(outcome.search);
    if (!flags.options.merged.empty()) print_line("saved the whole model in {}", shown(flags.options.merged));
    if (outcome.adapter.empty()) return;
    print_line("saved the adapter in {}", shown(outcome.adapter));
    print_line("use it: {} embed {} --adapter {}", command_name(), shell_quoted(flags.model.string()),
               shell_quoted(outcome.adapter.string()));
    if (outcome.search.stopped_by == "caller") print_line("to continue, run the same command with --resume");
}

Result<int> run_finetune(FinetuneFlags flags) {
    YOLK_TRY_VOID(join_ranks(flags.run.common));
    flags.options.log = !flags.no_log;
    const auto checked = [&]() -> Result<void> {
        if (!flags.unrelated.empty()) {
            YOLK_TRY(flags.options.unrelated, read_text_lines(flags.unrelated));
        }
        return validate(flags.options);
    };
    YOLK_TRY(const std::vector<Device> devices, devices_to_learn_on(checked(), flags.run));
    const evolve::SystemEvolutionOptions& evolution = flags.options.evolution;
    YOLK_TRY(const evolve::Devices on, devices_of_run(devices, evolution.determinism, evolution.seed, flags.run));
    const CommonFlags& common = flags.run.common;
    const RememberShapes remember(speaks_for_ranks() ? std::span(devices) : std::span<const Device>());
    const bool speaks = speaks_for_ranks();
    const bool human = speaks && !common.json && !common.quiet;
    if (human) print_line("tuning {} on {}", shown(flags.model), names_of(devices, true));
    const InterruptGuard interrupt;
    const std::shared_ptr<CompileNotice> notice = watch_compilation(devices.front(), common);
    notice->await_first_result("The first generation");
    const auto on_generation = [&](const hyper::GenerationReport& report) {
        notice->first_result();
        if (human) show_tuning(report, flags.options.generations);
        if (speaks && common.json && !common.quiet) print_json(to_json(report));
        return !InterruptGuard::requested();
    };
    const Result<transformer::FinetuneOutcome> outcome =
        transformer::finetune(flags.model, on, flags.options, on_generation);
    notice->first_result();
    if (!outcome) return outcome.error();
    if (!speaks) return 0;
    return print_outcome(common.json, tuned_json(flags, devices, *outcome), [&] { print_tuned(flags, *outcome); });
}

void add_data_flags_of_tuning(App& app, FinetuneFlags& flags) {
    transformer::FinetuneOptions& o = flags.options;
    app.add_option(
           "--pairs", o.pairs,
           "Queries and their documents: lines of query, tabulator, document and perhaps a grade; or JSON lines "
           "(.jsonl)")
        ->type_name("FILE")
        ->required();
    add_number(app, "--held-out", o.held_out, "Share of the queries that chooses the best generation; 0: none")
        ->default_str("0.1");
    add_number(app, "--held-out-every", o.held_out_every, "Generations between two looks at them, and at the drift")
        ->default_str("10");
    add_number(app, "--test", o.test, "Share of the queries that the result is judged by; 0: none")->default_str("0.2");
    add_number(app, "--batch", o.batch, "Pairs per generation, drawn by the seed; 0: all")->default_str("32");
    add_number(app, "--query-tokens", o.query_tokens, "Tokens of a query at most; the rest is cut off")
        ->default_str("32");
    add_number(app, "--document-tokens", o.document_tokens, "Tokens of a document at most")->default_str("128");
    app.add_option("--unrelated", flags.unrelated,
                   "Texts, one a line, by which the drift is measured (default: 24 sentences)")
        ->type_name("FILE");
}

void add_run_flags_of_tuning(App& app, FinetuneFlags& flags) {
    transformer::FinetuneOptions& o = flags.options;
    add_number(app, "--generations", o.generations, "Generations")->default_str("100");
    add_evolution_flags(app, o.evolution,
                        {.members = "Members",
                         .generation = "generation",
                         .freeze = "Matrix (encoder.layer.0.attention.self.query.weight)"});
    add_number(app, "--adapter-rank", o.adapter_rank, "Rank of the adapter that is saved, at most the model's width")
        ->default_str("8");
    app.add_option("--out", o.out,
                   "Folder for the adapter, metrics.jsonl, checkpoint.yolk and log.yolk; '' writes nothing")
        ->type_name("FOLDER")
        ->default_str("yolk-finetune");
    app.add_option("--merged", o.merged,
                   "Folder for a whole model with all that was tuned, not cut to the adapter's rank")
        ->type_name("FOLDER");
    app.add_flag("--no-log", flags.no_log, "No log.yolk, from which `replay` rebuilds any generation");
    add_number(app, "--checkpoint-every", o.checkpoint_every, "Generations between two checkpoints; 0: one at the end")
        ->default_str("10");
    app.add_flag("--resume", o.resume, "Continue the run in the folder, with the same settings, model and pairs");
}

}  // namespace

Command add_finetune_command(App& app) {
    const auto flags = std::make_shared<FinetuneFlags>();
    App* const command = app.add_subcommand("finetune", "Tune an encoder for NDCG@10 by EGGROLL, and save an adapter");
    command->add_option("model", flags->model, "A folder with a BERT-like encoder, as `embed` takes it")
        ->required()
        ->type_name("FOLDER");
    add_data_flags_of_tuning(*command, *flags);
    add_run_flags_of_tuning(*command, *flags);
    add_device_flag(*command, flags->run.common);
    const Option* const devices = add_devices_flag(*command, flags->run.devices);
    add_number(*command, "--audit", flags->run.audit,
               "Share of the members, 0 to 1, that a second device evaluates again; one that computes wrongly is "
               "dropped")
        ->default_str("0")
        ->only(with(devices));
    add_rank_flag(*command, flags->run.common);
    add_output_flags(*command, flags->run.common);
    return {command, [flags] { return run_finetune(*flags); }};
}

Result<int> replay_tuned(const ReplayTuned& what, const CommonFlags& common) {
    const auto replay_on = [&](const evolve::Devices& devices) {
        return transformer::replay_finetuning(devices, what.log, what.generation, what.out);
    };
    const auto replay_anywhere = [&]() -> Result<transformer::ReplayedAdapter> {
        if (what.on_host) return replay_on(evolve::Devices::none());
        YOLK_TRY(const Context context, open_context(common));
        return replay_on(context);
    };
    YOLK_TRY(const transformer::ReplayedAdapter replayed, replay_anywhere());
    const hyper::SearchReplay& replay = replayed.replay;
    const Json json{{"log", what.log.string()},
                    {"task", std::string(transformer::kTunedEncoder)},
                    {"seed", replay.seed},
                    {"population", replay.population},
                    {"generations_in_log", replay.generations_in_log},
                    {"torn_bytes", replay.torn_bytes},
                    {"generation", replay.generation},
                    {"state_hash", replay.state_hash},
                    {"state_digest", replay.state_digest},
                    {"update_norm", replayed.update_norm},
                    {"residual", replayed.residual},
                    {"adapter", what.out.string()}};
    return print_outcome(common.json, json, [&] {
        print_line("an encoder, seed {}, population {}: the log has {} generations", replay.seed, replay.population,
                   replay.generations_in_log);
        print_line("generation {}: state {}, update norm {:.4f}", replay.generation, replay.state_hash,
                   replayed.update_norm);
        if (!what.out.empty()) print_line("saved the adapter in {}", shown(what.out));
    });
}

}  // namespace yolk::cli
