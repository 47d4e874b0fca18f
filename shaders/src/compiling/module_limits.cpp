// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <spirv/unified1/spirv.hpp>

#include "compile_here.hpp"
#include "spirv_words.hpp"
#include "yolk/internal/core/memory.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/shaders/module_interface.hpp"

namespace yolk {
namespace {

/// Where a module's instructions are: the line, where it has lines, and the function.
class Places {
   public:
    Places(std::span<const std::uint32_t> spirv, std::string_view file_name) : file_name_(file_name) {
        for (std::size_t at = kSpirvHeaderWords; at < spirv.size();) {
            const std::size_t count = spirv[at] >> spv::WordCountShift;
            if (count == 0 || count > spirv.size() - at) break;
            if ((spirv[at] & spv::OpCodeMask) == spv::OpName && count > 2)
                names_[spirv[at + 1]] = literal_string(spirv.subspan(at + 2, count - 2));
            at += count;
        }
    }
    void pass(std::uint32_t op, std::span<const std::uint32_t> words) {
        if (op == spv::OpLine && words.size() > 2) line_ = words[2];
        if (op == spv::OpFunction && words.size() > 2) function_ = words[2];
    }
    /// "my_env.glsl:12", or "my.comp, in the function 'main'".
    [[nodiscard]] std::string text() const {
        if (line_ != 0) return fmt::format("{}:{}", file_name_, line_);
        const auto name = names_.find(function_);
        if (name == names_.end()) return std::string(file_name_);
        return fmt::format("{}, in the function '{}'", file_name_,
                           shown(name->second.substr(0, name->second.find('('))));
    }

   private:
    std::string_view file_name_;
    std::map<std::uint32_t, std::string> names_;
    std::uint32_t line_ = 0;
    std::uint32_t function_ = 0;
};

bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The line, from 1, of what looks like the function's definition: its name, parentheses, a brace. 0: there is none.
std::size_t line_of_definition(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        const bool is_whole = (at == 0 || !is_name_character(text[at - 1])) && end < text.size();
        const std::size_t open = text.find_first_not_of(" \t\r\n", end);
        if (!is_whole || open == std::string_view::npos || text[open] != '(') continue;
        const std::size_t close = text.find(')', open);
        if (close == std::string_view::npos) continue;
        const std::size_t brace = text.find_first_not_of(" \t\r\n", close + 1);
        if (brace == std::string_view::npos || text[brace] != '{') continue;
        return 1 +
               static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }
    return 0;
}

}  // namespace

Result<void> check_module_limits(std::span<const std::uint32_t> spirv, std::string_view file_name,
                                 const ModuleLimits& limits) {
    Places places(spirv, file_name);
    std::uint64_t instructions = 0;
    for (std::size_t at = kSpirvHeaderWords; at < spirv.size(); ++instructions) {
        const std::size_t count = spirv[at] >> spv::WordCountShift;
        if (count == 0 || count > spirv.size() - at) return bad_input("The compiled shader is no SPIR-V.");
        const std::uint32_t op = spirv[at] & spv::OpCodeMask;
        places.pass(op, spirv.subspan(at, count));
        // Opcode, selector, default, then pairs of a literal and a label.
        if (const std::size_t cases = count < 3 ? 0 : (count - 3) / 2;
            op == spv::OpSwitch && cases > limits.switch_cases)
            return bad_input("{}: a switch has {} cases; at most {} are allowed. Take an array, or several switches.",
                             places.text(), cases, limits.switch_cases);
        at += count;
    }
    if (instructions > limits.instructions)
        return bad_input("{}: it compiles to {} instructions of SPIR-V; at most {} are allowed. Make it shorter.",
                         file_name, instructions, limits.instructions);
    YOLK_TRY(const ModuleInterface interface, read_interface(spirv));
    if (const std::uint64_t bytes = interface.local_bytes({}); bytes > limits.local_bytes)
        return bad_input("{}: its local variables take {}, most of it in arrays; at most {} are allowed.", file_name,
                         size_text(bytes), size_text(limits.local_bytes));
    return {};
}

std::string with_place_of_recursion(std::string_view messages, std::span<const NamedText> texts) {
    constexpr std::string_view kRecursion = "Recursion detected";
    constexpr std::string_view kCalling = " calling ";
    if (messages.find(kRecursion) == std::string_view::npos) return std::string(messages);
    std::string told;
    for (std::string_view rest = messages; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const std::size_t calling = line.find(kCalling);
        if (calling == std::string_view::npos) continue;
        // "my.comp:     f(i1; calling g(f1;"
        const auto name_in = [](std::string_view part) {
            part = part.substr(0, part.find('('));
            return part.substr(part.find_last_of(" \t:") + 1);  // 0 where there is none
        };
        const std::string_view caller = name_in(line.substr(0, calling));
        const std::string_view callee = name_in(line.substr(calling + kCalling.size()));
        for (const NamedText& text : texts) {
            const std::size_t at = line_of_definition(text.text, caller);
            if (at == 0) continue;
            told += fmt::format("{}:{}: error: '{}' : calls '{}', which calls it again; GLSL has no recursion\n",
                                text.name, at, shown(caller), shown(callee));
            break;
        }
    }
    return told.empty() ? std::string(messages) : told;
}

}  // namespace yolk
