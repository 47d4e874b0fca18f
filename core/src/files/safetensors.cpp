// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/seal.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/json.hpp"

namespace yolk {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::size_t kLengthBytes = 8;
/// The deepest list of a legal header is "shape": header > tensor > array.
constexpr std::size_t kMaxDepth = 3;

struct Header {
    Json json;
    std::span<const std::byte> data;
    bool has_checksum = false;
};

/// Where a tensor's bytes lie; `end` exclusive, relative to the data.
struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

Result<Header> read_header(std::span<const std::byte> bytes, std::string_view what) {
    if (bytes.size() < kLengthBytes) {
        return bad_input("{} has {} bytes; a safetensors file has at least {}.", what, bytes.size(), kLengthBytes);
    }
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), kLengthBytes);
    const std::uint64_t rest = bytes.size() - kLengthBytes;
    if (length > rest || length > kMaxSafetensorsHeader) {
        return bad_input(
            "{} claims a header of {} bytes, but {} bytes follow and at most {} are read: it is truncated, or no "
            "safetensors file.",
            what, length, rest, kMaxSafetensorsHeader);
    }
    const Seal seal = seal_of(bytes, kLengthBytes + static_cast<std::size_t>(length));
    if (seal == Seal::Broken) return bad_input("{} is not read: {}.", what, kBrokenSeal);
    const auto* const text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
    Result<Json> json = parse_json({text, static_cast<std::size_t>(length)}, fmt::format("The header of {}", what),
                                   {.depth = kMaxDepth});
    if (!json) return bad_input("{} So it is not a safetensors file, or it is damaged.", json.error().message);
    if (!json->is_object()) {
        return bad_input("The header of {} is not a JSON object: it is not a safetensors file, or it is damaged.",
                         what);
    }
    return Header{.json = *std::move(json),
                  .data = bytes.subspan(kLengthBytes + static_cast<std::size_t>(length)),
                  .has_checksum = seal == Seal::Fits};
}

Result<void> read_metadata(const Json& json, std::string_view what, TensorFile& file) {
    if (!json.is_object()) return bad_input("'{}' in the header of {} is not an object.", kMetadataKey, what);
    for (const auto& [key, value] : json.items()) {
        if (!value.is_string()) return bad_input("The metadata '{}' of {} is not a string.", shown(key), what);
        if (key == kSealKey) continue;
        file.metadata.emplace_back(key, value.get<std::string>());
    }
    return {};
}

/// `label` reads "Tensor 'layer0.weight' of 'policy.safetensors'".
Result<std::vector<std::uint64_t>> read_shape(const Json& json, const std::string& label) {
    const auto field = json.find("shape");
    if (field == json.end() || !field->is_array() || field->size() > kMaxTensorRank) {
        return bad_input("{} has no shape of at most {} extents.", label, kMaxTensorRank);
    }
    std::vector<std::uint64_t> shape;
    for (const Json& extent : *field) {
        if (!extent.is_number_unsigned())
            return bad_input("{} has a shape with something that is not an extent.", label);
        shape.push_back(extent.get<std::uint64_t>());
    }
    return shape;
}

Result<Extent> read_extent(const Json& json, std::uint64_t data_size, const std::string& label) {
    const auto field = json.find("data_offsets");
    if (field == json.end() || !field->is_array() || field->size() != 2 || !(*field)[0].is_number_unsigned() ||
        !(*field)[1].is_number_unsigned()) {
        return bad_input("{} has no pair of data offsets.", label);
    }
    const Extent extent{.begin = (*field)[0].get<std::uint64_t>(), .end = (*field)[1].get<std::uint64_t>()};
    if (extent.begin > extent.end || extent.end > data_size) {
        return bad_input("{} lies at bytes {} to {}, but there are {} bytes of data: the file is truncated or damaged.",
                         label, extent.begin, extent.end, data_size);
    }
    return extent;
}

Result<Extent> read_tensor(const std::string& name, const Json& json, const Header& header, std::string_view what,
                           TensorFile& file) {
    const std::string label = fmt::format("Tensor '{}' of {}", shown(name), what);
    if (!json.is_object()) return bad_input("{} is not described by an object.", label);
    const auto dtype = json.find("dtype");
    if (dtype == json.end() || !dtype->is_string() || *dtype != "F32") {
        return bad_input("{} is not of dtype F32, the only one that is read here.", label);
    }
    YOLK_TRY(std::vector<std::uint64_t> shape, read_shape(json, label));
    YOLK_TRY(const Extent extent, read_extent(json, header.data.size(), label));
    const Result<std::uint64_t> elements = Shape(shape).element_count();
    const std::uint64_t size = extent.end - extent.begin;
    if (!elements || size % sizeof(float) != 0 || *elements != size / sizeof(float)) {
        return bad_input("{} has the shape {}, but {} bytes.", label, Shape(shape).to_string(), size);
    }
    std::vector<float> values(static_cast<std::size_t>(*elements));
    if (size != 0) std::memcpy(values.data(), header.data.data() + extent.begin, static_cast<std::size_t>(size));
    file.tensors.push_back({.name = name, .shape = std::move(shape), .values = std::move(values)});
    return extent;
}

Result<void> check_tiling(std::vector<Extent> extents, std::uint64_t data_size, std::string_view what) {
    std::sort(extents.begin(), extents.end(),
              [](const Extent& a, const Extent& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
    std::uint64_t covered = 0;
    for (const Extent& extent : extents) {
        if (extent.begin != covered) {
            return bad_input("The tensors of {} {} at byte {} of the data.", what,
                             extent.begin < covered ? "overlap" : "leave a gap", std::min(covered, extent.begin));
        }
        covered = extent.end;
    }
    if (covered != data_size) return bad_input("{} has {} bytes behind its last tensor.", what, data_size - covered);
    return {};
}

}  // namespace

const StoredTensor* find_tensor(std::span<const StoredTensor> tensors, std::string_view name) noexcept {
    const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
    return found == tensors.end() ? nullptr : &*found;
}

Result<std::vector<std::byte>> encode_safetensors(const TensorFile& file) {
    Json metadata = Json::object();
    for (const auto& [key, value] : file.metadata) metadata[key] = value;
    metadata[std::string(kSealKey)] = kNoSeal;
    Json header = Json::object();
    header[std::string(kMetadataKey)] = std::move(metadata);
    std::uint64_t offset = 0;
    for (const StoredTensor& tensor : file.tensors) {
        if (tensor.name == kMetadataKey || header.contains(tensor.name)) {
            return bad_input("The tensor name '{}' is taken; names must be unique.", shown(tensor.name));
        }
        YOLK_TRY(const std::uint64_t elements, Shape(tensor.shape).element_count());
        if (elements != tensor.values.size()) {
            return bad_input("Tensor '{}' has the shape {}, but {} values.", shown(tensor.name),
                             Shape(tensor.shape).to_string(), tensor.values.size());
        }
        const std::uint64_t end = offset + sizeof(float) * elements;
        header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = to_line(header);
    text.resize(static_cast<std::size_t>(round_up(text.size(), 8)),
                ' ');  // so that the data is aligned for readers that map the file
    if (text.size() > kMaxSafetensorsHeader) {
        return bad_input("The header has {} bytes; at most {} are allowed.", text.size(), kMaxSafetensorsHeader);
    }
    std::vector<std::byte> bytes(kLengthBytes + text.size() + static_cast<std::size_t>(offset));
    const std::uint64_t length = text.size();
    std::memcpy(bytes.data(), &length, kLengthBytes);
    std::memcpy(bytes.data() + kLengthBytes, text.data(), text.size());
    std::byte* out = bytes.data() + kLengthBytes + text.size();
    for (const StoredTensor& tensor : file.tensors) {
        if (tensor.values.empty()) continue;
        std::memcpy(out, tensor.values.data(), sizeof(float) * tensor.values.size());
        out += sizeof(float) * tensor.values.size();
    }
    seal(bytes, kLengthBytes + text.size());
    return bytes;
}

Result<TensorFile> decode_safetensors(std::span<const std::byte> bytes, std::string_view what) {
    YOLK_TRY(const Header header, read_header(bytes, what));
    TensorFile file{.metadata = {}, .tensors = {}, .has_checksum = header.has_checksum};
    std::vector<Extent> extents;
    for (const auto& [name, json] : header.json.items()) {
        if (name == kMetadataKey) {
            YOLK_TRY_VOID(read_metadata(json, what, file));
            continue;
        }
        YOLK_TRY(const Extent extent, read_tensor(name, json, header, what, file));
        extents.push_back(extent);
    }
    YOLK_TRY_VOID(check_tiling(std::move(extents), header.data.size(), what));
    return file;
}

}  // namespace yolk
