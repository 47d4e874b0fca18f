// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "yolk/train.hpp"

yolk::Result<double> train_cartpole() {
    YOLK_TRY(const auto context, yolk::Context::create());  // the best device there is
    const yolk::train::TrainOptions options{.evolution = {.population = 1024, .seed = 7}, .generations = 10, .out = ""};
    YOLK_TRY(const auto outcome, yolk::train::train(context, options, [](const auto& report) {
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
