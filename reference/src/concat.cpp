// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/concat.hpp"

namespace yolk::reference {

Words concat_twin(const ConcatDesc& desc, const std::vector<Words>& parts) {
    Words whole;
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t o = 0; o < desc.outer; ++o) {
            for (std::size_t p = 0; p < parts.size(); ++p) {
                const std::size_t run = std::size_t{desc.parts[p].extent} * desc.inner;
                const std::size_t first = ((desc.parts[p].shared ? 0 : m) * desc.outer + o) * run;
                for (std::size_t i = 0; i < run; ++i) whole.push_back(parts[p][first + i]);
            }
        }
    }
    return whole;
}

std::vector<Words> split_twin(const ConcatDesc& desc, const Words& whole) {
    std::vector<Words> parts(desc.parts.size());
    auto next = whole.begin();
    while (next != whole.end()) {
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const auto end = next + static_cast<std::ptrdiff_t>(std::size_t{desc.parts[p].extent} * desc.inner);
            parts[p].insert(parts[p].end(), next, end);
            next = end;
        }
    }
    return parts;
}

}  // namespace yolk::reference
