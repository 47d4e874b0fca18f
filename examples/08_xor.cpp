// SPDX-License-Identifier: Apache-2.0
// Exclusive or, learned without gradients: two small layers and what they are to answer. The same program evaluates,
// optimizes, draws, ablates and saves: see --help.
#include "yolk/run_system.hpp"
#include "yolk/system.hpp"

using namespace yolk::hyper;

int main(int argc, char** argv) {
    const auto hidden =
        hyperfunction("hidden", MatrixWeight{.out = 8, .in = 3},
                      [](const Traced& w, const Traced& x) { return relu(linear(w, x)); }, {.optimize = true});
    const auto output =
        hyperfunction("output", MatrixWeight{.out = 1, .in = 8},
                      [](const Traced& w, const Traced& h) { return sigmoid(linear(w, h)); }, {.optimize = true});
    System system("xor", [&](const Inputs& in) { return output(hidden(in["x"])); });

    std::vector<Example> examples;
    for (const float a : {0.0F, 1.0F}) {
        for (const float b : {0.0F, 1.0F})  // the third input, always 1, gives the layers a bias
            examples.push_back({{{"x", Tensor::vector({a, b, 1.0F})}}, Tensor::vector({a == b ? 0.0F : 1.0F})});
    }
    return yolk::cli::run_system(
        argc, argv, system, examples, numeric_distance(),
        {.evolution = {.population = 64, .sigma = 0.3F, .learning_rate = 0.2F}, .generations = 200});
}
