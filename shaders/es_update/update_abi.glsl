// SPDX-License-Identifier: Apache-2.0
// Which of the two ABIs the kernels of es_update take: that of all pairs, or that of a share of them. Macros, so that
// the modules of all pairs do not change by a byte: tuning tables know them by their hash.
#ifndef YOLK_ES_UPDATE_UPDATE_ABI_GLSL
#define YOLK_ES_UPDATE_UPDATE_ABI_GLSL

#ifdef ES_UPDATE_SHARE
#include "yolk/internal/abi/update_share.h"
#define FIRST_PAIR(slice) (params.first_pair + (slice) * params.pairs_per_slice)
#define END_PAIR params.end_pair
#else
#include "yolk/internal/abi/es_update.h"
#define FIRST_PAIR(slice) ((slice) * params.pairs_per_slice)
#define END_PAIR params.pair_count
#endif

#endif
