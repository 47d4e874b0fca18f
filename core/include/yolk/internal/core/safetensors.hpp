// SPDX-License-Identifier: Apache-2.0
// The safetensors container: 8 bytes of header length (little endian), a JSON header with names, shapes and offsets,
// the bytes. Yolk's own files are fp32 alone; models of others are read, too. Reading trusts nothing: a file may be
// truncated, foreign or hostile, and costs at most its own size in memory, or twice that where fp16 becomes fp32. What
// is written here has a checksum of the whole file among its metadata (yolk/internal/core/seal.hpp), so that no damaged
// bit passes; other readers see a text there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

struct StoredTensor {
    std::string name;
    std::vector<std::uint64_t> shape;  ///< outermost first
    std::vector<float> values;         ///< row-major; not-finite ones are kept
    std::string dtype = "F32";         ///< of the file; values of F16 and BF16 are widened, others are not read
};

struct TensorFile {
    std::vector<std::pair<std::string, std::string>> metadata;  ///< "__metadata__"
    std::vector<StoredTensor> tensors;                          ///< in the header's order
    bool has_checksum = false;  ///< as read; it fits, or the file is refused. It is not among `metadata`
};

/// Null where there is none.
[[nodiscard]] const StoredTensor* find_tensor(std::span<const StoredTensor> tensors, std::string_view name) noexcept;

/// Other readers of the format take 100 MB.
inline constexpr std::uint64_t kMaxSafetensorsHeader = std::uint64_t{64} << 20U;
inline constexpr std::size_t kMaxTensorRank = 8;

/// Errors: duplicate or reserved names, values that do not fill their shape, a header above its limit.
[[nodiscard]] Result<std::vector<std::byte>> encode_safetensors(const TensorFile& file);

/// `what` names the bytes in errors ("'policy.safetensors'"). Errors, all BadInput: a checksum that does not fit; a
/// header that is cut off, absurdly large, not JSON or not of this form; duplicate names; another dtype than F32;
/// offsets that do not fit the shape, the file or one another (the tensors must tile the data without gap or overlap).
[[nodiscard]] Result<TensorFile> decode_safetensors(std::span<const std::byte> bytes, std::string_view what);
/// A model that another program wrote. F16 and BF16 become fp32, which is exact. Tensors of other dtypes have their
/// name, shape and dtype, and no values: whoever needs one says so. Errors: decode_safetensors', and a dtype that the
/// format does not know.
[[nodiscard]] Result<TensorFile> decode_foreign_safetensors(std::span<const std::byte> bytes, std::string_view what);

}  // namespace yolk
