// SPDX-License-Identifier: Apache-2.0
#include "tune_algebra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "output.hpp"
#include "select_device.hpp"
#include "yolk/autotune/search_cost.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::cli {
namespace {

constexpr std::size_t kMeasurements = 64;
constexpr std::size_t kSteps = 5;

bool has_algebra(const std::string& strategy) { return strategy == "natural" || strategy == "bayes"; }

}  // namespace

void add_algebra_flag(App& app, AlgebraFlags& flags) {
    app.add_option(
           "--algebra", flags.algebra,
           "Of natural and bayes: host, device (checked by the host at every step), or auto: whichever is faster")
        ->type_name("WHERE")
        ->default_str("auto, on CPU drivers and with --surface host");
}

Result<void> check_algebra(const std::string& algebra, const std::string& strategy) {
    constexpr std::array kKnown{"", "host", "device", "auto"};
    if (std::ranges::find(kKnown, algebra) == kKnown.end())
        return bad_input(fmt::format("--algebra is '{}'; it is host, device or auto.", algebra));
    if (algebra == "device" && !has_algebra(strategy)) {
        return bad_input(
            fmt::format("--algebra device is given with --strategy {}; natural and bayes have an algebra.", strategy));
    }
    return {};
}

Result<ChosenAlgebra> ChosenAlgebra::choose(const std::string& algebra, const std::string& strategy,
                                            std::size_t candidates, const CommonFlags& common) {
    ChosenAlgebra chosen;
    if (algebra == "host" || !has_algebra(strategy)) return chosen;
    const bool must = algebra == "device";
    const auto make = [&]() -> Result<void> {
        YOLK_TRY(Device device, open_device(common));
        chosen.device_ = std::make_unique<Device>(std::move(device));
        YOLK_TRY_VOID(probe(*chosen.device_));
        YOLK_TRY(chosen.algebra_, autotune::DeviceAlgebra::create(*chosen.device_));
        return {};
    };
    if (const Result<void> made = make(); !made) {
        if (must) return made.error();
        chosen.algebra_.reset();
        chosen.why_ = made.error().message;
        return chosen;
    }
    if (must) return chosen;
    const auto on_host = autotune::step_cost(candidates, kMeasurements, kSteps, nullptr);
    const auto on_device = autotune::step_cost(candidates, kMeasurements, kSteps, chosen.algebra_.get());
    chosen.host_milliseconds_ = on_host.median;
    chosen.device_milliseconds_ = on_device.median;
    if (on_device.median >= on_host.median || chosen.algebra_->counts().take_overs() != 0) {
        chosen.why_ = "it is faster";
        chosen.algebra_.reset();
        return chosen;
    }
    YOLK_TRY(chosen.algebra_, autotune::DeviceAlgebra::create(*chosen.device_));  // with counts of its own
    return chosen;
}

std::function<std::unique_ptr<autotune::LinearAlgebra>()> ChosenAlgebra::factory() const {
    if (algebra_ == nullptr) return {};
    return autotune::on_device(algebra_);
}

void ChosenAlgebra::add_to(Json& json) const {
    json["algebra"] = algebra_ == nullptr ? "host" : "device";
    if (host_milliseconds_)
        json["algebra_step_milliseconds"] = {{"host", *host_milliseconds_}, {"device", *device_milliseconds_}};
    if (algebra_ == nullptr) return;
    const autotune::DeviceAlgebraCounts counts = algebra_->counts();
    json["algebra_counts"] = {{"proposals", counts.proposals},
                              {"near", counts.near},
                              {"worked_out", counts.worked_out},
                              {"agreed", counts.agreed},
                              {"regressions", counts.regressions},
                              {"inversions", counts.inversions},
                              {"plans", counts.plans},
                              {"audits", counts.audits},
                              {"take_overs", counts.take_overs()},
                              {"disagreements", counts.disagreements},
                              {"failures", counts.failures},
                              {"reason", counts.reason},
                              {"residual", counts.residual},
                              {"mean_error", counts.mean_error},
                              {"variance_error", counts.variance_error}};
}

std::string ChosenAlgebra::line() const {
    const std::string steps = host_milliseconds_ ? fmt::format(
                                                       " (a step takes {:.2f} ms on the host, {:.2f} ms on the "
                                                       "device)",
                                                       *host_milliseconds_, *device_milliseconds_)
                                                 : std::string();
    if (algebra_ == nullptr)
        return why_.empty() ? std::string() : fmt::format("algebra on the host: {}{}", why_, steps);
    const autotune::DeviceAlgebraCounts counts = algebra_->counts();
    std::string line = fmt::format("algebra on {}{}: {} proposals, the host took over {} times", device_->info().name,
                                   steps, counts.proposals, counts.take_overs());
    if (!counts.reason.empty()) line += fmt::format(", last since {}", counts.reason);
    return line;
}

}  // namespace yolk::cli
