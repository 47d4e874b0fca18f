// SPDX-License-Identifier: Apache-2.0
// Shares of an update, put together: any cut, any configuration, any scratch, the bits of the whole.
#include <gmock/gmock.h>

#include <array>

#include "yolk/es_update.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/primitives/es_update_strips.hpp"
#include "yolk/internal/reference/update_gradient.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAreArray;
using testing::expect_error;

constexpr NoiseContext kShareTime{.seed = 99, .generation = 5, .time = 5, .sigma = 0.5F};
constexpr abi::fitness::Summary kShareSummary{0.02F, 0.0F, 0.0F, 0.0F, 0.0F, 0, 0, 0};

class es_update_shares : public testing::DeviceTest {
   protected:
    /// The words of the gradient, or of the sums, after each share was recorded into a submission of its own.
    template <class Weight>
    Result<std::vector<std::uint32_t>> words_of(const EsUpdateDesc& desc, std::vector<Weight> weights,
                                                const std::vector<EsUpdateShare>& shares, bool least_scratch) const {
        const bool sums = desc.output == EsUpdateOutput::Sums;
        weights.resize((weights.size() + 3) / 4 * 4);
        YOLK_TRY(const EsUpdatePlan plan, plan_es_update(device(), desc));
        const auto make = [&](std::uint64_t bytes) {
            return device().create_buffer({.size_bytes = bytes, .label = "of a share"});
        };
        YOLK_TRY(const Buffer weight_buffer, make(weights.size() * sizeof(Weight)));
        YOLK_TRY(const Buffer summary, make(sizeof(kShareSummary)));
        std::vector<std::uint32_t> words((sums ? 2 : 1) * std::size_t{desc.parameters.element_count()}, 0xFFFFFFFFU);
        YOLK_TRY(const Buffer out, make(4 * words.size()));
        YOLK_TRY(const Buffer scratch, make(least_scratch ? plan.scratch().least() : plan.scratch().size_bytes));
        YOLK_TRY_VOID(dispatcher().upload(weight_buffer, std::as_bytes(std::span(weights))));
        YOLK_TRY_VOID(dispatcher().upload(summary, std::as_bytes(std::span(&kShareSummary, 1))));
        YOLK_TRY_VOID(dispatcher().upload(out, std::as_bytes(std::span(words))));
        EsUpdateViews views{.weights = weight_buffer, .summary = summary};
        (sums ? views.sums : views.gradient) = out;
        YOLK_TRY(const BoundEsUpdate bound, plan.bind(views, scratch));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        for (const EsUpdateShare& share : shares) {
            recorder.begin();
            bound.record(recorder, kShareTime, share);
            YOLK_TRY_VOID(dispatcher().run(recorder));
        }
        YOLK_TRY_VOID(dispatcher().download(out, std::as_writable_bytes(std::span(words))));
        return words;
    }
};
YOLK_FOR_EACH_DEVICE(es_update_shares);

ParameterTable shared_table() {
    auto table =
        ParameterTable::create({{.name = "embedding", .rows = 131, .columns = 5},
                                {.name = "b", .rows = 19, .perturbation = Perturbation::Vector},
                                {.name = "frozen", .rows = 3, .columns = 7, .perturbation = Perturbation::Frozen},
                                {.name = "w", .rows = 19, .columns = 83}});
    EXPECT_OK(table);
    return *std::move(table);
}

/// Ranks by turns, the run's among them; vectors and frozen parameters between them. 36 strips.
ParameterTable table_of_ranks() {
    auto table =
        ParameterTable::create({{.name = "a", .rows = 67, .columns = 9, .rank = 1},
                                {.name = "b", .rows = 19, .perturbation = Perturbation::Vector},
                                {.name = "c", .rows = 19, .columns = 83, .rank = 4},
                                {.name = "frozen", .rows = 3, .columns = 7, .perturbation = Perturbation::Frozen},
                                {.name = "d", .rows = 20, .columns = 21, .rank = 2},
                                {.name = "e", .rows = 35, .columns = 5, .rank = 1},
                                {.name = "f", .rows = 9, .columns = 9},
                                {.name = "g", .rows = 17, .columns = 7, .rank = 32},
                                {.name = "h", .rows = 9, .perturbation = Perturbation::Vector}});
    EXPECT_OK(table);
    return *std::move(table);
}

std::vector<std::int8_t> shared_weights(std::uint32_t pairs) {
    std::vector<std::int8_t> weights(pairs);
    for (std::uint32_t pair = 0; pair < pairs; ++pair) weights[pair] = static_cast<std::int8_t>(pair * 167 % 255 - 127);
    return weights;
}

constexpr std::array<EsUpdateConfig, 3> kShareConfigs{
    EsUpdateConfig{.pairs_per_slice = 7}, EsUpdateConfig{.pairs_per_slice = 16, .tile_blocks = 2},
    EsUpdateConfig{.workgroup_size = 64, .pairs_per_slice = 16, .staged = 1}};

TEST_P(es_update_shares, of_the_parameters_are_the_whole) {
    const std::uint32_t count = UpdateStrips(shared_table()).count();
    const std::vector<EsUpdateShare> shares{{0, 1}, {1, 9}, {10, 0}, {10, count - 12}, {count - 2}};
    for (const EsUpdateConfig& config : kShareConfigs) {
        const EsUpdateDesc desc{.parameters = shared_table(), .population = 90, .rank = 3, .config = config};
        const std::vector<std::int8_t> weights = shared_weights(45);
        const auto twin = reference::twin_result<float>(desc, {weights, kShareSummary}, kShareTime);
        for (const bool least : {false, true}) {
            ASSERT_OK_AND_ASSIGN(const auto words, words_of(desc, weights, shares, least));
            const auto* floats = reinterpret_cast<const float*>(words.data());
            EXPECT_THAT(std::vector<float>(floats, floats + words.size()), ElementsAreArray(twin));
        }
        EsUpdateDesc of_floats = desc;
        of_floats.weights = FitnessWeights::F32;
        const std::vector<float> drawn(weights.begin(), weights.end());
        ASSERT_OK_AND_ASSIGN(const auto whole, words_of(of_floats, drawn, {{}}, false));
        ASSERT_OK_AND_ASSIGN(const auto words, words_of(of_floats, drawn, shares, false));
        EXPECT_THAT(words, ElementsAreArray(whole));
    }
}

TEST_P(es_update_shares, of_the_pairs_add_up_to_the_whole) {
    constexpr std::uint32_t kPairs = 301;
    for (const EsUpdateConfig& config : kShareConfigs) {
        EsUpdateDesc desc{.parameters = shared_table(), .population = 2 * kPairs, .config = config};
        desc.output = EsUpdateOutput::Sums;
        const std::vector<std::int8_t> weights = shared_weights(kPairs);
        std::vector<std::int64_t> sums(desc.parameters.element_count());
        std::uint32_t first = 0;
        for (const std::uint32_t count : {1U, 0U, 150U, 47U, EsUpdateShare::kAllThatFollow}) {
            const EsUpdateShare share{.first_pair = first, .pair_count = count};
            ASSERT_OK_AND_ASSIGN(const auto words, words_of(desc, weights, {share}, first == 0));
            for (std::size_t i = 0; i < sums.size(); ++i)
                sums[i] += static_cast<std::int64_t>(words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32U);
            first += count;
        }
        EXPECT_THAT(sums, ElementsAreArray(reference::twin_result<std::int64_t>(desc, {weights, {}, {}}, kShareTime)));
        std::vector<float> gradient(sums.size());
        reference::es_update_gradient(desc, sums, kShareSummary, kShareTime, gradient);
        desc.output = EsUpdateOutput::Gradient;
        EXPECT_THAT(gradient,
                    ElementsAreArray(reference::twin_result<float>(desc, {weights, kShareSummary}, kShareTime)));
    }
}

/// The elements of each parameter, where all matrices have its rank.
std::vector<float> rank_by_rank(const EsUpdateDesc& desc, const std::vector<std::int8_t>& weights) {
    std::vector<float> all(desc.parameters.element_count());
    for (std::uint32_t id = 0; id < desc.parameters.parameters().size(); ++id) {
        const ParameterDesc& parameter = desc.parameters.parameters()[id];
        std::vector<ParameterDesc> alike(desc.parameters.parameters().begin(), desc.parameters.parameters().end());
        for (ParameterDesc& other : alike) other.rank = 0;
        EsUpdateDesc of_rank = desc;
        of_rank.parameters = *ParameterTable::create(alike);
        of_rank.rank = parameter.rank == 0 ? desc.rank : parameter.rank;
        const auto twin = reference::twin_result<float>(of_rank, {weights, kShareSummary}, kShareTime);
        const auto first = static_cast<std::ptrdiff_t>(desc.parameters.offset(ParameterId{id}));
        std::copy_n(twin.begin() + first, parameter.rows * parameter.columns, all.begin() + first);
    }
    return all;
}

TEST_P(es_update_shares, of_matrices_of_several_ranks) {
    constexpr std::uint32_t kPairs = 45;
    const std::uint32_t strips = UpdateStrips(table_of_ranks()).count();
    const std::vector<EsUpdateShare> shares{{0, 1}, {1, 9}, {10, 0}, {10, 9}, {19, strips - 21}, {strips - 2}};
    const std::vector<std::int8_t> weights = shared_weights(kPairs);
    for (const EsUpdateConfig& config : kShareConfigs) {
        EsUpdateDesc desc{.parameters = table_of_ranks(), .population = 2 * kPairs, .rank = 3, .config = config};
        const std::vector<float> expected = rank_by_rank(desc, weights);
        for (const bool least : {false, true}) {
            for (const std::vector<EsUpdateShare>& cut : {std::vector<EsUpdateShare>{{}}, shares}) {
                ASSERT_OK_AND_ASSIGN(const auto words, words_of(desc, weights, cut, least));
                const auto* floats = reinterpret_cast<const float*>(words.data());
                EXPECT_THAT(std::vector<float>(floats, floats + words.size()), ElementsAreArray(expected)) << least;
            }
        }
        desc.output = EsUpdateOutput::Sums;
        std::vector<std::int64_t> sums(desc.parameters.element_count());
        for (const EsUpdateShare& share : {EsUpdateShare{.pair_count = 17}, EsUpdateShare{.first_pair = 17}}) {
            ASSERT_OK_AND_ASSIGN(const auto words, words_of(desc, weights, {share}, true));
            for (std::size_t i = 0; i < sums.size(); ++i)
                sums[i] += static_cast<std::int64_t>(words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32U);
        }
        std::vector<float> gradient(sums.size());
        reference::es_update_gradient(desc, sums, kShareSummary, kShareTime, gradient);
        EXPECT_THAT(gradient, ElementsAreArray(expected));
    }
}

// 2^19 pairs whose sums pass 32 bits: both words count.
TEST_P(es_update_shares, have_sums_beyond_32_bits) {
    constexpr std::uint32_t kPairs = 1U << 19U;
    ASSERT_OK_AND_ASSIGN(const ParameterTable table, ParameterTable::create({{.name = "w", .rows = 1}}));
    EsUpdateDesc desc{.parameters = table, .population = 2 * kPairs, .config = EsUpdateConfig{.pairs_per_slice = 4096}};
    desc.output = EsUpdateOutput::Sums;
    std::vector<std::int8_t> weights(kPairs);
    for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
        const NoiseStream a{.seed = kShareTime.seed, .parameter = 0, .domain = Domain::A, .pair = pair, .time = 5};
        const NoiseStream b{.seed = kShareTime.seed, .parameter = 0, .domain = Domain::B, .pair = pair, .time = 5};
        weights[pair] = noise_element(a, 0) * noise_element(b, 0) < 0 ? 127 : -127;
    }
    const EsUpdateShare share{.first_pair = 1000, .pair_count = kPairs - 2000};
    ASSERT_OK_AND_ASSIGN(const auto words, words_of(desc, weights, {share}, true));
    const std::int64_t twin = reference::twin_result<std::int64_t>(desc, {weights, {}, {}}, kShareTime, share)[0];
    EXPECT_LT(twin, -(std::int64_t{1} << 31U));
    EXPECT_EQ(static_cast<std::int64_t>(words[0] | std::uint64_t{words[1]} << 32U), twin);
}

TEST_P(es_update_shares, that_leave_the_update_are_refused) {
    EsUpdateDesc desc{.parameters = shared_table(), .population = 90, .config = {}};
    const auto refused = [&](const EsUpdateShare& share, std::string_view part) {
        return expect_error(words_of(desc, shared_weights(45), {share}, false), ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(refused({.first_strip = 24}, "strips from 24 on; there are 23"));
    EXPECT_TRUE(refused({.first_strip = 20, .strip_count = 4}, "4 strips from 20 on; there are 23"));
    EXPECT_TRUE(refused({.first_pair = 1}, "pairs 1 to 45"));
    EXPECT_TRUE(refused({.pair_count = 44}, "pairs 0 to 44; it is made of all 45"));
    desc.output = EsUpdateOutput::Sums;
    EXPECT_TRUE(refused({.first_pair = 46}, "pairs from 46 on; there are 45"));
    EXPECT_TRUE(refused({.first_pair = 40, .pair_count = 6}, "6 pairs from 40 on"));
    desc.weights = FitnessWeights::F32;
    EXPECT_TRUE(expect_error(plan_es_update(device(), desc), ErrorKind::BadInput, "sums are exact"));
}

}  // namespace
}  // namespace yolk
