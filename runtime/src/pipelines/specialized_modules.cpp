// SPDX-License-Identifier: Apache-2.0
#include "specialized_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/kept_file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/shaders/specialize.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::uint32_t>;

// Written as it lies in memory; the cache stays on the machine that made it.
struct ModuleHeader {
    std::array<char, 8> magic{'Y', 'O', 'L', 'K', 'S', 'P', 'V', 'M'};
    std::uint64_t hash = 0;
};
static_assert(sizeof(ModuleHeader) == 16);
static_assert(std::endian::native == std::endian::little);

/// Nothing where there is no file, or one that is damaged.
std::optional<Words> read_module(const fs::path& file) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return std::nullopt;
    Result<std::vector<std::byte>> bytes = read_file(file, kMostModuleBytes);
    Result<Words> code = bytes ? decode_module(*bytes) : Result<Words>(bytes.error());
    if (!code) {
        log_warning(fmt::format("The specialized module '{}' is made anew: {}.", shown(file), code.error().message));
        return std::nullopt;
    }
    // prune() takes the time of writing for that of the last use.
    const auto now = fs::file_time_type::clock::now();
    if (now - fs::last_write_time(file, ignored) > std::chrono::hours(24)) fs::last_write_time(file, now, ignored);
    return *std::move(code);
}

struct ModuleFile {
    fs::file_time_type used;
    std::uint64_t bytes = 0;
    fs::path path;
};

std::vector<ModuleFile> files_in(const fs::path& folder) {
    std::vector<ModuleFile> files;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
        std::error_code gone;  // by another process
        const ModuleFile file{entry->last_write_time(gone), entry->file_size(gone), entry->path()};
        if (!gone) files.push_back(file);
    }
    return files;
}

}  // namespace

std::vector<std::byte> encode_module(std::span<const std::uint32_t> code) {
    const ModuleHeader header{.hash = hash64(std::as_bytes(code))};
    std::vector<std::byte> file(sizeof(header) + code.size_bytes());
    std::memcpy(file.data(), &header, sizeof(header));
    if (!code.empty()) std::memcpy(file.data() + sizeof(header), code.data(), code.size_bytes());
    return file;
}

Result<Words> decode_module(std::span<const std::byte> file) {
    ModuleHeader header;
    const ModuleHeader right;
    if (file.size() < sizeof(header)) return bad_input("it has {} bytes, too few for a header", file.size());
    std::memcpy(&header, file.data(), sizeof(header));
    if (header.magic != right.magic) return bad_input("it is not a file of a specialized module");
    const auto rest = file.subspan(sizeof(header));
    if (rest.size() % sizeof(std::uint32_t) != 0 || header.hash != hash64(rest)) return bad_input("it is torn");
    Words code(rest.size() / sizeof(std::uint32_t));
    if (!code.empty()) std::memcpy(code.data(), rest.data(), rest.size());
    return code;
}

void SpecializedModules::open(const fs::path& folder, std::uint64_t most_bytes) {
    folder_ = folder / "specialized";
    most_bytes_ = most_bytes;
}

fs::path SpecializedModules::file_of(std::uint64_t spirv_hash, std::span<const SpecConstant> constants) const {
    const std::array<std::uint64_t, 2> made_of{specializer_fingerprint(), spirv_hash};
    Hasher name;
    name.add(std::as_bytes(std::span(made_of))).add(std::as_bytes(constants));
    return folder_ / (name.hex() + ".bin");
}

Result<Words> SpecializedModules::get(const KernelModule& kernel, std::uint64_t spirv_hash,
                                      std::span<const SpecConstant> constants, bool keep) {
    if (folder_.empty()) return specialize(kernel, constants);
    const fs::path file = file_of(spirv_hash, constants);
    if (std::optional<Words> found = read_module(file)) return *std::move(found);
    YOLK_TRY(Words code, specialize(kernel, constants));
    if (!keep) return code;
    std::error_code ignored;  // writing says why
    fs::create_directories(folder_, ignored);
    if (const Result<void> written = replace_file(file, encode_module(code)); written) {
        has_written_ = true;
    } else {
        log_warning(fmt::format("{} The next process makes this specialized module anew.", written.error().message));
    }
    return code;
}

void SpecializedModules::prune() {
    if (!has_written_.exchange(false)) return;
    std::vector<ModuleFile> files = files_in(folder_);
    std::uint64_t bytes = 0;
    for (const ModuleFile& file : files) bytes += file.bytes;
    if (bytes <= most_bytes_) return;
    std::ranges::sort(files, {}, &ModuleFile::used);
    for (const ModuleFile& file : files) {
        if (bytes <= most_bytes_ / 4 * 3) return;
        std::error_code ignored;
        fs::remove(file.path, ignored);
        bytes -= file.bytes;
    }
}

}  // namespace yolk
