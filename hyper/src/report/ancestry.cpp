// SPDX-License-Identifier: Apache-2.0
#include "ancestry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "fronts.hpp"
#include "yolk/internal/core/page.hpp"
#include "yolk/internal/core/plot.hpp"

namespace yolk::hyper::prompts {
namespace {

// In pixels.
constexpr double kCandidateWidth = 92;
constexpr double kCandidateHeight = 36;
constexpr double kAcross = 108;
constexpr double kDown = 72;

struct Place {
    double x = 0.0;  ///< of the box's middle
    double y = 0.0;  ///< of its upper edge
};

std::vector<Place> places_of(std::span<const ReportedCandidate> candidates) {
    std::vector<std::size_t> depths;
    std::vector<std::size_t> in_row(candidates.size(), 0);
    std::vector<Place> places;
    for (const ReportedCandidate& candidate : candidates) {
        std::size_t depth = 0;
        for (const std::uint32_t parent : candidate.parents) depth = std::max(depth, depths[parent] + 1);
        depths.push_back(depth);
        places.push_back({.x = kAcross * (static_cast<double>(in_row[depth]++) + 0.5) + 6,
                          .y = kDown * static_cast<double>(depth) + 6});
    }
    return places;
}

}  // namespace

std::string ancestry_picture(std::span<const ReportedCandidate> candidates, std::uint32_t best, std::size_t run) {
    const std::vector<Place> places = places_of(candidates);
    double width = 0.0;
    double height = 0.0;
    std::string lines;
    std::string boxes;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const Place& place = places[i];
        width = std::max(width, place.x + kAcross / 2 + 6);
        height = std::max(height, place.y + kCandidateHeight + 6);
        for (const std::uint32_t parent : candidates[i].parents) {
            lines += fmt::format(
                "<path class=\"line {}\" d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\"/>\n",
                to_string(candidates[i].kind), places[parent].x, places[parent].y + kCandidateHeight, places[parent].x,
                places[parent].y + kDown - 8, place.x, place.y - 28, place.x, place.y);
        }
        boxes += fmt::format(
            "<a href=\"#run-{}-candidate-{}\"><rect class=\"box{}\" x=\"{:.0f}\" y=\"{:.0f}\" "
            "width=\"{:.0f}\" height=\"{:.0f}\" rx=\"5\"/>",
            run, i, i == best ? " best" : "", place.x - kCandidateWidth / 2, place.y, kCandidateWidth,
            kCandidateHeight);
        boxes += plot_text(place.x, place.y + 15, "middle", fmt::format("{}", i), " class=\"name\"");
        boxes += plot_text(place.x, place.y + 30, "middle", number_text(mean_of(candidates[i].scores))) + "</a>\n";
    }
    return begin_picture(width, height, "Ancestry of the prompts") + lines + boxes + "</svg>\n";
}

}  // namespace yolk::hyper::prompts
