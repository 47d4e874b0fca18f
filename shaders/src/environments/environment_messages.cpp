// SPDX-License-Identifier: Apache-2.0
#include "environment_messages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "embedded_sources.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk {
namespace {

constexpr std::size_t kMostLines = 10;
constexpr std::string_view kPreludeInclude = "yolk/exact/environment_prelude.h";

constexpr std::string_view kContinuousWord = "ENVIRONMENT_CONTINUOUS";

enum class Actions { Any, Discrete, Continuous };

struct InterfacePart {
    std::string_view name;
    std::string_view declaration;
    Actions actions = Actions::Any;  ///< of the environments that have it
};
/// In the order of environment_facts.comp's lines, where a later name is in the lines of others.
constexpr std::array kInterface{
    InterfacePart{"environment_reset", "EXACT_FUNCTION State environment_reset(uvec4 words)"},
    InterfacePart{"environment_observe",
                  "EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, observation, "
                  "kObservationCount))"},
    InterfacePart{"environment_step",
                  "EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint action)",
                  Actions::Discrete},
    InterfacePart{"environment_step",
                  "EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, EXACT_IN_ARRAY(float, action, "
                  "kActionCount))",
                  Actions::Continuous},
    InterfacePart{"kActionSquashed", "EXACT_CONST uint kActionSquashed = ... (1: tanh, 0: clipped)",
                  Actions::Continuous},
    InterfacePart{"kActionLow", "EXACT_CONST uint kActionLow[kActionCount] = {...} (the bits of floats)",
                  Actions::Continuous},
    InterfacePart{"kActionHigh", "EXACT_CONST uint kActionHigh[kActionCount] = {...} (the bits of floats)",
                  Actions::Continuous},
    InterfacePart{"kObservationCount", "EXACT_CONST uint kObservationCount = ..."},
    InterfacePart{"kActionCount", "EXACT_CONST uint kActionCount = ..."},
    InterfacePart{"kMaxSteps", "EXACT_CONST uint kMaxSteps = ..."},
    InterfacePart{"kSolvedReturn", "EXACT_CONST uint kSolvedReturn = ... (the bits of a float)"},
    InterfacePart{"kBestReturn", "EXACT_CONST uint kBestReturn = ... (the bits of a float)"},
    InterfacePart{"State", "struct State { ... }"},
};

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

struct Diagnostic {
    std::string_view source = {};
    std::size_t line = 0;  ///< 0: none given
    std::string_view text = {};
};

std::string_view line_of(std::string_view text, std::size_t number) {
    for (; number > 1; --number) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    return text.substr(0, text.find('\n'));
}

/// "name:line: error: text", "name: error: text"; anything else is a text without a place.
Diagnostic parse(std::string_view message) {
    for (const std::string_view kind : {": error: ", ": warning: "}) {
        const std::size_t at = message.find(kind);
        if (at == std::string_view::npos) continue;
        Diagnostic found{.source = message.substr(0, at), .text = message.substr(at + kind.size())};
        const std::size_t colon = found.source.rfind(':');
        if (colon == std::string_view::npos) return found;
        const std::string_view number = found.source.substr(colon + 1);
        std::size_t line = 0;
        if (std::from_chars(number.data(), number.data() + number.size(), line).ec != std::errc()) return found;
        found.source = found.source.substr(0, colon);
        found.line = line;
        return found;
    }
    return {.text = message};
}

/// A compiler that reads on past the end of the environment's text trips over words after it that are right.
bool is_unfinished(const Diagnostic& diagnostic) {
    return has(diagnostic.text, "syntax error") || has(diagnostic.text, "nested scope") ||
           has(diagnostic.text, "missing #endif");
}

/// Whether an environment of this text has the part.
bool is_of(const InterfacePart& part, std::string_view source) {
    if (part.actions == Actions::Any) return true;
    return has(source, kContinuousWord) == (part.actions == Actions::Continuous);
}

/// The part of the interface that a line of environment_facts.comp stands for, or null.
const InterfacePart* part_at(std::size_t line_number, std::string_view source) {
    const std::string_view line = line_of(embedded_source(kFactsSource), line_number);
    const auto* const part = std::find_if(kInterface.begin(), kInterface.end(),
                                          [&](const auto& p) { return is_of(p, source) && has(line, p.name); });
    return part == kInterface.end() ? nullptr : part;
}

struct Report {
    std::string_view source, file_name;
    std::vector<std::string> lines = {};
    std::vector<const InterfacePart*> told = {};

    void add(std::string text) {
        if (std::find(lines.begin(), lines.end(), text) == lines.end()) lines.push_back(std::move(text));
    }
    void add_part(const InterfacePart& part, const Diagnostic& diagnostic) {
        // A wrong form makes several mistakes of one line; what is missing altogether is told by add_missing.
        if (std::find(told.begin(), told.end(), &part) != told.end() || !has(source, part.name)) return;
        told.push_back(&part);
        add(fmt::format("{}: its form of {} is not `{}` ({})", file_name, part.name, part.declaration,
                        diagnostic.text));
    }
    void add_diagnostic(const Diagnostic& diagnostic) {
        if (diagnostic.source == kEnvironmentSource)
            return add(fmt::format("{}:{}: {}", file_name, diagnostic.line, diagnostic.text));
        if (diagnostic.source.empty()) return add(fmt::format("{}: {}", file_name, diagnostic.text));
        if (diagnostic.source == kFactsSource) {
            const InterfacePart* const part = part_at(diagnostic.line, source);
            const bool missing = part != nullptr && !has(source, part->name);
            if (!missing && is_unfinished(diagnostic))
                return add(fmt::format("{}: its end leaves something open, such as a brace, a declaration or an #if",
                                       file_name));
            if (part != nullptr) return add_part(*part, diagnostic);
        }
        add(fmt::format("{}: it does not go together with the kernel's own {}, line {}: {}", file_name,
                        diagnostic.source, diagnostic.line, diagnostic.text));
    }
    void add_missing() {
        for (const InterfacePart& part : kInterface) {
            if (is_of(part, source) && !has(source, part.name))
                add(fmt::format("{}: it does not define `{}`", file_name, part.declaration));
        }
        if (!has(source, kPreludeInclude)) {
            add(fmt::format("{}: it does not #include \"{}\", where the interface's words come from", file_name,
                            kPreludeInclude));
        }
    }
};

}  // namespace

Error environment_error(std::string_view messages, std::string_view source, std::string_view file_name) {
    Report report{.source = source, .file_name = file_name};
    for (std::string_view rest = messages; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const bool is_count = line.ends_with(" generated.");  // "2 errors generated."
        if (line.empty() || is_count || has(line, "compilation terminated")) continue;
        report.add_diagnostic(parse(line));
    }
    const std::size_t kept = std::min(report.lines.size(), kMostLines);
    const std::string more =
        kept < report.lines.size() ? fmt::format("\n  and {} more", report.lines.size() - kept) : std::string();
    report.lines.resize(kept);
    report.add_missing();
    return bad_input(
        "The environment '{}' cannot be used:\n  {}{}\nWhat such a file holds is written in docs/environments.md.",
        shown(file_name), fmt::join(report.lines, "\n  "), more);
}

}  // namespace yolk
