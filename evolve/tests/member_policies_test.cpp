// SPDX-License-Identifier: Apache-2.0
// A batch of members' policies beside each member's own network on the host, in fp64.
#include "yolk/internal/evolve/member_policies.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "fixtures.hpp"
#include "yolk/internal/evolve/member_parameters.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr NoiseContext kPoliciesWhen{.seed = 11, .generation = 5, .time = 4, .sigma = 0.25F};
constexpr std::uint32_t kBatch = 6;

class member_policies : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        values = drawn_scores(table.element_count(), 3);
        ASSERT_OK_AND_ASSIGN(parameters,
                             device().create_buffer({.size_bytes = table.size_bytes(), .label = "policies"}));
        ASSERT_OK(dispatcher().upload(parameters, std::as_bytes(std::span(values))));
    }

    [[nodiscard]] Result<std::unique_ptr<MemberPolicies>> make(std::vector<std::uint32_t> widths = {3, 5, 2}) {
        return MemberPolicies::create(device(), dispatcher(), table, parameters,
                                      {.network = {.widths = std::move(widths)}, .members = kBatch, .rank = 2});
    }

    /// The network of one member for its observation [3].
    [[nodiscard]] std::vector<double> expected(std::uint32_t member, std::span<const float> observation) const {
        const std::vector<float> own =
            member_parameters(table, values, kPoliciesWhen, 2, true, static_cast<std::int32_t>(member)).value();
        std::vector<double> x(observation.begin(), observation.end());
        const float* next = own.data();
        for (const std::uint32_t out : {5U, 2U}) {
            const std::size_t in = x.size();
            std::vector<double> y(out);
            for (std::uint32_t i = 0; i < out; ++i) {
                y[i] = static_cast<double>(next[out * in + i]);
                for (std::size_t j = 0; j < in; ++j) y[i] += static_cast<double>(next[i * in + j]) * x[j];
                if (out == 5) y[i] = std::tanh(y[i]);
            }
            next += out * (in + 1);
            x = std::move(y);
        }
        return x;
    }

    const ParameterTable table =
        *ParameterTable::create({{.name = "layer0.weight", .rows = 5, .columns = 3},
                                 {.name = "layer0.bias", .rows = 5, .perturbation = Perturbation::Vector},
                                 {.name = "layer1.weight", .rows = 2, .columns = 5, .rank = 1},
                                 {.name = "layer1.bias", .rows = 2, .perturbation = Perturbation::Frozen}});
    std::vector<float> values;
    Buffer parameters;
};

YOLK_FOR_EACH_DEVICE(member_policies);

TEST_P(member_policies, are_those_of_each_member) {
    ASSERT_OK_AND_ASSIGN(const auto policies, make());
    for (const std::uint32_t first : {0U, 7U}) {
        ASSERT_OK(policies->begin(kPoliciesWhen, first));
        for (std::uint32_t step = 0; step < 3; ++step) {
            const std::vector<float> given = drawn_scores(3 * kBatch, 20 + step);
            std::ranges::copy(given, policies->observations().begin());
            ASSERT_OK(policies->submit());
            ASSERT_OK_AND_ASSIGN(const std::span<const float> found, policies->outputs());
            ASSERT_EQ(found.size(), 2 * kBatch);
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                const std::vector<double> wanted = expected(first + i, std::span(given).subspan(3 * i, 3));
                for (std::uint32_t k = 0; k < 2; ++k)
                    EXPECT_NEAR(static_cast<double>(found[2 * i + k]), wanted[k], 1e-5) << first + i;
            }
        }
    }
}

/// A recurrent layer of 4 units for 3 observations, 2 outputs: frozen in part.
class recurrent_member_policies : public ::yolk::testing::DeviceTest {
   protected:
    const PolicyNetwork network{.widths = {3, 2}, .recurrent = 4};
    const ParameterTable table = [this] {
        std::vector<ParameterDesc> parameters = network.parameters();
        parameters[1].perturbation = parameters[2].perturbation = Perturbation::Frozen;
        return *ParameterTable::create(std::move(parameters));
    }();

    static std::vector<double> dense(const float*& next, const std::vector<double>& x, std::size_t out) {
        std::vector<double> y(out);
        for (std::size_t i = 0; i < out; ++i) {
            y[i] = static_cast<double>(next[out * x.size() + i]);
            for (std::size_t j = 0; j < x.size(); ++j) y[i] += static_cast<double>(next[i * x.size() + j]) * x[j];
        }
        next += out * (x.size() + 1);
        return y;
    }
    /// Outputs; `memory` moves on.
    static std::vector<double> step(const std::vector<float>& own, std::span<const float> x,
                                    std::vector<double>& memory) {
        const float* next = own.data();
        const auto joined = [&](const std::vector<double>& seen) {
            std::vector<double> all(x.begin(), x.end());
            all.insert(all.end(), seen.begin(), seen.end());
            return all;
        };
        std::vector<double> gate = dense(next, joined(memory), memory.size()), gated = memory;
        for (std::size_t u = 0; u < gate.size(); ++u) gated[u] *= gate[u] = 1.0 / (1.0 + std::exp(-gate[u]));
        const std::vector<double> candidate = dense(next, joined(gated), memory.size());
        for (std::size_t u = 0; u < gate.size(); ++u) memory[u] += gate[u] * (std::tanh(candidate[u]) - memory[u]);
        return dense(next, memory, 2);
    }
};
YOLK_FOR_EACH_DEVICE(recurrent_member_policies);

TEST_P(recurrent_member_policies, remember_until_they_begin_again) {
    const std::vector<float> values = drawn_scores(table.element_count(), 3);
    ASSERT_OK_AND_ASSIGN(const Buffer parameters,
                         device().create_buffer({.size_bytes = table.size_bytes(), .label = "policies"}));
    ASSERT_OK(dispatcher().upload(parameters, std::as_bytes(std::span(values))));
    ASSERT_OK_AND_ASSIGN(const auto policies,
                         MemberPolicies::create(device(), dispatcher(), table, parameters,
                                                {.network = network, .members = kBatch, .rank = 2}));
    for (const std::uint32_t first : {0U, 7U}) {
        ASSERT_OK(policies->begin(kPoliciesWhen, first));
        std::vector<std::vector<double>> memories(kBatch, std::vector<double>(4));
        for (std::uint32_t at = 0; at < 5; ++at) {
            const std::vector<float> given = drawn_scores(3 * kBatch, 20 + at);
            std::ranges::copy(given, policies->observations().begin());
            ASSERT_OK(policies->submit());
            ASSERT_OK_AND_ASSIGN(const std::span<const float> found, policies->outputs());
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                const std::vector<float> own =
                    member_parameters(table, values, kPoliciesWhen, 2, true, static_cast<std::int32_t>(first + i))
                        .value();
                const std::vector<double> wanted = step(own, std::span(given).subspan(3 * i, 3), memories[i]);
                for (std::uint32_t k = 0; k < 2; ++k)
                    EXPECT_NEAR(static_cast<double>(found[2 * i + k]), wanted[k], 1e-5) << first + i << ", step " << at;
            }
        }
    }
}

TEST_P(member_policies, two_batches_overlap) {
    ASSERT_OK_AND_ASSIGN(const auto left, make());
    ASSERT_OK_AND_ASSIGN(const auto right, make());
    const std::vector<float> given = drawn_scores(3 * kBatch, 9);
    for (MemberPolicies* const each : {left.get(), right.get()}) {
        ASSERT_OK(each->begin(kPoliciesWhen, 2));
        std::ranges::copy(given, each->observations().begin());
        ASSERT_OK(each->submit());
    }
    ASSERT_OK_AND_ASSIGN(const std::span<const float> a, right->outputs());
    ASSERT_OK_AND_ASSIGN(const std::span<const float> b, left->outputs());
    EXPECT_TRUE(std::ranges::equal(a, b));
}

TEST_P(member_policies, refuse_what_is_out_of_order_or_does_not_fit) {
    ASSERT_OK_AND_ASSIGN(const auto policies, make());
    EXPECT_TRUE(expect_error(policies->submit(), ErrorKind::BadInput, "begin()"));
    EXPECT_TRUE(expect_error(policies->outputs(), ErrorKind::BadInput, "submit()"));
    ASSERT_OK(policies->begin(kPoliciesWhen, 0));
    ASSERT_OK(policies->submit());
    EXPECT_TRUE(expect_error(policies->submit(), ErrorKind::BadInput, "again"));
    EXPECT_OK(policies->begin(kPoliciesWhen, 0));  // waits for what runs
    EXPECT_TRUE(expect_error(make({3, 4, 2}), ErrorKind::BadInput, "matrix and a bias"));
    EXPECT_TRUE(expect_error(make({3}), ErrorKind::BadInput, "two widths"));
}

}  // namespace
}  // namespace yolk::evolve
