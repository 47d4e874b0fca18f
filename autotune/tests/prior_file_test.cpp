// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/prior_file.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "surfaces.hpp"
#include "table_folder.hpp"
#include "yolk/autotune/portfolio.hpp"

namespace yolk::autotune {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

PriorFile made_of(const std::vector<double>& devices) {
    std::vector<RecordedSurface> recordings;
    for (const double device : devices) recordings.push_back(tiled_product(device));
    const CandidateSet& candidates = recordings.front().candidates();
    PriorFile file;
    file.settings.noise = 0.07;
    file.training = {{"seed", 3}};
    file.spaces.push_back({"product", {"a", "b"}, candidates, make_prior(candidates, recordings).value()});
    return file;
}

using prior_file = TableFolder;

TEST_F(prior_file, says_the_same_when_it_is_read) {
    const PriorFile file = made_of({0.0, 0.5, 1.0, 1.5});
    const std::string text = prior_text(file);
    const std::filesystem::path path = folder_ / "prior.json";
    ASSERT_TRUE(write_prior(path, file));
    const Result<PriorFile> read = read_prior(path);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(prior_text(*read), text);
    EXPECT_EQ(read->settings.noise, 0.07);
    EXPECT_EQ(read->spaces[0].prior.portfolio, file.spaces[0].prior.portfolio);
    EXPECT_EQ(read->spaces[0].prior.factors.size(), 2U);
    EXPECT_NEAR(read->spaces[0].prior.mean[17], file.spaces[0].prior.mean[17], 1e-5);
}

// Parameters are matched by name and values by equality, in whatever order.
TEST_F(prior_file, candidates_are_matched_by_name) {
    const PriorFile file = made_of({0.0, 0.5});
    const CandidateSet& known = file.spaces[0].candidates;
    const auto theirs = known.space().parameters();
    std::vector<Parameter> reversed(theirs.rbegin(), theirs.rend());
    const CandidateSet target = CandidateSet::of(Space::create(std::move(reversed)).value(), 100000, 1).value();
    const std::optional<DevicePrior> prior = prior_for(file, target, "product");
    ASSERT_TRUE(prior);
    ASSERT_THAT(prior->mean, SizeIs(target.size()));
    for (std::size_t c = 0; c < target.size(); c += 37) {
        const Choice choice(std::make_reverse_iterator(target[c].end()), std::make_reverse_iterator(target[c].begin()));
        EXPECT_DOUBLE_EQ(prior->mean[c], file.spaces[0].prior.mean[*known.find(choice)]);
    }
    EXPECT_FALSE(prior_for(file, target, "other"));
    const CandidateSet foreign =
        CandidateSet::of(Space::create({Parameter::of("block", {1.0, 2.0})}).value(), 10, 1).value();
    EXPECT_FALSE(prior_for(file, foreign, "product"));
}

// What the file does not know is not called bad: a regression on what it does know says something near it.
TEST_F(prior_file, unknown_candidates_are_interpolated) {
    PriorFile file = made_of({0.0, 0.5});
    SpacePrior& space = file.spaces[0];
    const CandidateSet all = space.candidates;
    std::vector<std::uint16_t> choices;
    DevicePrior half;
    half.residual_deviation = space.prior.residual_deviation;
    for (std::size_t c = 0; c < all.size(); c += 2) {
        choices.insert(choices.end(), all[c].begin(), all[c].end());
        half.mean.push_back(space.prior.mean[c]);
    }
    const std::vector<double> truth = space.prior.mean;
    space.candidates = CandidateSet::of(all.space(), std::move(choices)).value();
    space.prior = half;
    const std::optional<DevicePrior> prior = prior_for(file, all, "product");
    ASSERT_TRUE(prior);
    double error = 0.0;
    double spread = 0.0;
    double mean = 0.0;
    for (const double value : truth) mean += value / static_cast<double>(truth.size());
    for (std::size_t c = 1; c < all.size(); c += 2) {
        error += std::pow(prior->mean[c] - truth[c], 2.0);
        spread += std::pow(mean - truth[c], 2.0);
    }
    EXPECT_LT(error, 0.5 * spread);  // better than knowing the mean alone
}

/// As an older version wrote it.
std::string without_checksum(std::string text) {
    text.replace(text.find("\"yolk_prior\": 2"), 15, "\"yolk_prior\": 1");
    return text.replace(text.find("yolk_checksum"), 4, "none");
}

TEST_F(prior_file, every_flipped_bit_is_refused) {
    const std::string whole = prior_text(only_portfolios(made_of({0.0, 0.5})).value());
    ASSERT_TRUE(parse_prior(whole, "it"));
    ASSERT_TRUE(parse_prior(without_checksum(whole), "it"));
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(parse_prior(flipped, "it")) << "bit " << bit;
    }
}

TEST_F(prior_file, what_is_none_is_refused_in_words) {
    const std::string sealed = prior_text(made_of({0.0, 0.5}));
    const std::string good = without_checksum(sealed);
    const auto refused = [](const std::string& text) {
        const Result<PriorFile> file = parse_prior(text, "'p.json'");
        return file ? std::string("accepted") : file.error().message;
    };
    EXPECT_THAT(refused("{}"), HasSubstr("'p.json' is not a prior over devices"));
    EXPECT_THAT(refused(good.substr(0, good.size() / 2)), HasSubstr("is cut off"));
    EXPECT_THAT(refused(R"({"yolk_tuning": 1, "choices": []})"), HasSubstr("is not a prior"));
    EXPECT_THAT(refused(R"({"yolk_prior": 3})"), HasSubstr("a newer Yolk"));
    EXPECT_THAT(refused(R"({"yolk_prior": 2, "settings": {}})"), HasSubstr("it has no checksum"));
    EXPECT_THAT(refused(R"({"yolk_prior": 0, "settings": {}})"), HasSubstr("it has no checksum"));
    EXPECT_THAT(refused(R"({"yolk_prior": 1, "settings": {}})"), HasSubstr("is damaged"));
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        return refused(text);
    };
    EXPECT_THAT(changed("\"mean\":[", "\"mean\":[1.0,"), HasSubstr("space 0 does not hold together"));
    EXPECT_THAT(changed("\"portfolio\":[", "\"portfolio\":[99999,"), HasSubstr("damaged"));
    EXPECT_THAT(changed("\"configurations\":[[0", "\"configurations\":[[9"), HasSubstr("damaged"));
    EXPECT_THAT(changed("\"noise\":", "\"noise\":\"much\",\"n\":"), HasSubstr("damaged"));
    EXPECT_THAT(changed("\"tile_m\"", "\"tile_n\""), HasSubstr("damaged"));
    EXPECT_FALSE(read_prior(folder_ / "none.json"));
}

// Bytes changed at random: read or refused, never anything else.
TEST_F(prior_file, damaged_bytes_are_survived) {
    const std::string good = without_checksum(prior_text(only_portfolios(made_of({0.0, 0.5})).value()));
    Random random(5);
    for (int i = 0; i < 2000; ++i) {
        std::string text = good;
        for (int change = 0; change < 3; ++change)
            text[random.below(text.size())] = static_cast<char>(random.below(256));
        if (const Result<PriorFile> file = parse_prior(text, "it")) {
            for (const SpacePrior& space : file->spaces)
                EXPECT_THAT(space.prior.portfolio, Each(::testing::Lt(space.candidates.size())));
        }
    }
}

TEST_F(prior_file, predicts_from_what_is_known) {
    const PriorFile file = made_of({-1.0, -0.5, 0.0, 0.5, 1.0, 1.5});
    const DevicePrior& prior = file.spaces[0].prior;
    const RecordedSurface target = tiled_product(1.2);
    const auto fraction = [&](std::size_t c) { return target.optimum() / target.costs()[c]; };
    std::vector<std::pair<std::size_t, double>> known;
    for (std::size_t c = 5; known.size() < 12; c += 97) {
        if (std::isfinite(target.costs()[c])) known.emplace_back(c, std::log(target.costs()[c]));
    }
    EXPECT_GE(fraction(predicted_best(prior, known)), fraction(predicted_best(prior, {})));
    EXPECT_GT(fraction(predicted_best(prior, known)), 0.85);
}

TEST(portfolio, comes_with_the_main_families) {
    const PriorFile& file = shipped_portfolio();
    for (const char* family :
         {"matmul", "perturbed_linear", "es_update", "fitness", "optimizer", "block_inverse", "reduce", "rollout"}) {
        const auto portfolio = portfolio_of(file, family);
        EXPECT_FALSE(portfolio.empty()) << family;
        EXPECT_LE(portfolio.size(), kShippedPortfolio) << family;
    }
    EXPECT_TRUE(portfolio_of(file, "chess").empty());
    EXPECT_FALSE(file.training.empty());
}

TEST(portfolio, is_the_best_few_in_order) {
    const PriorFile file = made_of({0.0, 1.0});
    const PriorFile reduced = only_portfolios(file, 2).value();
    const auto portfolio = portfolio_of(reduced, "product");
    ASSERT_THAT(portfolio, SizeIs(2));
    EXPECT_EQ(portfolio[0].size(), 6U);
    EXPECT_EQ(portfolio, [&] {
        auto all = portfolio_of(file, "product");
        all.resize(2);
        return all;
    }());
    EXPECT_FALSE(prior_for(reduced, file.spaces[0].candidates, "product"));  // it has no mean
}

}  // namespace
}  // namespace yolk::autotune
