// SPDX-License-Identifier: Apache-2.0
#include "ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "output.hpp"
#include "select_device.hpp"
#include "yolk/internal/core/bytes.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/internal/train/rank_devices.hpp"
#include "yolk/json.hpp"
#include "yolk/stop.hpp"

namespace yolk::cli {
namespace {

std::unique_ptr<train::Processes>& joined() {
    static std::unique_ptr<train::Processes> processes;
    return processes;
}

/// Ranks that cannot join fail alike, and the first says why.
bool& is_said_elsewhere() {
    static bool is_said = false;
    return is_said;
}

/// Builds without MPI ask this. The first rank may be another build, which waits for this one. If not, it has said the
/// same, and a launcher that ends all ranks when one fails makes a second message needless.
bool is_ended_by_launcher() {
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    constexpr int kLooks = 60;
    for (int look = 0; look < kLooks && !stop_requested(); ++look) std::this_thread::sleep_for(kBetweenLooks);
    return stop_requested();
}

std::string text_of(const ByteVector& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Whether the ranks of this machine all asked for the same.
Result<bool> all_asked_for(const std::string& request, train::Processes& processes) {
    const std::string mine = std::to_string(processes.machine()) + " " + request;
    YOLK_TRY(const auto all, evolve::gather_results(processes, bytes_of_values(mine)));
    return std::ranges::all_of(all, [&](const ByteVector& bytes) {
        const std::string other = text_of(bytes);
        return other == mine || other.substr(0, other.find(' ')) != mine.substr(0, mine.find(' '));
    });
}

Result<void> check_claimed(const Result<std::vector<Device>>& devices, train::Processes& processes) {
    const auto claims = [&]() -> Result<ByteVector> {
        if (!devices) return devices.error();
        Json own = Json::array();
        for (const Device& device : *devices) {
            own.push_back({{"machine", processes.machine()},
                           {"uuid", device.info().uuid},
                           {"name", device.info().name},
                           {"is_cpu", device.info().kind == DeviceKind::Cpu}});
        }
        return bytes_of_values(own.dump());
    };
    YOLK_TRY(const auto all, evolve::gather_results(processes, claims()));
    std::vector<train::DeviceClaim> claimed;
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
        YOLK_TRY(const Json claims_of_rank, parse_json(text_of(all[rank]), fmt::format("The claim of rank {}", rank)));
        for (const Json& claim : claims_of_rank) {
            claimed.push_back({.rank = rank,
                               .machine = claim["machine"],
                               .uuid = claim["uuid"],
                               .name = claim["name"],
                               .is_cpu = claim["is_cpu"]});
        }
    }
    const Result<void> checked = train::check_claims(claimed);
    return checked ? checked : processes.end_together(checked.error());
}

}  // namespace

Result<void> join_ranks(const CommonFlags& flags) {
    const std::optional<train::Launch> launch = train::seen_launch();
    if (!launch || launch->processes == 1 || joined()) return {};
    const std::chrono::duration<double> limit =
        flags.rank_seconds > 0.0 ? std::chrono::duration<double>(flags.rank_seconds) : train::kRankLimit;
    auto made = train::join_processes(*launch, std::chrono::duration_cast<std::chrono::nanoseconds>(limit));
    if (!made) {
        is_said_elsewhere() = launch->number != 0 && (train::has_mpi() || is_ended_by_launcher());
        return std::move(made).error();
    }
    joined() = std::move(made).value();
    return train::compare_programs(*joined());
}

train::Processes* ranks() noexcept { return joined().get(); }

bool speaks_for_ranks() noexcept {
    if (ranks() != nullptr) return ranks()->rank() == 0;
    const std::optional<train::Launch> launch = train::seen_launch();
    return !launch || launch->number == 0;
}

void leave_ranks() noexcept { joined().reset(); }

int report_on_ranks(const Error& error, int exit_code) {
    train::Processes* const processes = ranks();
    const bool is_alone = processes == nullptr || processes->ranks() == 1;
    if (is_alone || processes->ends_together()) {
        if (!is_said_elsewhere() && (is_alone || speaks_for_ranks())) print_error(error.message);
        return exit_code;
    }
    print_error("Rank " + std::to_string(processes->rank()) + ": " + error.message);
    processes->abort(exit_code);
    std::_Exit(exit_code);  // abort() does not return, which g++ 12 does not see through the virtual call
}

Error agree_on_mistake(Error error) {
    if (const Result<void> joining = join_ranks(); !joining || ranks() == nullptr)
        return ranks() == nullptr ? error : joining.error();
    const Result<void> agreed = evolve::agree(*ranks(), Result<void>(error));
    return agreed ? error : agreed.error();
}

Result<void> check_command_of_ranks(const std::string& command) {
    const bool runs_over_ranks = command == "train" || command.ends_with("optimize");  // of a system, ours or another's
    const std::optional<train::Launch> launch = train::seen_launch();
    if (!launch || launch->processes == 1 || command.empty() || runs_over_ranks) return {};
    return bad_input(
        "`{}` is for one process, and a launcher started {} ({}). Call it without the launcher; `train` and `system "
        "NAME optimize` run over several.",
        command, launch->processes, launch->variable);
}

Result<std::vector<Device>> open_devices_of_rank(const std::string& list, const CommonFlags& flags,
                                                 train::Processes& processes) {
    YOLK_TRY(const bool same, all_asked_for(list + " " + flags.device, processes));
    DealtTo dealt{.local_rank = processes.local_rank(), .local_ranks = processes.local_ranks()};
    if (!same) dealt = {};
    Result<std::vector<Device>> devices = open_devices(list, flags, dealt);
    YOLK_TRY_VOID(check_claimed(devices, processes));
    return devices;
}

}  // namespace yolk::cli
