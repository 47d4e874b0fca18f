// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/element_module.hpp"

#include <array>
#include <optional>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "module_writer.hpp"
#include "spirv_words.hpp"

namespace yolk {
namespace {

class ElementWriter : private ModuleWriter {
   public:
    ElementWriter(ModuleParts parts, const LibraryIds& ids, const ElementCode& code)
        : ModuleWriter(std::move(parts), ids), code_(code) {}

    [[nodiscard]] Result<ModuleWords> write() {
        for (const ElementCode::Input& input : code_.inputs) {
            const bool has_own_type = is_single(input) && !ids().is_texels();
            add_input(has_own_type ? std::optional(single_buffer()) : std::nullopt);
        }
        YOLK_TRY_VOID(write_body());
        return joined();
    }

   private:
    /// Of quads, whether one word of the input is loaded for all four.
    [[nodiscard]] bool is_single(const ElementCode::Input& input) const {
        return ids().is_quads() && input.is_repeated;
    }
    /// Whether a value, an input or a number, is one word for all four.
    [[nodiscard]] bool is_word(std::size_t value) const {
        return value >= code_.inputs.size() || is_single(code_.inputs[value]);
    }
    /// A word, or of quads four, unless one is repeated.
    Result<std::uint32_t> load(std::size_t number) {
        YOLK_TRY(const std::uint32_t place, joined_place(code_.inputs[number].runs, runs_));
        const bool is_word = is_single(code_.inputs[number]);
        return loaded(number, is_word ? place : item(place), is_word);
    }
    /// The steps on words, in order.
    Result<std::uint32_t> write_steps(ModuleWords values) {
        for (const ElementCode::Step& step : code_.steps) {
            ModuleWords operands;
            for (const std::uint32_t operand : step.operands) operands.push_back(values.at(operand));
            YOLK_TRY(const std::uint32_t made, call_step("elementwise_" + step.function, operands));
            values.push_back(made);
        }
        return values.back();
    }
    /// The steps for each of four components.
    Result<std::uint32_t> write_unrolled(const ModuleWords& values) {
        ModuleWords made;
        for (std::uint32_t c = 0; c < kQuadWords; ++c) {
            ModuleWords words;
            for (std::size_t i = 0; i < values.size(); ++i)
                words.push_back(is_word(i) ? values[i] : operation(spv::OpCompositeExtract, {values[i], c}));
            YOLK_TRY(const std::uint32_t one, write_steps(std::move(words)));
            made.push_back(one);
        }
        return operation(spv::OpCompositeConstruct, {made[0], made[1], made[2], made[3]}, ids().item);
    }
    /// The same in a loop, so that drivers inline each step once: with four calls of each long step SwiftShader takes
    /// ten times as long to make a pipeline. It takes twice as long to run short ones.
    Result<std::uint32_t> write_loop(const ModuleWords& values, std::uint32_t component, std::uint32_t result) {
        const std::uint32_t header = next_id(), test = next_id(), body = next_id(), next = next_id(), merge = next_id();
        const std::uint32_t zeros = next_id();  // a loop writes components: nothing shows that it writes all of them
        append_instruction(globals(), spv::OpConstantNull, std::array{ids().item, zeros});
        instruction(spv::OpStore, {result, zeros});
        instruction(spv::OpStore, {component, constant(0)});
        branch(header);
        label(header);
        instruction(spv::OpLoopMerge, {merge, next, std::uint32_t{spv::LoopControlMaskNone}});
        branch(test);
        label(test);
        const std::uint32_t c = operation(spv::OpLoad, {component});
        const std::uint32_t goes_on = operation(spv::OpULessThan, {c, constant(kQuadWords)}, ids().boolean);
        instruction(spv::OpBranchConditional, {goes_on, body, merge});
        label(body);
        ModuleWords words;
        for (std::size_t i = 0; i < values.size(); ++i)
            words.push_back(is_word(i) ? values[i] : operation(spv::OpVectorExtractDynamic, {values[i], c}));
        YOLK_TRY(const std::uint32_t made, write_steps(std::move(words)));
        const std::uint32_t place = operation(spv::OpAccessChain, {result, c}, ids().word_in_function);
        instruction(spv::OpStore, {place, made});
        branch(next);
        label(next);
        instruction(spv::OpStore, {component, operation(spv::OpIAdd, {c, constant(1)})});
        branch(header);
        label(merge);
        return operation(spv::OpLoad, {result}, ids().item);
    }
    Result<void> write_body() {
        begin_body(parts().named("program_element"));
        const bool in_loop = ids().is_quads() && !code_.is_unrolled;
        const std::uint32_t component = in_loop ? local(ids().word_in_function) : 0;
        const std::uint32_t result = in_loop ? local(ids().item_in_function) : 0;
        const std::uint32_t element = operation(spv::OpLoad, {parameter()});
        YOLK_TRY(runs_, run_places(code_.runs, element));
        ModuleWords values;
        for (std::size_t i = 0; i < code_.inputs.size(); ++i) {
            YOLK_TRY(const std::uint32_t loaded, load(i));
            values.push_back(loaded);
        }
        for (std::uint32_t n = 0; n < code_.numbers; ++n) {
            YOLK_TRY(const std::uint32_t number, param("numbers", n));
            values.push_back(number);
        }
        YOLK_TRY(const std::uint32_t made, in_loop            ? write_loop(values, component, result)
                                           : ids().is_quads() ? write_unrolled(values)
                                                              : write_steps(std::move(values)));
        const std::uint32_t at =
            operation(spv::OpAccessChain, {ids().out, constant(0), item(element)}, ids().item_in_buffer);
        instruction(spv::OpStore, {at, made});
        instruction(spv::OpReturn, {});
        return {};
    }

    const ElementCode& code_;
    ModuleWords runs_;
};

}  // namespace

Result<std::vector<std::uint32_t>> make_element_module(std::span<const std::uint32_t> library,
                                                       const ElementCode& code) {
    YOLK_TRY(ModuleParts parts, take_apart(library));
    const LibraryIds ids(parts);
    if (!ids.complete() || !can_replace(parts, std::array{"program_element"}))
        return bad_input("The module that programs of elements are made of lacks a part.");
    if (code.inputs.empty() || code.steps.empty())
        return bad_input("A program of elements has {} inputs and {} steps; it needs at least one of each.",
                         code.inputs.size(), code.steps.size());
    return ElementWriter(std::move(parts), ids, code).write();
}

}  // namespace yolk
