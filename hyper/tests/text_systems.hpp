// SPDX-License-Identifier: Apache-2.0
// Systems with texts among their parameters.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "yolk/system.hpp"

namespace yolk::hyper {

/// Times the gain, plus the letters of the text "prompt", on the host.
struct Gain {
    double gain = 1.0;
    static FieldsOf<Gain> fields() { return {field_of("gain", &Gain::gain).between(-4.0, 4.0)}; }
};

inline Hyperfunction<TextParameter> prompt_of(std::string text, bool optimize = true) {
    return hyperfunction("prompt", TextParameter{std::move(text)},
                         [](const TextParameter& p, const std::string& question) { return p.text + ": " + question; },
                         {.optimize = optimize});
}

/// scale (x + the letters of "prompt"): a text that a host function reads between two numeric ones.
inline System letters_system(const std::string& text = "abc", std::uint64_t seed = 1) {
    const auto letters = hyperfunction("prompt", TextParameter{text},
                                       [](const TextParameter& p, const Tensor& x) {
                                           std::vector<float> values(x.values().begin(), x.values().end());
                                           for (float& value : values) value += static_cast<float>(p.text.size());
                                           return Tensor::create(x.shape(), values);
                                       },
                                       {.optimize = true});
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 2, .in = 2},
                                     [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    const auto gain = hyperfunction("gain", Gain{},
                                    [](const Gain& p, const Tensor& x) {
                                        std::vector<float> values(x.values().begin(), x.values().end());
                                        for (float& value : values) value *= static_cast<float>(p.gain);
                                        return Tensor::create(x.shape(), values);
                                    },
                                    {.optimize = true});
    return {"letters", [=](const Inputs& in) { return gain(letters(layer(in["x"]))); }, seed};
}
/// What it gives where the layer is the identity and the gain 1: x + 3.
inline std::vector<Example> letters_examples() {
    std::vector<Example> examples;
    for (const float x : {-1.0F, 0.5F, 2.0F})
        examples.push_back({{{"x", Tensor::vector({x, -x})}}, Tensor::vector({x + 3.0F, 3.0F - x})});
    return examples;
}

}  // namespace yolk::hyper
