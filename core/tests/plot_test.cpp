// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/plot.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace yolk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(plot, ticks_are_round_and_within) {
    const auto ticks = [](AxisScale scale, double low, double high) {
        return round_ticks(Axis{.scale = scale, .low = low, .high = high});
    };
    EXPECT_THAT(ticks(AxisScale::Log, 1.0, 200.0), ElementsAre(1, 2, 5, 10, 20, 50, 100, 200));
    EXPECT_THAT(ticks(AxisScale::Linear, 0.0, 1.0), SizeIs(6));
    EXPECT_EQ(number_text(ticks(AxisScale::Linear, 0.0, 1.0)[1]), "0.2");
    for (const AxisScale scale : {AxisScale::Linear, AxisScale::Log}) {
        for (const double ratio : {1.0001, 1.1, 1.9, 2.9, 3.0, 7.0, 9.9, 10.0, 99.0, 999.0, 1000.0, 1e6, 1e12}) {
            for (const double low : {3.7e-7, 0.011, 1.0, 8.4, 7.7e5}) {
                const Axis axis{.scale = scale, .low = low, .high = low * ratio, .from = 10.0, .to = 110.0};
                const std::vector<double> found = round_ticks(axis);
                ASSERT_GE(found.size(), 2U) << low << " " << ratio;
                ASSERT_LE(found.size(), 15U) << low << " " << ratio;
                EXPECT_TRUE(std::ranges::is_sorted(found));
                const double slack = 2e-9 * (scale == AxisScale::Linear ? axis.high - axis.low : low);
                EXPECT_GE(found.front(), low - slack);
                EXPECT_LE(found.back(), axis.high * (1 + 2e-9));
            }
        }
    }
    for (const auto& [value, text] : std::vector<std::pair<double, const char*>>{{0.0, "0"},
                                                                                 {0.25, "0.25"},
                                                                                 {9000.0, "9000"},
                                                                                 {12000.0, "12k"},
                                                                                 {-150'000.0, "-150k"},
                                                                                 {999'999.0, "1M"},
                                                                                 {1'050'000.0, "1.05M"},
                                                                                 {3e9, "3G"},
                                                                                 {2e12, "2T"},
                                                                                 {1e20, "1e+20"}})
        EXPECT_EQ(short_number_text(value), text);
    const Axis axis{.scale = AxisScale::Log, .low = 1.0, .high = 100.0, .from = 0.0, .to = 10.0};
    EXPECT_DOUBLE_EQ(axis.at(10.0), 5.0);
    EXPECT_DOUBLE_EQ(axis.at(0.1), 0.0);
    EXPECT_DOUBLE_EQ(axis.at(1e5), 10.0);
}

TEST(plot, a_frame_lays_its_axes_along_its_edges) {
    const PlotFrame frame =
        plot_frame(400, 300, 40, axis_around(AxisScale::Linear, 0.0, 10.0), axis_around(AxisScale::Linear, -1.0, 1.0));
    EXPECT_DOUBLE_EQ(frame.x.at(frame.x.low), PlotFrame::kLeft);
    EXPECT_DOUBLE_EQ(frame.x.at(frame.x.high), 400 - PlotFrame::kRight);
    EXPECT_DOUBLE_EQ(frame.y.at(frame.y.low), 260);
    EXPECT_DOUBLE_EQ(frame.y.at(frame.y.high), PlotFrame::kTop);
    EXPECT_THAT(plot_x_axis(frame, "a & b"), HasSubstr(">a &amp; b</text>"));
    EXPECT_THAT(plot_y_axis(frame, "return"), HasSubstr(">0</text>"));
}

}  // namespace
}  // namespace yolk
