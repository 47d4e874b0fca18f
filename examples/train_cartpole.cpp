// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "yolk/runtime/device_selection.hpp"
#include "yolk/train/train.hpp"

yolk::Result<double> train_cartpole() {
    YOLK_TRY(const auto instance, yolk::Instance::create());
    YOLK_TRY(const auto choice, yolk::choose_device(instance.devices(), ""));  // the best there is
    YOLK_TRY(const auto device, yolk::Device::create(instance, choice.index));
    const yolk::train::TrainOptions options{.evolution = {.population = 1024, .seed = 7}, .generations = 10, .out = ""};
    YOLK_TRY(const auto outcome, yolk::train::train(device, options, [](const auto& report) {
                 std::printf("generation %u: mean return %.1f\n", report.generation, double{report.mean_return});
                 return true;  // false would stop here
             }));
    return outcome.eval_mean_return;
}

int main() {
    const auto mean_return = train_cartpole();
    if (!mean_return) return std::fprintf(stderr, "%s\n", mean_return.error().message.c_str()), 1;
    std::printf("the policy's mean return is %.1f\n", *mean_return);
}
