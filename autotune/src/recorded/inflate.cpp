// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/inflate.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace yolk::autotune {
namespace {

// zlib's numbers for a window of 32 KiB, with a gzip header and without one.
constexpr int kGzipWindow = 15 + 16;
constexpr int kDeflateWindow = -15;

/// Ends the stream in every way out.
struct Inflater {
    z_stream stream{};
    bool begun = false;
    ~Inflater() {
        if (begun) inflateEnd(&stream);
    }
    explicit Inflater(Packing packing) {
        begun = inflateInit2(&stream, packing == Packing::Gzip ? kGzipWindow : kDeflateWindow) == Z_OK;
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    Inflater(Inflater&&) = delete;
    Inflater& operator=(Inflater&&) = delete;
};

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) noexcept {
    return bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B};
}

Result<std::string> inflate(std::span<const std::byte> bytes, Packing packing, std::size_t limit_bytes,
                            std::string_view name) {
    Inflater inflater(packing);
    if (!inflater.begun) return Error{ErrorKind::OutOfMemory, fmt::format("zlib cannot begin to unpack {}.", name)};
    if (bytes.size() > std::numeric_limits<uInt>::max()) {
        return bad_input("{} has {} bytes; at most 4 GiB are unpacked.", name, bytes.size());
    }
    std::string input(bytes.size(), '\0');  // zlib wants bytes that are not const
    std::ranges::transform(bytes, input.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    const std::string_view format = packing == Packing::Gzip ? "gzip" : "deflate";
    z_stream& stream = inflater.stream;
    stream.next_in = reinterpret_cast<Bytef*>(input.data());  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
    stream.avail_in = static_cast<uInt>(input.size());
    std::string text;
    std::array<char, 1U << 16U> piece{};
    for (;;) {
        stream.next_out =
            reinterpret_cast<Bytef*>(piece.data());  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
        stream.avail_out = static_cast<uInt>(piece.size());
        const int code = ::inflate(&stream, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END) {
            return bad_input("{} is damaged or cut off: {} stops after {} bytes of {}. Fetch it again.", name, format,
                             stream.total_in, bytes.size());
        }
        text.append(piece.data(), piece.size() - stream.avail_out);
        if (text.size() > limit_bytes) {
            return bad_input("{} unpacks to more than {} bytes, the most that is read.", name, limit_bytes);
        }
        if (code != Z_STREAM_END) continue;
        if (stream.avail_in == 0) return text;
        const bool another = is_gzip(bytes.subspan(stream.total_in));
        return bad_input("{} has {} after its {} data, from byte {} of {} on. {}", name,
                         another ? "a second gzip file" : "something else", format, stream.total_in, bytes.size(),
                         another ? "Give one of them, or unpack both and pack what they are together."
                                 : "Remove it, or fetch the file again.");
    }
}

}  // namespace yolk::autotune
