// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "yolk/kernel_template.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

// Replace: the kernel's operations in the kernel's order, from its views to its views, which have the numbers of their
// places in the declaration. A Number is Exact (../exact_number.hpp), which makes it the exact twin, or
// oracle::Bounded.
template <class Number>
void formula(const KernelTemplateDesc& /*desc*/, const HostViews& views) {
    const auto in = views.in<Number>(0);
    const auto out = views.out<Number>(1);
    for (std::size_t i = 0; i < in.size(); ++i) {
        const Number x = flush(in[i]);
        out[i] = with_one_nan(flush(x * x));
    }
}

}  // namespace yolk::reference
