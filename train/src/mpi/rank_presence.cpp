// SPDX-License-Identifier: Apache-2.0
#include "rank_presence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace yolk::train {
namespace {

/// Open MPI's, MPICH's and Slurm's.
std::string job_of_environment() {
    for (const char* const variable : {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_STEP_ID"}) {
        const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing of ours sets it
        if (value == nullptr || *value == '\0') continue;
        const char* const job = std::getenv("SLURM_JOB_ID");  // NOLINT(concurrency-mt-unsafe): likewise
        return fmt::format("{}-{}", value, job == nullptr ? "" : job);
    }
    return {};
}

/// In Linux's abstract namespace: the first byte is 0.
socklen_t name_socket(const std::string& job, std::uint32_t rank, sockaddr_un& address) {
    address = {};
    address.sun_family = AF_UNIX;
    const std::string name = fmt::format("yolk-{}-{}-{}", ::getuid(), job, rank);
    const std::size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
    std::memcpy(&address.sun_path[1], name.data(), length);
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

}  // namespace

std::string ranks_text(std::span<const std::uint32_t> ranks) {
    if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
    return fmt::format("ranks {} and {}", fmt::join(ranks.first(ranks.size() - 1), ", "), ranks.back());
}

RankPresence::RankPresence(const Launch& launch) : launch_(launch), job_(job_of_environment()) {
    if (job_.empty()) return;
    own_ = Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    const socklen_t length = name_socket(job_, launch.number, address);
    if (own_.get() >= 0) static_cast<void>(::bind(own_.get(), reinterpret_cast<const sockaddr*>(&address), length));
}

std::string RankPresence::missing() const {
    if (job_.empty()) return "another rank";
    std::vector<std::uint32_t> absent;
    for (std::uint32_t rank = 0; rank < launch_.processes; ++rank) {
        if (rank == launch_.number) continue;
        const Descriptor probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        const socklen_t length = name_socket(job_, rank, address);
        if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) absent.push_back(rank);
    }
    const std::uint32_t here = launch_.processes - static_cast<std::uint32_t>(absent.size());
    if (absent.empty()) return "another rank, which has been started";
    if (here >= launch_.on_machine) return "a rank on another machine";
    // Some of them may be on other machines.
    return ranks_text(absent);
}

}  // namespace yolk::train
