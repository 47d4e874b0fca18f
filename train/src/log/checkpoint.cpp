// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/state_file.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/evolve/settings.hpp"

#include "task_setup.hpp"

namespace yolk::train {
template <class Fields>
void each_field(Fields& fields, Checkpoint& checkpoint) {
    fields("generation", checkpoint.generation);
    fields("solved", checkpoint.solved);
    fields("finished", checkpoint.finished);
    fields("state_hash", checkpoint.state_hash);
    fields("settings", checkpoint.settings);
}

namespace {

Error damaged(std::string_view what, std::string_view why) { return unreadable_state(kCheckpointKind, what, why); }

const std::string* find_setting(const Settings& settings, std::string_view name) {
    const auto at = std::find_if(settings.begin(), settings.end(), [name](const auto& s) { return s.first == name; });
    return at == settings.end() ? nullptr : &at->second;
}

}  // namespace

Settings run_settings(const TrainOptions& options, const EnvironmentInfo& environment) {
    Settings settings{
        {"task", std::string(environment.name)},
        {"environment_source", environment_source(options)},
        {"network", fmt::format("{}", fmt::join(options.network.widths, ","))},
        {"max_steps", fmt::format("{}", options.max_steps == 0 ? environment.max_steps : options.max_steps)}};
    for (auto& setting : evolve::settings_of(options.evolution)) settings.push_back(std::move(setting));
    return settings;
}

Result<std::vector<std::byte>> encode_checkpoint(const Checkpoint& checkpoint) {
    return encode_state(kCheckpointKind, {.fields = FieldWriter::json_of(checkpoint),
                                          .tensors = {stored_vector("parameters", checkpoint.parameters),
                                                      stored_vector("optimizer_state", checkpoint.optimizer_state)}});
}

Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes, std::string_view what) {
    YOLK_TRY(StateFile file, decode_state(bytes, kCheckpointKind, what));
    FieldReader reader(file.fields);
    Checkpoint checkpoint;
    each_field(reader, checkpoint);
    if (checkpoint.generation == 0) reader.fail("generation");
    if (!take_tensor(file, "parameters", checkpoint.parameters)) reader.fail("parameters");
    if (!take_tensor(file, "optimizer_state", checkpoint.optimizer_state)) reader.fail("optimizer_state");
    YOLK_TRY_VOID(check_fields(reader, kCheckpointKind, what));
    const Result<std::string> hash =
        evolve::state_hash(checkpoint.parameters, checkpoint.optimizer_state, checkpoint.generation);
    if (!hash) return damaged(what, "a parameter in it is not finite");
    if (*hash != checkpoint.state_hash) return damaged(what, "its state hash does not fit its state");
    return checkpoint;
}

Result<void> write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
    YOLK_TRY(const std::vector<std::byte> bytes, encode_checkpoint(checkpoint));
    return write_file_atomically(path, bytes);
}

Result<Checkpoint> load_checkpoint(const std::filesystem::path& path) {
    const Result<std::vector<std::byte>> bytes = read_file(path, kCheckpointKind.limit_bytes);
    if (bytes) return decode_checkpoint(*bytes, fmt::format("'{}'", shown(path)));
    if (bytes.error().native != ENOENT) return bytes.error();
    return io_error(
        fmt::format("There is no checkpoint '{}' to resume from. Give the output folder of the run, or train "
                    "again without --resume.",
                    shown(path)),
        ENOENT);
}

bool may_do_without(const std::filesystem::path& path, const Error& refused) {
    if (refused.kind == ErrorKind::Io) return refused.native == ENOENT;
    const Result<std::vector<std::byte>> bytes = read_file(path, kCheckpointKind.limit_bytes);
    if (!bytes) return false;
    const std::optional<StateName> name = name_of_state(*bytes);
    return !name || name->kind != kCheckpointKind.name || name->version <= kCheckpointKind.version;
}

Result<void> check_settings(const Settings& stored, const TrainOptions& options, const EnvironmentInfo& environment,
                            std::string_view what) {
    const Settings given = run_settings(options, environment);
    if (const bool antithetic = find_setting(stored, "antithetic") == nullptr;
        antithetic != options.evolution.antithetic) {
        return bad_input(
            "{} is of a run {} antithetic sampling. Give --{} to resume it, or train again without --resume.", what,
            antithetic ? "with" : "without", antithetic ? "antithetic" : "no-antithetic");
    }
    for (const auto& [name, value] : given) {
        const std::string* const found = find_setting(stored, name);
        if (found == nullptr) return damaged(what, fmt::format("it does not say its '{}'", shown(name)));
        if (*found != value) {
            return bad_input(
                "{} is of a run with {} '{}', but '{}' was given. Give the same to resume it, or train again without "
                "--resume.",
                what, name, shown(*found), shown(value));
        }
    }
    if (stored.size() != given.size()) return damaged(what, "it has settings that Yolk does not know");
    return {};
}

Result<void> check_resumable(const Checkpoint& checkpoint, const TrainOptions& options,
                             const EnvironmentInfo& environment, std::uint32_t element_count, std::string_view what) {
    YOLK_TRY_VOID(check_settings(checkpoint.settings, options, environment, what));
    const std::size_t state = optimizer_state_arrays(options.evolution.optimizer) * std::size_t{element_count};
    if (checkpoint.parameters.size() != element_count || checkpoint.optimizer_state.size() != state) {
        return damaged(
            what, fmt::format("it has {} parameters and {} values of optimizer state; its settings need {} and {}",
                              checkpoint.parameters.size(), checkpoint.optimizer_state.size(), element_count, state));
    }
    if (checkpoint.generation > options.generations) {
        return bad_input("{} has {} generations already, but at most {} were asked for. Ask for {} or more.", what,
                         checkpoint.generation, options.generations, checkpoint.generation);
    }
    return {};
}

}  // namespace yolk::train
