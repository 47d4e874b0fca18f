// SPDX-License-Identifier: Apache-2.0
// The state files of systems and of what searches them.
#include "saved_states.hpp"

#include <cmath>

#include "gepa_state.hpp"
#include "rounds.hpp"
#include "search_checkpoint.hpp"
#include "yolk/internal/hyper/state_file.hpp"

namespace yolk::testing {
namespace {

using namespace ::yolk::hyper;

System small_system() {
    System system("s", [](const Inputs& in) { return in["x"]; });
    EXPECT_OK(system.parameters().add({.name = "w", .shape = {2}, .optimize = true}, *Tensor::create({2}, {1, 2})));
    EXPECT_OK(
        system.parameters().add({.name = "knobs",
                                 .shape = {2},
                                 .fields = {{.name = "heat", .initial = 0.5},
                                            {.name = "style", .kind = FieldKind::Choice, .choices = {"curt", "long"}}}},
                                *Tensor::create({2}, {0.5F, 1.0F})));
    EXPECT_OK(
        system.parameters().add({.name = "prompt", .shape = {0}, .optimize = true, .is_text = true}, "Say \"yes\"\n"));
    return system;
}
/// What was read is within the bounds, or else nothing has changed.
void expect_sound(const System& system, bool was_read) {
    const System before = small_system();
    for (const ParameterGroup& group : system.parameters().groups()) {
        for (const float value : group.values.values()) EXPECT_TRUE(std::isfinite(value)) << group.spec.name;
        if (was_read) continue;
        EXPECT_EQ(group.values, before.parameters().find(group.spec.name)->values);
        EXPECT_EQ(group.text, before.parameters().find(group.spec.name)->text);
    }
}
Result<void> read_small_system(const std::filesystem::path& path) {
    System system = small_system();
    const Result<StateInfo> info = load_state(system, path);
    expect_sound(system, info.has_value());
    return info ? Result<void>() : Result<void>(info.error());
}

Result<void> write_small_search(const std::filesystem::path& path) {
    SearchCheckpoint checkpoint{.settings = {{"system", "s"}, {"sigma", "0.5"}},
                                .start_reward = -1.5,
                                .best_reward = 0.25,
                                .best = std::vector<float>{3, 4},
                                .cost = {.metric_calls = 5, .host_calls = 6, .dispatches = 7, .tokens = 9},
                                .failed_candidates = 1};
    checkpoint.mean.parameters = {1, 2};
    checkpoint.mean.optimizer = {0.5F, -0.5F};
    checkpoint.mean.generation = 3;
    YOLK_TRY(const Bytes bytes, encode_checkpoint(checkpoint));
    return write_file_atomically(path, bytes);
}
Result<void> read_small_search(const std::filesystem::path& path) {
    YOLK_TRY(const Bytes bytes, read_file(path, kSearchKind.limit_bytes));
    const Result<SearchCheckpoint> read = decode_checkpoint(bytes, "'state'");
    return read ? Result<void>() : Result<void>(read.error());
}

Json rounds_settings() { return {{"system", "s"}, {"rounds", 2}}; }
Result<void> write_small_rounds(const std::filesystem::path& path) {
    prompts::RoundsState state{.phase = 1};
    state.outcome.start_reward = 0.5;
    state.outcome.best_reward = std::nan("");  // nobody knows it yet
    state.outcome.text_rounds.push_back(
        {.start_mean = 0.5, .best_mean = 1.0, .iterations = 2, .stopped_by = "budget", .cost = {.model_calls = 3}});
    YOLK_TRY(StateFile file, prompts::rounds_file(state, rounds_settings(), small_system().parameters()));
    return write_state(path, kRoundsKind, std::move(file));
}
Result<void> read_small_rounds(const std::filesystem::path& path) {
    System system = small_system();
    YOLK_TRY(const StateFile file, read_state(path, kRoundsKind));
    const auto read = prompts::rounds_state_from(file, rounds_settings(), system.parameters(), "'state'");
    expect_sound(system, read.has_value());
    return read ? Result<void>() : Result<void>(read.error());
}

Json gepa_settings() { return {{"objective", "toy"}, {"seed", 2}}; }
Result<void> write_small_gepa(const std::filesystem::path& path) {
    const prompts::GepaState state{
        .iteration = 1,
        .minibatches = 1,
        .merges_due = 1,
        .added_by_mutation = true,
        .candidates = {{.texts = {{"p", "a"}}, .scores = {0.5}},
                       {.texts = {{"p", "b\n\"c\""}}, .parents = {0}, .scores = {1.0}}},
        .merged = {{.first = 0, .second = 1, .ancestor = 0, .taken = {1}}},
        .cost = {.metric_calls = 4, .model_calls = 1, .prompt_tokens = 20, .completion_tokens = 3, .cost = 0.25},
        .log_bytes = 12};
    return write_state(path, kGepaKind, prompts::gepa_file(state, gepa_settings()));
}
Result<void> read_small_gepa(const std::filesystem::path& path) {
    YOLK_TRY(const StateFile file, read_state(path, kGepaKind));
    YOLK_TRY(const prompts::GepaState read, prompts::gepa_state_from(file, gepa_settings(), 1, "'state'"));
    for (const prompts::Candidate& candidate : read.candidates) EXPECT_EQ(candidate.scores.size(), 1U);
    return {};
}

INSTANTIATE_TEST_SUITE_P(
    , saved_states,
    ::testing::Values(SavedState{&kSystemKind,
                                 [](const auto& path) {
                                     return save_state(small_system(), path, {.scores = {{"reward", 1.5}}, .seed = 3});
                                 },
                                 read_small_system},
                      SavedState{&kSearchKind, write_small_search, read_small_search},
                      SavedState{&kRoundsKind, write_small_rounds, read_small_rounds},
                      SavedState{&kGepaKind, write_small_gepa, read_small_gepa}),
    kind_of_case);

// They were rounded to fp32 on the way.
TEST(rounds_file, keeps_numbers_as_they_were_written) {
    System tuned = small_system();
    ASSERT_OK(tuned.parameters().set("knobs", Tensor::of_numbers({1.0 / 3.0, 0})));
    ASSERT_OK_AND_ASSIGN(const StateFile file, prompts::rounds_file({}, rounds_settings(), tuned.parameters()));
    System resumed = small_system();
    ASSERT_OK(prompts::rounds_state_from(file, rounds_settings(), resumed.parameters(), "it"));
    EXPECT_EQ(written_numbers(resumed.parameters().find("knobs")->values)[0], 1.0 / 3.0);
}

}  // namespace
}  // namespace yolk::testing
