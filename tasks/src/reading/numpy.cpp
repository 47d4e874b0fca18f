// SPDX-License-Identifier: Apache-2.0
// The format of NumPy's numpy.lib.format, versions 1 to 3.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "read_arrays.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::tasks {
namespace {

constexpr std::string_view kNpyMagic{"\x93NUMPY", 6};

struct NpyHeader {
    char kind = 0;               ///< f, i, u, b or U
    std::size_t item_bytes = 0;  ///< of U four for each character
    bool is_big_endian = false;
    bool is_fortran = false;
    std::vector<std::uint64_t> shape{};
};

/// What follows 'key': in the header's Python literal; empty where there is none.
std::string_view npy_field(std::string_view header, std::string_view key) {
    const std::string quoted = fmt::format("'{}':", key);
    const std::size_t at = header.find(quoted);
    if (at == std::string_view::npos) return {};
    std::string_view rest = header.substr(at + quoted.size());
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    return rest;
}

std::optional<std::vector<std::uint64_t>> npy_shape(std::string_view text) {
    std::vector<std::uint64_t> shape;
    if (!text.starts_with('(')) return std::nullopt;
    text.remove_prefix(1);
    while (!text.empty() && text.front() != ')') {
        if (text.front() == ' ' || text.front() == ',') {
            text.remove_prefix(1);
            continue;
        }
        std::uint64_t extent = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), extent);
        if (code != std::errc()) return std::nullopt;
        shape.push_back(extent);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return text.empty() ? std::nullopt : std::optional(shape);
}

Result<NpyHeader> npy_header(std::string_view text, const std::string& name) {
    NpyHeader header;
    std::string_view type = npy_field(text, "descr");
    const std::string_view order = npy_field(text, "fortran_order");
    const auto shape = npy_shape(npy_field(text, "shape"));
    if (type.size() < 4 || type.front() != '\'' || type.find('\'', 1) == std::string_view::npos || order.empty() ||
        !shape) {
        return bad_input("{} has a header of an array that cannot be read: {}", name, shown(text));
    }
    type = type.substr(1, type.find('\'', 1) - 1);
    header.shape = *shape;
    header.is_fortran = order.starts_with("True");
    header.is_big_endian = type.front() == '>';
    header.kind = type.size() > 2 ? type[1] : '\0';
    std::size_t size = 0;
    if (type.size() > 2) std::from_chars(type.data() + 2, type.data() + type.size(), size);
    header.item_bytes = header.kind == 'U' ? size * 4 : size;
    const bool is_number = (header.kind == 'f' && (size == 2 || size == 4 || size == 8)) ||
                           (header.kind == 'b' && size == 1) ||
                           ((header.kind == 'i' || header.kind == 'u') && std::has_single_bit(size) && size <= 8);
    if (is_number || (header.kind == 'U' && size > 0 && size <= (1U << 16U))) return header;
    return bad_input(
        "{} has elements of the type '{}'; numbers (f2, f4, f8, i1 to i8, u1 to u8, b1) and texts (U) are "
        "read.",
        name, shown(type));
}

/// The bytes of one element as an unsigned number.
std::uint64_t npy_word(std::string_view bytes, bool is_big_endian) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[is_big_endian ? i : bytes.size() - 1 - i]);
        word = word << 8U | byte;
    }
    return word;
}

double half_to_double(std::uint64_t bits) {
    const auto exponent = static_cast<int>(bits >> 10U & 31U);
    const auto fraction = static_cast<double>(bits & 1023U);
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
    return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0 + fraction, exponent - 25));
}

double npy_number(std::uint64_t word, const NpyHeader& header) {
    if (header.kind == 'f') {
        if (header.item_bytes == 2) return half_to_double(word);
        if (header.item_bytes == 4) return double{std::bit_cast<float>(static_cast<std::uint32_t>(word))};
        return std::bit_cast<double>(word);
    }
    if (header.kind != 'i') return static_cast<double>(word);
    const unsigned shift = 64 - 8 * static_cast<unsigned>(header.item_bytes);
    return static_cast<double>(static_cast<std::int64_t>(word << shift) >> shift);
}

void append_character(std::string& text, std::uint32_t character) {
    const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80U | (character >> shift & 0x3FU)); };
    if (character < 0x80) {
        text += static_cast<char>(character);
    } else if (character < 0x800) {
        text += static_cast<char>(0xC0U | character >> 6U);
        tail(0);
    } else if (character < 0x10000) {
        text += static_cast<char>(0xE0U | character >> 12U);
        tail(6), tail(0);
    } else {
        text += static_cast<char>(0xF0U | (character >> 18U & 7U));
        tail(12), tail(6), tail(0);
    }
}

std::string npy_text(std::string_view bytes, bool is_big_endian) {
    std::string text;
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        const std::uint64_t character = npy_word(bytes.substr(i, 4), is_big_endian);
        if (character == 0) break;
        append_character(text, static_cast<std::uint32_t>(character));
    }
    return text;
}

/// Where element i of the row-major order lies in a column-major array.
std::size_t fortran_position(std::size_t i, const std::vector<std::uint64_t>& shape) {
    std::size_t position = 0, stride = 1;
    std::vector<std::size_t> at(shape.size());
    for (std::size_t d = shape.size(); d-- > 0;) {
        at[d] = i % shape[d];
        i /= shape[d];
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
        position += at[d] * stride;
        stride *= shape[d];
    }
    return position;
}

}  // namespace

Result<FileArray> parse_npy(std::string_view bytes, const std::string& name) {
    constexpr std::size_t kFixed = 10;
    if (!bytes.starts_with(kNpyMagic) || bytes.size() < kFixed + 2)
        return bad_input("{} is no array of NumPy's: it does not begin as a .npy file does.", name);
    const auto version = static_cast<unsigned char>(bytes[6]);
    if (version < 1 || version > 3) return bad_input("{} is .npy of version {}; 1 to 3 are read.", name, version);
    const std::size_t length_bytes = version == 1 ? 2 : 4;
    const std::uint64_t length = npy_word(bytes.substr(8, length_bytes), false);
    const std::size_t begin = 8 + length_bytes;
    if (length > bytes.size() - begin)
        return bad_input("{} is cut off within its header: {} bytes of {}.", name, bytes.size(), begin + length);
    YOLK_TRY(const NpyHeader header, npy_header(bytes.substr(begin, length), name));
    const std::string_view data = bytes.substr(begin + length);
    const std::uint64_t count = elements_of(header.shape, data.size());
    if (count > data.size() / header.item_bytes || count * header.item_bytes != data.size()) {
        return bad_input(
            "{} holds {} bytes of data, and its header promises another amount ([{}] elements of {} "
            "bytes); the file is cut off or damaged.",
            name, data.size(), fmt::join(header.shape, ", "), header.item_bytes);
    }
    FileArray array{.shape = header.shape};
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t from = header.is_fortran ? fortran_position(i, header.shape) : i;
        const std::string_view item = data.substr(from * header.item_bytes, header.item_bytes);
        if (header.kind == 'U') {
            array.texts.push_back(npy_text(item, header.is_big_endian));
        } else {
            array.numbers.push_back(npy_number(npy_word(item, header.is_big_endian), header));
        }
    }
    return array;
}

}  // namespace yolk::tasks
