// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "read_arrays.hpp"

namespace yolk::tasks {
namespace {

enum class IdxType : unsigned char { U8 = 0x08, I8 = 0x09, I16 = 0x0B, I32 = 0x0C, F32 = 0x0D, F64 = 0x0E };

std::size_t idx_bytes(IdxType type) {
    switch (type) {
        case IdxType::U8:
        case IdxType::I8: return 1;
        case IdxType::I16: return 2;
        case IdxType::I32:
        case IdxType::F32: return 4;
        case IdxType::F64: return 8;
    }
    return 0;
}

std::uint64_t idx_word(std::string_view bytes) {
    std::uint64_t word = 0;
    for (const char byte : bytes) word = word << 8U | static_cast<unsigned char>(byte);
    return word;
}

double idx_number(std::uint64_t word, IdxType type) {
    switch (type) {
        case IdxType::U8: return static_cast<double>(word);
        case IdxType::I8: return static_cast<double>(static_cast<std::int8_t>(word));
        case IdxType::I16: return static_cast<double>(static_cast<std::int16_t>(word));
        case IdxType::I32: return static_cast<double>(static_cast<std::int32_t>(word));
        case IdxType::F32: return double{std::bit_cast<float>(static_cast<std::uint32_t>(word))};
        case IdxType::F64: return std::bit_cast<double>(word);
    }
    return 0.0;
}

}  // namespace

Result<FileArray> parse_idx(std::string_view bytes, const std::string& name) {
    const auto type = bytes.size() >= 4 ? static_cast<IdxType>(bytes[2]) : IdxType{};
    const std::size_t item_bytes = idx_bytes(type);
    const std::size_t dimensions = bytes.size() >= 4 ? static_cast<unsigned char>(bytes[3]) : 0;
    if (item_bytes == 0 || bytes[0] != 0 || bytes[1] != 0 || dimensions == 0)
        return bad_input("{} is no IDX file: it does not begin as one does.", name);
    const std::size_t begin = 4 + 4 * dimensions;
    if (bytes.size() < begin) return bad_input("{} is cut off within its header of {} bytes.", name, begin);
    FileArray array;
    const std::string_view data = bytes.substr(begin);
    for (std::size_t d = 0; d < dimensions; ++d) array.shape.push_back(idx_word(bytes.substr(4 + 4 * d, 4)));
    const std::uint64_t count = elements_of(array.shape, data.size());
    if (count > data.size() / item_bytes || count * item_bytes != data.size()) {
        return bad_input(
            "{} holds {} bytes of data, and its header promises another amount ([{}] elements of {} "
            "bytes); the file is cut off or damaged.",
            name, data.size(), fmt::join(array.shape, ", "), item_bytes);
    }
    for (std::size_t i = 0; i < count; ++i)
        array.numbers.push_back(idx_number(idx_word(data.substr(i * item_bytes, item_bytes)), type));
    return array;
}

}  // namespace yolk::tasks
