// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "run_log_format.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/run_log.hpp"

namespace yolk::evolve {
namespace {

std::string quoted(const std::filesystem::path& path) { return fmt::format("'{}'", shown(path)); }

/// As many bytes as are there.
Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<std::byte> to, const std::filesystem::path& path) {
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t got = ::pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error("read", path, errno);
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

Error damaged_at(const std::filesystem::path& path, std::uint32_t generation, std::uint64_t offset) {
    return bad_input(
        "'{}' is damaged at generation {}, byte {}; the generations before it are whole. Restore it from a copy, or "
        "move it away.",
        shown(path), generation, offset);
}

}  // namespace

Result<RunLogReader> RunLogReader::open(const std::filesystem::path& path) {
    RunLogReader log;
    log.path_ = path;
    YOLK_TRY(log.file_, open_regular_file(path, O_RDONLY));
    YOLK_TRY(const std::uint64_t file_bytes, log.read_header());
    YOLK_TRY_VOID(log.scan(file_bytes));
    return log;
}

/// The file's size.
Result<std::uint64_t> RunLogReader::read_header() {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return file_error("examine", path_, errno);
    const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
    std::vector<std::byte> bytes(std::min<std::uint64_t>(file_bytes, kRunLogFixedBytes));
    YOLK_TRY(const std::size_t got, read_at(file_.get(), 0, bytes, path_));
    const std::size_t magic_bytes = std::min(got, kRunLogMagic.size());
    if (magic_bytes == 0 || std::memcmp(bytes.data(), kRunLogMagic.data(), magic_bytes) != 0)
        return bad_input("'{}' is not the log of a run of Yolk (log.yolk in a run's folder).", shown(path_));
    const auto cut_off = [&] {
        return bad_input("'{}' is cut off within its header, after {} bytes. Restore it from a copy, or move it away.",
                         shown(path_), file_bytes);
    };
    if (got < kRunLogFixedBytes) return cut_off();
    std::uint32_t version = 0, text_bytes = 0;
    std::memcpy(&version, bytes.data() + kRunLogMagic.size(), sizeof(version));
    std::memcpy(&text_bytes, bytes.data() + kRunLogMagic.size() + sizeof(version), sizeof(text_bytes));
    if (version != kRunLogVersion && version != kRunLogVersionWithTail) {
        return bad_input(
            "'{}' has the log version {}; this version of Yolk reads versions {} and {}. Use the Yolk that wrote it.",
            shown(path_), version, kRunLogVersion, kRunLogVersionWithTail);
    }
    if (text_bytes > kMaxRunLogText) {
        return bad_input(
            "'{}' is damaged: it claims a header of {} bytes; at most {} are allowed. Restore it from a "
            "copy, or move it away.",
            shown(path_), text_bytes, kMaxRunLogText);
    }
    header_bytes_ = kRunLogFixedBytes + text_bytes + kRunLogHashBytes;
    if (header_bytes_ > file_bytes) return cut_off();
    bytes.resize(header_bytes_);
    YOLK_TRY(const std::size_t all, read_at(file_.get(), 0, bytes, path_));
    if (all < header_bytes_) return cut_off();
    header_hash_ = last_hash(bytes);
    if (header_hash_ != hash64(std::span(bytes).first(header_bytes_ - kRunLogHashBytes))) {
        return bad_input(
            "'{}' is damaged: the checksum of its header does not fit its bytes. Restore it from a copy, "
            "or move it away.",
            shown(path_));
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kRunLogFixedBytes, text_bytes);
    YOLK_TRY(header_, decode_header(text, quoted(path_), version == kRunLogVersionWithTail));
    return file_bytes;
}

bool RunLogReader::is_whole(std::span<const std::byte> record) const {
    return record_hash(header_hash_, record) == last_hash(record);
}

Result<bool> RunLogReader::is_zero(std::uint64_t from, std::uint64_t to) const {
    std::vector<std::byte> bytes(std::min<std::uint64_t>(to - from, std::uint64_t{1} << 16U));
    while (from < to) {
        YOLK_TRY(const std::size_t got,
                 read_at(file_.get(), from, std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), to - from)),
                         path_));
        if (got == 0) break;
        if (std::any_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(got),
                        [](std::byte byte) { return byte != std::byte{0}; }))
            return false;
        from += got;
    }
    return true;
}

Result<std::vector<std::byte>> RunLogReader::record_at(std::uint32_t record) const {
    std::vector<std::byte> bytes(record_bytes(header_));
    YOLK_TRY(const std::size_t got, read_at(file_.get(), header_bytes_ + record * bytes.size(), bytes, path_));
    bytes.resize(got);
    return bytes;
}

Result<void> RunLogReader::scan(std::uint64_t file_bytes) {
    const std::uint64_t each = record_bytes(header_);
    const std::uint64_t there = (file_bytes - header_bytes_) / each;
    // Generations are counted with 32 bits.
    const auto most = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(there, std::uint64_t{0xFFFFFFFFU} - header_.first_generation));
    while (records_ < most) {
        YOLK_TRY(const std::vector<std::byte> record, record_at(records_));
        if (record.size() != each || !is_whole(record)) break;
        const std::optional<LoggedGeneration> decoded = decode_record(header_, record);
        if (!decoded || decoded->generation != generations())
            return damaged_at(path_, generations(), header_bytes_ + records_ * each);
        ++records_;
    }
    const std::uint64_t end = header_bytes_ + records_ * each;
    torn_bytes_ = file_bytes - end;
    if (torn_bytes_ <= each) return {};
    YOLK_TRY(const bool nothing_more, is_zero(end + each, file_bytes));
    if (!nothing_more) return damaged_at(path_, generations(), end);
    return {};
}

Result<LoggedGeneration> RunLogReader::read(std::uint32_t generation) const {
    if (generation < header_.first_generation || generation >= generations()) {
        return bad_input("'{}' has no generation {}; it has {} to {}.", shown(path_), generation,
                         header_.first_generation, std::int64_t{generations()} - 1);
    }
    const std::uint32_t record = generation - header_.first_generation;
    YOLK_TRY(const std::vector<std::byte> bytes, record_at(record));
    const bool whole = bytes.size() == record_bytes(header_) && is_whole(bytes);
    std::optional<LoggedGeneration> decoded = whole ? decode_record(header_, bytes) : std::nullopt;
    if (!decoded || decoded->generation != generation)
        return damaged_at(path_, generation, header_bytes_ + record * record_bytes(header_));
    return *std::move(decoded);
}

Result<std::string> RunLogReader::digest_after(std::uint32_t generations) const {
    if (generations == header_.first_generation) return header_.first_digest;
    YOLK_TRY(LoggedGeneration last, read(generations - 1));
    return std::move(last.digest);
}

}  // namespace yolk::evolve
