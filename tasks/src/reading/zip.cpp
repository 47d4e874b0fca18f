// SPDX-License-Identifier: Apache-2.0
#include "zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <span>

#include "yolk/internal/autotune/inflate.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::tasks {
namespace {

constexpr std::size_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30;

std::uint32_t zip_word(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint32_t word = 0;
    for (std::size_t i = size; i-- > 0;) word = word << 8U | static_cast<unsigned char>(bytes[at + i]);
    return word;
}

Error zip_damaged(const std::string& name) {
    return bad_input(
        "'{}' is no whole zip archive (which .npz files and wheels are); it is cut off, damaged or of "
        "another kind.",
        name);
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(std::string_view archive, const std::string& name) {
    const std::size_t end = archive.rfind(std::string_view("PK\x05\x06", 4));
    if (end == std::string_view::npos || archive.size() - end < kEndBytes) return zip_damaged(name);
    const std::uint32_t count = zip_word(archive, end + 10, 2);
    std::size_t at = zip_word(archive, end + 16, 4);
    std::vector<ZipMember> members;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (at > end || end - at < kEntryBytes || archive.substr(at, 4) != std::string_view("PK\x01\x02", 4))
            return zip_damaged(name);
        const std::size_t name_bytes = zip_word(archive, at + 28, 2);
        if (end - at - kEntryBytes < name_bytes) return zip_damaged(name);
        members.push_back({.name = std::string(archive.substr(at + kEntryBytes, name_bytes)),
                           .packed_bytes = zip_word(archive, at + 20, 4),
                           .bytes = zip_word(archive, at + 24, 4),
                           .header_at = zip_word(archive, at + 42, 4),
                           .method = static_cast<std::uint16_t>(zip_word(archive, at + 10, 2))});
        at += kEntryBytes + name_bytes + zip_word(archive, at + 30, 2) + zip_word(archive, at + 32, 2);
    }
    return members;
}

Result<std::string> zip_data(std::string_view archive, const ZipMember& member, const std::string& name) {
    const std::size_t at = member.header_at;
    if (archive.size() < kLocalBytes || at > archive.size() - kLocalBytes ||
        archive.substr(at, 4) != std::string_view("PK\x03\x04", 4))
        return zip_damaged(name);
    const std::size_t begin = at + kLocalBytes + zip_word(archive, at + 26, 2) + zip_word(archive, at + 28, 2);
    if (begin > archive.size() || archive.size() - begin < member.packed_bytes) return zip_damaged(name);
    const std::string_view packed = archive.substr(begin, member.packed_bytes);
    const std::string what = fmt::format("'{}' of '{}'", shown(member.name), name);
    std::string data;
    if (member.method == 8) {
        YOLK_TRY(data,
                 autotune::inflate(std::as_bytes(std::span(packed)), autotune::Packing::Deflate, member.bytes, what));
    } else if (member.method == 0) {
        data = packed;
    } else {
        return bad_input("{} is packed by method {}; 0 (stored) and 8 (deflate) are read.", what, member.method);
    }
    const std::uint32_t checksum = zip_word(archive, at + 14, 4);
    const auto found =
        static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
    const bool has_checksum = (zip_word(archive, at + 6, 2) & 8U) == 0;  // otherwise it is behind the data
    if (data.size() == member.bytes && (!has_checksum || checksum == found)) return data;
    return bad_input("{} is damaged: {} bytes of {}, or another checksum.", what, data.size(), member.bytes);
}

}  // namespace yolk::tasks
