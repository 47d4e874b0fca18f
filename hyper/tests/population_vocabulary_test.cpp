// SPDX-License-Identifier: Apache-2.0
// Every tensor operation for populations, with operands of each kind, against one call at a time: the same bits.
#include <functional>

#include "vocabulary_cases.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint32_t kVocabularyExamples = 3;
constexpr std::uint32_t kVocabularyCandidates = 2;

/// Where an operand comes from.
enum class Origin : std::uint32_t {
    Parameter,         ///< of each candidate
    ParameterAndData,  ///< of each candidate and example
    Literal,           ///< the same for all
    Data,              ///< of each example
};
using Origins = std::vector<Origin>;
class population_vocabulary : public ::yolk::testing::DeviceTest {
   protected:
    void check_all(void (*add)(std::vector<VocabularyCase>&, Draws&),
                   std::vector<Origins> (*choose)(const VocabularyCase&, Draws&));
};
YOLK_FOR_EACH_DEVICE(population_vocabulary);

bool varies(Origin origin) { return origin == Origin::Parameter || origin == Origin::ParameterAndData; }

bool is_ids(const VocabularyCase& c, std::size_t operand) { return c.ids_below > 0 && operand == 1; }

/// What is searched for an operand: its elements; of ids the scores whose largest is the id.
VocabularyCase parameter_case(const VocabularyCase& c, std::size_t operand) {
    if (!is_ids(c, operand)) return c;
    std::vector<std::uint64_t> extents(c.shapes[1].extents().begin(), c.shapes[1].extents().end());
    extents.push_back(c.ids_below);
    return {.operation = "scores", .shapes = {{}, Shape(std::move(extents))}};
}
Tensor parameter_values(const VocabularyCase& c, std::size_t operand, std::uint32_t seed) {
    const Value value = drawn_operand(parameter_case(c, operand), operand, seed);
    const auto values = value.tensor()->values();
    return Tensor::vector({values.begin(), values.end()});
}

Atom operand_of(Sketch& s, const VocabularyCase& c, std::size_t operand, Origin origin, std::uint32_t e) {
    if (c.is_number(operand) || origin == Origin::Literal) return drawn_operand(c, operand, 40);
    const std::string name = std::to_string(operand);
    if (origin == Origin::Data) return s.input("d" + name, drawn_operand(c, operand, 50 + e));
    const VocabularyCase drawn = parameter_case(c, operand);
    const Shape& shape = drawn.shapes[operand];
    Atom value = s.parameter("p" + name);
    if (shape.rank() != 1) value = s.one("reshape", {value}, {{"shape", signed_list(shape.extents())}});
    if (origin == Origin::ParameterAndData)
        value = s.one("maximum", {value, s.input("x" + name, drawn_operand(drawn, operand, 60 + e))});
    return is_ids(c, operand) ? s.one("argmax", {value}) : value;
}

void check(Dispatcher& dispatcher, const VocabularyCase& c, const Origins& origins) {
    ParameterSet set;
    for (std::size_t i = 0; i < origins.size(); ++i) {
        if (c.is_number(i) || !varies(origins[i])) continue;
        const Tensor values = parameter_values(c, i, 70);
        ASSERT_OK(set.add(vector_spec("p" + std::to_string(i), values.shape()[0]), values));
    }
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < kVocabularyExamples; ++e) {
        Sketch sketch(set);
        std::vector<Atom> operands;
        for (std::size_t i = 0; i < origins.size(); ++i) operands.push_back(operand_of(sketch, c, i, origins[i], e));
        const Atom output = sketch.one(c.operation, std::move(operands), c.attributes);
        examples.push_back(sketch.finish(output));
    }
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher}, examples, set, {}));
    EXPECT_EQ(evaluator.fallbacks(), std::vector<std::string>{});
    std::vector<Candidate> candidates(kVocabularyCandidates);
    for (std::uint32_t m = 0; m < kVocabularyCandidates; ++m) {
        for (std::size_t i = 0; i < origins.size(); ++i) {
            const std::string name = "p" + std::to_string(i);
            if (set.find(name) != nullptr) candidates[m].values.emplace_back(name, parameter_values(c, i, 80 + m));
        }
    }
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs given, evaluator.evaluate(candidates));
    for (std::uint32_t e = 0; e < kVocabularyExamples; ++e) {
        for (std::uint32_t m = 0; m < kVocabularyCandidates; ++m) {
            const std::map<std::string, Tensor> values(candidates[m].values.begin(), candidates[m].values.end());
            ASSERT_EQ(given.values[e * kVocabularyCandidates + m], answer(examples[e], values))
                << "candidate " << m << ", example " << e;
        }
    }
}

bool any_varies(const VocabularyCase& c, const Origins& origins) {
    for (std::size_t i = 0; i < origins.size(); ++i) {
        if (varies(origins[i]) && !c.is_number(i)) return true;
    }
    return false;
}

/// Two choices of origins for a case.
std::vector<Origins> two_origins(const VocabularyCase& c, Draws& draws) {
    std::vector<Origins> chosen;
    while (chosen.size() < 2) {
        Origins origins;
        for (std::size_t i = 0; i < c.shapes.size(); ++i) origins.push_back(static_cast<Origin>(draws.below(4)));
        if (any_varies(c, origins)) chosen.push_back(std::move(origins));
    }
    return chosen;
}

std::vector<Origins> all_origins(const VocabularyCase& c, Draws&) {
    std::vector<Origins> all;
    for (std::uint32_t n = 0; n < 1U << (2 * c.shapes.size()); ++n) {
        Origins origins;
        for (std::size_t i = 0; i < c.shapes.size(); ++i) origins.push_back(static_cast<Origin>(n >> (2 * i) & 3U));
        if (any_varies(c, origins)) all.push_back(std::move(origins));
    }
    return all;
}

void population_vocabulary::check_all(void (*add)(std::vector<VocabularyCase>&, Draws&),
                                      std::vector<Origins> (*choose)(const VocabularyCase&, Draws&)) {
    std::vector<VocabularyCase> cases;
    Draws draws(7);
    add(cases, draws);
    for (const VocabularyCase& c : cases) {
        for (const Origins& origins : choose(c, draws)) {
            std::string text = c.name() + " from";
            for (const Origin origin : origins) text += ' ' + std::to_string(static_cast<std::uint32_t>(origin));
            SCOPED_TRACE(text);
            check(dispatcher(), c, origins);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(population_vocabulary, elementwise) { check_all(add_elementwise, two_origins); }
TEST_P(population_vocabulary, choices) { check_all(add_choices, all_origins); }
TEST_P(population_vocabulary, along_dimensions) { check_all(add_along, two_origins); }
TEST_P(population_vocabulary, moves) { check_all(add_moves, two_origins); }
TEST_P(population_vocabulary, by_ids) { check_all(add_by_ids, all_origins); }
TEST_P(population_vocabulary, matmul) { check_all(add_matmuls, all_origins); }

}  // namespace
}  // namespace yolk::hyper
