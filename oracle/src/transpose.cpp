// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/transpose.hpp"

#include <cstddef>
#include <utility>

namespace yolk::oracle {

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
