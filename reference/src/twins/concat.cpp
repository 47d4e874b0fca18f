// SPDX-License-Identifier: Apache-2.0
#include "yolk/concat.hpp"

#include "twin_source.hpp"

namespace yolk::reference {

/// Run by run of the whole.
void run_twin(const ConcatDesc& desc, const HostViews& views) {
    std::size_t next = 0;
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t o = 0; o < desc.outer; ++o) {
            for (std::size_t p = 0; p < desc.parts.size(); ++p) {
                const std::size_t run = std::size_t{desc.parts[p].extent} * desc.inner;
                const std::size_t first = ((desc.parts[p].shared ? 0 : m) * desc.outer + o) * run;
                for (std::size_t i = 0; i < run; ++i, ++next) {
                    if (desc.split) {
                        views.out<std::uint32_t>(1 + p)[first + i] = views.in<std::uint32_t>(0)[next];
                    } else {
                        views.out<std::uint32_t>(0)[next] = views.in<std::uint32_t>(1 + p)[first + i];
                    }
                }
            }
        }
    }
}
template struct Twin<ConcatDesc>;

}  // namespace yolk::reference
