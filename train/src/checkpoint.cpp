// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

#include "yolk/core/file.hpp"
#include "yolk/core/hash.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/printable.hpp"
#include "yolk/evolve/parameter_setup.hpp"
#include "yolk/evolve/settings.hpp"

#include "task_setup.hpp"

namespace yolk::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the file holds values as they lie in memory");

constexpr std::string_view kMagic = "YOLKRUN\n";
constexpr std::size_t kVersionAt = kMagic.size();
constexpr std::size_t kHeaderBytesAt = kVersionAt + sizeof(std::uint32_t);
constexpr std::size_t kHeaderAt = kHeaderBytesAt + sizeof(std::uint32_t);
constexpr std::size_t kHashBytes = sizeof(std::uint64_t);
/// Far above any policy that fits the roll-out kernel (64 KiB of parameters) with Adam's two arrays.
constexpr std::size_t kMaxCheckpointBytes = std::size_t{16} << 20U;

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class T>
void append_value(std::vector<std::byte>& out, T value) {
    append(out, std::as_bytes(std::span(&value, 1)));
}
/// The caller has seen that the bytes are there.
template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

Error damaged(std::string_view what, std::string_view why) {
    return bad_input("{} cannot be resumed from: {}. Restore it from a copy, or train again without --resume.", what,
                     why);
}

/// Frame and hash; the header's bytes and those of the arrays.
struct Frame {
    std::span<const std::byte> header, arrays;
};
Result<Frame> unframe(std::span<const std::byte> bytes, std::string_view what) {
    const std::size_t magic_bytes = std::min(bytes.size(), kMagic.size());
    if (magic_bytes == 0 || std::memcmp(bytes.data(), kMagic.data(), magic_bytes) != 0)
        return damaged(what, "it is not a checkpoint of Yolk");
    if (bytes.size() < kHeaderAt + kHashBytes)
        return damaged(what, fmt::format("it is cut off after {} bytes", bytes.size()));
    if (const auto version = value_at<std::uint32_t>(bytes, kVersionAt); version != kCheckpointVersion) {
        return bad_input(
            "{} has the format version {}; this version of Yolk reads version {}. Resume it with the Yolk that wrote "
            "it, or train again without --resume.",
            what, version, kCheckpointVersion);
    }
    const std::size_t hashed = bytes.size() - kHashBytes;
    if (value_at<std::uint64_t>(bytes, hashed) != hash64(bytes.first(hashed)))
        return damaged(what, "it is damaged or cut off (its checksum does not fit its bytes)");
    const std::size_t body = hashed - kHeaderAt;
    const auto header_bytes = value_at<std::uint32_t>(bytes, kHeaderBytesAt);
    if (header_bytes > body)
        return damaged(what, fmt::format("it claims a header of {} bytes and has {}", header_bytes, body));
    return Frame{.header = bytes.subspan(kHeaderAt, header_bytes),
                 .arrays = bytes.subspan(kHeaderAt + header_bytes, body - header_bytes)};
}

/// A member of the header, or null where it is missing.
const Json* find(const Json& object, const char* key) {
    const auto at = object.find(key);
    return at == object.end() ? nullptr : &*at;
}
std::optional<std::uint64_t> unsigned_of(const Json& object, const char* key) {
    const Json* const value = find(object, key);
    if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
    return value->get<std::uint64_t>();
}
std::optional<bool> bool_of(const Json& object, const char* key) {
    const Json* const value = find(object, key);
    if (value == nullptr || !value->is_boolean()) return std::nullopt;
    return value->get<bool>();
}

struct Counts {
    std::uint64_t parameters = 0, optimizer_state = 0;
};

Result<Counts> read_header(const Json& header, std::string_view what, Checkpoint& out) {
    if (!header.is_object()) return damaged(what, "its header is not a JSON object");
    const auto generation = unsigned_of(header, "generation");
    const auto parameters = unsigned_of(header, "parameters");
    const auto state = unsigned_of(header, "optimizer_state");
    const auto solved = bool_of(header, "solved");
    const auto finished = bool_of(header, "finished");
    const Json* const hash = find(header, "state_hash");
    const Json* const settings = find(header, "settings");
    if (!generation || !parameters || !state || !solved || !finished || hash == nullptr || !hash->is_string() ||
        settings == nullptr || !settings->is_object()) {
        return damaged(what, "its header lacks an entry, or has one of a wrong kind");
    }
    if (*generation == 0 || *generation > 0xFFFFFFFFU)
        return damaged(what, fmt::format("it claims {} generations", *generation));
    for (const auto& [name, value] : settings->items()) {
        if (!value.is_string()) return damaged(what, fmt::format("its setting '{}' is not text", name));
        // Older checkpoints call it "exclude".
        out.settings.emplace_back(name == "exclude" ? "freeze" : name, value.get<std::string>());
    }
    out.generation = static_cast<std::uint32_t>(*generation);
    out.solved = *solved;
    out.finished = *finished;
    out.state_hash = hash->get<std::string>();
    return Counts{.parameters = *parameters, .optimizer_state = *state};
}

Result<void> read_arrays(std::span<const std::byte> bytes, const Counts& counts, std::string_view what,
                         Checkpoint& out) {
    const std::uint64_t available = bytes.size() / sizeof(float);
    if (bytes.size() % sizeof(float) != 0 || counts.parameters > available ||
        counts.optimizer_state != available - counts.parameters) {
        return damaged(
            what, fmt::format("it claims {} parameters and {} values of optimizer state, but holds {} bytes of them",
                              counts.parameters, counts.optimizer_state, bytes.size()));
    }
    const auto copy = [&bytes](std::vector<float>& values, std::uint64_t count) {
        values.resize(count);
        if (count != 0) std::memcpy(values.data(), bytes.data(), count * sizeof(float));
        bytes = bytes.subspan(count * sizeof(float));
    };
    copy(out.parameters, counts.parameters);
    copy(out.optimizer_state, counts.optimizer_state);
    return {};
}

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

std::vector<std::byte> encode_checkpoint(const Checkpoint& checkpoint) {
    Json settings = Json::object();
    for (const auto& [name, value] : checkpoint.settings) settings[name] = value;
    const std::string header = to_line(Json{{"generation", checkpoint.generation},
                                            {"solved", checkpoint.solved},
                                            {"finished", checkpoint.finished},
                                            {"state_hash", checkpoint.state_hash},
                                            {"parameters", checkpoint.parameters.size()},
                                            {"optimizer_state", checkpoint.optimizer_state.size()},
                                            {"settings", std::move(settings)}});
    std::vector<std::byte> out;
    append(out, std::as_bytes(std::span(kMagic)));
    append_value(out, kCheckpointVersion);
    append_value(out, static_cast<std::uint32_t>(header.size()));
    append(out, std::as_bytes(std::span(header)));
    append(out, std::as_bytes(std::span(checkpoint.parameters)));
    append(out, std::as_bytes(std::span(checkpoint.optimizer_state)));
    append_value(out, hash64(out));
    return out;
}

Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes, std::string_view what) {
    YOLK_TRY(const Frame frame, unframe(bytes, what));
    const std::string_view text(reinterpret_cast<const char*>(frame.header.data()), frame.header.size());
    YOLK_TRY(const Json header, parse_json(text, fmt::format("the header of {}", what)));
    Checkpoint checkpoint;
    YOLK_TRY(const Counts counts, read_header(header, what, checkpoint));
    YOLK_TRY_VOID(read_arrays(frame.arrays, counts, what, checkpoint));
    const Result<std::string> hash =
        evolve::state_hash(checkpoint.parameters, checkpoint.optimizer_state, checkpoint.generation);
    if (!hash) return damaged(what, "a parameter in it is not finite");
    if (*hash != checkpoint.state_hash) return damaged(what, "its state hash does not fit its state");
    return checkpoint;
}

Result<Checkpoint> load_checkpoint(const std::filesystem::path& path) {
    const Result<std::vector<std::byte>> bytes = read_file(path, kMaxCheckpointBytes);
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
    const Result<std::vector<std::byte>> bytes = read_file(path, kMaxCheckpointBytes);
    if (!bytes) return false;
    const bool of_yolk = bytes->size() >= kHeaderAt && std::memcmp(bytes->data(), kMagic.data(), kMagic.size()) == 0;
    return !of_yolk || value_at<std::uint32_t>(*bytes, kVersionAt) <= kCheckpointVersion;
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
        if (found == nullptr) return damaged(what, fmt::format("it does not say its '{}'", name));
        if (*found != value) {
            return bad_input(
                "{} is of a run with {} '{}', but '{}' was given. Give the same to resume it, or train again without "
                "--resume.",
                what, name, *found, value);
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
