// SPDX-License-Identifier: Apache-2.0
#include "random_environment.hpp"

#include <fmt/format.h>

#include "random_words.hpp"

namespace yolk::testing {

using namespace random_words;

void RandomEnvironment::draw_functions() {
    for (Word i = 0; i < 5; ++i) table_.push_back(literal());
    functions_ = fmt::format("const uint kTable[5] = uint[5](0x{:X}u, 0x{:X}u, 0x{:X}u, 0x{:X}u, 0x{:X}u);\n",
                             table_[0], table_[1], table_[2], table_[3], table_[4]);
    const Scope two_words{.variables = {{"p", Kind::Uint, 0}, {"q", Kind::Uint, 1}}};
    const auto early = expression(Kind::Bool, two_words, 2), first = expression(Kind::Uint, two_words, 3),
               last = expression(Kind::Uint, two_words, 3);
    functions_ += fmt::format("uint f(uint p, uint q) {{\n    if ({}) return {};\n    return {};\n}}\n", early.text,
                              first.text, last.text);
    function_ = [=](Word p, Word q) {
        const Frame frame{p, q};
        return early.value(frame) != 0 ? first.value(frame) : last.value(frame);
    };
    const Scope word_and_int{.variables = {{"p", Kind::Uint, 0}, {"s", Kind::Int, 1}}};
    const auto out = expression(Kind::Uint, word_and_int, 3), changed = expression(Kind::Int, word_and_int, 3);
    functions_ += fmt::format("void g(uint p, out uint r, inout int s) {{\n    r = {};\n    s = {};\n}}\n", out.text,
                              changed.text);
    procedure_ = [=](Word p, Word s) {
        const Frame frame{p, s};
        return std::pair(out.value(frame), changed.value(frame));
    };
}

void RandomEnvironment::draw_step() {
    const std::vector<std::pair<std::string, Kind>> all{
        {"state.a", Kind::Uint},  {"state.b", Kind::Uint},  {"state.k", Kind::Int}, {"state.l", Kind::Int},
        {"state.x", Kind::Float}, {"state.y", Kind::Float}, {"action", Kind::Uint}, {"u", Kind::Uint},
        {"i", Kind::Int},         {"z", Kind::Float},       {"flag", Kind::Bool}};
    for (const auto& [name, kind] : all) step_scope_.variables.push_back({name, kind, step_scope_.variables.size()});
    step_scope_.arrays = {{"list", Kind::Uint, all.size()}};
    step_scope_.calls = true;
    for (int n = 0; n < 14; ++n) step_.push_back(statement(step_scope_, 2));
}

RandomEnvironment::RandomEnvironment(std::uint32_t seed) : random_(seed) {
    draw_functions();
    draw_step();
    std::string body;
    for (const Statement& one : step_) body += "    " + one.text + "\n";
    std::string mixing;
    for (const Variable& variable : step_scope_.variables) {
        const bool is_float = variable.kind == Kind::Float;
        mixing +=
            fmt::format("    h = h * 0x{:X}u ^ {}({});\n", kMixer, is_float ? "exact_bits" : "uint", variable.name);
    }
    for (int n = 0; n < 4; ++n) mixing += fmt::format("    h = h * 0x{:X}u ^ list[{}];\n", kMixer, n);
    text_ = fmt::format(
        R"(#include "yolk/exact/environment_prelude.h"
ENVIRONMENT_BEGIN(random)
EXACT_CONST uint kObservationCount = 3u;
EXACT_CONST uint kActionCount = 3u;
EXACT_CONST uint kMaxSteps = {}u;
EXACT_CONST uint kSolvedReturn = 0x41200000u;
EXACT_CONST uint kBestReturn = 0x48000000u;
struct State {{ uint a; uint b; int k; int l; float x; float y; }};
float limited(float value) {{
    float most = exact_from_bits(0x{:X}u);
    float least = exact_from_bits(0x{:X}u);
    float below = value > most ? most : value;
    return exact_flush_operand(below < least ? least : below);
}}
{}State environment_reset(uvec4 words) {{
    State state;
    state.a = words.x; state.b = words.y; state.k = int(words.z); state.l = int(words.w);
    state.x = limited(exact_uniform(words.x)); state.y = limited(exact_uniform(words.y));
    return state;
}}
void environment_observe(State state, EXACT_OUT_ARRAY(float, o, kObservationCount)) {{
    o[0] = state.x; o[1] = state.y; o[2] = float(int(state.a & 0xFFu) - 128);
}}
StepResult environment_step(EXACT_INOUT(State) state, uint action) {{
    uint u = 0u; int i = 0; float z = exact_from_bits(0x3F800000u); bool flag = false;
    uint list[4] = uint[4](1u, 2u, 3u, 4u);
{}    uint h = 0u;
{}    StepResult result;
    result.reward = float(h >> 20);
    result.terminated = (h & 31u) == 0u;
    return result;
}}
ENVIRONMENT_END
)",
        kMaxSteps, kMostFloat, kMostFloat | 0x80000000U, functions_, body, mixing);
}

float RandomEnvironment::episode_return(std::array<std::uint32_t, 4> words) const {
    Frame state{words[0],
                words[1],
                words[2],
                words[3],
                as_bits(limited(exact::exact_uniform(words[0]))),
                as_bits(limited(exact::exact_uniform(words[1])))};
    float total = 0.0F;
    for (std::uint32_t step = 0; step < kMaxSteps; ++step) {
        const std::array seen{as_float(state[4]), as_float(state[5]),
                              static_cast<float>(as_int(state[0] & 0xFF) - 128)};
        std::uint32_t action = 0;
        for (std::uint32_t a = 1; a < 3; ++a) action = seen[a] > seen[action] ? a : action;
        Frame frame = state;
        frame.insert(frame.end(), {action, 0, 0, exact::kExactOne, 0, 1, 2, 3, 4});
        for (const Statement& one : step_) one.run(frame);
        std::uint32_t h = 0;
        for (const std::uint32_t word : frame) h = (h * kMixer) ^ word;
        total += static_cast<float>(h >> 20);
        if ((h & 31) == 0) break;
        state.assign(frame.begin(), frame.begin() + 6);
    }
    return total;
}

}  // namespace yolk::testing
