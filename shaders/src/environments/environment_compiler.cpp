// SPDX-License-Identifier: Apache-2.0
#include "compile_here.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <shaderc/shaderc.hpp>

#include "embedded_sources.hpp"
#include "environment_inspection.hpp"
#include "environment_messages.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk {
namespace {

constexpr std::string_view kSharedFolder = "yolk/exact/";  // what an environment's file may include

/// Serves the embedded sources and the environment, and nothing from the disk.
class EnvironmentIncluder final : public shaderc::CompileOptions::IncluderInterface {
   public:
    explicit EnvironmentIncluder(std::string_view environment) : environment_(environment) {}

    shaderc_include_result* GetInclude(const char* requested, shaderc_include_type /*type*/, const char* requesting,
                                       std::size_t /*depth*/) override {
        auto answer = std::make_unique<Answer>();
        answer->name = requested;
        const bool from_environment = requesting == kEnvironmentSource;
        const bool allowed = !from_environment || answer->name.starts_with(kSharedFolder);
        std::string_view text = allowed ? embedded_source(answer->name) : std::string_view();
        if (!from_environment && requested == kEnvironmentSource) text = environment_;
        const bool found = text.data() != nullptr;
        if (!found) {
            answer->refusal = fmt::format("\"{}\" cannot be included: an environment is one file, and includes {} only",
                                          answer->name, kSharedFolder);
            answer->name.clear();
            text = answer->refusal;
        }
        answer->result = {.source_name = answer->name.data(),
                          .source_name_length = answer->name.size(),
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
        std::string name, refusal;
        shaderc_include_result result{};
    };
    std::string_view environment_;
};

using Defines = std::vector<const char*>;

struct Compilation {
    std::string_view source, file_name;
    shaderc::Compiler compiler = {};  // one for all: the tables of the language are made with the first

    /// `entry` is an embedded source that includes the environment. Options are those of cmake/YolkKernel.cmake: no
    /// optimisation, which would have to be shown to keep class P.
    [[nodiscard]] Result<std::vector<std::uint32_t>> run(std::string_view entry, const Defines& defines,
                                                         bool with_lines) const {
        shaderc::CompileOptions options;
        options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_2);
        options.SetWarningsAsErrors();
        options.SetIncluder(std::make_unique<EnvironmentIncluder>(source));
        for (const char* define : defines) options.AddMacroDefinition(define, "1");
        if (with_lines) options.SetGenerateDebugInfo();
        const std::string_view text = embedded_source(entry);
        const shaderc::SpvCompilationResult result = compiler.CompileGlslToSpv(
            text.data(), text.size(), shaderc_compute_shader, std::string(entry).c_str(), "main", options);
        if (result.GetCompilationStatus() != shaderc_compilation_status_success)
            return environment_error(
                with_place_of_recursion(result.GetErrorMessage(), std::array{NamedText{kEnvironmentSource, source}}),
                source, file_name);
        return std::vector<std::uint32_t>(result.begin(), result.end());
    }
};

}  // namespace

Result<CompiledEnvironment> compile_environment_here(std::string_view source, std::string_view file_name) {
    if (source.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return bad_input("The environment '{}' is empty. What such a file holds is written in docs/environments.md.",
                         shown(file_name));
    if (source.find('\0') != std::string_view::npos)
        return bad_input("The environment '{}' is no text: it has a zero byte.", shown(file_name));
    const Compilation compilation{.source = source, .file_name = file_name};
    CompiledEnvironment compiled;
    // First the facts alone: a mistake in the environment shows there without the kernel's sources around it.
    YOLK_TRY(const std::vector<std::uint32_t> facts, compilation.run(kFactsSource, {}, true));
    YOLK_TRY_VOID(check_module_limits(facts, file_name, kEnvironmentLimits));
    YOLK_TRY(EnvironmentInspection inspection, inspect_environment(facts, file_name));
    compiled.facts = inspection.facts;
    compiled.inexact_reason = std::move(inspection.inexact_reason);
    YOLK_TRY(compiled.looped, compilation.run("rollout.comp", {}, false));
    YOLK_TRY(compiled.unrolled, compilation.run("rollout.comp", {"ROLLOUT_UNROLL"}, false));
    YOLK_TRY(compiled.packed, compilation.run("rollout.comp", {"ROLLOUT_PACKED"}, false));
    YOLK_TRY(compiled.looped_fast, compilation.run("rollout.comp", {"ROLLOUT_FAST"}, false));
    YOLK_TRY(compiled.unrolled_fast, compilation.run("rollout.comp", {"ROLLOUT_UNROLL", "ROLLOUT_FAST"}, false));
    YOLK_TRY(compiled.packed_fast, compilation.run("rollout.comp", {"ROLLOUT_PACKED", "ROLLOUT_FAST"}, false));
    return compiled;
}

}  // namespace yolk
