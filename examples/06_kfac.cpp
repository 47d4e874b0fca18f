// SPDX-License-Identifier: Apache-2.0
// K-FAC from primitives, against SGD with momentum and Adam: how many steps each takes to the same loss on a task with
// ill-conditioned inputs (06_kfac_task.hpp, docs/kfac.md). Each method's two settings are chosen from sixteen pairs on
// tasks of their own, with the same effort; then five other tasks count.
//
//     06_kfac [--json] [--quick]     --quick: one task, with the settings that a whole run chose; for tests
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "06_kfac_device.hpp"
#include "06_kfac_task.hpp"
#include "yolk/context.hpp"
#include "yolk/json.hpp"

namespace {

using namespace kfac_example;
using yolk::Result;

constexpr std::array<std::uint64_t, 2> kTuningSeeds{101, 102};
constexpr std::array<std::uint64_t, 5> kSeeds{1, 2, 3, 4, 5};
/// The device's gradient in fp32 against the host's, in another order, of the gradient's largest element.
constexpr double kGradientTolerance = 1e-4;

/// Steps until the loss is reached; `most` where it is not by then.
using Train = std::function<Result<std::uint32_t>(const Task& task, const Settings& settings, std::uint32_t most)>;

struct Method {
    const char* name;
    const char* second_setting;
    std::array<double, 4> learning_rates;
    std::array<double, 4> seconds;
    Settings chosen;  ///< what a whole run chooses; --quick takes it as it is
    Train train;
    std::vector<std::uint32_t> steps{};  ///< of each seed
};

/// A run that is no better than the best one so far need not go on, so that finding out is cheap.
Result<void> choose_settings(Method& method, const std::array<Task, kTuningSeeds.size()>& tasks) {
    std::uint32_t best = kMostSteps * static_cast<std::uint32_t>(tasks.size());
    for (const double second : method.seconds) {
        for (const double rate : method.learning_rates) {
            std::uint32_t sum = 0;
            for (const Task& task : tasks) {
                if (sum >= best) break;
                YOLK_TRY(const std::uint32_t steps,
                         method.train(task, {rate, second}, std::min(kMostSteps, best - sum)));
                sum += steps;
            }
            if (sum < best) method.chosen = {rate, second};
            best = std::min(best, sum);
        }
    }
    return {};
}

std::uint32_t median(std::vector<std::uint32_t> steps) {
    std::ranges::sort(steps);
    return steps[steps.size() / 2];
}

yolk::Json method_json(const Method& method) {
    return {{"method", method.name},
            {"learning_rate", method.chosen.learning_rate},
            {method.second_setting, method.chosen.second},
            {"steps", method.steps},
            {"median_steps", median(method.steps)}};
}

void print_table(const std::array<Method, 3>& methods) {
    std::printf("steps to a loss of %g%*s", kTargetLoss, 19, "");
    for (std::size_t i = 0; i < methods[0].steps.size(); ++i)
        std::printf("  seed %u", static_cast<unsigned>(kSeeds[i]));
    std::printf("  median\n");
    for (const Method& method : methods) {
        std::printf("%-6s learning rate %-5g %-9s %-7g", method.name, method.chosen.learning_rate,
                    method.second_setting, method.chosen.second);
        for (const std::uint32_t steps : method.steps)
            std::printf(steps < kMostSteps ? " %7u" : " >%6u", static_cast<unsigned>(steps));
        std::printf(" %7u\n", static_cast<unsigned>(median(method.steps)));
    }
}

double largest_difference(const Matrix& a, const Matrix& b) {
    double difference = 0.0;
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = std::max(difference, std::abs(double{a[i]} - double{b[i]}));
        largest = std::max(largest, std::abs(double{a[i]}));
    }
    return difference / largest;
}

Result<double> gradient_difference(DeviceKfac& kfac) {
    const Task task = make_task(kSeeds[0]);
    Gradient host;
    differentiate(task, task.start, host);
    YOLK_TRY(const Network on_device, kfac.gradient(task));
    return std::max(largest_difference(host.of.w1, on_device.w1), largest_difference(host.of.w2, on_device.w2));
}

std::array<Method, 3> all_methods(DeviceKfac& kfac, KfacRun& total) {
    const auto sgd = [](const Task& task, const Settings& settings, std::uint32_t most) -> Result<std::uint32_t> {
        return steps_of_sgd(task, settings, most);
    };
    const auto adam = [](const Task& task, const Settings& settings, std::uint32_t most) -> Result<std::uint32_t> {
        return steps_of_adam(task, settings, most);
    };
    const auto on_device = [&kfac, &total](const Task& task, const Settings& settings,
                                           std::uint32_t most) -> Result<std::uint32_t> {
        YOLK_TRY(const KfacRun run, kfac.run(task, settings, most));
        total.steps += run.steps;
        total.seconds += run.seconds;
        total.dispatches += run.dispatches;
        total.refused += run.refused;
        return run.steps;
    };
    return {Method{"SGD", "momentum", {0.2, 0.3, 0.5, 1.0}, {0.9, 0.95, 0.98, 0.99}, {0.5, 0.95}, sgd},
            Method{"Adam", "beta2", {0.02, 0.05, 0.1, 0.2}, {0.9, 0.99, 0.999, 0.9999}, {0.1, 0.999}, adam},
            Method{"K-FAC", "damping", {0.05, 0.1, 0.2, 0.5}, {1e-7, 1e-6, 1e-5, 1e-4}, {0.1, 1e-6}, on_device}};
}

Result<bool> run(bool quick, bool json) {
    YOLK_TRY(const auto context, yolk::Context::create());
    YOLK_TRY(DeviceKfac kfac, DeviceKfac::create(context));
    YOLK_TRY(const double difference, gradient_difference(kfac));
    KfacRun total;
    std::array<Method, 3> methods = all_methods(kfac, total);
    for (Method& method : methods) {
        if (!quick) YOLK_TRY_VOID(choose_settings(method, {make_task(kTuningSeeds[0]), make_task(kTuningSeeds[1])}));
        for (const std::uint64_t seed : std::span(kSeeds).first(quick ? 1 : kSeeds.size())) {
            YOLK_TRY(const std::uint32_t steps, method.train(make_task(seed), method.chosen, kMostSteps));
            method.steps.push_back(steps);
        }
    }
    yolk::Json result{{"device", context.device().info().name},
                      {"target_loss", kTargetLoss},
                      {"gradient_difference", difference},
                      {"kfac_dispatches_per_step", static_cast<double>(total.dispatches) / (total.steps + 1.0)},
                      {"kfac_seconds_per_step", total.seconds / (total.steps + 1.0)},
                      {"kfac_refused", total.refused}};
    for (const Method& method : methods) result["methods"].push_back(method_json(method));
    if (json) {
        std::printf("%s\n", yolk::to_line(result).c_str());
    } else {
        print_table(methods);
        std::printf("a step of K-FAC: %.1f dispatches, %.2f ms on %s; its gradient is within %.1e of the host's\n",
                    result["kfac_dispatches_per_step"].get<double>(),
                    1e3 * result["kfac_seconds_per_step"].get<double>(), context.device().info().name.c_str(),
                    difference);
    }
    const std::uint32_t steps = median(methods[2].steps);
    return 2 * steps < median(methods[0].steps) && 2 * steps < median(methods[1].steps) && total.refused == 0 &&
           difference < kGradientTolerance;
}

}  // namespace

int main(int count, char** arguments) {
    bool quick = false;
    bool json = false;
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        quick = quick || argument == "--quick";
        json = json || argument == "--json";
        if (argument != "--quick" && argument != "--json")
            return std::fprintf(stderr, "'%s' is not known; there are --json and --quick.\n", arguments[i]), 2;
    }
    const auto good = run(quick, json);
    if (!good) return std::fprintf(stderr, "%s\n", good.error().message.c_str()), 1;
    if (!*good) std::fprintf(stderr, "K-FAC did not take less than half the steps of SGD and Adam.\n");
    return *good ? 0 : 1;
}
