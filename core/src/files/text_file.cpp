// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/file.hpp"

namespace yolk {
namespace {

Result<std::string> read_from(const Descriptor& file, off_t offset, std::size_t most_bytes,
                              const std::filesystem::path& path) {
    std::string text(most_bytes, '\0');
    std::size_t done = 0;
    while (done < most_bytes) {
        const ssize_t got =
            ::pread(file.get(), text.data() + done, most_bytes - done, offset + static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error("read", path, errno);
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
}

}  // namespace

Result<std::string> read_text(const std::filesystem::path& path, std::size_t limit_bytes) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, limit_bytes));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::string> read_beginning(const std::filesystem::path& path, std::size_t most_bytes) {
    YOLK_TRY(const Descriptor file, open_regular_file(path, O_RDONLY));
    return read_from(file, 0, most_bytes, path);
}

Result<std::string> read_end(const std::filesystem::path& path, std::size_t most_bytes) {
    YOLK_TRY(const Descriptor file, open_regular_file(path, O_RDONLY));
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    if (size < 0) return file_error("examine", path, errno);
    const std::size_t wanted = std::min(most_bytes, static_cast<std::size_t>(size));
    return read_from(file, size - static_cast<off_t>(wanted), wanted, path);
}

}  // namespace yolk
