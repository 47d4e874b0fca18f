// SPDX-License-Identifier: Apache-2.0
#include "submission_pace.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

namespace yolk {
namespace {

constexpr std::uint64_t power(unsigned exponent) { return std::uint64_t{1} << exponent; }

struct PaceCase {
    const char* what;
    std::uint64_t now;
    PaceSample sample;
    std::uint64_t next;
};

// Seconds are powers of two, as kPieceSeconds is, so that the quotients are exact.
constexpr PaceCase kPaceCases[] = {
    {"as wanted", power(28), {power(28), 1, 0.125}, power(28)},
    {"just not early", power(28), {power(28), 1, 0.0625}, power(28)},
    {"just not late", power(28), {power(28), 1, 0.25}, power(28)},
    {"early by four", power(28), {power(28), 1, 0.03125}, power(30)},
    {"early by four, in pieces", power(28), {power(32), 16, 0.5}, power(30)},
    {"early by far: sixteenfold at most", power(20), {power(20), 1, 1e-6}, power(24)},
    {"early, half full", power(28), {power(27), 1, 0.03125}, power(29)},
    {"early, but less than half full: says nothing", power(28), {power(27) - 1, 1, 0.001}, power(28)},
    {"early, never above the largest", power(39), {power(39), 1, 0.001}, kLargestPieceCost},
    {"at the largest", kLargestPieceCost, {power(40), 1, 0.001}, kLargestPieceCost},
    {"late by four", power(28), {power(28), 1, 0.5}, power(26)},
    {"late by four, in pieces", power(28), {power(30), 4, 2.0}, power(26)},
    {"late by far: a sixteenth at least", power(28), {power(28), 1, 3600.0}, power(24)},
    {"late, never below the smallest", power(21), {power(21), 1, 3600.0}, kSmallestPieceCost},
    {"late, a sixteenth full", power(28), {power(24), 1, 0.5}, power(24)},
    {"late, but little work: it compiled, or cannot be cut", power(28), {power(24) - 1, 1, 60.0}, power(28)},
    {"late, but seen too late", power(28), {power(28), 1, 60.0, false}, power(28)},
    {"early even as seen too late", power(28), {power(28), 1, 0.03125, false}, power(30)},
    {"a workgroup that cannot be cut, early", power(28), {power(31), 1, 0.03125}, power(30)},
    {"a workgroup that cannot be cut, late", power(28), {power(31), 1, 0.5}, power(26)},
    {"nothing that could be cut", power(28), {0, 1, 60.0}, power(28)},
    {"no pieces", power(28), {power(28), 0, 60.0}, power(28)},
    {"no time", power(28), {power(28), 1, 0.0}, power(28)},
    {"not a time", power(28), {power(28), 1, std::nan("")}, power(28)},
    {"more than any cost", power(28), {UINT64_MAX, 1, 0.5}, power(26)},
};

TEST(submission_pace, follows_the_times_of_pieces) {
    for (const PaceCase& c : kPaceCases) EXPECT_EQ(next_piece_cost(c.now, c.sample), c.next) << c.what;
}

// Devices of 10^7 to 10^13 multiply-adds a second, and recordings that take one 40 s: the first pieces are the shortest
// for fast devices, and after five recordings pieces take what they should, within the limits of their cost.
TEST(submission_pace, settles_within_five_recordings) {
    for (const double rate : {1e7, 1e8, 2e9, 3e10, 1e11, 1e13}) {
        SubmissionPace pace;
        const double cost = 40.0 * rate;
        double piece_seconds = 0.0;
        for (int recording = 0; recording < 6; ++recording) {
            const double pieces = std::ceil(cost / static_cast<double>(pace.piece_cost()));
            piece_seconds = cost / pieces / rate;
            pace.observe({.cost = static_cast<std::uint64_t>(cost),
                          .pieces = static_cast<std::uint64_t>(pieces),
                          .seconds = cost / rate});
        }
        const bool at_the_largest = pace.piece_cost() == kLargestPieceCost;
        EXPECT_LE(piece_seconds, 2.0 * kPieceSeconds) << rate;
        EXPECT_TRUE(at_the_largest || piece_seconds >= kPieceSeconds / 2.0) << rate;
        EXPECT_EQ(at_the_largest, rate > 1e12) << rate;
    }
}

// A full recording at the first cost: as long as wanted, four times as long, or a minute, as where the driver compiles.
constexpr PaceSample kInTime{.cost = kFirstPieceCost, .seconds = 0.125};
constexpr PaceSample kLate{.cost = kFirstPieceCost, .seconds = 0.5};
constexpr PaceSample kCompiled{.cost = kFirstPieceCost, .seconds = 60.0};
constexpr PaceSample kLittle{.cost = 1, .seconds = 0.001};

std::uint64_t piece_cost_after(std::initializer_list<PaceSample> samples) {
    SubmissionPace pace;
    for (const PaceSample& sample : samples) pace.observe(sample);
    return pace.piece_cost();
}

TEST(submission_pace, one_late_recording_changes_nothing) {
    EXPECT_EQ(piece_cost_after({kCompiled}), kFirstPieceCost);
    EXPECT_EQ(piece_cost_after({kCompiled, kInTime, kCompiled, kInTime, kLate}), kFirstPieceCost);
}

TEST(submission_pace, two_in_a_row_make_pieces_smaller_by_the_time_of_the_second) {
    EXPECT_EQ(piece_cost_after({kLate, kLate}), kFirstPieceCost / 4);
    EXPECT_EQ(piece_cost_after({kCompiled, kLate}), kFirstPieceCost / 4);
    EXPECT_EQ(piece_cost_after({kInTime, kLate, kInTime, kCompiled, kLate}), kFirstPieceCost / 4);
}

TEST(submission_pace, a_third_in_a_row_needs_no_fourth) {
    EXPECT_EQ(piece_cost_after({kCompiled, kCompiled}), kFirstPieceCost / 16);
    EXPECT_EQ(piece_cost_after({kCompiled, kCompiled, kCompiled}), kFirstPieceCost / 256);
}

TEST(submission_pace, recordings_that_say_nothing_do_not_come_between) {
    EXPECT_EQ(piece_cost_after({kLate, kLittle, kLate}), kFirstPieceCost / 4);
    PaceSample seen_too_late = kLate;
    seen_too_late.exact = false;
    EXPECT_EQ(piece_cost_after({kLate, seen_too_late}), kFirstPieceCost);
    EXPECT_EQ(piece_cost_after({kLate, seen_too_late, kLate}), kFirstPieceCost / 4);
    PaceSample quick_at_least = kInTime;
    quick_at_least.exact = false;
    EXPECT_EQ(piece_cost_after({kLate, quick_at_least, kLate}), kFirstPieceCost);
}

// An update of a tenth of the cost between the roll-outs: .05 s for it is .5 s for a full piece.
TEST(submission_pace, small_recordings_are_judged_by_what_a_full_piece_would_take) {
    constexpr PaceSample kTenthAtThatRate{.cost = kFirstPieceCost / 10, .seconds = 0.05};
    EXPECT_EQ(piece_cost_after({kLate, kTenthAtThatRate, kLate}), kFirstPieceCost / 4);
    EXPECT_EQ(piece_cost_after({kLate, kTenthAtThatRate, kTenthAtThatRate, kLate}), kFirstPieceCost / 4);
    constexpr PaceSample kTenthInTime{.cost = kFirstPieceCost / 10, .seconds = 0.02};
    EXPECT_EQ(piece_cost_after({kLate, kTenthInTime, kLate}), kFirstPieceCost);
    const auto judged = [](std::uint64_t cost, double seconds) {
        return judge_pace(power(28), {.cost = cost, .seconds = seconds});
    };
    EXPECT_EQ(judged(power(27), 0.25), PaceVerdict::InTime) << "full enough to be taken at its word";
    EXPECT_EQ(judged(power(27) - 1, 0.25), PaceVerdict::SaysNothing);
    EXPECT_EQ(judged(power(26), 0.0625), PaceVerdict::InTime);
    EXPECT_EQ(judged(power(26), 0.0703125), PaceVerdict::SaysNothing);
    EXPECT_EQ(judged(power(26), 0.3), PaceVerdict::Late);
}

// A sixteenth of what the rate allows in an eighth of a second.
TEST(submission_pace, begins_at_the_measured_rate) {
    const auto begun_at = [](double rate) {
        SubmissionPace pace;
        pace.begin_at(rate);
        return pace.piece_cost();
    };
    EXPECT_EQ(begun_at(static_cast<double>(power(41))), power(34));
    EXPECT_EQ(begun_at(static_cast<double>(power(34))), kFirstPieceCost) << "slow: as without a rate";
    EXPECT_EQ(begun_at(1e30), kLargestPieceCost);
    EXPECT_EQ(begun_at(0.0), kFirstPieceCost);
    EXPECT_EQ(begun_at(std::nan("")), kFirstPieceCost);
}

TEST(submission_pace, a_rate_changes_nothing_after_a_time_or_where_it_is_fixed) {
    SubmissionPace seen;
    seen.observe(kInTime);
    seen.begin_at(1e13);
    EXPECT_EQ(seen.piece_cost(), kFirstPieceCost);
    SubmissionPace fixed;
    fixed.fix(5);
    fixed.begin_at(1e13);
    EXPECT_EQ(fixed.piece_cost(), 5U);
}

TEST(submission_pace, a_workgroup_may_cost_as_much_as_before_the_rate_was_known) {
    SubmissionPace pace;
    pace.begin_at(1e13);
    EXPECT_EQ(pace.first_cost(), kFirstPieceCost);
}

TEST(submission_pace, stays_where_it_is_fixed) {
    SubmissionPace pace;
    EXPECT_EQ(pace.piece_cost(), kFirstPieceCost);
    pace.fix(5);
    pace.observe({.cost = 5, .pieces = 1, .seconds = 60.0});
    pace.observe({.cost = 5, .pieces = 1, .seconds = 60.0});
    pace.observe({.cost = 5, .pieces = 1, .seconds = 1e-6});
    EXPECT_EQ(pace.piece_cost(), 5U);
}

}  // namespace
}  // namespace yolk
