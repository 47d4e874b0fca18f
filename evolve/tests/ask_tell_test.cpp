// SPDX-License-Identifier: Apache-2.0
// A run whose members the caller scores, beside one that scores them itself.
#include "yolk/ask_tell.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

#include <filesystem>

#include "fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

const std::vector<ParameterDesc> kAskedParameters{{"w", 3, 4, Perturbation::LowRank},
                                                  {"b", 3, 1, Perturbation::Vector}};

class ask_tell : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<std::unique_ptr<AskedRun>> make(const std::filesystem::path& log = {}) {
        YOLK_TRY(Context context, Context::create({.device = device().info().name}));
        return AskedRun::create(std::move(context),
                                {.parameters = kAskedParameters,
                                 .initial = std::vector<float>(15, 0.5F),
                                 .options = {.population = 16, .sigma = 0.1F, .learning_rate = 0.5F},
                                 .log = log});
    }
    /// Minus the squared length of each member.
    static std::vector<float> scores_of(AskedRun& run) {
        std::vector<float> members(std::size_t{16} * 15);
        EXPECT_OK(run.members(0, members));
        std::vector<float> scores(16, 0.0F);
        for (std::size_t i = 0; i < members.size(); ++i) scores[i / 15] -= members[i] * members[i];
        return scores;
    }
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("yolk-ask-tell-" + std::to_string(::getpid()));
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
};
YOLK_FOR_EACH_DEVICE(ask_tell);

TEST_P(ask_tell, goes_on_from_a_file_and_by_its_log) {
    ASSERT_OK_AND_ASSIGN(const auto run, make(folder_ / "log.yolk"));
    float first = 0.0F, last = 0.0F;
    for (std::uint32_t generation = 0; generation < 6; ++generation) {
        if (generation == 3) {
            ASSERT_OK(run->save(folder_ / "state.yolk"));
        }
        ASSERT_OK_AND_ASSIGN(const GenerationSummary summary, run->tell(generation, scores_of(*run)));
        (generation == 0 ? first : last) = summary.mean;
    }
    EXPECT_GT(last, first);
    ASSERT_OK_AND_ASSIGN(const std::string hash, run->state_hash());

    ASSERT_OK_AND_ASSIGN(const auto loaded, make());
    ASSERT_OK(loaded->load(folder_ / "state.yolk"));
    EXPECT_EQ(loaded->generation(), 3U);
    for (std::uint32_t generation = 3; generation < 6; ++generation)
        ASSERT_OK(loaded->tell(generation, scores_of(*loaded)));
    EXPECT_EQ(loaded->state_hash().value(), hash);

    ASSERT_OK_AND_ASSIGN(const auto replayed, make());
    ASSERT_OK(replayed->replay(folder_ / "log.yolk", std::nullopt));
    EXPECT_EQ(replayed->state_hash().value(), hash);
}

TEST_P(ask_tell, factors_make_the_members) {
    ASSERT_OK_AND_ASSIGN(const auto run, make());
    ASSERT_OK_AND_ASSIGN(const MemberFactors factors, run->factors(0));
    std::vector<float> members(std::size_t{16} * 15);
    ASSERT_OK(run->members(0, members));
    for (std::size_t m = 0; m < 16; ++m) {
        for (std::size_t row = 0; row < 3; ++row) {
            for (std::size_t column = 0; column < 4; ++column) {
                const double noise = static_cast<double>(factors.a[m * 3 + row]) * factors.b[m * 4 + column];
                EXPECT_NEAR(members[m * 15 + row * 4 + column], 0.5 + factors.scale * noise, 1e-6);
            }
        }
    }
    EXPECT_TRUE(expect_error(run->factors(1), ErrorKind::BadInput, "factors"));
    EXPECT_TRUE(expect_error(run->tell(1, std::vector<float>(16)), ErrorKind::BadInput, "generation 1"));
    EXPECT_TRUE(expect_error(run->tell(0, std::vector<float>(15)), ErrorKind::BadInput, "15 scores"));
}

}  // namespace
}  // namespace yolk::evolve
