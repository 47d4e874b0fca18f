// SPDX-License-Identifier: Apache-2.0
// The kernels beside EGGROLL's published formulas: numbers that bench/peers/eggroll_parity.py computed in float64, with
// tolerances that it derived element by element.
#include <gmock/gmock.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>

#include "parity/parity_run.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"

namespace yolk::evolve {
namespace {

using ::testing::IsSupersetOf;
using ::yolk::testing::expect_error;

struct ExpectedQuantity {
    std::string name;
    std::vector<double> values, tolerances;  ///< without tolerances: exact
};

struct StoredCase {
    ParityCase item;
    std::vector<ExpectedQuantity> expected;
};

Result<Json> stored_numbers() {
    constexpr std::size_t kLargestFile = std::size_t{1} << 20U;
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(YOLK_PARITY_NUMBERS, kLargestFile));
    return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "the stored numbers");
}

Result<std::vector<StoredCase>> stored_cases() {
    YOLK_TRY(const Json json, stored_numbers());
    std::vector<StoredCase> cases;
    for (const Json& entry : json.at("cases")) {
        YOLK_TRY(ParityCase item, read_parity_case(entry));
        cases.push_back({.item = std::move(item), .expected = {}});
        for (const Json& row : entry.at("expected")) {
            cases.back().expected.push_back({.name = row.at("quantity").get<std::string>(),
                                             .values = row.at("values").get<std::vector<double>>(),
                                             .tolerances = row.at("tolerances").get<std::vector<double>>()});
        }
    }
    return cases;
}

/// What is wrong with the first element beyond its tolerance; nothing where there is none.
std::optional<std::string> beyond_tolerance(const ExpectedQuantity& expected, const std::vector<double>& got) {
    if (got.size() != expected.values.size())
        return fmt::format("{} values instead of {}", got.size(), expected.values.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double tolerance = expected.tolerances.empty() ? 0.0 : expected.tolerances[i];
        if (!(std::abs(got[i] - expected.values[i]) <= tolerance))
            return fmt::format("element {} is {}, not {} +- {}", i, got[i], expected.values[i], tolerance);
    }
    return std::nullopt;
}

std::vector<double>* find(std::vector<ParityQuantity>& quantities, std::string_view name) {
    const auto found = std::ranges::find(quantities, name, &ParityQuantity::name);
    return found == quantities.end() ? nullptr : &found->values;
}

/// Names of the quantities that are not as expected, each once.
std::vector<std::string> wrong_quantities(const StoredCase& stored, std::vector<ParityQuantity> got) {
    std::vector<std::string> wrong;
    for (const ExpectedQuantity& expected : stored.expected) {
        const std::vector<double>* values = find(got, expected.name);
        if (values == nullptr || beyond_tolerance(expected, *values).has_value()) wrong.push_back(expected.name);
    }
    return wrong;
}

class parity : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<std::vector<ParityQuantity>> run(const ParityCase& item) const {
        return run_parity_case(device(), dispatcher(), item);
    }
};
YOLK_FOR_EACH_DEVICE(parity);

TEST_P(parity, kernels_agree_with_the_published_formulas) {
    ASSERT_OK_AND_ASSIGN(const std::vector<StoredCase> cases, stored_cases());
    ASSERT_EQ(cases.size(), 2U);
    for (const StoredCase& stored : cases) {
        SCOPED_TRACE(stored.item.name);
        ASSERT_OK_AND_ASSIGN(std::vector<ParityQuantity> got, run(stored.item));
        ASSERT_GE(stored.expected.size(), got.size());
        for (const ExpectedQuantity& expected : stored.expected) {
            const std::vector<double>* values = find(got, expected.name);
            ASSERT_NE(values, nullptr) << expected.name;
            EXPECT_EQ(beyond_tolerance(expected, *values), std::nullopt) << expected.name;
        }
    }
}

// A missing 1/sqrt(r), by a sigma that makes up for it, and 1/N in place of sqrt(N)/N, by a learning rate.
TEST_P(parity, a_wrong_scale_is_beyond_the_tolerances) {
    ASSERT_OK_AND_ASSIGN(const std::vector<StoredCase> cases, stored_cases());
    const StoredCase& stored = cases.front();
    ASSERT_EQ(stored.item.settings.rank, 3U);
    ParityCase without_root = stored.item;
    without_root.settings.sigma *= std::sqrt(3.0F);
    ASSERT_OK_AND_ASSIGN(const std::vector<ParityQuantity> unscaled, run(without_root));
    EXPECT_THAT(
        wrong_quantities(stored, unscaled),
        IsSupersetOf({"product", "transposed product", "embedding", "gradient z-score", "gradient group-z-score",
                      "gradient pair-difference", "sgd z-score", "sgd group-z-score", "sgd pair-difference"}));

    ParityCase by_number = stored.item;
    const auto root = std::sqrt(static_cast<float>(stored.item.settings.population));
    by_number.settings.learning_rate /= root;
    ASSERT_OK_AND_ASSIGN(std::vector<ParityQuantity> divided, run(by_number));
    for (const char* name : {"gradient z-score", "gradient group-z-score", "gradient pair-difference"}) {
        for (double& value : *find(divided, name)) value /= static_cast<double>(root);
    }
    EXPECT_THAT(wrong_quantities(stored, divided),
                IsSupersetOf({"gradient z-score", "gradient group-z-score", "gradient pair-difference", "sgd z-score",
                              "sgd group-z-score", "sgd pair-difference"}));
}

// The other side of every pair: outputs of members change places, and scores do.
TEST_P(parity, a_wrong_sign_is_beyond_the_tolerances) {
    ASSERT_OK_AND_ASSIGN(const std::vector<StoredCase> cases, stored_cases());
    for (const StoredCase& stored : cases) {
        ParityCase other_side = stored.item;
        const std::size_t population = other_side.settings.population;
        for (std::size_t member = 0; member < population; member += 2)
            std::swap(other_side.inputs.scores[member], other_side.inputs.scores[member + 1]);
        ASSERT_OK_AND_ASSIGN(std::vector<ParityQuantity> got, run(other_side));
        for (const char* name : {"product", "transposed product", "embedding", "vector"}) {
            std::vector<double>& values = *find(got, name);
            const std::size_t length = values.size() / (population + 1);
            for (std::size_t member = 1; member < population; member += 2) {
                const std::span<double> plus(values.data() + member * length, length);
                std::ranges::swap_ranges(plus, std::span<double>(plus.data() + length, length));
            }
        }
        EXPECT_THAT(
            wrong_quantities(stored, got),
            IsSupersetOf({"product", "transposed product", "embedding", "vector", "fitness z-score",
                          "fitness group-z-score", "fitness pair-difference", "int8 pair-difference",
                          "gradient z-score", "gradient group-z-score", "gradient pair-difference", "sgd z-score",
                          "sgd group-z-score", "sgd pair-difference", "adam z-score", "adam pair-difference"}));
    }
}

TEST(parity_cases, bad_files_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Json json, stored_numbers());
    const Json& whole = json.at("cases").front();
    const auto refused = [&](const char* pointer, const Json& value, std::string_view part) {
        Json damaged = whole;
        damaged[Json::json_pointer(pointer)] = value;
        return expect_error(read_parity_case(damaged), ErrorKind::BadInput, part);
    };
    EXPECT_OK(read_parity_case(whole));
    EXPECT_TRUE(refused("/settings", Json::object(), "seed"));
    EXPECT_TRUE(refused("/inputs/x", "text", "type must be array"));
    EXPECT_TRUE(refused("/inputs/scores", Json::array({1.0, 2.0}), "31 parameters and 2 scores"));
    EXPECT_TRUE(refused("/inputs/ids", Json::array(), "0 ids"));
    EXPECT_TRUE(refused("/settings/generations", 0, "no generations"));
}

}  // namespace
}  // namespace yolk::evolve
