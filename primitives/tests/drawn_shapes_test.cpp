// SPDX-License-Identifier: Apache-2.0
// Shapes that follow from an operation's declaration and that nobody has written down: each extent 0, 1, a prime, a
// power of two or one beside it, each variant any of its values, as far as the operation takes them together.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

class ShapeDraws {
   public:
    ShapeDraws(const oracle::Family& family, std::uint64_t seed) : family_(family), random_(seed) {}

    /// The fields of a description, which may be one that the operation refuses.
    [[nodiscard]] std::string text() {
        std::string text;
        for (const FieldInfo& field : family_.operation->fields()) {
            const std::optional<std::string> value = value_of(field);
            if (value) text.append(text.empty() ? "" : " ").append(field.name).append("=").append(*value);
        }
        return text;
    }

   private:
    static constexpr std::array kSizes{0U, 1U, 2U, 3U, 4U, 7U, 8U, 13U, 15U, 16U, 17U, 31U, 32U, 33U, 64U, 65U, 127U};

    [[nodiscard]] std::size_t below(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
    }
    [[nodiscard]] std::string size(const FieldInfo& field) {
        return std::to_string(std::clamp(kSizes.at(below(kSizes.size())), field.least, field.most));
    }
    /// Nothing where the declaration does not say what is allowed, or, for half of the variants, for its default.
    [[nodiscard]] std::optional<std::string> value_of(const FieldInfo& field) {
        if (field.is_list && !field.fallback.empty()) return std::nullopt;  // the environment rules widths
        if (field.is_list) return size(field) + "-" + size(field) + "-" + size(field);
        const bool is_extent = field.role == FieldRole::Extent || field.role == FieldRole::Factor;
        if (field.role == FieldRole::Neither) return std::nullopt;  // limits of iterations and the like
        if (field.allowed.starts_with("a number")) {
            if (!is_extent && below(2) == 0) return std::nullopt;
            return size(field);
        }
        if (is_extent || below(2) == 0) return std::nullopt;
        std::vector<std::string> words = words_of(field.allowed);
        return words.empty() ? std::nullopt : std::optional(std::move(words[below(words.size())]));
    }
    /// Of "i32, f32 or f64"; none of anything else.
    [[nodiscard]] static std::vector<std::string> words_of(std::string allowed) {
        const std::size_t last = allowed.rfind(" or ");
        if (last == std::string::npos) return {};
        allowed.replace(last, 4, ", ");
        std::vector<std::string> words;
        for (std::size_t begin = 0; begin <= allowed.size();) {
            const std::size_t end = std::min(allowed.find(", ", begin), allowed.size());
            words.push_back(allowed.substr(begin, end - begin));
            if (words.back().find(' ') != std::string::npos) return {};
            begin = end + 2;
        }
        return words;
    }

    const oracle::Family& family_;
    std::mt19937_64 random_;
};

bool is_small(const oracle::Problem& problem) {
    return problem.buffer_bytes().all <= 0x1p18 && problem.work().operations <= 0x1p21;
}

/// Not those whose fields have a text of their own: programs, which hyper's tests draw as graphs. exact_math has no
/// plan.
std::vector<const oracle::Family*> drawn_families() {
    std::vector<const oracle::Family*> families;
    for (const oracle::Family* family : oracle::families()) {
        bool takes_any = false;
        for (std::uint64_t attempt = 0; family->operation != nullptr && attempt < 400 && !takes_any; ++attempt)
            takes_any = family->operation->parse(ShapeDraws(*family, attempt).text()).has_value();
        if (takes_any) families.push_back(family);
    }
    return families;
}

using FamilyOnDevice = std::tuple<const oracle::Family*, std::string>;
class drawn_shapes : public ::testing::TestWithParam<FamilyOnDevice> {};
INSTANTIATE_TEST_SUITE_P(, drawn_shapes,
                         ::testing::Combine(::testing::ValuesIn(drawn_families()),
                                            ::testing::ValuesIn(testing::devices())),
                         [](const ::testing::TestParamInfo<FamilyOnDevice>& which) {
                             return std::get<0>(which.param)->name + ("_" + std::get<1>(which.param));
                         });

// Two drivers take different ones.
TEST_P(drawn_shapes, match_oracle_and_twin) {
    constexpr std::size_t kShapes = 6, kAttempts = 400;
    const auto& [family, driver] = GetParam();
    testing::SharedDevice& on = testing::shared_device(driver);
    const std::vector<std::string> drivers = testing::devices();
    const auto position = static_cast<std::uint64_t>(std::ranges::find(drivers, driver) - drivers.begin());
    ShapeDraws draws(*family, 100 + position);
    oracle::Problems problems;
    std::string refused = "nothing was tried";
    for (std::size_t attempt = 0; attempt < kAttempts && problems.size() < kShapes; ++attempt) {
        Result<std::unique_ptr<oracle::Problem>> problem = family->operation->parse(draws.text());
        if (!problem) {
            refused = problem.error().message;
            continue;
        }
        if (!is_small(**problem)) continue;
        const auto planned = (*problem)->plan(on.device, (*problem)->default_configuration(on.device.usable_info()));
        if (planned) {
            problems.push_back(*std::move(problem));
        } else {
            ASSERT_TRUE(planned.error().kind == ErrorKind::BadInput || planned.error().kind == ErrorKind::Unsupported)
                << (*problem)->name() << ": " << planned.error().message;
            refused = planned.error().message;
        }
    }
    ASSERT_FALSE(problems.empty()) << family->name << ", the last refusal: " << refused;
    ASSERT_OK_AND_ASSIGN(const oracle::CheckReport report, oracle::check_problems({.device = on.device,
                                                                                   .dispatcher = on.dispatcher,
                                                                                   .seed = 100 + position,
                                                                                   .configurations = 1,
                                                                                   .defaults_of_gpus = false},
                                                                                  *family, problems));
    EXPECT_THAT(report.failures, ::testing::IsEmpty());
    EXPECT_TRUE(report.passed());
    EXPECT_EQ(report.twin_mismatches, 0U);
    EXPECT_LE(report.worst_error, 1.0) << report.worst_case;
}

TEST(drawn_shapes_of, all_families_but_programs) { EXPECT_EQ(drawn_families().size() + 3, oracle::families().size()); }

}  // namespace
}  // namespace yolk
