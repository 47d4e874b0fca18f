// SPDX-License-Identifier: Apache-2.0
#include "output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "previous_run.hpp"
#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/train/run_folder.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::train {
namespace {

/// About ten million generations.
constexpr std::size_t kMaxMetricsBytes = std::size_t{1} << 32U;

Error folder_error(const std::filesystem::path& folder, int error_number) {
    return io_error(fmt::format("Cannot write to the output folder '{}': {}. Choose another folder, or make it "
                                "writable; nothing was begun.",
                                shown(folder), std::strerror(error_number)),
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
                        shown(path)),
            EEXIST);
    }
    if (::access(path.c_str(), W_OK) != 0) return folder_error(path, errno);
    return {};
}

/// Lines of earlier versions have no digest, those of generations whose hash was not due no hash.
bool leads_up_to(const Json& line, const StateNames& state) {
    const auto hash = line.find("state_hash");
    const auto digest = line.find("state_digest");
    if (hash == line.end() && digest == line.end()) return false;
    return (hash == line.end() || *hash == Json(state.hash)) && (digest == line.end() || *digest == Json(state.digest));
}

Result<WriterLock> acquire_output_folder(const std::filesystem::path& folder) {
    Result<WriterLock> lock =
        WriterLock::acquire(folder / ".yolk-lock", fmt::format("The output folder '{}'", shown(folder)));
    if (!lock && lock.error().kind == ErrorKind::Io && lock.error().native != EBUSY)
        return folder_error(folder, lock.error().native);
    return lock;
}

}  // namespace

std::filesystem::path policy_path(const std::filesystem::path& folder) { return folder / "policy.safetensors"; }
std::filesystem::path metrics_path(const std::filesystem::path& folder) { return folder / "metrics.jsonl"; }
std::filesystem::path checkpoint_path(const std::filesystem::path& folder) { return folder / "checkpoint.yolk"; }
std::filesystem::path log_path(const std::filesystem::path& folder) { return folder / "log.yolk"; }
std::filesystem::path model_path(const std::filesystem::path& folder) { return folder / "model.safetensors"; }
std::filesystem::path configuration_path(const std::filesystem::path& folder) { return folder / "yolk.toml"; }
std::vector<std::filesystem::path> paths_of_run(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> paths{policy_path(folder), model_path(folder),   checkpoint_path(folder),
                                             log_path(folder),    metrics_path(folder), configuration_path(folder)};
    for (const std::string_view name : kAdapterFiles) paths.push_back(folder / name);
    return paths;
}

Result<std::optional<WriterLock>> lock_output_folder(const std::filesystem::path& folder) {
    std::error_code ignored;
    if (folder.empty() || !std::filesystem::is_directory(folder, ignored)) return std::optional<WriterLock>();
    Result<WriterLock> lock = acquire_output_folder(folder);
    if (lock) {
        YOLK_TRY_VOID(put_back(folder));
        return std::optional<WriterLock>(std::move(lock).value());
    }
    if (lock.error().native == EBUSY) return std::move(lock).error();
    return std::optional<WriterLock>();  // what else is wrong is told when the folder is prepared
}

Result<void> prepare_output_folder(const std::filesystem::path& folder, std::optional<WriterLock>& lock) {
    if (const Result<void> made = create_folders(folder); !made) return folder_error(folder, made.error().native);
    if (!lock) {
        YOLK_TRY(lock, acquire_output_folder(folder));
        YOLK_TRY_VOID(put_back(folder));
    }
    const std::filesystem::path trial = folder / ".yolk-trial";
    for (const std::filesystem::path& path : paths_of_run(folder)) {
        YOLK_TRY_VOID(check_replaceable(path));
        remove_abandoned_parts(path);
    }
    // Only writing proves that writing works (read-only mounts, full disks, quotas).
    const Result<void> written = write_file_atomically(trial, "trial");
    ::unlink(trial.c_str());
    if (!written) return folder_error(folder, written.error().native);
    return {};
}

Result<std::string> kept_metrics(const std::filesystem::path& path, std::uint32_t generations,
                                 const StateNames& state) {
    std::error_code code;
    if (!std::filesystem::exists(path, code)) {
        log_info(fmt::format("'{}' is missing; the generations before generation {} will be missing from it.",
                             shown(path), generations));
        return std::string();
    }
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kMaxMetricsBytes));
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto next_line = [&rest] {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end == std::string_view::npos ? 0 : end + 1);  // whole lines only
        rest.remove_prefix(line.size());
        return line;
    };
    const bool has_settings = !next_line().empty();
    if (has_settings && rest.empty()) return std::string();  // as a resumption without metrics begins its own
    const char* const kept_begin = rest.data();
    for (std::string_view text = next_line(); !text.empty(); text = next_line()) {
        const Json line = parse_json(text, "a line").value_or(nullptr);
        if (!line.is_object() || line.value("generation", Json()) != Json(generations - 1)) continue;
        if (leads_up_to(line, state)) return std::string(kept_begin, rest.data());
        break;
    }
    return bad_input(
        "'{}' does not lead up to the state to go on from (generation {}, state {}), which the checkpoint or the log "
        "beside it has. Move it away to resume without it.",
        shown(path), generations, state.hash);
}

Result<std::string> first_metrics(const std::filesystem::path& path, std::uint32_t generations) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kMaxMetricsBytes));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::size_t begin = text.find('\n');
    begin = begin == std::string_view::npos ? text.size() : begin + 1;
    std::size_t end = begin;
    while (end < text.size()) {
        const std::size_t line_end = text.find('\n', end);
        if (line_end == std::string_view::npos) break;
        const Json line = parse_json(text.substr(end, line_end - end), "a line").value_or(nullptr);
        if (!line.is_object() || line.value("generation", std::uint64_t{generations}) >= generations) break;
        end = line_end + 1;
    }
    return std::string(text.substr(begin, end - begin));
}

Result<void> MetricsFile::append(const Json& line) {
    if (!file_.is_open()) {
        YOLK_TRY(file_, open_regular_file(path_, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND));
    }
    if (!is_still_at(file_, path_)) {
        return io_error(fmt::format("'{}' was removed or replaced while the run was writing it.", shown(path_)),
                        ENOENT);
    }
    const std::string text = to_line(line) + '\n';
    return write_all(file_.get(), std::as_bytes(std::span(text)), path_);
}

Result<void> MetricsFile::continue_from(const Json& settings, std::string_view kept) {
    YOLK_TRY_VOID(write_file_atomically(path_, to_line(settings) + '\n' + std::string(kept)));
    YOLK_TRY(file_, open_regular_file(path_, O_WRONLY | O_APPEND));
    return {};
}

Result<void> MetricsFile::sync() {
    if (file_.is_open() && ::fdatasync(file_.get()) != 0) return file_error("flush", path_, errno);
    return {};
}

}  // namespace yolk::train
