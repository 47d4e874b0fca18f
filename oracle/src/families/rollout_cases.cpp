// SPDX-License-Identifier: Apache-2.0
#include "rollout_cases.hpp"

namespace yolk::oracle {

namespace {

// One member, one step, primes, one around a workgroup of 32; every depth; the ends of the ranks; every way to freeze;
// never_stop for 200 steps, which no device makes in one dispatch (kMaxStepsPerDispatch).
std::vector<RolloutCase> feed_forward_cases() {
    return {
        {.what = "default network", .hidden = {64}, .members = 33, .max_steps = 40},
        {.what = "no hidden layer", .hidden = {}, .members = 1, .max_steps = 1, .rank = 2},
        {.what = "one hidden unit",
         .hidden = {1},
         .members = 2,
         .episodes = 3,
         .max_steps = 500,
         .part = {.first_episode = 7}},
        {.what = "three layers", .hidden = {7, 5}, .members = 31, .episodes = 2, .max_steps = 17, .rank = 3},
        {.what = "four layers", .hidden = {3, 5, 7}, .members = 13, .max_steps = 11, .rank = 2},
        {.what = "widest layer", .hidden = {256}, .members = 3, .max_steps = 3},
        {.what = "fast, widest layer", .hidden = {256}, .members = 6, .max_steps = 7, .determinism = Determinism::Fast},
        {.what = "largest rank", .hidden = {11}, .members = 5, .max_steps = 7, .rank = 32},
        {.what = "frozen matrix", .hidden = {8}, .members = 7, .max_steps = 13, .rank = 4, .frozen = 0b0001},
        {.what = "frozen vectors", .hidden = {9}, .members = 32, .max_steps = 13, .frozen = 0b1010},
        {.what = "all frozen", .hidden = {5}, .members = 3, .max_steps = 19, .rank = 5, .frozen = 0b1111},
        {.what = "the mean", .hidden = {17}, .episodes = 37, .max_steps = 29, .rank = 3, .mean_only = true},
        {.what = "never stops", .hidden = {3}, .members = 9, .max_steps = 200, .never_stop = true},
        {.what = "members of their own", .hidden = {6}, .members = 5, .max_steps = 19, .rank = 2, .antithetic = false},
        {.what = "some of the members",
         .hidden = {9},
         .members = 7,
         .episodes = 2,
         .max_steps = 15,
         .rank = 3,
         .part = {.first_episode = 1, .first_member = 1000000}},
        {.what = "fast", .hidden = {64}, .members = 34, .max_steps = 40, .determinism = Determinism::Fast},
        {.what = "fast, three layers",
         .hidden = {7, 5},
         .members = 31,
         .episodes = 2,
         .max_steps = 17,
         .rank = 3,
         .frozen = 0b1001,
         .determinism = Determinism::Fast},
    };
}

std::vector<RolloutCase> normalized_cases() {
    return {
        {.what = "normalized",
         .hidden = {9},
         .members = 33,
         .episodes = 3,
         .max_steps = 150,
         .rank = 2,
         .part = {.first_episode = 5, .first_member = 4},
         .normalized = true},
        {.what = "normalized, no hidden layer",
         .hidden = {},
         .members = 1,
         .max_steps = 1,
         .frozen = 0b10,
         .normalized = true},
        {.what = "normalized, three layers",
         .hidden = {7, 5},
         .members = 31,
         .max_steps = 200,
         .never_stop = true,
         .antithetic = false,
         .normalized = true},
        {.what = "the mean, normalized",
         .hidden = {17},
         .episodes = 37,
         .max_steps = 29,
         .mean_only = true,
         .normalized = true},
    };
}

// One unit and many, every depth behind them, written out and not, frozen, over dispatches and restarts.
std::vector<RolloutCase> recurrent_cases() {
    return {
        {.what = "one recurrent unit", .hidden = {}, .members = 33, .episodes = 2, .max_steps = 40, .recurrent = 1},
        {.what = "recurrent, hidden layer",
         .hidden = {9},
         .members = 31,
         .episodes = 3,
         .max_steps = 23,
         .rank = 3,
         .part = {.first_episode = 2, .first_member = 40},
         .recurrent = 7},
        {.what = "recurrent, four layers",
         .hidden = {3, 5, 7},
         .members = 6,
         .max_steps = 11,
         .rank = 2,
         .recurrent = 5},
        {.what = "many recurrent units", .hidden = {}, .members = 4, .max_steps = 5, .recurrent = 61},
        {.what = "recurrent, largest rank", .hidden = {}, .members = 3, .max_steps = 7, .rank = 32, .recurrent = 6},
        {.what = "recurrent, frozen in part",
         .hidden = {4},
         .members = 5,
         .max_steps = 13,
         .rank = 2,
         .frozen = 0b01001001,
         .antithetic = false,
         .recurrent = 3},
        {.what = "recurrent, the mean",
         .hidden = {},
         .episodes = 37,
         .max_steps = 29,
         .mean_only = true,
         .recurrent = 8},
        {.what = "recurrent, never stops",
         .hidden = {},
         .members = 9,
         .max_steps = 200,
         .never_stop = true,
         .recurrent = 4},
        {.what = "recurrent, normalized",
         .hidden = {5},
         .members = 33,
         .max_steps = 90,
         .never_stop = true,
         .normalized = true,
         .recurrent = 3},
        {.what = "recurrent, fast",
         .hidden = {},
         .members = 32,
         .max_steps = 12,
         .determinism = Determinism::Fast,
         .recurrent = 2},
    };
}

}  // namespace

std::vector<RolloutCase> whole_rollouts() {
    std::vector<RolloutCase> all = feed_forward_cases();
    for (const auto& more : {normalized_cases(), recurrent_cases()}) all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::vector<RolloutCase> rollouts_by_steps() {
    return {
        {.what = "default network, by steps", .hidden = {64}, .members = 256, .max_steps = 32},
        {.what = "never stops, by steps",
         .hidden = {7, 5},
         .members = 256,
         .max_steps = 32,
         .rank = 2,
         .never_stop = true,
         .antithetic = false},
        {.what = "recurrent, never stops, by steps",
         .hidden = {},
         .members = 256,
         .max_steps = 32,
         .rank = 2,
         .never_stop = true,
         .recurrent = 6},
    };
}

}  // namespace yolk::oracle
