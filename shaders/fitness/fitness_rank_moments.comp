// SPDX-License-Identifier: Apache-2.0
// fitness, rule CentredRank: the sum of the squares of the doubled centred ranks, their largest pair difference (without
// antithetic sampling the largest of them), and
// how many pairs differ. Items are pairs, strided over the invocations. Class E. Loop iterations per invocation: pairs
// of it.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_GOOGLE_include_directive : require
#include "yolk/internal/abi/fitness.h"
#include "fitness_state.glsl"
#include "fitness_totals.glsl"
#include "wide_integer.glsl"

uvec3 square_of(int rank) {
    uint magnitude = uint(abs(rank));
    return wide_multiply(uvec3(magnitude, 0u, 0u), magnitude);
}

void take_share(uint first) {
    uvec3 squares = uvec3(0u);
    uint largest = 0u, nonzero = 0u;
    for (uint pair = first; pair < (params.population + 1u) / 2u; pair += params.invocation_count) {
        int plus = int(state[kStateArray + 2u * pair]) - int(params.population);
        int minus = 0;  // an odd population's last member is alone
        if (2u * pair + 1u < params.population)
            minus = int(state[kStateArray + 2u * pair + 1u]) - int(params.population);
        squares = wide_add(squares, wide_add(square_of(plus), square_of(minus)));
        uint magnitude = ANTITHETIC != 0u ? uint(abs(plus - minus)) : uint(max(abs(plus), abs(minus)));
        largest = max(largest, magnitude);
        if (magnitude != 0u) ++nonzero;
    }
    TOTAL_ADD(kStateRankSquares, squares.x & 0xFFFFu);
    TOTAL_ADD(kStateRankSquares + 1u, squares.x >> 16);
    TOTAL_ADD(kStateRankSquares + 2u, squares.y & 0xFFFFu);
    TOTAL_ADD(kStateRankSquares + 3u, squares.y >> 16);
    TOTAL_MAX(kStateDifference, largest);
    TOTAL_ADD(kStateNonZero, nonzero);
}

void main() {
    TOTALS_BEGIN
    uint first = linear_invocation();
    if (first < params.invocation_count) take_share(first);
    TOTALS_END
}
