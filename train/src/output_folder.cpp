// SPDX-License-Identifier: Apache-2.0
#include "output_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "yolk/core/file.hpp"

namespace yolk::train {
namespace {

Error folder_error(const std::filesystem::path& folder, int error_number) {
    return io_error(fmt::format("Cannot write to the output folder '{}': {}. Choose another folder, or make it "
                                "writable; training has not started.",
                                folder.string(), std::strerror(error_number)),
                    error_number);
}

/// A file that the run will write may exist already, but then as a file that we may replace.
Result<void> check_replaceable(const std::filesystem::path& path) {
    std::error_code code;
    const std::filesystem::file_status status = std::filesystem::status(path, code);
    if (status.type() == std::filesystem::file_type::not_found) return {};
    if (status.type() != std::filesystem::file_type::regular) {
        return io_error(
            fmt::format("'{}' is in the way: it is not a regular file. Move it, or choose another output folder.",
                        path.string()),
            EEXIST);
    }
    if (::access(path.c_str(), W_OK) != 0) return folder_error(path, errno);
    return {};
}

}  // namespace

std::filesystem::path policy_path(const std::filesystem::path& folder) { return folder / "policy.safetensors"; }
std::filesystem::path metrics_path(const std::filesystem::path& folder) { return folder / "metrics.jsonl"; }

Result<void> prepare_output_folder(const std::filesystem::path& folder) {
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    if (code) return folder_error(folder, code.value());
    YOLK_TRY_VOID(check_replaceable(policy_path(folder)));
    YOLK_TRY_VOID(check_replaceable(metrics_path(folder)));
    // Only writing proves that writing works (read-only mounts, full disks, quotas).
    const std::filesystem::path trial = folder / fmt::format(".yolk-trial-{}", ::getpid());
    const Result<void> written = write_file_atomically(trial, "trial");
    ::unlink(trial.c_str());
    if (!written) return folder_error(folder, written.error().native);
    return {};
}

Result<void> MetricsFile::append(const Json& line) {
    if (!file_) {
        file_.reset(std::fopen(path_.c_str(), "we"));
        if (!file_) return io_error(fmt::format("Cannot write '{}': {}.", path_.string(), std::strerror(errno)), errno);
    }
    const std::string text = to_line(line) + '\n';
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0) {
        return io_error(fmt::format("Cannot write '{}': {}.", path_.string(), std::strerror(errno)), errno);
    }
    return {};
}

}  // namespace yolk::train
