// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/train/rank_devices.hpp"

namespace yolk::train {

std::vector<std::size_t> dealt_devices(std::size_t count, std::uint32_t local_rank, std::uint32_t local_ranks) {
    if (count == 0) return {};
    if (local_rank >= count) return {local_rank % count};
    std::vector<std::size_t> mine;
    for (std::size_t i = local_rank; i < count; i += local_ranks) mine.push_back(i);
    return mine;
}

Result<void> check_claims(std::span<const DeviceClaim> claims) {
    for (std::size_t i = 0; i < claims.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const DeviceClaim& one = claims[j];
            const DeviceClaim& other = claims[i];
            if (other.is_cpu || one.rank == other.rank || one.machine != other.machine || one.uuid != other.uuid)
                continue;
            return bad_input(
                "Ranks {} and {} both claim '{}' of one machine; a GPU belongs to one rank. Start no more ranks on a "
                "machine than it has GPUs, or give each a --device of its own.",
                one.rank, other.rank, other.name);
        }
    }
    return {};
}

}  // namespace yolk::train
