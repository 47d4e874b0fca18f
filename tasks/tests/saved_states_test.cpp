// SPDX-License-Identifier: Apache-2.0
// The state file of a model.
#include "saved_states.hpp"

#include <cmath>

#include "yolk/learn.hpp"

namespace yolk::testing {
namespace {

tasks::Model small_model() {
    tasks::Model model{
        .data = "d", .shape = {2}, .columns = {"x", "y"}, .classes = {"a", "b"}, .network = {.hidden = {1}}};
    model.standardization = {.mean = {1, 2}, .scale = {3, 4}};
    model.parameters = {{1, 2}, {3}, {4, 5}, {6, 7}};
    return model;
}
Result<void> read_small_model(const std::filesystem::path& path) {
    YOLK_TRY(const tasks::Model read, tasks::load_model(path));
    EXPECT_EQ(read.parameters.size(), 4U);
    for (const std::vector<float>& values : read.parameters) {
        for (const float value : values) EXPECT_TRUE(std::isfinite(value));
    }
    return {};
}

INSTANTIATE_TEST_SUITE_P(, saved_states,
                         ::testing::Values(SavedState{
                             &kModelKind, [](const auto& path) { return tasks::save_model(path, small_model()); },
                             read_small_model}),
                         kind_of_case);

}  // namespace
}  // namespace yolk::testing
