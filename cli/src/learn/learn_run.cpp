// SPDX-License-Identifier: Apache-2.0
#include "learn_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "compile_notice.hpp"
#include "interrupt.hpp"
#include "last_run.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "search_places.hpp"
#include "select_device.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/state_file.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.2f} %", 100.0 * share); }

void show_generation(const hyper::GenerationReport& report, std::uint32_t generations) {
    const std::string held_out = report.held_out ? fmt::format(", held out {:.4f}", 0.0 - *report.held_out) : "";
    const std::string line =
        fmt::format("generation {}/{}, loss {:.4f}, population {:.4f}{}, {:.1f} s", report.generation + 1, generations,
                    0.0 - report.unperturbed, 0.0 - report.mean, held_out, report.seconds);
    if (!output_is_terminal()) return print_line(line);
    print_text("\r\033[K" + line.substr(0, std::max(terminal_columns(), 2U) - 1));
}

void print_score(const char* what, const tasks::Score& score) {
    print_line("{}: accuracy {} ({} of {} rows), loss {:.4f}", what, percent(score.accuracy()), score.right, score.rows,
               score.loss);
}

void print_classes(const tasks::Score& score) {
    std::vector<std::vector<std::string>> rows{{"label", "rows", "right", "accuracy"}};
    for (const tasks::ClassScore& each : score.classes) {
        rows.push_back(
            {shown(each.label), std::to_string(each.rows), std::to_string(each.right),
             each.rows == 0 ? "" : percent(static_cast<double>(each.right) / static_cast<double>(each.rows))});
    }
    print_line(table(rows));
}

Json judged_json(const tasks::Judgement& judged) {
    Json json = Json::object();
    if (judged.held_out) json["held_out"] = to_json(*judged.held_out);
    if (judged.test) json["test"] = to_json(*judged.test);
    return json;
}

Json learned_json(const tasks::Configuration& configuration, std::span<const Device> devices,
                  const tasks::LearnOutcome& outcome) {
    const evolve::SystemEvolutionOptions& evolution = configuration.learn.evolution;
    Json json{{"task", configuration.learn.source},
              {"device", names_of(devices)},
              {"driver", drivers_of(devices)},
              {"seed", evolution.seed},
              {"population", evolution.population},
              {"generations", outcome.search.generations},
              {"resumed_from", outcome.search.resumed_from},
              {"interrupted", outcome.search.stopped_by == "caller"},
              {"training_rows", outcome.training_rows},
              {"classes", outcome.model.classes},
              {"numbers", outcome.search.cost.numbers},
              {"loss", 0.0 - outcome.search.best_reward},
              {"state_hash", outcome.search.state_hash},
              {"seconds", outcome.seconds},
              {"peak_memory_bytes", peak_resident_bytes()},
              {"model", outcome.file.string()}};
    json.update(places_json(outcome.search));
    json.update(judged_json(outcome.judged));
    if (!outcome.previous.empty()) json["previous"] = outcome.previous.string();
    return json;
}

void print_learned(const tasks::Configuration& configuration, const tasks::LearnOutcome& outcome) {
    print_line("{} after {} generation{} and {:.1f} s; {} numbers learned from {} rows with {} labels, state {}",
               outcome.search.stopped_by == "caller" ? "interrupted" : "done", outcome.search.generations,
               outcome.search.generations == 1 ? "" : "s", outcome.seconds, outcome.search.cost.numbers,
               outcome.training_rows, outcome.model.classes.size(), outcome.search.state_hash);
    if (outcome.judged.held_out) print_score("held out", *outcome.judged.held_out);
    if (outcome.judged.test) print_score("test", *outcome.judged.test);
    print_places(outcome.search);
    if (outcome.file.empty()) return;
    print_line("saved {}", shown(outcome.file));
    print_line("look at it: {} eval {}", command_name(), shell_quoted(outcome.file.string()));
    if (outcome.search.stopped_by == "caller" && !configuration.learn.gradient)
        print_line("to continue, run the same command with --resume");
}

}  // namespace

Result<std::vector<Device>> devices_to_learn_on(const Result<void>& good, const LearnFlags& flags) {
    if (ranks() == nullptr) {
        YOLK_TRY_VOID(good);
        return open_devices(flags.devices, flags.common);
    }
    YOLK_TRY_VOID(evolve::agree(*ranks(), good));
    return open_devices_of_rank(flags.devices, flags.common, *ranks());
}

Result<evolve::Devices> devices_of_run(const std::vector<Device>& devices, Determinism determinism, std::uint64_t seed,
                                       const LearnFlags& flags) {
    const bool audits_alone = flags.devices == "all";
    evolve::Devices all(devices);
    if (devices.size() > 1 || flags.audit > 0.0) {
        if (devices.size() == 1 && !audits_alone) {
            return bad_input("--audit {} needs a second device to evaluate members again; --devices gives only {}.",
                             flags.audit, devices.front().info().name);
        }
        YOLK_TRY(all,
                 evolve::DevicePool::create(
                     devices,
                     {.determinism = determinism, .audit = flags.audit, .audits_alone = audits_alone, .seed = seed}));
    }
    return ranks() == nullptr ? all : all.with(*ranks());
}

Result<std::vector<tasks::Override>> overrides_of(const App& train, const std::vector<std::string>& sets) {
    std::vector<tasks::Override> overrides;
    for (const Option* const option : train.given()) {
        std::string key = option->key();
        std::ranges::replace(key, '-', '_');
        std::vector<std::string> texts = option->texts();
        if (key == "keep_going") key = "stop_when_solved", texts = {"false"};
        if (!tasks::is_key(key)) continue;
        const std::string value = texts.size() == 1 ? texts.front() : Json(texts).dump();
        overrides.push_back({.key = key, .value = value, .from = option->name()});
    }
    for (const std::string& set : sets) {
        const std::size_t sign = set.find('=');
        if (sign == std::string::npos || sign == 0)
            return bad_input("--set {}: KEY=VALUE is needed, such as search.lr=0.1.", shown(set));
        overrides.push_back({.key = set.substr(0, sign), .value = set.substr(sign + 1), .from = "--set " + set});
    }
    return overrides;
}

Result<int> run_learning(const Result<tasks::Configuration>& configuration, const LearnFlags& flags) {
    const Result<void> good = configuration ? Result<void>() : Result<void>(configuration.error());
    YOLK_TRY(const std::vector<Device> devices, devices_to_learn_on(good, flags));
    tasks::LearnOptions options = configuration->learn;
    options.configuration = to_toml(*configuration);
    YOLK_TRY(const evolve::Devices on,
             devices_of_run(devices, options.evolution.determinism, options.evolution.seed, flags));
    const RememberShapes remember(speaks_for_ranks() ? std::span(devices) : std::span<const Device>());
    const bool speaks = speaks_for_ranks();
    const bool human = speaks && !flags.common.json && !flags.common.quiet;
    if (human) print_line("learning {} on {}", shown(options.source), names_of(devices, true));
    const InterruptGuard interrupt;
    const std::shared_ptr<CompileNotice> notice = watch_compilation(devices.front(), flags.common);
    notice->await_first_result("The first generation");
    const auto on_generation = [&](const hyper::GenerationReport& report) {
        notice->first_result();
        if (human) show_generation(report, options.generations);
        if (speaks && flags.common.json && !flags.common.quiet) print_json(to_json(report));
        return !InterruptGuard::requested();
    };
    const Result<tasks::LearnOutcome> outcome = tasks::learn(on, options, on_generation);
    notice->first_result();
    if (human && output_is_terminal() && outcome) print_line("");
    if (!outcome) return outcome.error();
    if (!speaks) return 0;
    return print_outcome(flags.common.json, learned_json(*configuration, devices, *outcome),
                         [&] { print_learned(*configuration, *outcome); });
}

bool is_model(const std::filesystem::path& file) {
    const Result<std::vector<std::byte>> bytes = read_file(file, kModelKind.limit_bytes);
    const auto name = bytes ? name_of_state(*bytes) : std::nullopt;
    return name && name->kind == kModelKind.name;
}

Result<int> run_judge(const std::filesystem::path& file, const JudgeFlags& flags) {
    YOLK_TRY(const tasks::Model model, tasks::load_model(file));
    tasks::Judgement judged;
    if (flags.data.empty()) {
        const std::filesystem::path beside = file.parent_path() / "yolk.toml";
        Result<tasks::Configuration> configuration = tasks::read_configuration(beside);
        if (!configuration) {
            return std::move(configuration)
                .error()
                .while_doing("looking up what the model learned from; name data with --data instead");
        }
        YOLK_TRY(judged, tasks::judge(model, configuration->learn));
    } else {
        YOLK_TRY(const tasks::DataSet data, tasks::read_data(flags.data, flags.options));
        YOLK_TRY(judged.test, tasks::score(model, data));
    }
    Json json{{"model", file.string()}, {"data", flags.data.empty() ? model.data : flags.data}};
    json.update(judged_json(judged));
    return print_outcome(flags.common.json, json, [&] {
        if (judged.test) print_classes(*judged.test);
        if (judged.held_out) print_score("held out", *judged.held_out);
        if (judged.test) print_score(flags.data.empty() ? "test" : flags.data.c_str(), *judged.test);
        if (!judged.held_out && !judged.test) print_line("The run kept no rows back; name others with --data.");
    });
}

Result<int> replay_learned(const std::filesystem::path& log, std::optional<std::uint32_t> generation,
                           const std::filesystem::path& out, const CommonFlags& common) {
    YOLK_TRY(const tasks::Configuration configuration, tasks::read_configuration(log.parent_path() / "yolk.toml"));
    YOLK_TRY(const tasks::ReplayedModel replayed,
             tasks::replay_learning(evolve::Devices::none(), configuration.learn, log, generation));
    if (!out.empty()) YOLK_TRY_VOID(tasks::save_model(out, replayed.model));
    const hyper::SearchReplay& replay = replayed.replay;
    const Json json{{"log", log.string()},
                    {"task", configuration.learn.source},
                    {"seed", replay.seed},
                    {"population", replay.population},
                    {"generations_in_log", replay.generations_in_log},
                    {"torn_bytes", replay.torn_bytes},
                    {"generation", replay.generation},
                    {"state_hash", replay.state_hash},
                    {"state_digest", replay.state_digest},
                    {"model", out.string()}};
    return print_outcome(common.json, json, [&] {
        print_line("{}, seed {}, population {}: the log has {} generations", shown(configuration.learn.source),
                   replay.seed, replay.population, replay.generations_in_log);
        print_line("generation {}: state {}", replay.generation, replay.state_hash);
        if (!out.empty()) print_line("saved {}", shown(out));
    });
}

}  // namespace yolk::cli
