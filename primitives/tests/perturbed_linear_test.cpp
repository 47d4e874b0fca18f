// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_linear.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/formulas/perturbed_linear.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

constexpr NoiseContext kLinearContext{.seed = 42, .generation = 7, .time = 7, .sigma = 0.1F};

// Values in [-1, 1] that are no small integers and repeat only after 1,021.
std::vector<float> pattern(std::size_t count, std::uint32_t start) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>((i * 389 + start) % 1021) / 510.0F - 1.0F;
    }
    return values;
}

struct Problem {
    PerturbedLinearDesc desc;
    std::vector<float> weights;
    std::vector<float> input;
};

Problem make_problem(const PerturbedLinearDesc& desc) {
    const std::size_t input_rows = std::size_t{desc.shared_input ? 1 : desc.members} * desc.rows;
    return {desc, pattern(std::size_t{desc.out} * desc.in, 5), pattern(input_rows * desc.in, 77)};
}

class perturbed_linear : public testing::DeviceTest {
   protected:
    Result<std::vector<float>> run(const Problem& problem, const NoiseContext& when, std::int32_t first_member = 0) {
        const PerturbedLinearDesc& desc = problem.desc;
        const auto create = [&](std::uint64_t size_bytes, const char* label) {
            return oracle::GuardedBuffer::create(device(), dispatcher(), size_bytes, oracle::kPoisons[0], label);
        };
        YOLK_TRY(const PerturbedLinearPlan plan, plan_perturbed_linear(device(), desc));
        YOLK_TRY(const auto weights, create(4 * problem.weights.size(), "weights"));
        YOLK_TRY(const auto input, create(4 * problem.input.size(), "input"));
        YOLK_TRY(const auto output, create(std::uint64_t{4} * desc.members * desc.rows * desc.out, "output"));
        YOLK_TRY(const auto scratch, create(plan.scratch().size_bytes, "scratch"));
        YOLK_TRY_VOID(weights.upload(problem.weights));
        YOLK_TRY_VOID(input.upload(problem.input));
        YOLK_TRY(
            const BoundPerturbedLinear bound,
            plan.bind({.weights = weights.view(), .input = input.view(), .output = output.view()}, scratch.view()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, when, first_member);
        dispatches_ = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return output.download<float>();
    }

    // E of each member, times a power of two, as integers: W = 0, x = the identity, and a sigma that makes the kernel's
    // scale 2^-10, so that every product and sum is exact. [members][in][out].
    Result<std::vector<std::vector<std::int64_t>>> integer_perturbations(PerturbedLinearDesc desc) {
        desc.rows = desc.in;
        desc.shared_input = true;
        Problem problem{desc, std::vector<float>(std::size_t{desc.out} * desc.in, 0.0F),
                        std::vector<float>(std::size_t{desc.in} * desc.in, 0.0F)};
        for (std::size_t k = 0; k < desc.in; ++k) problem.input[k * desc.in + k] = 1.0F;
        NoiseContext when = kLinearContext;
        when.sigma = kNoiseVariance * std::sqrt(static_cast<float>(desc.rank)) * 0x1p-10F;  // rank 1 or 4: exact
        YOLK_TRY(const std::vector<float> got, run(problem, when));
        std::vector<std::vector<std::int64_t>> members(desc.members);
        const std::size_t size = std::size_t{desc.in} * desc.out;
        for (std::size_t i = 0; i < got.size(); ++i) {
            members[i / size].push_back(static_cast<std::int64_t>(std::ldexp(got[i], 10)));
        }
        return members;
    }

    std::uint64_t dispatches_ = 0;
};
YOLK_FOR_EACH_DEVICE(perturbed_linear);

// Rank over the integers modulo a prime: at most the true rank.
std::uint32_t rank_modulo(const std::vector<std::int64_t>& matrix, std::size_t columns, std::int64_t prime) {
    std::vector<std::int64_t> m = matrix;
    for (std::int64_t& element : m) element = (element % prime + prime) % prime;
    const std::size_t rows = m.size() / columns;
    std::uint32_t rank = 0;
    for (std::size_t column = 0; column < columns && rank < rows; ++column) {
        std::size_t pivot = rank;
        while (pivot < rows && m[pivot * columns + column] == 0) ++pivot;
        if (pivot == rows) continue;
        for (std::size_t c = 0; c < columns; ++c) std::swap(m[pivot * columns + c], m[rank * columns + c]);
        for (std::size_t r = rank + 1; r < rows; ++r) {
            const std::int64_t left = m[rank * columns + column];
            const std::int64_t right = m[r * columns + column];
            for (std::size_t c = 0; c < columns; ++c) {
                m[r * columns + c] =
                    ((m[r * columns + c] * left - m[rank * columns + c] * right) % prime + prime) % prime;
            }
        }
        ++rank;
    }
    return rank;
}

// The two sides of a pair share one draw with opposite signs, so their mean is the unperturbed output, up to what
// rounding each may have met.
TEST_P(perturbed_linear, pair_mean_is_the_base_output) {
    const Problem pairs = make_problem({.members = 6, .rows = 2, .in = 12, .out = 9, .rank = 3, .shared_input = true});
    Problem mean = pairs;
    mean.desc.members = 1;
    ASSERT_OK_AND_ASSIGN(const auto got, run(pairs, kLinearContext));
    ASSERT_OK_AND_ASSIGN(const auto base, run(mean, kLinearContext, -1));
    using First = OrDefault<std::int32_t>;
    const auto bound = oracle::bounds_of(pairs.desc, {pairs.weights, pairs.input}, kLinearContext, First{0}).front();
    const auto base_bound = oracle::bounds_of(mean.desc, {mean.weights, mean.input}, kLinearContext, First{-1}).front();
    const std::size_t size = base.size();
    for (std::size_t pair = 0; pair < 3; ++pair) {
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t plus = 2 * pair * size + i;
            const std::size_t minus = plus + size;
            const double tolerance = (bound[plus].tolerance + bound[minus].tolerance) / 2 + base_bound[i].tolerance;
            EXPECT_NEAR((double{got[plus]} + double{got[minus]}) / 2, double{base[i]}, tolerance);
            EXPECT_NE(got[plus], got[minus]);
        }
    }
}

// Member -1 is x W^T whatever the noise is, and the members after it are those of a range that begins at 0.
TEST_P(perturbed_linear, the_mean_takes_no_noise) {
    const Problem problem =
        make_problem({.members = 3, .rows = 1, .in = 10, .out = 6, .rank = 2, .shared_input = true});
    ASSERT_OK_AND_ASSIGN(const auto from_mean, run(problem, kLinearContext, -1));
    NoiseContext other = kLinearContext;
    other.seed = 43;
    other.sigma = 5.0F;
    ASSERT_OK_AND_ASSIGN(const auto other_mean, run(problem, other, -1));
    ASSERT_OK_AND_ASSIGN(const auto from_zero, run(problem, kLinearContext, 0));
    EXPECT_TRUE(std::equal(from_mean.begin(), from_mean.begin() + 6, other_mean.begin()));
    EXPECT_TRUE(std::equal(from_mean.begin() + 6, from_mean.end(), from_zero.begin()));
}

// The same seed, time, parameter and member give the same bits; any other one gives other outputs. The generation
// itself does not count: noise is reused while `time` stands still.
TEST_P(perturbed_linear, noise_follows_seed_time_parameter_and_member) {
    const Problem problem = make_problem({.members = 1, .rows = 1, .in = 9, .out = 8, .rank = 2});
    ASSERT_OK_AND_ASSIGN(const auto reference, run(problem, kLinearContext, 2));
    const auto expect = [&](const Problem& changed, const NoiseContext& when, std::int32_t member, bool same) {
        const auto got = run(changed, when, member);
        ASSERT_OK(got);
        EXPECT_EQ(*got == reference, same);
    };
    expect(problem, kLinearContext, 2, true);
    expect(problem, {.seed = 42, .generation = 8, .time = 7, .sigma = 0.1F}, 2, true);
    expect(problem, {.seed = 43, .generation = 7, .time = 7, .sigma = 0.1F}, 2, false);
    expect(problem, {.seed = 42, .generation = 7, .time = 8, .sigma = 0.1F}, 2, false);
    expect(problem, {.seed = 42, .generation = 7, .time = 7, .sigma = 0.2F}, 2, false);
    expect(problem, kLinearContext, 3, false);
    expect(problem, kLinearContext, 4, false);
    Problem other_parameter = problem;
    other_parameter.desc.parameter = ParameterId{1};
    expect(other_parameter, kLinearContext, 2, false);
}

// One member's perturbation has rank r exactly, and the sum over many grows to full rank. A minor of order 5 of these
// integers is at most 5! * 3,600^5 < 2^66; divisible by three primes near 2^31, it is zero, so rank 4 modulo each of
// them is rank 4.
TEST_P(perturbed_linear, a_member_has_rank_r_and_a_sum_full_rank) {
    constexpr std::size_t kOut = 7;
    for (const std::uint32_t rank : {1U, 4U}) {
        ASSERT_OK_AND_ASSIGN(const auto members,
                             integer_perturbations({.members = 16, .in = 9, .out = kOut, .rank = rank}));
        std::vector<std::int64_t> sum(members[0].size(), 0);
        for (std::size_t member = 0; member < members.size(); ++member) {
            for (const std::int64_t prime : {2147483647, 2147483629, 2147483587}) {
                EXPECT_EQ(rank_modulo(members[member], kOut, prime), rank);
            }
            if (member % 2 != 0) continue;
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += members[member][i];
        }
        EXPECT_EQ(rank_modulo(sum, kOut, 2147483647), kOut);
    }
}

constexpr PerturbedLinearConfig kTwoPasses{};
constexpr PerturbedLinearConfig kFused{.fused = 1};

// A device that makes few loop iterations gets the chains in pieces, with the same bits.
TEST_P(perturbed_linear, a_loop_limit_splits_the_chains) {
    const Problem problem =
        make_problem({.members = 2, .rows = 2, .in = 203, .out = 5, .rank = 3, .config = kTwoPasses});
    const DeviceFindings found = device().findings();
    ASSERT_OK_AND_ASSIGN(const auto whole, run(problem, kLinearContext));
    EXPECT_EQ(dispatches_, 2U);
    DeviceFindings limited = device().findings();
    limited.loop_limit = 20;
    device().set_findings(limited);
    const auto pieces = run(problem, kLinearContext);
    const std::uint64_t dispatches = dispatches_;
    limited.loop_limit = 12;
    device().set_findings(limited);
    const auto refused = plan_perturbed_linear(device(), problem.desc);
    device().set_findings(found);
    ASSERT_OK(pieces);
    EXPECT_EQ(*pieces, whole);
    // Rank 3: an iteration of the projection adds 8 k, 19 of them 152: two dispatches. The output's loops over the rest
    // of k, over rho and pairs take 5 + 7; 20 - 12 - 1 iterations of 4 k are 28, so 24: nine dispatches.
    EXPECT_EQ(dispatches, 2U + 9U);
    EXPECT_TRUE(expect_error(refused, ErrorKind::Unsupported, "loops of one invocation"));
}

TEST_P(perturbed_linear, dispatches_do_not_grow_with_members) {
    for (const std::uint32_t members : {1U, 64U}) {
        PerturbedLinearDesc desc{.members = members, .rows = 1, .in = 4, .out = 2, .shared_input = true};
        desc.config = kTwoPasses;
        ASSERT_OK(run(make_problem(desc), kLinearContext));
        EXPECT_EQ(dispatches_, 2U);
        desc.config = kFused;
        ASSERT_OK(run(make_problem(desc), kLinearContext));
        EXPECT_EQ(dispatches_, 1U);
    }
}

TEST_P(perturbed_linear, no_inputs_give_zeros) {
    ASSERT_OK_AND_ASSIGN(const auto got,
                         run(make_problem({.members = 2, .rows = 1, .in = 0, .out = 3}), kLinearContext));
    EXPECT_THAT(got, ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST_P(perturbed_linear, nothing_is_dispatched_for_zero_outputs) {
    for (const PerturbedLinearDesc& desc : {PerturbedLinearDesc{.members = 0, .rows = 1, .in = 4, .out = 2},
                                            PerturbedLinearDesc{.members = 2, .rows = 0, .in = 4, .out = 2},
                                            PerturbedLinearDesc{.members = 2, .rows = 1, .in = 4, .out = 0}}) {
        ASSERT_OK_AND_ASSIGN(const PerturbedLinearPlan plan, plan_perturbed_linear(device(), desc));
        EXPECT_EQ(plan.scratch().size_bytes, 0U);
        ASSERT_OK_AND_ASSIGN(const BoundPerturbedLinear bound, plan.bind({}, {}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, kLinearContext);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

TEST_P(perturbed_linear, bad_descriptions_are_refused) {
    const PerturbedLinearDesc good{.members = 2, .rows = 1, .in = 4, .out = 2};
    const auto expect_refused = [&](auto change, const char* part) {
        PerturbedLinearDesc desc = good;
        change(desc);
        EXPECT_TRUE(expect_error(plan_perturbed_linear(device(), desc), ErrorKind::BadInput, part));
    };
    for (const std::uint32_t rank : {0U, 33U})
        expect_refused([&](auto& d) { d.rank = rank; }, "rank of [perturbed_linear]");
    for (const std::uint32_t size : {0U, 4U, 257U}) {
        expect_refused([&](auto& d) { d.config = PerturbedLinearConfig{.workgroup_size = size}; }, "workgroup_size");
    }
    expect_refused([](auto& d) { d.config = PerturbedLinearConfig{.tile_n = 5}; }, "tile_n");
    expect_refused([](auto& d) { d.config = PerturbedLinearConfig{.operand_path = kUniformWeights}; },
                   "block_n must be tile_n");
    expect_refused([](auto& d) { d.config = PerturbedLinearConfig{.projection_rows = 4}; }, "exceed the rows");
    expect_refused(
        [](auto& d) {
            d.config =
                PerturbedLinearConfig{.workgroup_size = 32, .block_m = 128, .block_n = 16, .tile_m = 4, .tile_n = 16};
        },
        "times as wide as high");
    expect_refused([](auto& d) { d.rank = 9, d.config = PerturbedLinearConfig{.fused = 1}; }, "Fused, the rank");
    expect_refused([](auto& d) { d.parameter = ParameterId{kMaxParameterId + 1}; }, "parameter of [perturbed_linear]");
    expect_refused([](auto& d) { d.members = d.rows = 0xFFFFFFFFU; }, "input view of [perturbed_linear]");
    expect_refused([](auto& d) { d.members = 0xFFFFFFFFU; }, "input view of [perturbed_linear]");
    expect_refused([](auto& d) { d.in = 0x80000000U; }, "weights view of [perturbed_linear]");
    expect_refused([](auto& d) { d.in = 0x80000000U, d.rank = 2; }, "in * rank of [perturbed_linear]");
    expect_refused([](auto& d) { d.out = 0x80000000U, d.rank = 2; }, "out * rank of [perturbed_linear]");
}

TEST_P(perturbed_linear, wrong_views_are_refused) {
    // Output 2 * 1 * 2, weights 2 * 4, input 1 * 4, scratch 2 * 1 * 1 floats, each on its own 256 bytes.
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 1024, .label = "all"}));
    ASSERT_OK_AND_ASSIGN(
        const PerturbedLinearPlan plan,
        plan_perturbed_linear(
            device(),
            {.members = 2, .rows = 1, .in = 4, .out = 2, .shared_input = true, .config = PerturbedLinearConfig{}}));
    const PerturbedLinearViews good{BufferView(buffer, 0, 32), BufferView(buffer, 256, 16),
                                    BufferView(buffer, 512, 16)};
    const BufferView scratch(buffer, 768, 8);
    EXPECT_OK(plan.bind(good, scratch));
    const auto expect_refused = [&](const PerturbedLinearViews& views, const BufferView& s, const char* part) {
        EXPECT_TRUE(expect_error(plan.bind(views, s), ErrorKind::BadInput, part));
    };
    expect_refused({BufferView(buffer, 0, 28), good.input, good.output}, scratch, "weights view of [perturbed_linear]");
    expect_refused({good.weights, BufferView(buffer, 260, 16), good.output}, scratch,
                   "input view of [perturbed_linear]");
    expect_refused({good.weights, good.input, BufferView(buffer, 1024, 16)}, scratch,
                   "output view of [perturbed_linear]");
    expect_refused(good, BufferView(buffer, 768, 4), "scratch view of [perturbed_linear]");
    expect_refused({good.weights, good.input, good.weights}, scratch, "[perturbed_linear]");
    expect_refused(good, good.input, "[perturbed_linear]");
    expect_refused(good, good.output, "[perturbed_linear]");
}

}  // namespace
}  // namespace yolk
