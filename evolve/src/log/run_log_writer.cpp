// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "run_log_format.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/run_log.hpp"

namespace yolk::evolve {
namespace {

Result<void> write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
                      const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return file_error("write", path, errno);
        offset += static_cast<std::uint64_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

}  // namespace

RunLogWriter RunLogWriter::replace(std::filesystem::path path, RunLogHeader header) {
    RunLogWriter log;
    log.path_ = std::move(path);
    log.next_ = header.first_generation;
    log.header_ = std::move(header);
    log.is_new_ = true;
    return log;
}

Result<RunLogWriter> RunLogWriter::continue_after(const RunLogReader& log, std::uint32_t generations) {
    if (generations < log.header_.first_generation || generations > log.generations()) {
        return bad_input("'{}' cannot go on after generation {}; it has {} to {}.", shown(log.path_), generations,
                         log.header_.first_generation, log.generations());
    }
    RunLogWriter writer;
    writer.path_ = log.path_;
    writer.header_ = log.header_;
    writer.header_hash_ = log.header_hash_;
    writer.next_ = generations;
    writer.end_ =
        log.header_bytes_ + std::uint64_t{generations - log.header_.first_generation} * record_bytes(log.header_);
    return writer;
}

Result<void> RunLogWriter::write_first(std::span<const std::byte> record) {
    YOLK_TRY(std::vector<std::byte> bytes, encode_header(header_));
    bytes.insert(bytes.end(), record.begin(), record.end());
    YOLK_TRY_VOID(write_file_atomically(path_, bytes));
    end_ = bytes.size();
    is_new_ = false;
    return {};  // the next append() opens it: an error of that must not be one of this record, which is written
}

/// And drops what is behind it: first, so that no old record follows a new one that was cut off.
Result<void> RunLogWriter::open_at_end() {
    YOLK_TRY(file_, open_regular_file(path_, O_WRONLY));
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return file_error("examine", path_, errno);
    if (static_cast<std::uint64_t>(status.st_size) < end_) {
        return io_error(fmt::format("'{}' has {} bytes, fewer than when it was read ({}): somebody else changed it.",
                                    shown(path_), status.st_size, end_),
                        EIO);
    }
    if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) return file_error("shorten", path_, errno);
    return {};
}

Result<void> RunLogWriter::append(const LoggedGeneration& generation) {
    if (generation.generation != next_) {
        return bad_input("Generation {} was given to the log '{}'; {} is the next.", generation.generation,
                         shown(path_), next_);
    }
    if (is_new_) {
        YOLK_TRY(const std::vector<std::byte> header, encode_header(header_));
        header_hash_ = last_hash(header);
    }
    YOLK_TRY(const std::vector<std::byte> record, encode_record(header_, header_hash_, generation));
    if (is_new_) {
        YOLK_TRY_VOID(write_first(record));
        ++next_;
        return {};
    }
    if (!file_.is_open()) YOLK_TRY_VOID(open_at_end());
    if (!is_still_at(file_, path_)) {
        return io_error(fmt::format("'{}' was removed or replaced while the run was writing it.", shown(path_)),
                        ENOENT);
    }
    if (auto written = write_at(file_.get(), end_, record, path_); !written) {
        // A reader drops a torn tail as well, where even this fails.
        static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(end_)));
        return written;
    }
    end_ += record.size();
    ++next_;
    return {};
}

Result<void> RunLogWriter::cut() {
    if (is_new_ || file_.is_open()) return {};
    YOLK_TRY_VOID(open_at_end());
    return sync();
}

Result<void> RunLogWriter::sync() {
    if (file_.is_open() && ::fdatasync(file_.get()) != 0) return file_error("flush", path_, errno);
    return {};
}

}  // namespace yolk::evolve
