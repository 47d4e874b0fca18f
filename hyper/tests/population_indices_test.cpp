// SPDX-License-Identifier: Apache-2.0
// Indices that a population's device found: where they stay whole numbers, and what keeps ids on the host.
#include <gmock/gmock.h>

#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kIndexCandidates = 3;

class population_indices : public ::yolk::testing::DeviceTest {
   protected:
    using Body = std::function<Atom(Sketch&, const Atom& scores)>;
    /// The fallbacks, after comparing with one call at a time. Scores [3, 4] differ between candidates and examples.
    std::vector<std::string> compared(const Body& body) {
        ParameterSet set;
        EXPECT_OK(set.add(vector_spec("v", 4), drawn_tensor({4}, 1)));
        std::vector<TracedExample> examples;
        for (std::uint32_t e = 0; e < 2; ++e) {
            Sketch s(set);
            examples.push_back(
                s.finish(body(s, s.one("add", {s.input("x", drawn_tensor({3, 4}, 10 + e)), s.parameter("v")}))));
        }
        auto evaluator = PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {});
        EXPECT_OK(evaluator);
        std::vector<Candidate> candidates(kIndexCandidates);
        for (std::uint32_t m = 0; m < kIndexCandidates; ++m)
            candidates[m].values.emplace_back("v", drawn_tensor({4}, 20 + m));
        const auto given = evaluator->evaluate(candidates);
        EXPECT_OK(given);
        for (std::uint32_t i = 0; given && i < 2 * kIndexCandidates; ++i) {
            const TracedExample& example = examples[i / kIndexCandidates];
            EXPECT_EQ(given->values[i], answer(example, {{"v", drawn_tensor({4}, 20 + i % kIndexCandidates)}})) << i;
        }
        return evaluator->fallbacks();
    }
};
YOLK_FOR_EACH_DEVICE(population_indices);

const Attributes kFirst{{"dimension", std::int64_t{0}}};
const Attributes kSecond{{"dimension", std::int64_t{1}}};

TEST_P(population_indices, stay_whole_numbers_where_they_only_move) {
    EXPECT_THAT(compared([](Sketch& s, const Atom& scores) {
                    const Atom best = s.one("argmax", {scores}, {{"dimension", std::int64_t{0}}});  // [4], below 3
                    const Atom square = s.one("reshape", {best}, {{"shape", std::vector<std::int64_t>{2, 2}}});
                    const Atom turned = s.one("permute", {square}, {{"order", std::vector<std::int64_t>{1, 0}}});
                    const Atom wide = s.one("broadcast_to", {turned}, {{"shape", std::vector<std::int64_t>{3, 2, 2}}});
                    const Atom some = s.one("slice", {wide},
                                            {{"starts", std::vector<std::int64_t>{1, 0, 0}},
                                             {"stops", std::vector<std::int64_t>{3, 2, 1}},
                                             {"steps", std::vector<std::int64_t>{1, 1, 1}}});
                    const Atom part = s.all(
                        "split", {some},
                        {{"dimension", std::int64_t{0}}, {"sizes", std::vector<std::int64_t>{1, 1}}})[1];  // [1, 2, 1]
                    return s.one("gather", {scores, part}, kFirst);
                }),
                IsEmpty());
}

TEST_P(population_indices, count_as_fp32_elsewhere) {
    EXPECT_THAT(
        compared([](Sketch& s, const Atom& scores) {
            const Atom best = s.one("argmax", {scores});  // [3]
            const Atom twice = s.one("multiply", {best, Value(2.0)});
            const Atom both = s.one("concat", {best, twice}, {{"dimension", std::int64_t{0}}});
            return s.one("less_than", {both, s.one("gather", {best, Tensor::vector({0, 0, 1, 1, 2, 2})}, kFirst)});
        }),
        IsEmpty());
    EXPECT_THAT(compared([](Sketch& s, const Atom& scores) { return s.one("argmax", {scores}); }), IsEmpty());
}

TEST_P(population_indices, computed_ids_stay_on_the_host) {
    EXPECT_THAT(compared([](Sketch& s, const Atom& scores) {
                    const Atom next = s.one("maximum", {s.one("argmax", {scores}), Value(1.0)});
                    return s.one("gather", {scores, next}, kSecond);
                }),
                ElementsAre("gather runs on the host: the ids are computed as fp32."));
}

TEST_P(population_indices, that_may_be_too_large_stay_on_the_host) {
    EXPECT_THAT(compared([](Sketch& s, const Atom& scores) {
                    const Atom table = s.one("slice", {scores},
                                             {{"starts", std::vector<std::int64_t>{0, 0}},
                                              {"stops", std::vector<std::int64_t>{3, 3}},
                                              {"steps", std::vector<std::int64_t>{1, 1}}});
                    const Atom found = s.one("argmax", {table});  // below 3, of four rows
                    return s.one("gather", {s.one("gather", {scores, found}, kSecond), found}, kSecond);
                }),
                IsEmpty());
    EXPECT_THAT(compared([](Sketch& s, const Atom& scores) {
                    const Atom low = s.one("argmax", {s.one("multiply", {scores, Tensor::vector({1, 1, 1, 0})})});
                    const Atom table = s.input("t", drawn_tensor({5, 2}, 4));
                    return s.one("gather",
                                 {s.one("add", {table, s.one("sum", {low}, {{"keep", std::int64_t{1}}})}), low},
                                 kFirst);
                }),
                IsEmpty());
    // Four scores, three rows: a candidate that named the fourth would be in error.
    EXPECT_THAT(compared([](Sketch& s, const Atom& scores) {
                    const Atom low = s.one("argmax", {s.one("subtract", {scores, Tensor::vector({0, 0, 0, 9})})});
                    return s.one("gather", {scores, low}, kFirst);
                }),
                ElementsAre(HasSubstr("ids below 4 are found where 3 are allowed")));
}

TEST_P(population_indices, more_dimensions_than_the_kernel_has_stay_on_the_host) {
    EXPECT_THAT(compared([](Sketch& s, const Atom& scores) {
                    const Atom many =
                        s.one("broadcast_to",
                              {s.one("reshape", {scores}, {{"shape", std::vector<std::int64_t>{3, 1, 2, 1, 2, 1}}})},
                              {{"shape", std::vector<std::int64_t>{3, 2, 2, 2, 2, 2}}});
                    return s.one("sum", {many});
                }),
                ElementsAre(HasSubstr("it moves along 6 dimensions at once, and the kernel knows 4")));
}

}  // namespace
}  // namespace yolk::hyper
