// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/parameters.hpp"

#include <gmock/gmock.h>

#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

TEST(parameters, lie_one_behind_the_other_in_id_order) {
    ASSERT_OK_AND_ASSIGN(const ParameterTable table,
                         ParameterTable::create({{.name = "a", .rows = 3, .columns = 5},
                                                 {.name = "b", .rows = 7, .perturbation = Perturbation::Vector},
                                                 {.name = "c", .rows = 1, .perturbation = Perturbation::Frozen}}));
    EXPECT_EQ(table.offset(ParameterId(0)), 0U);
    EXPECT_EQ(table.offset(ParameterId(1)), 15U);
    EXPECT_EQ(table.offset(ParameterId(2)), 22U);
    EXPECT_EQ(table.element_count(), 23U);
    EXPECT_EQ(table.size_bytes(), 92U);
    EXPECT_EQ(table.parameters()[1].name, "b");
}

TEST(parameters, none_is_legal) {
    ASSERT_OK_AND_ASSIGN(const ParameterTable table, ParameterTable::create({}));
    EXPECT_EQ(table.element_count(), 0U);
}

TEST(parameters, bad_descriptions_are_refused) {
    EXPECT_TRUE(expect_error(ParameterTable::create({{.name = "", .rows = 1}}), ErrorKind::BadInput, "empty name"));
    EXPECT_TRUE(expect_error(ParameterTable::create({{.name = "a", .rows = 1}, {.name = "a", .rows = 2}}),
                             ErrorKind::BadInput, "\"a\""));
    EXPECT_TRUE(
        expect_error(ParameterTable::create({{.name = "a", .rows = 0}}), ErrorKind::BadInput, "\"a\" is 0 by 1"));
    EXPECT_TRUE(expect_error(ParameterTable::create({{.name = "a", .rows = 1, .columns = 0}}), ErrorKind::BadInput,
                             "\"a\" is 1 by 0"));
}

TEST(parameters, ranks_are_the_matrices_own_or_the_runs) {
    ASSERT_OK_AND_ASSIGN(
        const ParameterTable table,
        ParameterTable::create({{.name = "a", .rows = 3, .columns = 5, .rank = 32},
                                {.name = "b", .rows = 3, .columns = 5},
                                {.name = "c", .rows = 3, .perturbation = Perturbation::Frozen, .rank = 2}}));
    EXPECT_EQ(rank_of(table.parameters()[0], 4), 32U);
    EXPECT_EQ(rank_of(table.parameters()[1], 4), 4U);
    EXPECT_TRUE(expect_error(ParameterTable::create({{.name = "a", .rows = 3, .columns = 5, .rank = 33}}),
                             ErrorKind::BadInput, "\"a\" has noise of rank 33; it must be from 1 to 32"));
    EXPECT_TRUE(expect_error(
        ParameterTable::create({{.name = "v", .rows = 3, .perturbation = Perturbation::Vector, .rank = 1}}),
        ErrorKind::BadInput, "\"v\" is a vector"));
}

// 2^31 - 1 elements are the most, in one parameter or in several; products beyond 64 bits cannot arise from 32-bit
// extents.
TEST(parameters, element_count_is_limited) {
    EXPECT_OK(ParameterTable::create({{.name = "a", .rows = 0x7FFFFFFFU}}));
    EXPECT_TRUE(expect_error(ParameterTable::create({{.name = "a", .rows = 0x80000000U}}), ErrorKind::BadInput,
                             "2147483648 elements"));
    EXPECT_TRUE(expect_error(ParameterTable::create({{.name = "a", .rows = 0x7FFFFFFFU}, {.name = "b", .rows = 1}}),
                             ErrorKind::BadInput, "up to \"b\""));
    EXPECT_TRUE(expect_error(ParameterTable::create({{.name = "a", .rows = 0xFFFFFFFFU, .columns = 0xFFFFFFFFU}}),
                             ErrorKind::BadInput, "elements"));
}

TEST(parameters, ids_have_24_bits) {
    std::vector<ParameterDesc> parameters(std::size_t{kMaxParameterId} + 2);
    EXPECT_TRUE(
        expect_error(ParameterTable::create(std::move(parameters)), ErrorKind::BadInput, "16777217 parameters"));
}

}  // namespace
}  // namespace yolk
