// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "byte_baselines.hpp"
#include "byte_file.hpp"
#include "byte_run.hpp"
#include "byte_step.hpp"
#include "output_folder.hpp"
#include "previous_run.hpp"
#include "yolk/bytes.hpp"
#include "yolk/internal/context/run_place.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/evolve/state_digest.hpp"
#include "yolk/json.hpp"
#include "yolk/run_log.hpp"

namespace yolk::train {
namespace {

using ByteClock = std::chrono::steady_clock;

double since(ByteClock::time_point start) { return std::chrono::duration<double>(ByteClock::now() - start).count(); }

/// What a run has while it goes on.
struct ByteRun {
    const ByteOptions& options;
    const ByteSetup& setup;
    const ByteText& text;
    evolve::NamedValues settings;
    std::vector<Device> devices{};
    evolve::Exchange* exchange = nullptr;
    bool writes = false;
    std::optional<WriterLock> lock{};
    std::optional<evolve::RunLogWriter> log{};
    MetricsFile metrics{{}};
    std::unique_ptr<evolve::MemberEvaluator> mean{};
    ByteModelDesc mean_desc{};
    ByteClock::time_point start = ByteClock::now();
    ByteOutcome outcome{};

    [[nodiscard]] Json first_line() const;
    [[nodiscard]] Result<ByteStart> find_start();
    [[nodiscard]] Result<void> catch_up(evolve::Evolution& run, const ByteStart& from);
    [[nodiscard]] Result<ByteReport> step(evolve::Evolution& run);
    [[nodiscard]] Result<void> write(const evolve::Evolution& run, const ByteReport& report);
    [[nodiscard]] Result<void> save(const evolve::Evolution& run);
    [[nodiscard]] Result<bool> ends(const ByteReport& report, const OnByteGeneration& on_generation);
    [[nodiscard]] Result<void> loop(evolve::Evolution& run, const OnByteGeneration& on_generation);
};

Result<ByteStart> ByteRun::find_start() {
    if (!options.resume) return beginning_of(setup);
    const std::filesystem::path file = byte_model_path(options.out);
    if (!std::filesystem::exists(file)) return beginning_of(setup);  // the log may have its generations
    YOLK_TRY(const LoadedByteModel loaded, load_byte_model(file));
    for (std::size_t i = 0; i < settings.size(); ++i) {
        if (i < loaded.state.settings.size() &&
            evolve::SettingReader(loaded.state.settings, "the model").find(settings[i].first) != nullptr &&
            *evolve::SettingReader(loaded.state.settings, "the model").find(settings[i].first) == settings[i].second)
            continue;
        return bad_input("The run in '{}' has another {} than this one, {}. Resume it with its own settings and text.",
                         shown(options.out), settings[i].first, settings[i].second);
    }
    return ByteStart{
        .weights = loaded.state.weights, .residual = loaded.state.residual, .generation = loaded.state.generation};
}

/// The folder, and the generations that the log has beyond the model in it.
Result<void> ByteRun::catch_up(evolve::Evolution& run, const ByteStart& from) {
    if (!writes) return {};
    YOLK_TRY_VOID(prepare_output_folder(options.out, lock));
    metrics = MetricsFile(metrics_path(options.out));
    if (options.resume) {
        YOLK_TRY(const evolve::RunLogReader written, evolve::RunLogReader::open(log_path(options.out)));
        if (written.header().settings != settings)
            return bad_input("The log in '{}' is of a run with other settings or another text.", shown(options.out));
        if (written.generations() > from.generation)
            YOLK_TRY_VOID(evolve::replay_log(run, written, written.generations()));
        YOLK_TRY(log, evolve::RunLogWriter::continue_after(written, run.generations()));
        YOLK_TRY(const std::string hash, run.state_hash());
        YOLK_TRY(const std::string digest,
                 evolve::state_digest(run.parameters(), run.optimizer_state(), run.generations()));
        outcome.resumed_from = run.generations();
        if (run.generations() == 0) return {};
        YOLK_TRY(const std::string kept,
                 kept_metrics(metrics_path(options.out), run.generations(), {.hash = hash, .digest = digest}));
        return metrics.continue_from(first_line(), kept);
    }
    YOLK_TRY(evolve::RunLogHeader header,
             evolve::run_log_header(settings, setup.evolution, from.weights, from.residual, from.generation));
    log = evolve::RunLogWriter::replace(log_path(options.out), std::move(header));
    return {};
}

Json ByteRun::first_line() const {
    Json first = Json::object();
    for (const auto& [name, value] : settings) first[name] = value;
    add_run_place(first, devices);
    return {{"settings", first}};
}

Result<ByteReport> ByteRun::step(evolve::Evolution& run) {
    const ByteClock::time_point began = ByteClock::now();
    YOLK_TRY(const evolve::GenerationSummary summary, run.step());
    ByteReport report{.generation = summary.generation,
                      .bits = -static_cast<double>(summary.mean) / setup.settings.steps,
                      .members_per_second = setup.settings.population / since(began)};
    YOLK_TRY(report.state_digest, run.state_digest());
    YOLK_TRY(report.state_hash, run.state_hash());
    if (options.evaluate_every != 0 && run.generations() % options.evaluate_every == 0) {
        YOLK_TRY(report.held_out, bits_per_byte(*mean, mean_desc, run.parameters()));
    }
    report.seconds = since(start);
    return report;
}

Result<void> ByteRun::write(const evolve::Evolution& run, const ByteReport& report) {
    if (!writes) return {};
    if (report.generation == 0 && !options.resume) {
        YOLK_TRY(outcome.previous, set_aside(options.out));
        YOLK_TRY_VOID(metrics.append(first_line()));
    }
    YOLK_TRY_VOID(metrics.append(to_json(report)));
    evolve::LoggedGeneration logged{.generation = report.generation, .digest = report.state_digest};
    YOLK_TRY(logged.shaped, run.shaped());
    YOLK_TRY_VOID(log->append(logged));
    if (options.checkpoint_every != 0 && run.generations() % options.checkpoint_every == 0) return save(run);
    return {};
}

Result<void> ByteRun::save(const evolve::Evolution& run) {
    if (!writes) return {};
    YOLK_TRY_VOID(metrics.sync());
    if (log) YOLK_TRY_VOID(log->sync());
    outcome.model = byte_model_path(options.out);
    YOLK_TRY(const std::string hash, run.state_hash());
    return save_byte_model(outcome.model,
                           {.settings = settings,
                            .generation = run.generations(),
                            .state_hash = hash,
                            .weights = {run.parameters().begin(), run.parameters().end()},
                            .residual = {run.optimizer_state().begin(), run.optimizer_state().end()}},
                           setup);
}

/// The same answer on all ranks: rank 0's clock and callback say.
Result<bool> ByteRun::ends(const ByteReport& report, const OnByteGeneration& on_generation) {
    bool stop = on_generation && !on_generation(report);
    outcome.interrupted = stop;
    stop = stop || (options.minutes > 0.0 && report.seconds >= 60.0 * options.minutes);
    if (exchange == nullptr || exchange->ranks() == 1) return stop;
    YOLK_TRY(const std::vector<std::byte> first,
             evolve::share_from(*exchange, 0, std::vector<std::byte>{static_cast<std::byte>(stop ? 1 : 0)}));
    return first.size() == 1 && first.front() != std::byte{0};
}

Result<void> ByteRun::loop(evolve::Evolution& run, const OnByteGeneration& on_generation) {
    const std::uint32_t first = run.generations();
    while (run.generations() < options.generations) {
        YOLK_TRY(const ByteReport report, step(run));
        YOLK_TRY_VOID(write(run, report));
        YOLK_TRY(const bool stop, ends(report, on_generation));
        if (stop) break;
    }
    outcome.generations = run.generations();
    outcome.seconds = since(start);
    outcome.members_per_second =
        static_cast<double>(run.generations() - first) * setup.settings.population / outcome.seconds;
    YOLK_TRY(outcome.state_hash, run.state_hash());
    YOLK_TRY_VOID(save(run));
    YOLK_TRY(outcome.held_out, bits_per_byte(*mean, mean_desc, run.parameters()));
    if (writes) outcome.baselines = byte_baselines(text, options.data);
    return {};
}

Result<void> check_options(const ByteOptions& options, const evolve::Devices& devices) {
    if (options.generations == 0) return bad_input("The number of generations is 0; it must be at least 1.");
    if (!std::isfinite(options.minutes) || options.minutes < 0.0)
        return bad_input("The minutes are {}; they must be 0 (no limit) or more.", options.minutes);
    if (options.resume && options.out.empty()) return bad_input("To resume a run give its output folder; it is empty.");
    if (options.resume && devices.has_other_ranks())
        return bad_input("A run of the byte model is resumed by one rank; here are {}.", devices.exchange()->ranks());
    return {};
}

}  // namespace

Json to_json(const ByteReport& report) {
    Json json{{"generation", report.generation},     {"bits_per_byte", report.bits},
              {"seconds", report.seconds},           {"members_per_second", report.members_per_second},
              {"state_digest", report.state_digest}, {"state_hash", report.state_hash}};
    if (report.held_out) json["held_out_bits_per_byte"] = *report.held_out;
    return json;
}

Result<ByteOutcome> train_bytes(const evolve::Devices& devices, const ByteOptions& options,
                                const OnByteGeneration& on_generation) {
    YOLK_TRY_VOID(check_options(options, devices));
    YOLK_TRY(const ByteSetup setup, set_up_bytes(options.settings));
    YOLK_TRY(const ByteText text, read_byte_text(options.data, options.settings));
    ByteRun run{
        .options = options, .setup = setup, .text = text, .settings = byte_settings(options.settings, text.hash)};
    run.exchange = devices.exchange();
    if (devices.has_other_ranks()) YOLK_TRY_VOID(evolve::compare_settings(*run.exchange, run.settings));
    run.writes = !options.out.empty() && (run.exchange == nullptr || run.exchange->rank() == 0);
    if (run.writes) {
        YOLK_TRY(run.lock, lock_output_folder(options.out));
    }
    YOLK_TRY(const ByteStart from, run.find_start());
    YOLK_TRY(run.devices, devices.handles());
    if (run.devices.empty()) return bad_input("Training needs at least one device; it was given none.");
    const Device& first = run.devices.front();
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(first));
    YOLK_TRY(evolve::DevicePool pool, evolve::DevicePool::create(run.devices, {.seed = options.settings.seed}));
    evolve::Devices on(pool);
    if (run.exchange != nullptr) on = on.with(*run.exchange);
    run.mean_desc = byte_mean_desc(options.settings, text.held_out->size());
    YOLK_TRY(run.mean, byte_members(first, dispatcher, run.mean_desc, text.held_out));
    YOLK_TRY(evolve::Evolution evolution, byte_evolution(on, first, dispatcher, setup, from, text.training));
    YOLK_TRY_VOID(run.catch_up(evolution, from));
    run.start = ByteClock::now();
    YOLK_TRY_VOID(run.loop(evolution, on_generation));
    return run.outcome;
}

Result<std::vector<std::string>> train_bytes_twin(const ByteOptions& options) {
    YOLK_TRY(const ByteSetup setup, set_up_bytes(options.settings));
    YOLK_TRY(const ByteText text, read_byte_text(options.data, options.settings));
    const auto members = byte_twin_members(byte_members_desc(options.settings, text.training->size()), text.training);
    const auto sums = byte_twin_sums(setup);
    ByteStart state = beginning_of(setup);
    std::vector<float> returns(options.settings.population);
    std::vector<std::string> hashes;
    while (state.generation < options.generations) {
        const NoiseContext when{options.settings.seed, state.generation, state.generation, 1.0F};
        YOLK_TRY_VOID(members->begin(state.weights, when));
        YOLK_TRY_VOID(members->evaluate({.first = 0, .count = options.settings.population}, returns));
        std::vector<std::int8_t> weights;
        for (std::size_t i = 0; i < returns.size(); i += 2)
            weights.push_back(static_cast<std::int8_t>((returns[i] > returns[i + 1]) - (returns[i] < returns[i + 1])));
        YOLK_TRY(const std::vector<float> sum, sums->of(weights, when));
        step_bytes(setup.settings, setup.table, sum, state.generation, state.weights, state.residual);
        ++state.generation;
        YOLK_TRY(hashes.emplace_back(), evolve::state_hash(state.weights, state.residual, state.generation));
    }
    return hashes;
}

Result<std::string> replay_bytes(const evolve::Devices& devices, const std::filesystem::path& log,
                                 std::optional<std::uint32_t> generation) {
    const bool is_folder = std::filesystem::is_directory(log);
    YOLK_TRY(const evolve::RunLogReader written, evolve::RunLogReader::open(is_folder ? log_path(log) : log));
    const std::string what = fmt::format("'{}'", shown(written.path()));
    const evolve::SettingReader reader(written.header().settings, what);
    if (const std::string* const task = reader.find("task"); task == nullptr || *task != "bytes")
        return bad_input("{} is not the log of a byte model's training.", what);
    YOLK_TRY(const ByteSettings settings, byte_settings_of(reader));
    YOLK_TRY(const ByteSetup setup, set_up_bytes(settings));
    YOLK_TRY(Dispatcher* const dispatcher, devices.dispatcher());
    YOLK_TRY(evolve::Evolution run,
             byte_evolution(devices, dispatcher->device(), *dispatcher, setup, beginning_of(setup), nullptr));
    YOLK_TRY_VOID(evolve::replay_log(run, written, generation.value_or(written.generations())));
    return run.state_hash();
}

}  // namespace yolk::train
