// SPDX-License-Identifier: Apache-2.0
#include "bytes_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "interrupt.hpp"
#include "last_run.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "select_device.hpp"
#include "yolk/bytes.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

struct BytesFlags {
    train::ByteOptions options;
    std::string devices;  ///< of --devices
    CommonFlags common;
};

void show_report(const train::ByteReport& report, std::uint32_t generations) {
    const std::string held_out =
        report.held_out ? fmt::format(", held-out text {:.3f}", *report.held_out) : std::string();
    print_line("generation {}/{}, {:.3f} bits per byte{}, {} members/s", report.generation + 1, generations,
               report.bits, held_out, rate_text(report.members_per_second));
}

Json bytes_json(const std::vector<Device>& devices, const train::ByteOutcome& outcome) {
    Json json{{"task", "bytes"}, {"device", names_of(devices)}, {"driver", drivers_of(devices)}};
    json["generations"] = outcome.generations;
    json["resumed_from"] = outcome.resumed_from;
    json["interrupted"] = outcome.interrupted;
    json["held_out_bits_per_byte"] = outcome.held_out;
    json["unigram"] = outcome.baselines.unigram;
    json["bigram"] = outcome.baselines.bigram;
    json["gzip"] = outcome.baselines.gzip ? Json(*outcome.baselines.gzip) : Json();
    json["xz"] = outcome.baselines.xz ? Json(*outcome.baselines.xz) : Json();
    json["seconds"] = outcome.seconds;
    json["members_per_second"] = outcome.members_per_second;
    json["state_hash"] = outcome.state_hash;
    json["model"] = outcome.model.string();
    if (!outcome.previous.empty()) json["previous"] = outcome.previous.string();
    return json;
}

void print_bytes_outcome(const train::ByteOutcome& outcome) {
    print_line("{} after {} generations and {:.1f} s; held-out text takes {:.3f} bits per byte",
               outcome.interrupted ? "interrupted" : "ended", outcome.generations, outcome.seconds, outcome.held_out);
    const train::ByteBaselines& others = outcome.baselines;
    const auto of_program = [](const char* name, const std::optional<double>& bits) {
        return bits ? fmt::format("; {} {:.3f} (whole file)", name, *bits) : std::string();
    };
    if (others.unigram > 0.0) {
        print_line("beside it: unigram {:.3f}, bigram {:.3f} (held-out text){}{}", others.unigram, others.bigram,
                   of_program("gzip", others.gzip), of_program("xz", others.xz));
    }
    print_line("{} members/s, state {}", rate_text(outcome.members_per_second), outcome.state_hash);
    if (outcome.model.empty()) return;
    print_line("saved {}", outcome.model.string());
    print_line("read from it: {} sample {}", command_name(), shell_quoted(outcome.model.string()));
    if (outcome.interrupted) print_line("to continue, run the same command with --resume");
}

Result<int> run_train_bytes(const BytesFlags& flags) {
    YOLK_TRY_VOID(join_ranks(flags.common));
    if (flags.options.data.empty()) return bad_input("`train bytes` needs a text to learn from: --data FILE.");
    const bool quiet = flags.common.quiet || !speaks_for_ranks();
    YOLK_TRY(const std::vector<Device> devices, ranks() == nullptr
                                                    ? open_devices(flags.devices, flags.common)
                                                    : open_devices_of_rank(flags.devices, flags.common, *ranks()));
    const RememberShapes remember(speaks_for_ranks() ? std::span(devices) : std::span<const Device>());
    InterruptGuard interrupt(InterruptGuard::Early::GivesUp);
    const auto on_generation = [&](const train::ByteReport& report) {
        interrupt.has_results();
        if (!quiet && flags.common.json) print_json(train::to_json(report));
        if (!quiet && !flags.common.json) show_report(report, flags.options.generations);
        return !InterruptGuard::requested();
    };
    const evolve::Devices on(devices);
    YOLK_TRY(const train::ByteOutcome outcome,
             train::train_bytes(ranks() == nullptr ? on : on.with(*ranks()), flags.options, on_generation));
    if (!speaks_for_ranks()) return 0;
    return print_outcome(flags.common.json, bytes_json(devices, outcome), [&] { print_bytes_outcome(outcome); });
}

void add_byte_settings(App& app, train::ByteSettings& settings) {
    add_number(app, "--width", settings.width, "Width of the model, a multiple of 8 up to 256")->default_str("32");
    add_number(app, "--layers", settings.layers, "Recurrent layers, 1 to 16")->default_str("1");
    add_number(app, "--population", settings.population, "Members, in pairs")->default_str("512");
    add_number(app, "--group-size", settings.group, "Members that read the same stretch of the text")
        ->default_str("64");
    add_number(app, "--steps", settings.steps, "Bytes that each member is scored on in a generation")
        ->default_str("64");
    add_number(app, "--context", settings.context, "Bytes that it reads before them")->default_str("16");
    add_number(app, "--perturbation-rank", settings.rank, "Rank of the perturbations: 1, 4 or 16")->default_str("1");
    add_number(app, "--sigma-shift", settings.sigma_shift, "Sigma is 2 to the minus this")->default_str("4");
    add_number(app, "--alpha-rate", settings.alpha_rate,
               "Weights move that are significant at alpha = 1 / (rate / 1000 * generation + 1)")
        ->default_str("15");
    add_number(app, "--feedback", settings.feedback,
               "Sixteenths of a deviation that add up, over generations, to a move; 0: only what is significant in one "
               "generation moves")
        ->default_str("0");
    app.add_flag("--symmetric,!--floor", settings.symmetric,
                 "Round to the nearest integer (the default), or to minus infinity, as the published rule does");
    add_number(app, "--held-out", settings.held_out, "Percent of the text, its end, that is never trained on")
        ->default_str("10");
    add_number(app, "--seed", settings.seed, "Seed of weights and noise")->default_str("1");
}

struct SampleFlags {
    std::filesystem::path model;
    train::SampleOptions options;
    double temperature = 1.0;
};

Result<int> run_sample(SampleFlags flags) {
    if (!(flags.temperature >= 0.0 && flags.temperature <= 16.0))
        return bad_input("--temperature is {}; it must be from 0 to 16.", flags.temperature);
    flags.options.temperature = static_cast<std::uint32_t>(flags.temperature * 16.0 + 0.5);
    YOLK_TRY(const std::string text, train::sample_bytes(flags.model, flags.options));
    print_text(text + "\n");
    return 0;
}

}  // namespace

Command add_train_bytes_command(App& train) {
    const auto flags = std::make_shared<BytesFlags>();
    App* command = train.add_subcommand("bytes", "Train a language model in pure integers on the bytes of a file");
    train::ByteOptions& options = flags->options;
    command->add_option("--data", options.data, "The text to learn from")->type_name("FILE");
    add_byte_settings(*command, options.settings);
    add_number(*command, "--generations", options.generations, "Generations at most")->default_str("1000");
    add_number(*command, "--minutes", options.minutes, "Time limit in minutes; 0: none")->default_str("0");
    add_number(*command, "--evaluate-every", options.evaluate_every,
               "Generations between two scores of the held-out text; 0: only at the end")
        ->default_str("50");
    add_number(*command, "--checkpoint-every", options.checkpoint_every,
               "Generations between two checkpoints; 0: one at the end")
        ->default_str("100");
    command
        ->add_option("--out", options.out,
                     "Folder for model.safetensors, metrics.jsonl and log.yolk, made if missing; '' writes nothing")
        ->type_name("FOLDER")
        ->default_str("yolk-bytes");
    command->add_flag("--resume", options.resume, "Continue the run in the folder, with the same settings and text");
    add_device_flag(*command, flags->common);
    add_devices_flag(*command, flags->devices);
    add_rank_flag(*command, flags->common);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_train_bytes(*flags); }};
}

Command add_sample_command(App& app) {
    const auto flags = std::make_shared<SampleFlags>();
    App* command = app.add_subcommand("sample", "Write text by a model of `train bytes`");
    command->add_option("model", flags->model, "Its model.safetensors")->type_name("FILE")->required();
    add_number(*command, "--length", flags->options.length, "Bytes")->default_str("200");
    add_number(*command, "--temperature", flags->temperature, "0 (the likeliest byte) to 16; in sixteenths")
        ->default_str("1");
    add_number(*command, "--seed", flags->options.seed, "Seed of the draws")->default_str("1");
    command->add_option("--prompt", flags->options.prompt, "Text that the model reads first")->type_name("TEXT");
    return {command, [flags] { return run_sample(*flags); }};
}

}  // namespace yolk::cli
