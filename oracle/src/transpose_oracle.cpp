// SPDX-License-Identifier: Apache-2.0
#include "transpose_oracle.hpp"

#include <cstddef>
#include <utility>

namespace yolk::oracle {

// In a matrix of n elements element i goes to i * rows mod (n - 1), the first and the last stay (Knuth, The Art of
// Computer Programming 1, exercise 1.3.3-12).
std::vector<std::uint32_t> transpose_oracle(const TransposeDesc& desc, std::span<const std::uint32_t> source) {
    std::vector<std::uint32_t> out(source.begin(), source.end());
    const std::size_t size = std::size_t{desc.rows} * desc.columns;
    if (size < 2) return out;
    for (std::size_t base = 0; base < out.size(); base += size) {
        std::vector<bool> moved(size, false);
        for (std::size_t start = 1; start + 1 < size; ++start) {
            std::uint32_t carried = out[base + start];
            for (std::size_t i = start; !moved[i];) {
                moved[i] = true;
                i = i * desc.rows % (size - 1);
                std::swap(carried, out[base + i]);
            }
        }
    }
    return out;
}

}  // namespace yolk::oracle
