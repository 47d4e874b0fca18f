// SPDX-License-Identifier: Apache-2.0
#include "yolk/elementwise.hpp"

#include "program_word.hpp"
#include "twin_source.hpp"
#include "yolk/internal/reference/program_formulas.hpp"

namespace yolk::reference {

void run_twin(const ElementwiseDesc& desc, const HostViews& views) { formula<Word>(desc, views); }
template struct Twin<ElementwiseDesc>;

}  // namespace yolk::reference
