// SPDX-License-Identifier: Apache-2.0
#include "yolk/rearrange.hpp"

#include <bit>

#include "twin_source.hpp"

namespace yolk::reference {
namespace {

/// Goes over the output from the outermost dimension on.
class RearrangeWalk {
   public:
    RearrangeWalk(const RearrangeDesc& desc, std::span<const std::uint32_t> source, std::span<std::uint32_t> out)
        : desc_(desc), source_(source), out_(out) {}

    void go(std::size_t dimension, std::size_t place, bool is_inside) {
        if (dimension == desc_.dimensions.size()) {
            out_[next_++] = is_inside ? source_[place] : std::bit_cast<std::uint32_t>(desc_.fill);
            return;
        }
        const RearrangeDimension& d = desc_.dimensions[dimension];
        for (std::uint32_t i = 0; i < d.extent; ++i) {
            const std::int64_t index = std::int64_t{d.start} + std::int64_t{d.step} * std::int64_t{i};
            const bool is_within = index >= 0 && index < std::int64_t{d.source_extent};
            go(dimension + 1, is_within ? place + static_cast<std::size_t>(index) * d.stride : place,
               is_inside && is_within);
        }
    }

   private:
    const RearrangeDesc& desc_;
    std::span<const std::uint32_t> source_;
    std::span<std::uint32_t> out_;
    std::size_t next_ = 0;
};

}  // namespace

void run_twin(const RearrangeDesc& desc, const HostViews& views) {
    RearrangeWalk walk(desc, views.in<std::uint32_t>(0), views.out<std::uint32_t>(1));
    for (std::size_t m = 0; m < desc.members; ++m) walk.go(0, desc.shared_source ? 0 : m * desc.source_elements, true);
}
template struct Twin<RearrangeDesc>;

}  // namespace yolk::reference
