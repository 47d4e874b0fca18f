// SPDX-License-Identifier: Apache-2.0
// A model writes JSON, and a parser reads it. How the model is sampled (temperature, nucleus, penalties, tokens) is
// tuned without gradients until the parser stops failing:
//
//     14_temperature evaluate --predictions
//     14_temperature optimize --population 16 --sigma 0.3 --lr 0.3 --generations 10 --out tuned.safetensors
//     14_temperature parameters --load tuned.safetensors
//
// Answers come from a server of rules in this process (14_temperature_server.cpp), for which 1 can be reached. With
// OPENAI_BASE_URL and OPENAI_API_KEY set they come from that endpoint: `14_temperature --model NAME optimize ...`.
#include "14_temperature_server.hpp"
#include "text_model.hpp"
#include "yolk/models.hpp"
#include "yolk/run_system.hpp"
#include "yolk/system.hpp"

using namespace yolk::hyper;

int main(int argc, char** argv) {
    const auto models = text_example::open_models(argc, argv, &temperature_example::answer);
    if (!models) return 2;

    const auto sampling = hyperfunction("sampling", LmParam{.temperature = 1.4, .max_tokens_fraction = 0.1},
                                        [](const Traced& p) { return p; }, {.optimize = true});
    System system("temperature", [&](const Inputs& in) {
        ModelSettings settings = sampled_by(sampling());
        settings.token_limit = 256;
        return model_call({{"system",
                            "Describe the item as a JSON object with the fields name, colours (a list of words) and "
                            "price (a number), and write nothing else."},
                           {"user", in["item"]}},
                          settings);
    });
    system.use(*models);

    std::vector<Example> examples;
    for (const char* const item :
         {"apple", "banana", "bicycle", "book", "bottle", "chair", "clock", "cup", "flower", "lamp", "pencil", "table"})
        examples.push_back({{{"item", item}}, ""});  // nothing is expected but that it parses
    return yolk::cli::run_system(argc, argv, system, examples, parse_success("json"));
}
