// SPDX-License-Identifier: Apache-2.0
#include "yolk/shaders/kernel_compiler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <shaderc/shaderc.hpp>
#include <string_view>

#include "yolk/core/file.hpp"
#include "yolk/core/printable.hpp"

namespace yolk {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 64;
constexpr std::size_t kLargestFile = std::size_t{4} << 20U;
constexpr std::size_t kMostErrorLines = 10;

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

const std::string* find_include(const KernelSource& source, const std::string& from, const std::string& name) {
    for (const std::string& place : places_of(from, name)) {
        const auto found = std::ranges::find(source.includes, place, &std::pair<std::string, std::string>::first);
        if (found != source.includes.end()) return &found->first;
    }
    return nullptr;
}

/// Serves what was read, and nothing from the disk.
class KernelIncluder final : public shaderc::CompileOptions::IncluderInterface {
   public:
    explicit KernelIncluder(const KernelSource& source) : source_(source) {}

    shaderc_include_result* GetInclude(const char* requested, shaderc_include_type /*type*/, const char* requesting,
                                       std::size_t /*depth*/) override {
        auto answer = std::make_unique<Answer>();
        const std::string from = requesting == source_.name ? std::string() : std::string(requesting);
        std::string_view name;
        std::string_view text;
        if (const std::string* const found = find_include(source_, from, requested)) {
            name = *found;
            text = std::ranges::find(source_.includes, *found, &std::pair<std::string, std::string>::first)->second;
        } else {
            answer->refusal = fmt::format("\"{}\" was not found beside the shader", requested);
            text = answer->refusal;
        }
        answer->result = {.source_name = name.data(),
                          .source_name_length = name.size(),
                          .content = text.data(),
                          .content_length = text.size(),
                          .user_data = answer.get()};
        return &answer.release()->result;
    }
    void ReleaseInclude(shaderc_include_result* result) override {
        const std::unique_ptr<Answer> owned(static_cast<Answer*>(result->user_data));
    }

   private:
    struct Answer {
        std::string refusal;
        shaderc_include_result result{};
    };
    const KernelSource& source_;
};

/// The compiler's lines, without its counts.
Error compile_error(const KernelSource& source, std::string_view messages) {
    std::vector<std::string> lines;
    std::size_t more = 0;
    for (std::string_view rest = messages; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.empty() || line.ends_with(" generated.") || line.find("compilation terminated") != line.npos) continue;
        if (lines.size() == kMostErrorLines) {
            ++more;
            continue;
        }
        std::string kept(line);
        if (const std::size_t at = kept.find(": error: "); at != std::string::npos) kept.erase(at + 1, 7);
        if (std::ranges::find(lines, kept) == lines.end()) lines.push_back(std::move(kept));
    }
    return bad_input("The shader '{}' does not compile:\n  {}{}", source.name, fmt::join(lines, "\n  "),
                     more == 0 ? std::string() : fmt::format("\n  and {} more", more));
}

}  // namespace

Result<KernelSource> load_kernel_source(const fs::path& path) {
    KernelSource source{.name = path.filename().string(), .text = {}, .includes = {}};
    YOLK_TRY(source.text, read_text(path));
    if (source.text.find_first_not_of(" \t\r\n") == std::string::npos)
        return bad_input("The shader '{}' is empty.", shown(path));
    for (std::size_t next = 0; next <= source.includes.size(); ++next) {
        // Place 0 is the shader itself.
        const std::string from = next == 0 ? std::string() : source.includes[next - 1].first;
        const std::string text = next == 0 ? source.text : source.includes[next - 1].second;
        for (const std::string& name : included_names(text)) {
            if (find_include(source, from, name) != nullptr) continue;
            for (const std::string& place : places_of(from, name)) {
                std::error_code ignored;
                if (!fs::is_regular_file(path.parent_path() / place, ignored)) continue;
                if (source.includes.size() == kMostFiles) {
                    return bad_input("The shader '{}' includes more than {} files.", shown(path), kMostFiles);
                }
                YOLK_TRY(std::string included, read_text(path.parent_path() / place));
                source.includes.emplace_back(place, std::move(included));
                break;
            }
        }
    }
    return source;
}

Result<std::vector<std::uint32_t>> compile_kernel(const KernelSource& source, const KernelCompileOptions& given) {
    shaderc::CompileOptions options;
    options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_2);
    options.SetSuppressWarnings();
    options.SetIncluder(std::make_unique<KernelIncluder>(source));
    for (const auto& [name, value] : given.defines) options.AddMacroDefinition(name, value);
    if (given.optimized) options.SetOptimizationLevel(shaderc_optimization_level_performance);
    const shaderc::Compiler compiler;
    const shaderc::SpvCompilationResult result = compiler.CompileGlslToSpv(
        source.text.data(), source.text.size(), shaderc_compute_shader, source.name.c_str(), "main", options);
    if (result.GetCompilationStatus() != shaderc_compilation_status_success)
        return compile_error(source, result.GetErrorMessage());
    return std::vector<std::uint32_t>(result.begin(), result.end());
}

}  // namespace yolk
