// SPDX-License-Identifier: Apache-2.0
#include "compile_here.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <shaderc/shaderc.hpp>
#include <string_view>

#include "kernel_source.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk {
namespace {

constexpr std::size_t kMostErrorLines = 10;
// Deeper, an include is taken for one that includes itself; in breadth it is cut as well, for two of them double it.
constexpr std::size_t kDeepestInclude = 32;
constexpr std::size_t kMostIncludes = 4096;

/// Serves what was read, and nothing from the disk.
class KernelIncluder final : public shaderc::CompileOptions::IncluderInterface {
   public:
    explicit KernelIncluder(const KernelSource& source) : source_(source) {}

    shaderc_include_result* GetInclude(const char* requested, shaderc_include_type /*type*/, const char* requesting,
                                       std::size_t depth) override {
        auto answer = std::make_unique<Answer>();
        const std::string from = requesting == source_.name ? std::string() : std::string(requesting);
        const FoundInclude found = find_include(source_, from, requested);
        answer->refusal = refusal_of(found, requested, depth);
        const std::string_view name = answer->refusal.empty() ? found.place : std::string_view();
        const std::string_view text = answer->refusal.empty() ? found.text : std::string_view(answer->refusal);
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
    [[nodiscard]] std::string refusal_of(const FoundInclude& found, std::string_view requested, std::size_t depth) {
        if (!found.refusal.empty()) return std::string(found.refusal);
        if (found.place.empty()) return fmt::format("\"{}\" was not found beside the shader", requested);
        if (depth > kDeepestInclude)
            return fmt::format("\"{}\" is included {} deep, which is the limit: does it include itself?", requested,
                               kDeepestInclude);
        if (++count_ > kMostIncludes)
            return fmt::format("\"{}\" is one include too many: {} are the limit", requested, kMostIncludes);
        return {};
    }
    const KernelSource& source_;
    std::size_t count_ = 0;
};

/// The compiler's lines, without its counts.
Error compile_error(const KernelSource& source, std::string_view given) {
    std::vector<NamedText> texts{{source.name, source.text}};
    for (const auto& [name, text] : source.includes) texts.push_back({name, text});
    const std::string messages = with_place_of_recursion(given, texts);
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
    return bad_input("The shader '{}' does not compile:\n  {}{}", shown(source.name), fmt::join(lines, "\n  "),
                     more == 0 ? std::string() : fmt::format("\n  and {} more", more));
}

}  // namespace

Result<std::vector<std::uint32_t>> compile_kernel_here(const KernelSource& source, const KernelCompileOptions& given) {
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
    std::vector<std::uint32_t> spirv(result.begin(), result.end());
    YOLK_TRY_VOID(check_module_limits(spirv, source.name, {}));
    return spirv;
}

}  // namespace yolk
