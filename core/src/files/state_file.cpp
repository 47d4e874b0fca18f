// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/state_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk {
namespace {

constexpr std::array kStateKinds{&kPolicyKind, &kCheckpointKind, &kSystemKind, &kSearchKind,
                                 &kRoundsKind, &kGepaKind,       &kModelKind,  &kAskedKind};
constexpr std::string_view kFormatKey = "format";
constexpr std::string_view kWriterKey = "yolk_version";
constexpr std::string_view kFormatPrefix = "yolk-";

std::string format_of(std::string_view kind, std::uint32_t version) {
    return fmt::format("{}{}-{}", kFormatPrefix, kind, version);
}

/// Of "yolk-policy-2".
std::optional<StateName> name_of_format(std::string_view format) {
    const std::size_t dash = format.rfind('-');
    if (!format.starts_with(kFormatPrefix) || dash < kFormatPrefix.size()) return std::nullopt;
    StateName name{.kind = std::string(format.substr(kFormatPrefix.size(), dash - kFormatPrefix.size()))};
    const char* const last = format.data() + format.size();
    const auto [end, code] = std::from_chars(format.data() + dash + 1, last, name.version);
    return code == std::errc() && end == last ? std::optional(std::move(name)) : std::nullopt;
}

/// Formats from before all kinds had this container.
std::optional<StateName> name_of_other_bytes(std::span<const std::byte> bytes) {
    constexpr std::string_view kJson = "{\n \"format\": \"";
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.starts_with("YOLKRUN\n")) return StateName{.kind = std::string(kCheckpointKind.name), .version = 1};
    if (!text.starts_with(kJson)) return std::nullopt;
    const std::string_view format = text.substr(kJson.size(), 64);
    return name_of_format(format.substr(0, format.find('"')));
}

const std::string* find_metadata(const TensorFile& file, std::string_view key) {
    const auto found = std::ranges::find(file.metadata, key, &std::pair<std::string, std::string>::first);
    return found == file.metadata.end() ? nullptr : &found->second;
}

/// `writer`: the version of Yolk that wrote it, where it says so.
Error misplaced(const StateName& name, const std::string* writer, const StateKind& kind, std::string_view what) {
    const std::string format = shown(format_of(name.kind, name.version));
    const std::string by = writer == nullptr ? std::string() : fmt::format(" of Yolk {}", shown(*writer));
    if (name.kind != kind.name) {
        const auto other = std::ranges::find(kStateKinds, std::string_view(name.kind), &StateKind::name);
        const std::string_view title = other == kStateKinds.end() ? "another kind of file" : (*other)->title;
        return bad_input("{} is {} ('{}'{}), but {} is needed here: {}.", what, title, shown(format), by, kind.title,
                         kind.source);
    }
    return bad_input(
        "{} is {} in the format '{}'{}, which {} version of Yolk wrote; this one reads '{}'. Use the Yolk that wrote "
        "it, or {}.",
        what, kind.title, shown(format), by, name.version > kind.version ? "a later" : "an earlier",
        format_of(kind.name, kind.version), kind.anew);
}

/// Whether it is of this kind, in a version that is read.
Result<void> check_name(const TensorFile& file, const StateKind& kind, std::string_view what) {
    const std::string* const format = find_metadata(file, kFormatKey);
    if (format == nullptr) return unreadable_state(kind, what, "it is a safetensors file that does not say its format");
    const std::optional<StateName> name = name_of_format(*format);
    if (!name)
        return unreadable_state(kind, what, fmt::format("its format is '{}', of another program", shown(*format)));
    const bool is_unsealed = kind.unsealed != 0 && name->version == kind.unsealed;
    if (name->kind != kind.name || (name->version != kind.version && !is_unsealed))
        return misplaced(*name, find_metadata(file, kWriterKey), kind, what);
    if (file.has_checksum || is_unsealed) return {};
    if (kind.unsealed == 0) return unreadable_state(kind, what, "it is damaged: it has no checksum");
    return bad_input(
        "{} has no checksum, which every file of the format '{}' has: it is damaged, or another program wrote it. Such "
        "a program gives the format '{}'.",
        what, shown(*format), format_of(kind.name, kind.unsealed));
}

}  // namespace

std::span<const StateKind* const> state_kinds() noexcept { return kStateKinds; }

StoredTensor stored_vector(std::string name, const std::vector<float>& values) {
    return {.name = std::move(name), .shape = {values.size()}, .values = values};
}

bool take_tensor(StateFile& file, std::string_view name, std::vector<float>& values) {
    const auto found = std::ranges::find(file.tensors, name, &StoredTensor::name);
    if (found == file.tensors.end()) return false;
    values = std::move(found->values);
    return true;
}

Error unreadable_state(const StateKind& kind, std::string_view what, std::string_view why) {
    return bad_input("{} cannot be read as {}: {}. Restore it from a copy, or {}.", what, kind.title, why, kind.anew);
}

Result<void> check_fields(const FieldReader& reader, const StateKind& kind, std::string_view what) {
    if (!reader.failure()) return {};
    return unreadable_state(kind, what,
                            fmt::format("its '{}' is missing or not as it should be", shown(*reader.failure())));
}

Result<std::vector<std::byte>> encode_state(const StateKind& kind, StateFile file) {
    TensorFile all{.metadata = {{std::string(kFormatKey), format_of(kind.name, kind.version)},
                                {std::string(kWriterKey), YOLK_VERSION}},
                   .tensors = std::move(file.tensors)};
    for (const auto& [name, value] : file.fields.items())
        all.metadata.emplace_back(name, value.is_string() ? value.get<std::string>() : to_line(value));
    return encode_safetensors(all);
}

Result<StateFile> decode_state(std::span<const std::byte> bytes, const StateKind& kind, std::string_view what) {
    Result<TensorFile> all = decode_safetensors(bytes, what);
    if (!all) {
        if (const std::optional<StateName> name = name_of_other_bytes(bytes))
            return misplaced(*name, nullptr, kind, what);
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (text.starts_with("YOLKLOG\n")) return unreadable_state(kind, what, "it is the log of a run");
        return bad_input("{} It cannot be read as {}: restore it from a copy, or {}.", all.error().message, kind.title,
                         kind.anew);
    }
    YOLK_TRY_VOID(check_name(*all, kind, what));
    StateFile file{.tensors = std::move(all->tensors)};
    // Appended: no name comes twice, and to look each one up would take hostile files with millions of them hours.
    for (auto& [name, text] : all->metadata) file.fields.get_ref<Json::object_t&>().emplace_back(name, std::move(text));
    return file;
}

Result<void> write_state(const std::filesystem::path& path, const StateKind& kind, StateFile file) {
    YOLK_TRY(const std::vector<std::byte> bytes, encode_state(kind, std::move(file)));
    return write_file_atomically(path, bytes);
}

Result<StateFile> read_state(const std::filesystem::path& path, const StateKind& kind) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kind.limit_bytes));
    return decode_state(bytes, kind, fmt::format("'{}'", shown(path)));
}

std::optional<StateName> name_of_state(std::span<const std::byte> bytes) {
    const Result<TensorFile> file = decode_safetensors(bytes, "it");
    if (!file) return name_of_other_bytes(bytes);
    const std::string* const format = find_metadata(*file, kFormatKey);
    return format == nullptr ? std::nullopt : name_of_format(*format);
}

}  // namespace yolk
