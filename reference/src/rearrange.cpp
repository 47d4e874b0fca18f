// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/rearrange.hpp"

#include <bit>

namespace yolk::reference {
namespace {

/// Goes over the output from the outermost dimension on.
class RearrangeWalk {
   public:
    RearrangeWalk(const RearrangeDesc& desc, std::span<const std::uint32_t> source) : desc_(desc), source_(source) {}

    void go(std::size_t dimension, std::size_t place, bool is_inside) {
        if (dimension == desc_.dimensions.size()) {
            out_.push_back(is_inside ? source_[place] : std::bit_cast<std::uint32_t>(desc_.fill));
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
    [[nodiscard]] std::vector<std::uint32_t> out() && { return std::move(out_); }

   private:
    const RearrangeDesc& desc_;
    std::span<const std::uint32_t> source_;
    std::vector<std::uint32_t> out_;
};

}  // namespace

std::vector<std::uint32_t> rearrange_twin(const RearrangeDesc& desc, std::span<const std::uint32_t> source) {
    RearrangeWalk walk(desc, source);
    for (std::size_t m = 0; m < desc.members; ++m) walk.go(0, desc.shared_source ? 0 : m * desc.source_elements, true);
    return std::move(walk).out();
}

}  // namespace yolk::reference
