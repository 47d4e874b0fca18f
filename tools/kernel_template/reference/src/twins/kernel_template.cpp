// SPDX-License-Identifier: Apache-2.0
#include "yolk/kernel_template.hpp"

#include <bit>

#include "twin_source.hpp"
#include "yolk/exact/exact_elementwise.h"

namespace yolk::reference {

// Replace: the kernel's operations in the kernel's order, from its views to its views, which have the numbers of their
// places in the declaration. What both compute element by element is one source in yolk/exact/ (docs/adr/0003).
void run_twin(const KernelTemplateDesc& /*desc*/, const HostViews& views) {
    const auto in = views.in<float>(0);
    const auto out = views.out<float>(1);
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto x = std::bit_cast<std::uint32_t>(in[i]);
        out[i] = std::bit_cast<float>(exact::exact_product_word(x, x));
    }
}
template struct Twin<KernelTemplateDesc>;

}  // namespace yolk::reference
