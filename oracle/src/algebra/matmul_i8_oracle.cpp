// SPDX-License-Identifier: Apache-2.0
#include "matmul_i8_oracle.hpp"
#include "yolk/internal/reference/matrix_elements.hpp"

namespace yolk::oracle {

std::vector<Bounded> matmul_i8_oracle(const MatmulI8Desc& desc, std::span<const std::int8_t> a,
                                      std::span<const std::int8_t> b) {
    const MatmulI8Desc d = reference::without_dense(desc);
    std::vector<Bounded> out(std::size_t{d.batch} * d.m * d.n);
    if (out.empty()) return out;
    for (std::uint32_t z = 0; z < d.batch; ++z) {
        for (std::uint32_t k = d.k; k-- > 0;) {
            for (std::uint32_t i = 0; i < d.m; ++i) {
                const double left = a[reference::element_of(d.a, z, i, k)];
                for (std::uint32_t j = 0; j < d.n; ++j)
                    out[(std::size_t{z} * d.m + i) * d.n + j].value += left * b[reference::element_of(d.b, z, j, k)];
            }
        }
    }
    return out;
}

}  // namespace yolk::oracle
