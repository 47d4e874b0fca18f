// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/exchange.hpp"

namespace yolk::evolve {

Traffic operator+(const Traffic& left, const Traffic& right) noexcept {
    return {.rounds = left.rounds + right.rounds,
            .sent_bytes = left.sent_bytes + right.sent_bytes,
            .received_bytes = left.received_bytes + right.received_bytes};
}

Traffic operator-(const Traffic& after, const Traffic& before) noexcept {
    return {.rounds = after.rounds - before.rounds,
            .sent_bytes = after.sent_bytes - before.sent_bytes,
            .received_bytes = after.received_bytes - before.received_bytes};
}

Exchange::~Exchange() = default;

Result<std::vector<std::vector<std::byte>>> Exchange::all_gather(std::span<const std::byte> mine) {
    YOLK_TRY(std::vector<std::vector<std::byte>> all, gather(mine));
    ++traffic_.rounds;
    if (ranks() > 1) traffic_.sent_bytes += carried_bytes(mine.size());
    for (std::uint32_t other = 0; other < ranks(); ++other)
        traffic_.received_bytes += other == rank() ? 0 : carried_bytes(all[other].size());
    return all;
}

Result<std::vector<std::vector<std::byte>>> SoloExchange::gather(std::span<const std::byte> mine) {
    return std::vector<std::vector<std::byte>>{{mine.begin(), mine.end()}};
}

}  // namespace yolk::evolve
