// SPDX-License-Identifier: Apache-2.0
#include "parity/parity_case.hpp"

#include "yolk/json.hpp"

namespace yolk::evolve {
namespace {

void read_settings(const Json& json, ParitySettings& settings) {
    json.at("seed").get_to(settings.seed);
    json.at("rank").get_to(settings.rank);
    json.at("population").get_to(settings.population);
    json.at("group_size").get_to(settings.group_size);
    json.at("generations").get_to(settings.generations);
    json.at("sigma").get_to(settings.sigma);
    json.at("learning_rate").get_to(settings.learning_rate);
    json.at("beta1").get_to(settings.beta1);
    json.at("beta2").get_to(settings.beta2);
}

void read_sizes(const Json& json, ParitySizes& sizes) {
    json.at("out").get_to(sizes.out);
    json.at("in").get_to(sizes.in);
    json.at("vocabulary").get_to(sizes.vocabulary);
    json.at("width").get_to(sizes.width);
    json.at("vector").get_to(sizes.vector);
    json.at("frozen").get_to(sizes.frozen);
}

void read_inputs(const Json& json, ParityInputs& inputs) {
    json.at("parameters").get_to(inputs.parameters);
    json.at("x").get_to(inputs.x);
    json.at("x_transposed").get_to(inputs.x_transposed);
    json.at("ids").get_to(inputs.ids);
    json.at("scores").get_to(inputs.scores);
}

/// What the plans and Evolution would not refuse by themselves: they read so many values.
Result<void> check_lengths(const ParityCase& item, const ParameterTable& table) {
    const ParityInputs& inputs = item.inputs;
    const std::size_t rows = inputs.ids.size();
    if (rows == 0 || inputs.x.size() != rows * item.sizes.in || inputs.x_transposed.size() != rows * item.sizes.out) {
        return bad_input(
            "The case '{}' has {} ids, {} values of x and {} of x_transposed; with rows of {} and {} there must be as "
            "many rows as ids, and at least one.",
            item.name, rows, inputs.x.size(), inputs.x_transposed.size(), item.sizes.in, item.sizes.out);
    }
    if (inputs.parameters.size() != table.element_count() || inputs.scores.size() != item.settings.population) {
        return bad_input("The case '{}' has {} parameters and {} scores; its sizes and population want {} and {}.",
                         item.name, inputs.parameters.size(), inputs.scores.size(), table.element_count(),
                         item.settings.population);
    }
    if (item.settings.generations == 0) return bad_input("The case '{}' has no generations.", item.name);
    return {};
}

}  // namespace

Result<ParameterTable> parity_table(const ParitySizes& sizes) {
    return ParameterTable::create({{.name = "linear", .rows = sizes.out, .columns = sizes.in},
                                   {.name = "embedding", .rows = sizes.vocabulary, .columns = sizes.width},
                                   {.name = "vector", .rows = sizes.vector, .perturbation = Perturbation::Vector},
                                   {.name = "frozen", .rows = sizes.frozen, .perturbation = Perturbation::Frozen}});
}

Result<ParityCase> read_parity_case(const Json& json) {
    ParityCase item;
    try {
        json.at("name").get_to(item.name);
        read_settings(json.at("settings"), item.settings);
        read_sizes(json.at("sizes"), item.sizes);
        read_inputs(json.at("inputs"), item.inputs);
    } catch (const Json::exception& error) {
        return bad_input("A case of the file does not fit: {}. Let bench/peers/eggroll_parity.py write it.",
                         error.what());
    }
    YOLK_TRY(const ParameterTable table, parity_table(item.sizes));
    YOLK_TRY_VOID(check_lengths(item, table));
    return item;
}

}  // namespace yolk::evolve
