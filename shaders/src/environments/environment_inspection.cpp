// SPDX-License-Identifier: Apache-2.0
#include "environment_inspection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <utility>
#include <vector>

#include "environment_messages.hpp"
#include "spirv_words.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/shaders/exactness.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kMaxWidth = 256;       // of a layer of the policy's network
constexpr std::uint32_t kMaxSteps = 1000000;   // an episode is thousands of dispatches by then
constexpr std::uint32_t kMaxStateWords = 256;  // 1 KiB per member between two dispatches
constexpr std::string_view kOwnBuffer = "environment_facts_";

/// Lines of other files mean nothing to the environment's author.
std::string place_in(std::string_view file_name, std::string_view source, std::uint32_t line) {
    if (line == 0 || source != kEnvironmentSource) return std::string(file_name);
    return fmt::format("{}:{}", file_name, line);
}

/// Why the module is not of class P; empty where it is. Error: it may end the process, which no mode admits.
Result<std::string> inexact_reason(std::span<const std::uint32_t> spirv, std::string_view file_name) {
    YOLK_TRY(const std::vector<InexactInstruction> all, find_inexact(spirv));
    if (const auto trap = std::ranges::find_if(all, &InexactInstruction::may_end_process); trap != all.end())
        return bad_input("{}: {}.", place_in(file_name, trap->file, trap->line), trap->why);
    // A negation is exact, and what it might be contracted with is listed by itself: authors need not declare it.
    const auto first = std::ranges::find_if(all, [](const auto& one) { return one.opcode != spv::OpFNegate; });
    if (first == all.end()) return std::string();
    return fmt::format("{}: {}", place_in(file_name, first->file, first->line), first->why);
}

/// One pass over the module. Ids are SPIR-V's.
struct Reader {
    std::string_view file_name;
    std::map<std::uint32_t, std::string> strings, names;
    std::map<std::uint32_t, std::uint32_t> spec_ids;                           ///< id of the constant to its SpecId
    std::map<std::uint32_t, std::uint32_t> constants;                          ///< SpecId to default value
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> offsets;  ///< (struct, member)
    std::set<std::uint32_t> blocks;
    std::uint32_t line_file = 0, line = 0;

    [[nodiscard]] Error broken(std::string_view what) const {
        const auto file = strings.find(line_file);
        return bad_input("{}: {}", place_in(file_name, file == strings.end() ? "" : file->second, line), what);
    }

    void declare(spv::Op op, std::span<const std::uint32_t> words);
    [[nodiscard]] Result<void> check_rules(spv::Op op, std::span<const std::uint32_t> words) const;
    [[nodiscard]] Result<EnvironmentFacts> facts() const;
    [[nodiscard]] Result<exact::EnvironmentActions> actions(std::uint32_t count) const;
};

void Reader::declare(spv::Op op, std::span<const std::uint32_t> words) {
    if (op == spv::OpString) strings[words[1]] = literal_string(words.subspan(2));
    if (op == spv::OpName) names[words[1]] = literal_string(words.subspan(2));
    if (op == spv::OpDecorate && words[2] == spv::DecorationSpecId) spec_ids[words[1]] = words[3];
    if (op == spv::OpDecorate && words[2] == spv::DecorationBlock) blocks.insert(words[1]);
    if (op == spv::OpMemberDecorate && words[3] == spv::DecorationOffset) offsets[{words[1], words[2]}] = words[4];
    if (op == spv::OpSpecConstant) constants[spec_ids[words[2]]] = words[3];
    if (op == spv::OpLine) {
        line_file = words[1];
        line = words[2];
    }
    if (op == spv::OpNoLine || op == spv::OpFunctionEnd) line = 0;
}

Result<void> Reader::check_rules(spv::Op op, std::span<const std::uint32_t> words) const {
    if (op == spv::OpLoopMerge) {
        return broken(
            "there is a loop. Plans hold a roll-out's loops against the limits of drivers and know nothing of an "
            "environment's, so it must have none: write it out.");
    }
    if (op == spv::OpCapability && words[1] != spv::CapabilityShader && words[1] != spv::CapabilityMatrix) {
        return broken(fmt::format(
            "it needs capability {} of SPIR-V. Only 32-bit float, int and uint are there on every device.", words[1]));
    }
    if (op == spv::OpControlBarrier || op == spv::OpMemoryBarrier) {
        return broken(
            "there is a barrier. An environment belongs to one invocation, which waits for no other: remove it.");
    }
    const bool is_global = op == spv::OpVariable && words[3] != spv::StorageClassFunction;
    if (const auto name = names.find(words.size() > 2 ? words[2] : 0); is_global) {
        const std::string text = name == names.end() ? "" : name->second;
        if (text != kOwnBuffer) {
            return broken(fmt::format(
                "it has the variable '{}' outside of its functions. All that one step leaves to the next belongs to "
                "State, and a step depends on State and the action alone; constants are EXACT_CONST.",
                shown(text)));
        }
    }
    return {};
}

/// SpecIds of environment_facts.comp.
constexpr std::uint32_t kContinuousId = 5, kSquashedId = 6, kLowCountId = 7, kHighCountId = 8, kBoundsId = 9;
// Products with a share of at least 2^-40 are then zero or above 2^-100, and finite (docs/kernels/exact_math.md).
constexpr float kLargestBound = 0x1p40F, kSmallestBound = 0x1p-40F;

Result<void> check_bounds(std::string_view file_name, std::uint32_t dimension, float low, float high) {
    for (const float bound : {low, high}) {
        const float size = std::abs(bound);
        if (!(size <= kLargestBound) || (size != 0.0F && size < kSmallestBound)) {
            return bad_input(
                "{}: a bound of action {} is {}, as a float; it must be finite, at most 2^40, and 0 or at least 2^-40. "
                "Bounds are given by their bits: 0x40000000u is 2.",
                file_name, dimension, bound);
        }
    }
    if (low < high) return {};
    return bad_input("{}: action {} has the low bound {} and the high bound {}; the low one must be the lower.",
                     file_name, dimension, low, high);
}

Result<exact::EnvironmentActions> Reader::actions(std::uint32_t count) const {
    exact::EnvironmentActions found;
    if (!constants.contains(kContinuousId)) return found;
    found.continuous = true;
    if (count > exact::kMaxContinuousActions) {
        return bad_input("{}: kActionCount is {}; an environment has at most {} continuous actions.", file_name, count,
                         exact::kMaxContinuousActions);
    }
    const std::uint32_t squashed = constants.at(kSquashedId);
    if (squashed > 1)
        return bad_input("{}: kActionSquashed is {}; it must be 1 (tanh) or 0 (clipped).", file_name, squashed);
    found.squashed = squashed == 1;
    const std::uint32_t lows = constants.at(kLowCountId), highs = constants.at(kHighCountId);
    if (lows != count || highs != count) {
        return bad_input("{}: kActionLow has {} bounds and kActionHigh {}; kActionCount is {}, and each has as many.",
                         file_name, lows, highs, count);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        found.low[i] = std::bit_cast<float>(constants.at(kBoundsId + 2 * i));
        found.high[i] = std::bit_cast<float>(constants.at(kBoundsId + 2 * i + 1));
        YOLK_TRY_VOID(check_bounds(file_name, i, found.low[i], found.high[i]));
    }
    return found;
}

Result<EnvironmentFacts> Reader::facts() const {
    const auto constant = [&](std::uint32_t id) {
        const auto found = constants.find(id);
        return found == constants.end() ? 0U : found->second;
    };
    EnvironmentFacts found{.observation_count = constant(0),
                           .action_count = constant(1),
                           .max_steps = constant(2),
                           .solved_return = std::bit_cast<float>(constant(3)),
                           .best_return = std::bit_cast<float>(constant(4))};
    for (const std::uint32_t block : blocks) {
        if (const auto end = offsets.find({block, 1}); end != offsets.end()) found.state_words = end->second / 4;
    }
    const auto check = [&](std::string_view what, std::uint32_t value, std::uint32_t most) -> Result<void> {
        if (value >= 1 && value <= most) return {};
        return bad_input("{}: {} is {}; it must be from 1 to {}.", file_name, what, value, most);
    };
    YOLK_TRY_VOID(check("kObservationCount", found.observation_count, kMaxWidth));
    YOLK_TRY_VOID(check("kActionCount", found.action_count, kMaxWidth));
    YOLK_TRY_VOID(check("kMaxSteps", found.max_steps, kMaxSteps));
    YOLK_TRY_VOID(check("the number of 32-bit words in State", found.state_words, kMaxStateWords));
    if (!std::isfinite(found.solved_return) || !std::isfinite(found.best_return) ||
        found.solved_return > found.best_return) {
        return bad_input(
            "{}: kSolvedReturn is {} and kBestReturn {}, as floats; both must be finite, and the best one "
            "not below the other. They are given by their bits: 0x43FA0000u is 500.",
            file_name, found.solved_return, found.best_return);
    }
    YOLK_TRY(found.actions, actions(found.action_count));
    return found;
}

}  // namespace

Result<EnvironmentInspection> inspect_environment(std::span<const std::uint32_t> spirv, std::string_view file_name) {
    Reader reader;
    reader.file_name = file_name;
    for (std::size_t at = kSpirvHeaderWords; at < spirv.size();) {
        const std::size_t count = spirv[at] >> spv::WordCountShift;
        if (count == 0 || count > spirv.size() - at) return bad_input("The compiled environment is no SPIR-V.");
        const auto op = static_cast<spv::Op>(spirv[at] & spv::OpCodeMask);
        const std::span<const std::uint32_t> words = spirv.subspan(at, count);
        reader.declare(op, words);
        YOLK_TRY_VOID(reader.check_rules(op, words));
        at += count;
    }
    YOLK_TRY(const EnvironmentFacts facts, reader.facts());
    YOLK_TRY(std::string inexact, inexact_reason(spirv, file_name));
    return EnvironmentInspection{.facts = facts, .inexact_reason = std::move(inexact)};
}

}  // namespace yolk
