// SPDX-License-Identifier: Apache-2.0
// Files that hold a state of Yolk: one container for all kinds (docs/adr/0047). It is a safetensors file, so other
// programs read its tensors. Its metadata hold the format ("yolk-policy-2": kind and version), the version of Yolk that
// wrote it, a checksum of all bytes, and the kind's own fields: a text as it is, everything else as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/json_fields.hpp"
#include "yolk/internal/core/safetensors.hpp"
#include "yolk/json.hpp"
#include "yolk/result.hpp"

namespace yolk {

struct StateKind {
    std::string_view name;
    std::uint32_t version = 1;   ///< that is written; no later one is read
    std::uint32_t unsealed = 0;  ///< the one version without a checksum that is read too; 0: there is none
    std::size_t limit_bytes = 0;
    std::string_view title;   ///< "a policy"
    std::string_view source;  ///< completes "a policy is needed here: "
    std::string_view anew;    ///< completes "Restore it from a copy, or "
};

// All kinds, together so that a file in the wrong place is called by its name. Those of training have limits far above
// what fits the roll-out kernel, 64 KiB of parameters, with Adam's two arrays.
// clang-format off
inline constexpr StateKind kPolicyKind{
    "policy", 2, 1, std::size_t{16} << 20U, "a policy",
    "give the policy.safetensors in the output folder of `yolk train`", "train again"};
inline constexpr StateKind kCheckpointKind{
    "checkpoint", 2, 0, std::size_t{16} << 20U, "the checkpoint of a training run",
    "give the output folder of `yolk train`, whose checkpoint.yolk is one", "train again without --resume"};
inline constexpr StateKind kSystemKind{
    "system", 2, 1, std::size_t{4} << 30U, "a tuned system",
    "give a file that `optimize --out`, `save` or save_state() wrote", "save it again"};
inline constexpr StateKind kSearchKind{
    "search", 2, 0, std::size_t{4} << 30U, "the checkpoint of a search",
    "`optimize --out FILE` writes it as FILE.checkpoint", "search anew without --resume"};
inline constexpr StateKind kRoundsKind{
    "rounds", 2, 0, std::size_t{4} << 30U, "the checkpoint of an optimization with prompts",
    "`optimize --text gepa --out FILE` writes it as FILE.checkpoint", "search anew without --resume"};
inline constexpr StateKind kGepaKind{
    "gepa", 2, 0, std::size_t{1} << 30U, "the checkpoint of a prompt search",
    "an optimization with prompts writes it as FILE.checkpoint.0 and so on", "search anew without --resume"};
inline constexpr StateKind kModelKind{
    "model", 1, 0, std::size_t{4} << 30U, "a network that has learned a data set",
    "give the model.safetensors in the output folder of `yolk train DATA`", "train again"};
inline constexpr StateKind kAskedKind{
    "asked-run", 1, 0, std::size_t{4} << 30U, "the state of a run of ask and tell",
    "give a file that Evolution.save wrote", "run again"};
// clang-format on
[[nodiscard]] std::span<const StateKind* const> state_kinds() noexcept;

struct StateFile {
    Json fields = Json::object();  ///< the kind's own; as read, they are all texts, which FieldReader takes
    std::vector<StoredTensor> tensors{};
};
[[nodiscard]] StoredTensor stored_vector(std::string name, const std::vector<float>& values);
/// Moves the tensor's values out; whether there is one of that name.
[[nodiscard]] bool take_tensor(StateFile& file, std::string_view name, std::vector<float>& values);

/// Errors: those of encode_safetensors.
[[nodiscard]] Result<std::vector<std::byte>> encode_state(const StateKind& kind, StateFile file);
/// `what` names the bytes in errors. Errors, all BadInput: bytes that are cut off, damaged, of another kind (which is
/// named) or of another version.
[[nodiscard]] Result<StateFile> decode_state(std::span<const std::byte> bytes, const StateKind& kind,
                                             std::string_view what);

/// Whole or not at all: as write_file_atomically. Errors: encode_state's, Io.
[[nodiscard]] Result<void> write_state(const std::filesystem::path& path, const StateKind& kind, StateFile file);
/// Errors: decode_state's; a file that is missing, no regular file or above the kind's limit.
[[nodiscard]] Result<StateFile> read_state(const std::filesystem::path& path, const StateKind& kind);

/// "X cannot be read as a policy: <why>. Restore it from a copy, or train again."
[[nodiscard]] Error unreadable_state(const StateKind& kind, std::string_view what, std::string_view why);
/// Error: a field that the reader missed.
[[nodiscard]] Result<void> check_fields(const FieldReader& reader, const StateKind& kind, std::string_view what);

struct StateName {
    std::string kind;
    std::uint32_t version = 0;
};
/// What whole bytes are, formats of before included; nothing where they are damaged, or no state of Yolk.
[[nodiscard]] std::optional<StateName> name_of_state(std::span<const std::byte> bytes);

}  // namespace yolk
