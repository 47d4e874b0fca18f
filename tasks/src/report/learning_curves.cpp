// SPDX-License-Identifier: Apache-2.0
#include "learning_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace yolk::tasks {
namespace {

/// Indices of the points to draw: all, or of each stretch the least and the greatest, in order.
std::vector<std::size_t> drawn_points(const std::vector<LearningPoint>& points, LearningReading up, std::size_t most) {
    const std::size_t count = points.size();
    std::vector<std::size_t> drawn;
    if (count <= most) {
        for (std::size_t i = 0; i < count; ++i) drawn.push_back(i);
        return drawn;
    }
    const std::size_t stretches = most / 2;
    for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
        std::size_t least = stretch * count / stretches;
        std::size_t greatest = least;
        for (std::size_t i = least; i < (stretch + 1) * count / stretches; ++i) {
            // Negated, so that a score which is not finite gives way to any other.
            if (!(up(points[i]) >= up(points[least]))) least = std::isnan(up(points[i])) ? least : i;
            if (!(up(points[i]) <= up(points[greatest]))) greatest = std::isnan(up(points[i])) ? greatest : i;
        }
        drawn.push_back(std::min(least, greatest));
        if (least != greatest) drawn.push_back(std::max(least, greatest));
    }
    return drawn;
}

struct Place {
    double x = 0.0;
    double y = 0.0;
};

std::vector<Place> finite_places(const LearningLog& log, LearningReading across, LearningReading up) {
    std::vector<Place> places;
    for (const LearningPoint& point : log.points)
        if (std::isfinite(up(point))) places.push_back({across(point), up(point)});
    return places;
}

std::optional<double> value_at(const std::vector<Place>& places, double x) {
    const auto after = std::ranges::lower_bound(places, x, {}, &Place::x);
    if (after == places.end()) return std::nullopt;
    if (after->x == x) return after->y;
    if (after == places.begin()) return std::nullopt;
    const Place& before = *(after - 1);
    return before.y + (after->y - before.y) * (x - before.x) / (after->x - before.x);
}

/// Between the sorted values on both sides of it.
double quantile_of(const std::vector<double>& sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto before = static_cast<std::size_t>(at);
    const double after = sorted[std::min(before + 1, sorted.size() - 1)];
    return sorted[before] + (after - sorted[before]) * (at - static_cast<double>(before));
}

}  // namespace

LearningReading place_on(LearningAxis axis) {
    switch (axis) {
        case LearningAxis::Evaluations: return [](const LearningPoint& point) { return point.evaluations; };
        case LearningAxis::Seconds: return [](const LearningPoint& point) { return point.seconds; };
        case LearningAxis::Generation: break;
    }
    return [](const LearningPoint& point) { return static_cast<double>(point.generation); };
}

std::string_view axis_name(LearningAxis axis, LearningLogKind kind) {
    switch (axis) {
        case LearningAxis::Evaluations: return evaluations_name(kind);
        case LearningAxis::Seconds: return "seconds";
        case LearningAxis::Generation: break;
    }
    return "generations";
}

bool has_finite(const LearningLog& log, LearningReading up) {
    return std::ranges::any_of(log.points, [up](const LearningPoint& point) { return std::isfinite(up(point)); });
}

PlotFrame curve_frame(double width, double height, const LogList& logs, LearningReading across,
                      std::initializer_list<LearningReading> up, bool from_zero) {
    double last = 0.0;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const LearningLog* log : logs) {
        if (!log->points.empty()) last = std::max(last, across(log->points.back()));
        for (const LearningPoint& point : log->points) {
            for (const LearningReading reading : up) {
                if (!std::isfinite(reading(point))) continue;
                low = std::min(low, reading(point));
                high = std::max(high, reading(point));
            }
        }
    }
    Axis y = low <= high ? axis_around(AxisScale::Linear, low, high) : Axis{};
    if (from_zero) y.low = 0.0;
    return plot_frame(width, height, 40.0, {.scale = AxisScale::Linear, .low = 0.0, .high = last > 0.0 ? last : 1.0},
                      y);
}

Curve curve_through(const PlotFrame& frame, const std::vector<LearningPoint>& points, LearningReading across,
                    LearningReading up, std::size_t most) {
    Curve curve;
    bool pen_down = false;
    for (const std::size_t i : drawn_points(points, up, most)) {
        const LearningPoint& point = points[i];
        const bool finite = std::isfinite(up(point));
        if (finite) {
            curve.path +=
                fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", frame.x.at(across(point)), frame.y.at(up(point)));
            if (!pen_down) curve.path += "h.1";  // a single point is seen, too
            ++curve.points;
        }
        pen_down = finite;
    }
    return curve;
}

std::vector<TypicalPoint> typical_of(const LogList& logs, LearningReading across, LearningReading up,
                                     std::size_t most) {
    std::vector<std::vector<Place>> runs;
    double first = std::numeric_limits<double>::infinity();
    double last = 0.0;
    for (const LearningLog* log : logs) {
        runs.push_back(finite_places(*log, across, up));
        if (runs.back().empty()) continue;
        first = std::min(first, runs.back().front().x);
        last = std::max(last, runs.back().back().x);
    }
    // Every generation, where there are few.
    const double steps = across == place_on(LearningAxis::Generation)
                             ? std::min(last - first, static_cast<double>(most - 1))
                             : static_cast<double>(most - 1);
    std::vector<TypicalPoint> typical;
    for (double step = 0.0; step <= steps; step += 1.0) {
        const double x = steps > 0.0 ? first + (last - first) * step / steps : first;
        std::vector<double> values;
        for (const std::vector<Place>& run : runs)
            if (const auto value = value_at(run, x)) values.push_back(*value);
        if (values.size() < 2) continue;
        std::ranges::sort(values);
        typical.push_back({x, quantile_of(values, 0.25), quantile_of(values, 0.5), quantile_of(values, 0.75)});
    }
    return typical;
}

std::string median_path(const PlotFrame& frame, const std::vector<TypicalPoint>& typical) {
    std::string path;
    for (const TypicalPoint& point : typical)
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x.at(point.x), frame.y.at(point.median));
    return path;
}

std::string quartile_path(const PlotFrame& frame, const std::vector<TypicalPoint>& typical) {
    std::string path;
    const auto add = [&](double x, double y) {
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x.at(x), frame.y.at(y));
    };
    for (const TypicalPoint& point : typical) add(point.x, point.high);
    for (std::size_t i = typical.size(); i-- > 0;) add(typical[i].x, typical[i].low);
    return path.empty() ? path : path + "Z";
}

}  // namespace yolk::tasks
