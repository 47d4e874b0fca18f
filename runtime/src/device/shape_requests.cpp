// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/shape_requests.hpp"

#include <tuple>

#include "device_impl.hpp"

namespace yolk {
namespace {

constexpr std::size_t kMostShapes = 4096;

}  // namespace

bool ByFamilyAndShape::operator()(const ShapeRequest& a, const ShapeRequest& b) const {
    return std::tie(a.family, a.shape.variant, a.shape.extents) < std::tie(b.family, b.shape.variant, b.shape.extents);
}

std::vector<ShapeRequest> shape_requests(const Device& device) {
    Device::Impl& impl = *device.impl();
    const std::lock_guard lock(impl.asked_mutex);
    return {impl.asked.begin(), impl.asked.end()};
}

void note_asked(const Device& device, const TuningSpace& space) {
    Device::Impl& impl = *device.impl();
    const std::lock_guard lock(impl.asked_mutex);
    if (impl.asked.size() < kMostShapes) impl.asked.insert({space.family(), space.shape()});
}

}  // namespace yolk
