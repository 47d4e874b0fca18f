// SPDX-License-Identifier: Apache-2.0
#include "generate_command.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "text_lines.hpp"
#include "yolk/decoder.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

struct GenerateFlags {
    std::filesystem::path model, input;
    std::vector<std::string> prompts;
    transformer::DecoderOptions options;
    transformer::GenerateOptions generate;
    transformer::DecoderPopulation population{.members = 0};
    CommonFlags common;
};

void print_generated(std::size_t prompt, std::span<const transformer::Generated> texts, const GenerateFlags& flags) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (!flags.common.json) {
            print_line(texts[i].text);
            continue;
        }
        Json line{{"prompt", prompt}};
        if (flags.population.members > 0) line["member"] = i;
        line["text"] = texts[i].text;
        line["tokens"] = texts[i].tokens;
        line["ended"] = texts[i].ended;
        print_json(line);
    }
}

Result<void> generate_for_members(transformer::Decoder& decoder, std::span<const std::string> prompts,
                                  const GenerateFlags& flags) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        auto texts = decoder.generate(prompts[i], flags.population, flags.generate);
        if (!texts) return std::move(texts).error().while_doing(fmt::format("continuing prompt {}", i));
        print_generated(i, *texts, flags);
    }
    return {};
}

Result<int> run_generate(GenerateFlags& flags) {
    std::vector<std::string> prompts = flags.prompts;
    if (prompts.empty()) {
        YOLK_TRY(prompts, read_text_lines(flags.input));
    }
    YOLK_TRY(const Context context, open_context(flags.common));
    const InterruptGuard interrupt(InterruptGuard::Early::GivesUp);
    YOLK_TRY(transformer::Decoder decoder, transformer::Decoder::open(flags.model, context, flags.options));
    if (flags.population.members > 0) {
        flags.population.seed = flags.generate.seed;
        YOLK_TRY_VOID(generate_for_members(decoder, prompts, flags));
        return 0;
    }
    YOLK_TRY(const std::vector<transformer::Generated> texts, decoder.generate(prompts, flags.generate));
    for (std::size_t i = 0; i < texts.size(); ++i) print_generated(i, std::span(texts).subspan(i, 1), flags);
    return 0;
}

void add_population_flags(App& command, transformer::DecoderPopulation& population) {
    const Option* const members = add_number(command, "--population", population.members,
                                             "Members that continue each prompt; even. Without it, the model alone");
    command.group(with(members), [&] {
        add_number(command, "--sigma", population.sigma, "Size of the members' perturbations")->default_str("0.01");
        add_number(command, "--rank", population.rank, "Rank of the perturbations, 1 to 32")->default_str("1");
        add_number(command, "--generation", population.generation, "Generation whose noise the members have")
            ->default_str("0");
        command
            .add_option("--perturb", population.perturbed,
                        "Tensors that are perturbed: ends of their names, with commas between them")
            ->type_name("NAMES")
            ->default_str(population.perturbed);
    });
}

}  // namespace

Command add_generate_command(App& app) {
    const auto flags = std::make_shared<GenerateFlags>();
    App* const command = app.add_subcommand("generate", "Texts by a decoder in Hugging Face's layout");
    command
        ->add_option("model", flags->model,
                     "A folder with config.json, model.safetensors and tokenizer.json of a Llama-like decoder")
        ->required()
        ->type_name("FOLDER");
    const Option* const prompt =
        command->add_repeatable("--prompt", flags->prompts, "A text to continue; may be given more than once")
            ->type_name("TEXT");
    command->group(without(prompt), [&] {
        command->add_option("--input", flags->input, "One prompt a line; without it they come from standard input")
            ->type_name("FILE");
    });
    add_number(*command, "--tokens", flags->generate.tokens, "Tokens behind each prompt, at most")->default_str("64");
    add_number(*command, "--temperature", flags->generate.temperature, "0: always the likeliest token")
        ->default_str("0");
    add_number(*command, "--top-k", flags->generate.top_k, "How many of the likeliest tokens are drawn from; 0: all")
        ->default_str("0");
    add_number(*command, "--top-p", flags->generate.top_p,
               "Draws from the fewest of the likeliest tokens whose probabilities sum to it")
        ->default_str("1");
    add_number(*command, "--seed", flags->generate.seed, "Of draws and perturbations")->default_str("0");
    add_population_flags(*command, flags->population);
    add_parsed(*command, "--determinism", flags->options.determinism,
               "exact: the same bits on every device; fast: within a tolerance", &parse_determinism)
        ->type_name("MODE")
        ->default_str("fast");
    add_device_flag(*command, flags->common);
    command->add_flag("--json", flags->common.json, "JSON lines");
    return {command, [flags] { return run_generate(*flags); }};
}

}  // namespace yolk::cli
