// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/transpose.hpp"

#include <cstddef>

namespace yolk::reference {

std::vector<std::uint32_t> transpose_twin(const TransposeDesc& desc, std::span<const std::uint32_t> source) {
    const std::size_t rows = desc.rows, columns = desc.columns;
    std::vector<std::uint32_t> out;
    out.reserve(source.size());
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t r = 0; r < rows; ++r) out.push_back(source[(m * rows + r) * columns + c]);
        }
    }
    return out;
}

}  // namespace yolk::reference
