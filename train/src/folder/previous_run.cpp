// SPDX-License-Identifier: Apache-2.0
#include "previous_run.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "output_folder.hpp"
#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/internal/train/run_folder.hpp"
#include "yolk/log.hpp"

namespace yolk::train {
namespace {

constexpr std::string_view kPrefix = "previous-";

std::filesystem::path unnamed_path(const std::filesystem::path& folder) { return folder / ".previous.part"; }
std::filesystem::path numbered_path(const std::filesystem::path& folder, std::uint64_t number) {
    return folder / fmt::format("{}{}", kPrefix, number);
}

bool has_entry(const std::filesystem::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

/// Of the folders of earlier runs; 0 where there is none.
std::uint64_t highest_number(const std::filesystem::path& folder) {
    std::uint64_t highest = 0;
    std::error_code ignored;
    std::filesystem::directory_iterator entry(folder, ignored);
    for (; !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
        const std::string name = entry->path().filename().string();
        if (!name.starts_with(kPrefix)) continue;
        std::uint64_t number = 0;
        const auto [end, code] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
        if (code == std::errc() && end == name.data() + name.size()) highest = std::max(highest, number);
    }
    return highest;
}

/// Those of `folder` that a run writes.
std::vector<std::filesystem::path> files_of_run(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::path& path : paths_of_run(folder)) {
        if (has_entry(path)) files.push_back(path);
    }
    return files;
}

/// A run that was cut off within its first generation leaves metrics of at most two lines and nothing else, and has
/// nothing to keep.
bool holds_run(const std::filesystem::path& folder) {
    for (const auto& path : {policy_path(folder), model_path(folder), checkpoint_path(folder), log_path(folder)})
        if (has_entry(path)) return true;
    const Result<std::string> metrics = read_beginning(metrics_path(folder), std::size_t{1} << 16U);
    return metrics && std::count(metrics->begin(), metrics->end(), '\n') > 2;
}

Result<void> move_all(const std::filesystem::path& from, const std::filesystem::path& to) {
    for (const std::filesystem::path& file : files_of_run(from))
        YOLK_TRY_VOID(rename_durably(file, to / file.filename()));
    return {};
}

Result<std::filesystem::path> name_it(const std::filesystem::path& folder) {
    std::filesystem::path named = numbered_path(folder, highest_number(folder) + 1);
    YOLK_TRY_VOID(rename_durably(unnamed_path(folder), named));
    return named;
}

}  // namespace

Result<std::filesystem::path> set_aside(const std::filesystem::path& folder) {
    if (!holds_run(folder)) return std::filesystem::path();
    const std::filesystem::path unnamed = unnamed_path(folder);
    if (::mkdir(unnamed.c_str(), 0777) != 0 && errno != EEXIST) return file_error("make", unnamed, errno);
    Result<std::filesystem::path> named = [&]() -> Result<std::filesystem::path> {
        YOLK_TRY_VOID(move_all(folder, unnamed));
        return name_it(folder);
    }();
    if (named) return named;
    Error error = std::move(named).error();
    static_cast<void>(put_back(folder));  // whoever opens the folder next tries again
    error.message = fmt::format(
        "The run in '{}' cannot be set aside, so that no other one is begun there: {}{}", shown(folder), error.message,
        has_entry(policy_path(folder)) || has_entry(checkpoint_path(folder)) || has_entry(log_path(folder))
            ? " It is where it was."
            : note_of_previous(folder));
    return error;
}

Result<void> put_back(const std::filesystem::path& folder) {
    const std::filesystem::path unnamed = unnamed_path(folder);
    if (!has_entry(unnamed)) return {};
    const std::vector<std::filesystem::path> moved = files_of_run(unnamed);
    const bool is_taken = std::any_of(moved.begin(), moved.end(), [&](const std::filesystem::path& file) {
        return has_entry(folder / file.filename());
    });
    if (is_taken) {  // by something that does not know of this: both are kept
        YOLK_TRY(const std::filesystem::path named, name_it(folder));
        log_warning(fmt::format("Files of an earlier run, which a killed process was setting aside, are in '{}'.",
                                shown(named)));
        return {};
    }
    YOLK_TRY_VOID(move_all(unnamed, folder));
    if (::rmdir(unnamed.c_str()) != 0 && errno != ENOENT) return file_error("remove", unnamed, errno);
    return {};
}

std::string note_of_previous(const std::filesystem::path& folder) {
    const std::uint64_t number = highest_number(folder);
    if (number == 0) return {};
    return fmt::format(" The run before it is in '{}', and can be resumed there.",
                       shown(numbered_path(folder, number)));
}

}  // namespace yolk::train
