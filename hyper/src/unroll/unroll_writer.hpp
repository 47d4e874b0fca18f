// SPDX-License-Identifier: Apache-2.0
// What unrolling writes to. Kernels know tensors of fp32 alone, so booleans that differ between candidates become masks
// of one element, 1 or 0, and numbers that are fp32 in truth (an element of a tensor) stay tensors.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph_copy.hpp"
#include "unroll.hpp"
#include "yolk/graph.hpp"

namespace yolk::hyper::population {

/// A value of the original graph, or of one of its bodies, in the unrolled one.
struct Held {
    std::optional<Atom> plain{};   ///< of its own type
    std::optional<Atom> single{};  ///< of a boolean or number, exactly: a tensor [1], or a number that is data
    std::string lacking{};         ///< why there is neither
    std::size_t maker = 0;         ///< the equation of the original that would have to stay as it is for it
};
using HeldValues = std::vector<Held>;

inline const Shape kOneElement{1};

class UnrollWriter {
   public:
    explicit UnrollWriter(std::string name) : builder_(std::move(name)) {}

    /// Further equations are made for equation `maker` of the original: its own (copied), or of its unrolled form.
    void begin(std::size_t maker, const Equation& origin, bool copied);
    void define(const Atom& atom, bool varies);
    /// Errors stick.
    std::vector<Atom> add(Equation equation, std::span<const ValueType> types = {});
    Atom operator()(std::string_view operation, std::vector<Atom> operands, Attributes attributes = {});
    /// The equation could go: nothing but what is unrolled here read it.
    void drop_if_unread(const Atom& result);

    /// The first one, until `take_failure`: what cannot be unrolled, and why.
    struct Failure {
        std::size_t maker = 0;
        std::string why;
    };
    void fail(std::string why) { fail_for(maker_, std::move(why)); }
    [[nodiscard]] bool failed() const noexcept { return failure_.has_value(); }
    [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }
    /// One for this equation is forgotten.
    std::optional<Failure> take_failure(std::size_t maker) {
        return failure_ && failure_->maker == maker ? std::exchange(failure_, {}) : std::optional<Failure>();
    }

    [[nodiscard]] bool varies(const Atom& atom) const;
    [[nodiscard]] bool varies(const Held& held) const;
    [[nodiscard]] ValueType type(const Atom& atom) const { return builder_.type(atom); }
    [[nodiscard]] GraphBuilder& builder() noexcept { return builder_; }
    [[nodiscard]] Held lacking(std::string why) const { return {.lacking = std::move(why), .maker = maker_}; }

    /// Of its own type, restored from a single where it must be.
    Atom plain(const Held& held, ValueKind kind);
    /// Nothing: it is not known in fp32.
    std::optional<Atom> single(const Held& held, ValueKind kind);
    /// `single` of a boolean; without one it fails.
    Atom mask(const Held& held);
    Atom both(const std::optional<Atom>& guard, const Atom& mask);
    Atom inverse(const Atom& mask) { return (*this)("subtract", {Value(1.0), mask}); }
    /// A mask that is data, as a boolean.
    Atom truth(const Atom& mask) { return (*this)("less", {Value(0.5), mask}); }
    Atom reshaped(const Atom& x, const Shape& shape);
    /// a where the mask is 1, b elsewhere, bit by bit.
    Held choose(const Atom& mask, const Held& a, const Held& b, const ValueType& type);
    /// less, equal, and, or, not, select, to_number, where something in them varies.
    Held logic(const Equation& equation, std::span<const Held> operands, std::span<const ValueType> types,
               bool literals_are_shared);
    [[nodiscard]] static bool is_logic(const Equation& equation);

    /// Where the next equation will be, for `may_skip`.
    [[nodiscard]] std::size_t mark() const noexcept { return varies_.size(); }
    /// What was written from one mark to the other is needed only where `goes_on` is not 0 for a candidate; otherwise
    /// each of `behind` equals its `before`. One within another is told first.
    void may_skip(std::size_t from, std::size_t to, const Atom& goes_on, std::span<const Held> before,
                  std::span<const Held> behind);

    struct Written {
        Graph graph;
        std::vector<std::size_t> makers{};  ///< by equation
        std::vector<bool> copied{};         ///< by equation: the original's own
        std::vector<Skip> skips{};
    };
    /// Without what nothing reads.
    [[nodiscard]] Written finish(std::vector<Atom> outputs, std::vector<std::string> names) &&;
    /// Equations that vary, and all, that were made so far.
    [[nodiscard]] std::size_t made() const noexcept { return made_; }
    [[nodiscard]] std::size_t made_of_data() const noexcept { return made_of_data_; }

   private:
    void fail_for(std::size_t maker, std::string why);
    Atom less(const Equation& equation, std::span<const Held> operands, bool literals_are_shared);
    Atom less_beside(const Atom& x, const Atom& number, bool x_is_first, bool is_shared);
    Held select(std::span<const Held> operands, const ValueType& type);

    /// Of marks, the skips' places in the finished graph, without results that nothing reads.
    [[nodiscard]] std::vector<Skip> placed_skips(const Graph& graph, const std::vector<bool>& read) const;

    struct Origin {
        std::size_t maker = 0;
        bool copied = false;
        bool droppable = false;
    };
    GraphBuilder builder_;
    std::vector<bool> varies_{};                 ///< by variable
    std::map<std::uint32_t, Origin> origins_{};  ///< by an equation's first result
    std::size_t maker_ = 0;
    bool copied_ = true;
    std::size_t made_ = 0, made_of_data_ = 0;
    std::optional<Failure> failure_{};
    std::vector<Skip> skips_{};  ///< first and end are marks
};

}  // namespace yolk::hyper::population
