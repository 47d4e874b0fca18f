// SPDX-License-Identifier: Apache-2.0
// Environments drawn at random: a text for the compiler, and the same program as functions of C++, which shares
// yolk/exact/ with it. Whatever a device makes of the text must be what the functions give.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "yolk/exact/environment_prelude.h"

namespace yolk::testing {

enum class Kind : std::uint8_t { Uint, Int, Bool, Float };

/// The values of a program's variables, as bits.
using Frame = std::vector<std::uint32_t>;

struct Variable {
    std::string name;
    Kind kind = Kind::Uint;
    std::size_t slot = 0;
};

struct Expression {
    std::string text;
    std::function<std::uint32_t(const Frame&)> value;
};

struct Statement {
    std::string text;
    std::function<void(Frame&)> run;
};

/// What may be read, and written; arrays are of four uints.
struct Scope {
    std::vector<Variable> variables{};
    std::vector<Variable> arrays{};
    bool calls = false;  ///< the drawn functions exist here
};

class RandomEnvironment {
   public:
    explicit RandomEnvironment(std::uint32_t seed);

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// Of one episode whose policy takes the largest observation.
    [[nodiscard]] float episode_return(std::array<std::uint32_t, 4> words) const;

    static constexpr std::uint32_t kMaxSteps = 24;

   private:
    [[nodiscard]] std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(random_() % count); }
    [[nodiscard]] std::uint32_t literal();

    [[nodiscard]] Expression expression(Kind kind, const Scope& scope, int depth);
    [[nodiscard]] Expression leaf(Kind kind, const Scope& scope);
    [[nodiscard]] Expression of_uint(const Scope& scope, int depth);
    [[nodiscard]] Expression uint_by_helper(const Scope& scope, int depth);
    [[nodiscard]] Expression uint_by_built_in(const Scope& scope, int depth);
    [[nodiscard]] Expression of_int(const Scope& scope, int depth);
    [[nodiscard]] Expression of_bool(const Scope& scope, int depth);
    [[nodiscard]] Expression of_float(const Scope& scope, int depth);
    [[nodiscard]] Expression chosen(Kind kind, const Scope& scope, int depth);

    [[nodiscard]] Statement statement(const Scope& scope, int depth);
    [[nodiscard]] Statement assignment(const Scope& scope);
    [[nodiscard]] Statement float_arithmetic(const Scope& scope);
    [[nodiscard]] Statement branch(const Scope& scope, int depth);
    [[nodiscard]] Statement switched(const Scope& scope, int depth);
    [[nodiscard]] Statement call_with_results(const Scope& scope);
    [[nodiscard]] Statement block(const Scope& scope, int depth, std::uint32_t count);

    void draw_functions();
    void draw_step();
    [[nodiscard]] const Variable* any(const std::vector<Variable>& of, Kind kind);

    std::mt19937 random_;
    std::string text_, functions_;
    std::function<std::uint32_t(std::uint32_t, std::uint32_t)> function_;  ///< f(p, q)
    std::function<std::pair<std::uint32_t, std::uint32_t>(std::uint32_t, std::uint32_t)>
        procedure_;  ///< g(p, out, inout)
    std::vector<std::uint32_t> table_;
    Scope step_scope_;
    std::vector<Statement> step_;
    int names_ = 0;
};

}  // namespace yolk::testing
