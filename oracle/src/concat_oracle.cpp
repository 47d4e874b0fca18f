// SPDX-License-Identifier: Apache-2.0
#include "concat_oracle.hpp"
#include "yolk/reference/concat.hpp"

namespace yolk::oracle {

std::uint32_t concat_oracle(const ConcatDesc& desc, const std::vector<reference::Words>& parts, std::size_t member,
                            std::size_t outer, std::size_t along, std::size_t inner) {
    std::size_t p = 0;
    for (; along >= desc.parts[p].extent; ++p) along -= desc.parts[p].extent;
    const std::size_t row = desc.parts[p].shared ? outer : member * desc.outer + outer;
    return parts[p][(row * desc.parts[p].extent + along) * desc.inner + inner];
}

}  // namespace yolk::oracle
