// SPDX-License-Identifier: Apache-2.0
#include "kernel_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "embedded_sources.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 64;
constexpr std::size_t kLargestFile = std::size_t{4} << 20U;
constexpr std::string_view kEmbeddedFolder = "yolk/exact/";

/// Where `name` in the file `from` may lie, relative to the shader's folder.
std::vector<std::string> places_of(const std::string& from, const std::string& name) {
    std::vector<std::string> places{(fs::path(from).parent_path() / name).lexically_normal().generic_string()};
    if (std::string beside = fs::path(name).lexically_normal().generic_string(); beside != places.front())
        places.push_back(std::move(beside));
    return places;
}

/// The names in the text's `#include "..."` and `#include <...>`, whatever conditions stand around them.
std::vector<std::string> included_names(std::string_view text) {
    std::vector<std::string> names;
    static constexpr std::string_view kBlank = " \t";
    const auto skip_blanks = [](std::string_view& line) {
        line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    };
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        skip_blanks(line);
        if (!line.starts_with('#')) continue;
        line.remove_prefix(1);
        skip_blanks(line);
        if (!line.starts_with("include")) continue;
        line.remove_prefix(std::string_view("include").size());
        skip_blanks(line);
        if (!line.starts_with('"') && !line.starts_with('<')) continue;
        const std::size_t end = line.find(line.front() == '"' ? '"' : '>', 1);
        if (end != std::string_view::npos) names.emplace_back(line.substr(1, end - 1));
    }
    return names;
}

Result<std::string> read_text(const fs::path& path) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLargestFile));
    std::string text;
    text.reserve(bytes.size());
    for (const std::byte byte : bytes) text += static_cast<char>(byte);
    if (text.find('\0') != std::string::npos) return bad_input("'{}' is no text: it has a zero byte.", shown(path));
    return text;
}

/// Whether `path`, with links followed, is `folder` or in it or below it.
bool is_within(const fs::path& path, const fs::path& folder) {
    const auto [end, at] = std::ranges::mismatch(folder, path);
    return end == folder.end();
}

/// The folders that a shader may include from.
class IncludeFolders {
   public:
    [[nodiscard]] static Result<IncludeFolders> of(const fs::path& shader, std::span<const fs::path> more) {
        IncludeFolders folders;
        const fs::path own = shader.has_parent_path() ? shader.parent_path() : fs::path(".");
        YOLK_TRY_VOID(folders.add(own));
        for (const fs::path& folder : more) YOLK_TRY_VOID(folders.add(folder));
        return folders;
    }

    /// `real`: with links followed.
    [[nodiscard]] bool allows(const fs::path& real) const {
        return std::ranges::any_of(real_, [&](const fs::path& root) { return is_within(real, root); });
    }
    [[nodiscard]] const fs::path& own() const { return real_.front(); }

    struct Text {
        std::string text;
        std::string refusal;
    };
    /// Nothing where no folder has such a place. What lies outside of all folders is not opened.
    [[nodiscard]] std::optional<Text> read(const std::string& place) const {
        for (const fs::path& folder : given_) {
            const fs::path candidate = folder / place;
            std::error_code error;
            if (!fs::exists(candidate, error) || error) continue;
            const fs::path real = fs::canonical(candidate, error);
            if (error || !allows(real)) return Text{.text = {}, .refusal = outside(place)};
            Result<std::string> text = read_text(real);
            if (!text) return Text{.text = {}, .refusal = text.error().message};
            return Text{.text = *std::move(text), .refusal = {}};
        }
        return std::nullopt;
    }

   private:
    Result<void> add(const fs::path& folder) {
        std::error_code error;
        fs::path real = fs::canonical(folder, error);
        if (error || !fs::is_directory(real, error))
            return bad_input("There is no folder '{}' to include from.", shown(folder));
        given_.push_back(folder);
        real_.push_back(std::move(real));
        return {};
    }
    [[nodiscard]] std::string outside(const std::string& place) const {
        return fmt::format(
            "\"{}\" is outside of '{}'; a shader includes files of its own folder and below, those of {}, and those of "
            "folders that are given with --include",
            place, shown(real_.front()), kEmbeddedFolder);
    }
    std::vector<fs::path> given_;
    std::vector<fs::path> real_;  ///< the same with links followed
};

/// What the file `from` includes, added to the source.
Result<void> add_included(const IncludeFolders& folders, const std::string& from, const std::string& text,
                          KernelSource& source) {
    for (const std::string& name : included_names(text)) {
        if (const FoundInclude known = find_include(source, from, name); !known.place.empty() || !known.refusal.empty())
            continue;
        for (const std::string& place : places_of(from, name)) {
            std::optional<IncludeFolders::Text> found = folders.read(place);
            if (!found && place.starts_with(kEmbeddedFolder) && embedded_source(place).data() != nullptr)
                found = IncludeFolders::Text{.text = std::string(embedded_source(place)), .refusal = {}};
            if (!found) continue;
            if (source.includes.size() + source.refused.size() == kMostFiles)
                return bad_input("The shader '{}' includes more than {} files.", shown(source.name), kMostFiles);
            if (found->refusal.empty()) {
                source.includes.emplace_back(place, std::move(found->text));
            } else {
                source.refused.emplace_back(place, std::move(found->refusal));
            }
            break;
        }
    }
    return {};
}

}  // namespace

FoundInclude find_include(const KernelSource& source, const std::string& from, const std::string& name) {
    using Entry = std::pair<std::string, std::string>;
    for (const std::string& place : places_of(from, name)) {
        if (const auto found = std::ranges::find(source.includes, place, &Entry::first); found != source.includes.end())
            return {.place = found->first, .text = found->second, .refusal = {}};
        if (const auto found = std::ranges::find(source.refused, place, &Entry::first); found != source.refused.end())
            return {.place = {}, .text = {}, .refusal = found->second};
    }
    return {};
}

Result<void> check_within(const fs::path& shader, const fs::path& named_by, std::span<const fs::path> folders) {
    YOLK_TRY(const IncludeFolders allowed, IncludeFolders::of(named_by, folders));
    std::error_code error;
    const fs::path real = fs::canonical(shader, error);
    if (error || allowed.allows(real)) return {};
    return bad_input(
        "'{}' names the shader '{}', which is outside of '{}'; it is there or below, or in a folder that is "
        "given with --include.",
        shown(named_by.filename()), shown(shader), shown(allowed.own()));
}

Result<KernelSource> load_kernel_source(const fs::path& path, std::span<const fs::path> folders) {
    KernelSource source{.name = path.filename().string(), .text = {}, .includes = {}, .refused = {}};
    YOLK_TRY(source.text, read_text(path));
    if (source.text.find_first_not_of(" \t\r\n") == std::string::npos)
        return bad_input("The shader '{}' is empty.", shown(path));
    YOLK_TRY(const IncludeFolders allowed, IncludeFolders::of(path, folders));
    YOLK_TRY_VOID(add_included(allowed, {}, source.text, source));
    for (std::size_t next = 0; next < source.includes.size(); ++next) {
        // A copy: the list grows.
        const auto [from, text] = source.includes[next];
        YOLK_TRY_VOID(add_included(allowed, from, text, source));
    }
    return source;
}

}  // namespace yolk
