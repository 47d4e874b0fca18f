// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/portfolio.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace yolk::autotune {
namespace {

TEST(portfolio, comes_with_the_main_families) {
    for (const char* family :
         {"matmul", "perturbed_linear", "es_update", "fitness", "optimizer", "block_inverse", "reduce", "rollout"}) {
        const auto portfolio = shipped_portfolio(family);
        ASSERT_FALSE(portfolio.empty()) << family;
        EXPECT_LE(portfolio.size(), 8U) << family;
        std::set<std::string> different;
        for (const StoredConfiguration& configuration : portfolio) {
            std::string text;
            ASSERT_EQ(configuration.size(), portfolio.front().size()) << family;
            for (std::size_t k = 0; k < configuration.size(); ++k) {
                EXPECT_EQ(configuration[k].first, portfolio.front()[k].first) << family;
                text += configuration[k].second.text() + " ";
            }
            EXPECT_TRUE(different.insert(text).second) << family << ": " << text;
        }
    }
    EXPECT_TRUE(shipped_portfolio("chess").empty());
}

}  // namespace
}  // namespace yolk::autotune
