// SPDX-License-Identifier: Apache-2.0
// es_update beyond its check table: properties of the estimate, large sums, limits, bad input.
#include "yolk/es_update.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>

#include "yolk/internal/abi/fitness.h"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;
using testing::expect_error;

class es_update : public testing::DeviceTest {
   protected:
    static constexpr NoiseContext kWhen{.seed = 77, .generation = 3, .time = 3, .sigma = 0.25F};
    static constexpr abi::fitness::Summary kSummary{0.01F, 0.0F, 0.0F, 0.0F, 0.0F, 0, 0, 0};

    /// The gradient for one weight per pair, int8 or float as `desc` says.
    template <class Weight = std::int8_t>
    Result<std::vector<float>> gradient_of(const EsUpdateDesc& desc, std::vector<Weight> weights,
                                           std::uint64_t scratch_bytes = UINT64_MAX) const {
        const std::size_t pairs = weights.size();
        weights.resize((pairs + 3) / 4 * 4);
        YOLK_TRY(const EsUpdatePlan plan, plan_es_update(device(), desc));
        YOLK_TRY(const Buffer weight_buffer,
                 device().create_buffer({.size_bytes = weights.size() * sizeof(Weight), .label = "weights"}));
        YOLK_TRY(const Buffer summary, device().create_buffer({.size_bytes = sizeof(kSummary), .label = "summary"}));
        YOLK_TRY(const Buffer gradient,
                 device().create_buffer({.size_bytes = desc.parameters.size_bytes(), .label = "gradient"}));
        scratch_bytes = std::clamp(scratch_bytes, plan.scratch().least(), plan.scratch().size_bytes);
        YOLK_TRY(const Buffer scratch, device().create_buffer({.size_bytes = scratch_bytes, .label = "scratch"}));
        YOLK_TRY_VOID(dispatcher().upload(weight_buffer, std::as_bytes(std::span(weights))));
        YOLK_TRY_VOID(dispatcher().upload(summary, std::as_bytes(std::span(&kSummary, 1))));
        YOLK_TRY(const BoundEsUpdate bound,
                 plan.bind({.weights = weight_buffer, .summary = summary, .gradient = gradient}, scratch));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, kWhen);
        // Where work is cut over submissions each piece is a dispatch.
        const std::uint64_t cuts = recorder.submission_count() - 1;
        const std::uint64_t dispatches = es_update_dispatches(plan, scratch_bytes);
        if (recorder.dispatch_count() < dispatches || recorder.dispatch_count() > dispatches + cuts)
            return bad_input("the plan's dispatch_count is not what it records");
        YOLK_TRY_VOID(dispatcher().run(recorder));
        std::vector<float> values(desc.parameters.element_count());
        YOLK_TRY_VOID(dispatcher().download(gradient, std::as_writable_bytes(std::span(values))));
        return values;
    }
};
YOLK_FOR_EACH_DEVICE(es_update);

ParameterTable table_of(std::vector<ParameterDesc> parameters) {
    auto table = ParameterTable::create(std::move(parameters));
    EXPECT_OK(table);
    return *std::move(table);
}

ParameterTable one_matrix(std::uint32_t rows, std::uint32_t columns) {
    return table_of({{.name = "w", .rows = rows, .columns = columns}});
}

/// Weights that agree in sign with element 0 of a 1x1 rank 1 matrix, so that its sum grows with the number of pairs.
std::vector<std::int8_t> coherent_weights(std::size_t pairs, const NoiseContext& when) {
    std::vector<std::int8_t> weights(pairs);
    for (std::uint32_t pair = 0; pair < pairs; ++pair) {
        const NoiseStream a{.seed = when.seed, .parameter = 0, .domain = Domain::A, .pair = pair, .time = when.time};
        const NoiseStream b{.seed = when.seed, .parameter = 0, .domain = Domain::B, .pair = pair, .time = when.time};
        weights[pair] = noise_element(a, 0) * noise_element(b, 0) < 0 ? -127 : 127;
    }
    return weights;
}

/// Rows that remain after Gaussian elimination with pivoting; a pivot below 1e-5 of the largest entry counts as zero
/// (entries carry four roundings of 2^-24).
int numeric_rank(std::vector<float> m, std::size_t rows, std::size_t columns) {
    float largest = 0.0F;
    for (const float x : m) largest = std::max(largest, std::abs(x));
    int rank = 0;
    std::vector<bool> used(rows, false);
    for (std::size_t column = 0; column < columns; ++column) {
        std::size_t pivot = rows;
        for (std::size_t r = 0; r < rows; ++r) {
            if (!used[r] &&
                (pivot == rows || std::abs(m[r * columns + column]) > std::abs(m[pivot * columns + column])))
                pivot = r;
        }
        if (pivot == rows || std::abs(m[pivot * columns + column]) < 1e-5F * largest) continue;
        used[pivot] = true;
        ++rank;
        for (std::size_t r = 0; r < rows; ++r) {
            if (used[r]) continue;
            const float factor = m[r * columns + column] / m[pivot * columns + column];
            for (std::size_t c = column; c < columns; ++c) m[r * columns + c] -= factor * m[pivot * columns + c];
        }
    }
    return rank;
}

/// All kinds, an embedding table among them that is much taller than wide.
ParameterTable mixed_table() {
    return table_of({{.name = "embedding", .rows = 131, .columns = 5},
                     {.name = "b", .rows = 19, .perturbation = Perturbation::Vector},
                     {.name = "frozen", .rows = 3, .columns = 7, .perturbation = Perturbation::Frozen},
                     {.name = "w", .rows = 9, .columns = 33},
                     {.name = "last", .rows = 5, .perturbation = Perturbation::Frozen}});
}

TEST_P(es_update, any_scratch_gives_the_same) {
    for (const EsUpdateConfig& config :
         {EsUpdateConfig{.pairs_per_slice = 7}, EsUpdateConfig{.pairs_per_slice = 7, .tile_blocks = 2},
          EsUpdateConfig{.workgroup_size = 64, .pairs_per_slice = 7, .staged = 1}}) {
        const std::uint32_t blocks = config.tile_blocks;
        const EsUpdateDesc desc{.parameters = mixed_table(), .population = 90, .rank = 2, .config = config};
        ASSERT_OK_AND_ASSIGN(const EsUpdatePlan plan, plan_es_update(device(), desc));
        const std::uint64_t unit = 7 * 8 * 4;  // seven slices, the last of 3 pairs
        const std::uint64_t units = blocks == 1 ? 17 * 8 + 3 + 2 * 5 * 8 : 17 * 16 + 3 + 2 * 3 * 16;
        EXPECT_EQ(plan.scratch().size_bytes, units * unit);
        EXPECT_EQ(plan.scratch().least(), 8 * blocks * unit);
        EXPECT_EQ(es_update_dispatches(plan, plan.scratch().size_bytes), 2U);
        const std::vector<std::int8_t> weights = coherent_weights(45, kWhen);
        const auto twin = reference::twin_result<float>(desc, {weights, kSummary}, kWhen);
        for (const std::uint64_t scratch_bytes :
             {plan.scratch().least(), plan.scratch().least() + 4, 20 * unit, 23 * unit, 100 * unit, UINT64_MAX}) {
            ASSERT_OK_AND_ASSIGN(const auto gradient, gradient_of(desc, weights, scratch_bytes));
            EXPECT_THAT(gradient, ElementsAreArray(twin)) << scratch_bytes;
        }
    }
}

// Their last bits depend on the slices, which do not depend on the scratch.
TEST_P(es_update, any_scratch_gives_the_same_for_floats) {
    const EsUpdateDesc desc{.parameters = mixed_table(),
                            .population = 90,
                            .rank = 3,
                            .weights = FitnessWeights::F32,
                            .config = EsUpdateConfig{.pairs_per_slice = 7}};
    std::vector<float> weights(45);
    for (std::size_t pair = 0; pair < weights.size(); ++pair)
        weights[pair] = 0.1F * static_cast<float>(pair % 11) - 0.37F;
    ASSERT_OK_AND_ASSIGN(const auto whole, gradient_of(desc, weights));
    for (const std::uint64_t scratch_bytes : {std::uint64_t{0}, std::uint64_t{23 * 7 * 8 * 4}}) {
        ASSERT_OK_AND_ASSIGN(const auto pieces, gradient_of(desc, weights, scratch_bytes));
        EXPECT_THAT(pieces, ElementsAreArray(whole)) << scratch_bytes;
    }
}

TEST_P(es_update, a_table_far_larger_than_its_scratch) {
    const EsUpdateDesc desc{
        .parameters = one_matrix(300, 300), .population = 12, .config = EsUpdateConfig{.pairs_per_slice = 1}};
    ASSERT_OK_AND_ASSIGN(const EsUpdatePlan plan, plan_es_update(device(), desc));
    EXPECT_EQ(plan.scratch().least(), 6U * 256);
    EXPECT_EQ(es_update_dispatches(plan, plan.scratch().least()), 2U * 38 * 38);
    const std::vector<std::int8_t> weights{127, -3, 0, 55, -127, 1};
    const auto twin = reference::twin_result<float>(desc, {weights, kSummary}, kWhen);
    for (const std::uint64_t tiles : {1U, 7U, 200U}) {
        ASSERT_OK_AND_ASSIGN(const auto gradient, gradient_of(desc, weights, tiles * 6 * 256));
        EXPECT_THAT(gradient, ElementsAreArray(twin)) << tiles;
    }
}

TEST_P(es_update, scratch_is_bounded_whatever_table_and_population) {
    for (const std::uint32_t tile_blocks : {1U, 2U}) {
        const EsUpdateDesc desc{.parameters = one_matrix(4096, 8192),
                                .population = 1U << 20U,
                                .config = EsUpdateConfig{.tile_blocks = tile_blocks}};
        ASSERT_OK_AND_ASSIGN(const EsUpdatePlan plan, plan_es_update(device(), desc));
        EXPECT_EQ(plan.scratch().size_bytes, std::uint64_t{128} << 20U);
        EXPECT_EQ(plan.scratch().least(), 2048U * 256 * tile_blocks);
        EXPECT_EQ(es_update_dispatches(plan, plan.scratch().size_bytes), 2U * 2048);
    }
}

/// The largest sums that a staged slice may have: 128 pairs of one sign that follow the noise of an element.
TEST_P(es_update, staged_sums_are_those_of_integers) {
    for (const std::uint32_t rank : {1U, 3U, 8U, 32U}) {
        const EsUpdateDesc desc{
            .parameters = table_of({{.name = "w", .rows = 67, .columns = 70},
                                    {.name = "v", .rows = 530, .perturbation = Perturbation::Vector}}),
            .population = 2 * (300 / rank),
            .rank = rank,
            .config = EsUpdateConfig{.workgroup_size = 64, .pairs_per_slice = 128, .staged = 1}};
        const std::vector<std::int8_t> weights = coherent_weights(desc.population / 2, kWhen);
        ASSERT_OK_AND_ASSIGN(const auto gradient, gradient_of(desc, weights));
        EXPECT_EQ(gradient, reference::twin_result<float>(desc, {weights, kSummary}, kWhen)) << rank;
    }
}

/// What GPUs take, for groups of 64 x 64 elements, ranks below and above a stage's, vectors and float weights.
TEST_P(es_update, defaults_of_gpus_match_oracle_and_twin) {
    DeviceInfo gpu = device().info();
    gpu.kind = DeviceKind::Discrete;
    for (const char* text :
         {"es_update elements=5025 rows=67 population=70", "es_update elements=450 population=70 rank=3",
          "es_update elements=5025 rows=67 population=36 weights=f32",
          "es_update elements=450 population=38 rank=5 weights=f32",
          "es_update elements=450 population=18 rank=12 weights=f32 pairs=0"}) {
        ASSERT_OK_AND_ASSIGN(const std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(text));
        const oracle::ProblemProof proof(*problem);
        ASSERT_OK_AND_ASSIGN(
            const oracle::CheckReport report,
            proof.prove({.device = device(), .dispatcher = dispatcher()}, problem->default_configuration(gpu), 0));
        EXPECT_THAT(report.failures, ::testing::IsEmpty()) << text;
        EXPECT_LE(report.worst_error, 1.0) << text;
    }
}

TEST_P(es_update, a_population_of_2_to_the_20) {
    constexpr std::uint32_t kPairs = 1U << 19U;
    const ParameterTable table = table_of({{.name = "w", .rows = 3, .columns = 9},
                                           {.name = "v", .rows = 5, .perturbation = Perturbation::Vector},
                                           {.name = "f", .rows = 2, .perturbation = Perturbation::Frozen}});
    const EsUpdateDesc desc{.parameters = table, .population = 2 * kPairs, .config = {}};
    std::vector<std::int8_t> weights(kPairs);
    for (std::uint32_t pair = 0; pair < kPairs; ++pair)
        weights[pair] = static_cast<std::int8_t>(pair * 167 % 255 - 127);
    ASSERT_OK_AND_ASSIGN(const auto gradient, gradient_of(desc, weights, 0));  // as many windows as there can be
    EXPECT_EQ(gradient, reference::twin_result<float>(desc, {weights, kSummary}, kWhen));
}

TEST_P(es_update, equal_fitness_gives_no_update) {
    const EsUpdateDesc desc{.parameters = one_matrix(9, 4), .population = 12, .rank = 2, .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto gradient, gradient_of(desc, std::vector<std::int8_t>(6, 0)));
    EXPECT_THAT(gradient, Each(0.0F));
}

TEST_P(es_update, is_linear_in_the_weights) {
    const EsUpdateDesc desc{.parameters = table_of({{.name = "w", .rows = 5, .columns = 3},
                                                    {.name = "v", .rows = 4, .perturbation = Perturbation::Vector}}),
                            .population = 8,
                            .config = {}};
    ASSERT_OK_AND_ASSIGN(const auto once, gradient_of(desc, {5, -63, 0, 21}));
    ASSERT_OK_AND_ASSIGN(const auto twice, gradient_of(desc, {10, -126, 0, 42}));
    ASSERT_OK_AND_ASSIGN(const auto negated, gradient_of(desc, {-5, 63, 0, -21}));
    for (std::size_t i = 0; i < once.size(); ++i) {
        EXPECT_EQ(twice[i], 2.0F * once[i]);  // exact: the sums are far below 2^24
        EXPECT_EQ(negated[i], -once[i]);
    }
}

TEST_P(es_update, rank_grows_with_pairs_and_columns) {
    const auto rank_of = [&](std::uint32_t pairs, std::uint32_t rank) {
        const EsUpdateDesc desc{.parameters = one_matrix(6, 5), .population = 2 * pairs, .rank = rank, .config = {}};
        const auto gradient = gradient_of(desc, std::vector<std::int8_t>(pairs, 100));
        EXPECT_OK(gradient);
        return numeric_rank(*gradient, 6, 5);
    };
    EXPECT_EQ(rank_of(1, 1), 1);
    EXPECT_EQ(rank_of(1, 2), 2);
    EXPECT_EQ(rank_of(3, 1), 3);
    EXPECT_EQ(rank_of(16, 1), 5);
}

TEST_P(es_update, sums_beyond_float_and_int32_are_rounded_once) {
    // 2^13 pairs pass 2^24, where odd sums are ties; 2^19 (2^20 members) pass 2^31 and need the second word.
    for (const std::uint32_t pairs : {8191U, 8192U, 524288U}) {
        const EsUpdateDesc desc{
            .parameters = one_matrix(1, 1), .population = 2 * pairs, .config = EsUpdateConfig{.pairs_per_slice = 4096}};
        const std::vector<std::int8_t> weights = coherent_weights(pairs, kWhen);
        ASSERT_OK_AND_ASSIGN(const auto gradient, gradient_of(desc, weights));
        EXPECT_EQ(gradient, reference::twin_result<float>(desc, {weights, kSummary}, kWhen)) << pairs;
    }
}

TEST_P(es_update, whole_slices_of_16384_pairs_respect_the_loop_limit) {
    for (const std::uint32_t rank : {1U, 3U, 32U}) {
        const std::uint32_t pairs = 20000;
        const EsUpdateDesc desc{.parameters = one_matrix(1, 1),
                                .population = 2 * pairs,
                                .rank = rank,
                                .config = EsUpdateConfig{.pairs_per_slice = 16384}};
        const std::vector<std::int8_t> weights(pairs, 127);
        ASSERT_OK_AND_ASSIGN(const auto gradient, gradient_of(desc, weights));
        EXPECT_EQ(gradient, reference::twin_result<float>(desc, {weights, kSummary}, kWhen)) << rank;
    }
}

TEST_P(es_update, dispatches_do_not_grow_with_the_layers) {
    for (const int layers : {4, 64}) {
        std::vector<ParameterDesc> parameters;
        for (int layer = 0; layer < layers; ++layer) {
            parameters.push_back({.name = "w" + std::to_string(layer), .rows = 3, .columns = 2});
            parameters.push_back(
                {.name = "b" + std::to_string(layer), .rows = 3, .perturbation = Perturbation::Vector});
        }
        const EsUpdateDesc desc{.parameters = table_of(parameters), .population = 4, .config = {}};
        ASSERT_OK_AND_ASSIGN(const EsUpdatePlan plan, plan_es_update(device(), desc));
        EXPECT_EQ(es_update_dispatches(plan, plan.scratch().size_bytes), 2U);
        const std::vector<std::int8_t> weights{100, -7};
        ASSERT_OK_AND_ASSIGN(const auto gradient, gradient_of(desc, weights));
        EXPECT_EQ(gradient, reference::twin_result<float>(desc, {weights, kSummary}, kWhen));
    }
}

/// Two for each rank, whatever the order and the number of matrices; a table of one rank is as one that says none.
TEST_P(es_update, dispatches_grow_with_the_ranks_alone) {
    const auto plan_of = [&](std::uint32_t layers, const std::vector<std::uint32_t>& ranks, std::uint32_t run_rank) {
        std::vector<ParameterDesc> parameters{{.name = "f", .rows = 2, .perturbation = Perturbation::Frozen}};
        for (std::uint32_t i = 0; i < layers; ++i)
            parameters.push_back(
                {.name = "w" + std::to_string(i), .rows = 3, .columns = 9, .rank = ranks[i % ranks.size()]});
        return plan_es_update(device(), {.parameters = table_of(parameters), .population = 90, .rank = run_rank});
    };
    for (const std::uint32_t layers : {4U, 64U}) {
        ASSERT_OK_AND_ASSIGN(const EsUpdatePlan mixed, plan_of(layers, {4, 0, 1, 2}, 2));
        EXPECT_EQ(es_update_dispatches(mixed, mixed.scratch().size_bytes), 6U);
        ASSERT_OK_AND_ASSIGN(const EsUpdatePlan own, plan_of(layers, {4}, 1));
        ASSERT_OK_AND_ASSIGN(const EsUpdatePlan of_run, plan_of(layers, {0}, 4));
        EXPECT_EQ(es_update_dispatches(own, own.scratch().size_bytes), 2U);
        EXPECT_EQ(own.scratch().size_bytes, of_run.scratch().size_bytes);
        const auto& fields = operation_of<EsUpdateDesc>().fields;
        EXPECT_EQ(fields.text(own.desc()), fields.text(of_run.desc()));
    }
    EXPECT_TRUE(expect_error(plan_of(4, {4}, 33), ErrorKind::BadInput, "rank of [es_update] is 33"));
}

}  // namespace
}  // namespace yolk
