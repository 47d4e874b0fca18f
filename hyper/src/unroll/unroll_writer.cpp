// SPDX-License-Identifier: Apache-2.0
#include "unroll_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "article.hpp"
#include "equation_writer.hpp"

namespace yolk::hyper::population {
namespace {

constexpr std::array<std::string_view, 7> kLogic{"less", "equal", "and", "or", "not", "select", "to_number"};

std::string with_article(ValueKind kind) {
    return std::string(kind == ValueKind::Integer ? "an " : "a ") + std::string(to_string(kind));
}

/// What no kernel holds.
bool is_whole_on_host(const ValueType& type) {
    return type.kind == ValueKind::Text || type.kind == ValueKind::Record || type.kind == ValueKind::List ||
           type.kind == ValueKind::Integer;
}

/// The least fp32 that is not less than x, and the greatest that is not more.
float rounded_up(double x) {
    const auto near = static_cast<float>(x);
    return double{near} < x ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
}
float rounded_down(double x) {
    const auto near = static_cast<float>(x);
    return double{near} > x ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}

}  // namespace

bool UnrollWriter::is_logic(const Equation& equation) {
    return std::ranges::find(kLogic, equation.operation->name) != kLogic.end();
}

void UnrollWriter::begin(std::size_t maker, const Equation& origin, bool copied) {
    maker_ = maker;
    copied_ = copied;
    builder_.stand_for(origin);
}

void UnrollWriter::define(const Atom& atom, bool varies) {
    const std::uint32_t variable = std::get<VariableId>(atom).value;
    if (varies_.size() <= variable) varies_.resize(variable + 1, false);
    varies_[variable] = varies;
}

bool UnrollWriter::varies(const Atom& atom) const {
    const auto* id = std::get_if<VariableId>(&atom);
    return id != nullptr && varies_[id->value];
}

bool UnrollWriter::varies(const Held& held) const {
    return (held.plain && varies(*held.plain)) || (held.single && varies(*held.single)) || !held.lacking.empty();
}

void UnrollWriter::fail_for(std::size_t maker, std::string why) {
    if (!failure_) failure_ = {maker, std::move(why)};
}

std::vector<Atom> UnrollWriter::add(Equation equation, std::span<const ValueType> types) {
    const bool varying = std::ranges::any_of(equation.operands, [&](const Atom& atom) { return varies(atom); });
    Result<std::vector<Atom>> results =
        failed() ? Result<std::vector<Atom>>(std::vector<Atom>{}) : builder_.add(std::move(equation), types);
    if (!results) fail(results.error().message);
    if (failed()) return std::vector<Atom>(std::max<std::size_t>(types.size(), 1), Atom(Value(0.0)));
    for (const Atom& result : *results) {
        const auto* id = std::get_if<VariableId>(&result);
        if (id != nullptr && id->value >= varies_.size()) define(result, varying);
    }
    const auto* first = results->empty() ? nullptr : std::get_if<VariableId>(&results->front());
    if (first != nullptr) origins_.try_emplace(first->value, Origin{maker_, copied_, !copied_});
    if (!copied_) ++(varying ? made_ : made_of_data_);
    return *std::move(results);
}

Atom UnrollWriter::operator()(std::string_view operation, std::vector<Atom> operands, Attributes attributes) {
    Equation equation{
        .operation = find_operation(operation), .operands = std::move(operands), .attributes = std::move(attributes)};
    return add(std::move(equation)).front();
}

void UnrollWriter::drop_if_unread(const Atom& result) {
    if (const auto* id = std::get_if<VariableId>(&result)) origins_.at(id->value).droppable = true;
}

Atom UnrollWriter::plain(const Held& held, ValueKind kind) {
    if (held.plain) return *held.plain;
    if (held.single) return kind == ValueKind::Boolean ? truth(*held.single) : (*this)("to_number", {*held.single});
    fail_for(held.maker, held.lacking);
    return Value(0.0);
}

std::optional<Atom> UnrollWriter::single(const Held& held, ValueKind kind) {
    if (held.single || !held.plain) return held.single;
    if (kind == ValueKind::Boolean && !varies(*held.plain))
        return (*this)("select", {*held.plain, Value(1.0), Value(0.0)});
    if (kind == ValueKind::Tensor) return reshaped(*held.plain, kOneElement);
    return {};
}

Atom UnrollWriter::mask(const Held& held) {
    if (const std::optional<Atom> found = single(held, ValueKind::Boolean)) return *found;
    if (held.plain) fail("a condition is made on the host");
    if (!held.plain) fail_for(held.maker, held.lacking);
    return Value(0.0);
}

Atom UnrollWriter::both(const std::optional<Atom>& guard, const Atom& mask) {
    return guard ? (*this)("multiply", {*guard, mask}) : mask;
}

Atom UnrollWriter::reshaped(const Atom& x, const Shape& shape) {
    if (failed() || type(x).shape == shape) return x;
    return (*this)("reshape", {x}, {{"shape", integers_of(shape)}});
}

Held UnrollWriter::choose(const Atom& mask, const Held& a, const Held& b, const ValueType& type) {
    if (!a.lacking.empty()) return a;
    if (!b.lacking.empty()) return b;
    const auto* same = a.plain ? std::get_if<VariableId>(&*a.plain) : nullptr;
    if (same != nullptr && b.plain && *b.plain == Atom(*same)) return a;
    if (type.kind == ValueKind::Tensor) {
        Held chosen{.plain = (*this)("where", {mask, *a.plain, *b.plain}), .maker = maker_};
        if (!failed() && this->type(*chosen.plain) != type) return lacking("a tensor without a dimension is chosen");
        return chosen;
    }
    if (!varies(mask) && a.plain && b.plain) {
        if (is_whole_on_host(type) || (!varies(a) && !varies(b)))
            return {.plain = (*this)("select", {truth(mask), *a.plain, *b.plain}), .maker = maker_};
    }
    if (is_whole_on_host(type))
        return lacking(fmt::format("{} that differs between candidates is on the host", with_article(type.kind)));
    const std::optional<Atom> first = single(a, type.kind), second = single(b, type.kind);
    if (!first || !second)
        return lacking(fmt::format("{} that differs between candidates is on the host", with_article(type.kind)));
    return {.single = (*this)("where", {mask, *first, *second}), .maker = maker_};
}

/// In double on the host: a tensor's element x beside a number n that is data.
Atom UnrollWriter::less_beside(const Atom& x, const Atom& number, bool x_is_first, bool is_shared) {
    const auto* literal = std::get_if<Value>(&number);
    if (is_shared && literal != nullptr) {
        const double n = literal->as_number().value_or(0.0);  // an integer that no double holds is an error before
        // x < n exactly where x is less than the next fp32 that is not below n; the other way round likewise.
        if (x_is_first) return (*this)("less_than", {x, Value(Tensor::vector({rounded_up(n)}))});
        return (*this)("less_than", {Value(Tensor::vector({rounded_down(n)})), x});
    }
    // Of another number in each example the equations must be the same: its nearest fp32, and on which side n is.
    const Value one(Tensor::vector({1.0F}));
    const Atom near = (*this)("where", {one, number, one});
    const Atom back = (*this)("to_number", {near});
    const Atom beside = x_is_first ? (*this)("less", {back, number}) : (*this)("less", {number, back});
    const Atom is_beside = (*this)("select", {beside, Value(1.0), Value(0.0)});
    const std::vector<Atom> operands = x_is_first ? std::vector<Atom>{x, near} : std::vector<Atom>{near, x};
    return (*this)("where", {is_beside, (*this)("less_or_equal", operands), (*this)("less_than", operands)});
}

Atom UnrollWriter::less(const Equation& equation, std::span<const Held> operands, bool literals_are_shared) {
    std::optional<Atom> tensors[2];
    for (std::size_t i = 0; i < 2; ++i) {
        const Held& held = operands[i];
        if (!held.lacking.empty()) return plain(held, ValueKind::Number);
        tensors[i] = held.single;
        if (held.plain && type(*held.plain).kind == ValueKind::Tensor) tensors[i] = reshaped(*held.plain, kOneElement);
        if (!tensors[i] && varies(held)) {
            fail("a number that differs between candidates is compared in double, on the host");
            return Value(0.0);
        }
    }
    if (tensors[0] && tensors[1]) return (*this)("less_than", {*tensors[0], *tensors[1]});
    const std::size_t number = tensors[0] ? 1 : 0;
    const bool is_shared = literals_are_shared && std::holds_alternative<Value>(equation.operands[number]);
    return less_beside(*tensors[1 - number], *operands[number].plain, number == 1, is_shared);
}

Held UnrollWriter::select(std::span<const Held> operands, const ValueType& type) {
    return choose(mask(operands[0]), operands[1], operands[2], type);
}

Held UnrollWriter::logic(const Equation& equation, std::span<const Held> operands, std::span<const ValueType> types,
                         bool literals_are_shared) {
    const std::string_view name = equation.operation->name;
    if (name == "select") return select(operands, types[1]);
    if (name == "to_number") {
        if (find_attribute(equation, "as") != nullptr) return lacking("a number as it is written is made on the host");
        if (const std::optional<Atom> number = single(operands[0], types[0].kind))
            return {.single = *number, .maker = maker_};
        return lacking("a number that differs between candidates is in double, on the host");
    }
    if (name == "less") return {.single = less(equation, operands, literals_are_shared), .maker = maker_};
    if (types[0].kind != ValueKind::Boolean)
        return lacking(fmt::format("equal of {} compares bits, on the host", with_article(types[0].kind)));
    const Atom first = mask(operands[0]);
    if (name == "not") return {.single = inverse(first), .maker = maker_};
    const Atom second = mask(operands[1]);
    const std::string_view operation = name == "and" ? "multiply" : name == "or" ? "maximum" : "equal_to";
    return {.single = (*this)(operation, {first, second}), .maker = maker_};
}

UnrollWriter::Written UnrollWriter::finish(std::vector<Atom> outputs, std::vector<std::string> names) && {
    Written written{
        .graph = std::move(builder_).finish(std::move(outputs), std::move(names)), .makers = {}, .copied = {}};
    Graph& graph = written.graph;
    std::vector<bool> read(graph.variables.size(), false);
    const auto mark = [&](std::span<const Atom> atoms) {
        for (const Atom& atom : atoms) {
            if (const auto* id = std::get_if<VariableId>(&atom)) read[id->value] = true;
        }
    };
    mark(graph.outputs);
    std::multimap<VariableId, VariableId> stand_ins;  // by the result that they may become
    for (const Skip& skip : skips_) {
        read[skip.goes_on.value] = true;
        for (const auto& [before, behind] : skip.results) stand_ins.emplace(behind, before);
    }
    std::vector<Equation> kept;
    for (std::size_t i = graph.equations.size(); i-- > 0;) {
        Equation& equation = graph.equations[i];
        const bool is_read = std::ranges::any_of(equation.results, [&](VariableId id) { return read[id.value]; });
        const auto origin = equation.results.empty() ? origins_.end() : origins_.find(equation.results[0].value);
        const Origin of = origin != origins_.end() ? origin->second : Origin{.copied = true};
        if (of.droppable && !is_read && !has_effects(equation)) continue;
        mark(equation.operands);
        for (const VariableId id : equation.results) {
            for (auto [at, end] = stand_ins.equal_range(id); at != end && read[id.value]; ++at)
                read[at->second.value] = true;
        }
        written.makers.push_back(of.maker);
        written.copied.push_back(of.copied);
        kept.push_back(std::move(equation));
    }
    std::ranges::reverse(kept);
    std::ranges::reverse(written.makers);
    std::reverse(written.copied.begin(), written.copied.end());
    graph.equations = std::move(kept);
    written.skips = placed_skips(graph, read);
    return written;
}

void UnrollWriter::may_skip(std::size_t from, std::size_t to, const Atom& goes_on, std::span<const Held> before,
                            std::span<const Held> behind) {
    const auto* asked = std::get_if<VariableId>(&goes_on);
    if (failed() || asked == nullptr) return;
    Skip skip{.first = from, .end = to, .goes_on = *asked};
    const auto variable = [](const std::optional<Atom>& atom) {
        return atom ? std::get_if<VariableId>(&*atom) : nullptr;
    };
    for (std::size_t i = 0; i < behind.size(); ++i) {
        for (const auto form : {&Held::plain, &Held::single}) {
            const auto *first = variable(before[i].*form), *then = variable(behind[i].*form);
            if (then == nullptr || (first != nullptr && *first == *then)) continue;
            if (first == nullptr) return;  // there is nothing to take in its place
            skip.results.emplace_back(*first, *then);
        }
    }
    skips_.push_back(std::move(skip));
}

std::vector<Skip> UnrollWriter::placed_skips(const Graph& graph, const std::vector<bool>& read) const {
    std::vector<std::size_t> firsts;  // by equation, ascending
    for (const Equation& equation : graph.equations) {
        const std::size_t before = firsts.empty() ? 0 : firsts.back();
        firsts.push_back(equation.results.empty() ? before : equation.results.front().value);
    }
    const auto place = [&](std::size_t mark) {
        return static_cast<std::size_t>(std::ranges::lower_bound(firsts, mark) - firsts.begin());
    };
    std::vector<Skip> placed;
    for (Skip skip : skips_) {
        skip.first = place(skip.first);
        skip.end = place(skip.end);
        std::erase_if(skip.results, [&](const auto& result) { return !read[result.second.value]; });
        if (skip.first < skip.end) placed.push_back(std::move(skip));
    }
    // The longer first.
    std::ranges::stable_sort(
        placed, [](const Skip& a, const Skip& b) { return a.first != b.first ? a.first < b.first : a.end > b.end; });
    return placed;
}

}  // namespace yolk::hyper::population
