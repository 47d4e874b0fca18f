// SPDX-License-Identifier: Apache-2.0
#include "yolk/row_program.hpp"

#include "program_word.hpp"
#include "twin_source.hpp"
#include "yolk/internal/reference/program_formulas.hpp"

namespace yolk::reference {

void run_twin(const RowProgramDesc& desc, const HostViews& views) { formula<Word>(desc, views); }
template struct Twin<RowProgramDesc>;

}  // namespace yolk::reference
