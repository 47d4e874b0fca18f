// SPDX-License-Identifier: Apache-2.0
// A system that is called on the host, without a device: it prints 3 * 3 + 4 * 4.
#include <cstdio>

#include "yolk/system.hpp"

using namespace yolk::hyper;

int main() {
    const auto squared = hyperfunction("squared", NoParameters{}, [](const Traced& x) { return sum(x * x); });
    System system("consumer", [&](const Inputs& in) { return squared(in["x"]); });
    const auto output = system.call({{"x", Tensor::vector({3.0F, 4.0F})}});
    if (!output || output->tensor() == nullptr) {
        std::fprintf(stderr, "%s\n", output ? "no tensor" : output.error().message.c_str());
        return 1;
    }
    std::printf("%g\n", static_cast<double>(output->tensor()->values()[0]));
}
