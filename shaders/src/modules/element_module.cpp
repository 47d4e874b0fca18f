// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/element_module.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "module_parts.hpp"
#include "spirv_words.hpp"

namespace yolk {
namespace {

using ElementWords = std::vector<std::uint32_t>;

constexpr std::size_t kMostOperands = 3;
constexpr std::uint32_t kQuadWords = 4;

void append_instruction(ElementWords& to, std::uint32_t op, std::span<const std::uint32_t> operands) {
    to.push_back((static_cast<std::uint32_t>(operands.size() + 1) << spv::WordCountShift) | op);
    to.insert(to.end(), operands.begin(), operands.end());
}

/// What of the library a body refers to. 0 means that it lacks it, which `complete` tells.
struct LibraryIds {
    std::uint32_t main = 0, element = 0, quotient = 0, in = 0, out = 0, params = 0;
    std::uint32_t word = 0, word_in_function = 0, word_in_params = 0, boolean = 0;
    /// What is loaded at once, a word or four, and pointers to it; `in_pointer` is that of a whole buffer.
    std::uint32_t item = 0, item_in_buffer = 0, item_in_function = 0, in_pointer = 0;
    /// Where inputs are texel buffers: their types, and those of what is read. Else 0.
    std::uint32_t sampled = 0, image = 0, number = 0, four_numbers = 0;

    explicit LibraryIds(const ModuleParts& parts)
        : main(parts.named("main")),
          element(parts.named("program_element")),
          quotient(parts.named("program_quotient")),
          in(parts.named("in_")),
          out(parts.named("out_")),
          word(parts.unsigned_type),
          boolean(parts.bool_type),
          item(word) {
        const auto pointer = [&](spv::StorageClass storage, std::uint32_t to) {
            const auto found = parts.pointers.find({static_cast<std::uint32_t>(storage), to});
            return found == parts.pointers.end() ? 0U : found->second;
        };
        word_in_function = pointer(spv::StorageClassFunction, word);
        word_in_params = pointer(spv::StorageClassPushConstant, word);
        const auto quad = parts.vectors.find({word, kQuadWords});
        if (quad != parts.vectors.end() && pointer(spv::StorageClassStorageBuffer, quad->second) != 0)
            item = quad->second;
        item_in_buffer = pointer(spv::StorageClassStorageBuffer, item);
        item_in_function = pointer(spv::StorageClassFunction, item);
        for (const ElementWords& words : parts.globals) {
            if ((words[0] & spv::OpCodeMask) != spv::OpVariable) continue;
            if (words[3] == spv::StorageClassPushConstant) params = words[2];
            if (words[2] == in) in_pointer = words[1];
        }
        find_texels(parts);
    }
    void find_texels(const ModuleParts& parts) {
        for (const ElementWords& words : parts.globals) {
            const std::uint32_t op = words[0] & spv::OpCodeMask;
            if (op == spv::OpTypeFloat) number = words[1];
            if (op != spv::OpTypeSampledImage) continue;
            sampled = words[1];
            image = words[2];
        }
        const auto found = parts.vectors.find({number, kQuadWords});
        if (found != parts.vectors.end()) four_numbers = found->second;
    }
    [[nodiscard]] bool is_texels() const { return sampled != 0; }
    [[nodiscard]] bool is_quads() const { return item != word; }
    [[nodiscard]] bool complete() const {
        return main != 0 && element != 0 && quotient != 0 && in_pointer != 0 && out != 0 && params != 0 && word != 0 &&
               boolean != 0 && item_in_buffer != 0 && word_in_function != 0 && item_in_function != 0 &&
               word_in_params != 0 && (!is_texels() || four_numbers != 0);
    }
};

class ElementWriter {
   public:
    ElementWriter(ModuleParts parts, const LibraryIds& ids, const ElementCode& code)
        : parts_(std::move(parts)), ids_(ids), code_(code), next_(parts_.header[3]) {}

    [[nodiscard]] Result<ElementWords> write() {
        const std::uint32_t storage = ids_.is_texels() ? std::uint32_t{spv::StorageClassUniformConstant}
                                                       : std::uint32_t{spv::StorageClassStorageBuffer};
        for (const ElementCode::Input& input : code_.inputs) {
            const bool has_own_type = is_single(input) && !ids_.is_texels();
            const std::uint32_t pointer = has_own_type ? single_buffer() : ids_.in_pointer;
            inputs_.push_back(next_++);
            append_instruction(globals_, spv::OpVariable, std::array{pointer, inputs_.back(), storage});
        }
        YOLK_TRY_VOID(write_body());
        return joined();
    }

   private:
    /// Of quads, whether one word of the input is loaded for all four.
    [[nodiscard]] bool is_single(const ElementCode::Input& input) const { return ids_.is_quads() && input.is_repeated; }
    /// Whether a value, an input or a number, is one word for all four.
    [[nodiscard]] bool is_word(std::size_t value) const {
        return value >= code_.inputs.size() || is_single(code_.inputs[value]);
    }
    /// A pointer to a buffer of words; the library of quads has none.
    std::uint32_t single_buffer() {
        if (single_ != 0) return single_;
        const std::uint32_t array = next_++, block = next_++;
        const std::uint32_t storage = spv::StorageClassStorageBuffer;
        single_ = next_++;
        word_in_buffer_ = next_++;
        append_instruction(annotations_, spv::OpDecorate,
                           std::array{array, std::uint32_t{spv::DecorationArrayStride}, 4U});
        append_instruction(annotations_, spv::OpDecorate, std::array{block, std::uint32_t{spv::DecorationBlock}});
        append_instruction(annotations_, spv::OpMemberDecorate,
                           std::array{block, 0U, std::uint32_t{spv::DecorationOffset}, 0U});
        append_instruction(annotations_, spv::OpMemberDecorate,
                           std::array{block, 0U, std::uint32_t{spv::DecorationNonWritable}});
        append_instruction(globals_, spv::OpTypeRuntimeArray, std::array{array, ids_.word});
        append_instruction(globals_, spv::OpTypeStruct, std::array{block, array});
        append_instruction(globals_, spv::OpTypePointer, std::array{single_, storage, block});
        append_instruction(globals_, spv::OpTypePointer, std::array{word_in_buffer_, storage, ids_.word});
        return single_;
    }
    std::uint32_t constant(std::uint32_t value) {
        const auto [found, is_new] = constants_.try_emplace(value, next_);
        if (is_new) append_instruction(globals_, spv::OpConstant, std::array{ids_.word, next_++, value});
        return found->second;
    }
    std::uint32_t operation(std::uint32_t op, std::initializer_list<std::uint32_t> operands,
                            std::optional<std::uint32_t> type = {}) {
        ElementWords words{type.value_or(ids_.word), next_};
        words.insert(words.end(), operands.begin(), operands.end());
        append_instruction(body_, op, words);
        return next_++;
    }
    std::uint32_t call(std::uint32_t function, std::span<const std::uint32_t> operands) {
        ElementWords words{ids_.word, next_++, function};
        for (std::size_t i = 0; i < operands.size(); ++i) {
            append_instruction(body_, spv::OpStore, std::array{arguments_[i], operands[i]});
            words.push_back(arguments_[i]);
        }
        append_instruction(body_, spv::OpFunctionCall, words);
        callees_.push_back(function);
        return words[1];
    }
    Result<std::uint32_t> param(std::string_view name, std::uint32_t run) {
        YOLK_TRY(const std::uint32_t member, parts_.member("Params", name));
        const std::uint32_t place = operation(
            spv::OpAccessChain, {ids_.params, constant(0), constant(member), constant(run)}, ids_.word_in_params);
        return operation(spv::OpLoad, {place});
    }
    Result<std::uint32_t> quotient(std::uint32_t element, std::string_view factor, std::string_view shift,
                                   std::uint32_t run) {
        YOLK_TRY(const std::uint32_t by, param(factor, run));
        YOLK_TRY(const std::uint32_t down, param(shift, run));
        return call(ids_.quotient, std::array{element, by, down});
    }

    /// Where element `element` of the output is in each run.
    Result<void> write_runs(std::uint32_t element) {
        for (std::uint32_t r = 0; r < code_.runs.size(); ++r) {
            std::uint32_t place = element;
            if (code_.runs[r].has_inner) {
                YOLK_TRY(place, quotient(element, "inner_factor", "inner_shift", r));
            }
            if (code_.runs[r].has_outer) {
                YOLK_TRY(const std::uint32_t outer, quotient(element, "outer_factor", "outer_shift", r));
                YOLK_TRY(const std::uint32_t size, param("size", r));
                place = operation(spv::OpISub, {place, operation(spv::OpIMul, {outer, size})});
            }
            runs_.push_back(place);
        }
        return {};
    }
    /// A word, or of quads four, unless one is repeated.
    Result<std::uint32_t> load(std::size_t input) {
        std::uint32_t place = 0;
        for (const std::uint32_t run : code_.inputs[input].runs) {
            if (place == 0) {
                place = runs_[run];
                continue;
            }
            YOLK_TRY(const std::uint32_t size, param("size", run));
            place = operation(spv::OpIAdd, {operation(spv::OpIMul, {place, size}), runs_[run]});
        }
        if (place == 0) place = constant(0);
        const bool is_word = is_single(code_.inputs[input]);
        if (ids_.is_texels()) return fetch(inputs_[input], is_word ? place : item(place), is_word || !ids_.is_quads());
        const std::uint32_t at =
            operation(spv::OpAccessChain, {inputs_[input], constant(0), is_word ? place : item(place)},
                      is_word ? word_in_buffer_ : ids_.item_in_buffer);
        return operation(spv::OpLoad, {at}, is_word ? ids_.word : ids_.item);
    }
    /// Of a texel buffer: the words of one of its texels, or the first of them.
    std::uint32_t fetch(std::uint32_t buffer, std::uint32_t texel, bool is_word) {
        const std::uint32_t image =
            operation(spv::OpImage, {operation(spv::OpLoad, {buffer}, ids_.sampled)}, ids_.image);
        const std::uint32_t four = operation(spv::OpImageFetch, {image, texel}, ids_.four_numbers);
        if (!is_word) return operation(spv::OpBitcast, {four}, ids_.item);
        return operation(spv::OpBitcast, {operation(spv::OpCompositeExtract, {four, 0U}, ids_.number)});
    }
    /// The item that begins with this element.
    std::uint32_t item(std::uint32_t element) {
        return ids_.is_quads() ? operation(spv::OpShiftRightLogical, {element, constant(2)}) : element;
    }
    /// The steps on words, in order.
    Result<std::uint32_t> write_steps(ElementWords values) {
        for (const ElementCode::Step& step : code_.steps) {
            const std::uint32_t function = parts_.named("elementwise_" + step.function);
            if (parts_.function(function) == nullptr || step.operands.empty() || step.operands.size() > kMostOperands)
                return bad_input("A program of elements calls '{}' with {} operands, which there is not.",
                                 step.function, step.operands.size());
            ElementWords operands;
            for (const std::uint32_t operand : step.operands) operands.push_back(values.at(operand));
            values.push_back(call(function, operands));
        }
        return values.back();
    }
    void branch(std::uint32_t to) { append_instruction(body_, spv::OpBranch, std::array{to}); }
    void label(std::uint32_t id) { append_instruction(body_, spv::OpLabel, std::array{id}); }
    /// The steps for each of four components.
    Result<std::uint32_t> write_unrolled(const ElementWords& values) {
        ElementWords made;
        for (std::uint32_t c = 0; c < kQuadWords; ++c) {
            ElementWords words;
            for (std::size_t i = 0; i < values.size(); ++i)
                words.push_back(is_word(i) ? values[i] : operation(spv::OpCompositeExtract, {values[i], c}));
            YOLK_TRY(const std::uint32_t one, write_steps(std::move(words)));
            made.push_back(one);
        }
        return operation(spv::OpCompositeConstruct, {made[0], made[1], made[2], made[3]}, ids_.item);
    }
    /// The same in a loop, so that drivers inline each step once: with four calls of each long step SwiftShader takes
    /// ten times as long to make a pipeline. It takes twice as long to run short ones.
    Result<std::uint32_t> write_loop(const ElementWords& values, std::uint32_t component, std::uint32_t result) {
        const std::uint32_t header = next_++, test = next_++, body = next_++, next = next_++, merge = next_++;
        const std::uint32_t zeros = next_++;  // a loop writes components: nothing shows that it writes all of them
        append_instruction(globals_, spv::OpConstantNull, std::array{ids_.item, zeros});
        append_instruction(body_, spv::OpStore, std::array{result, zeros});
        append_instruction(body_, spv::OpStore, std::array{component, constant(0)});
        branch(header);
        label(header);
        append_instruction(body_, spv::OpLoopMerge, std::array{merge, next, std::uint32_t{spv::LoopControlMaskNone}});
        branch(test);
        label(test);
        const std::uint32_t c = operation(spv::OpLoad, {component});
        const std::uint32_t goes_on = operation(spv::OpULessThan, {c, constant(kQuadWords)}, ids_.boolean);
        append_instruction(body_, spv::OpBranchConditional, std::array{goes_on, body, merge});
        label(body);
        ElementWords words;
        for (std::size_t i = 0; i < values.size(); ++i)
            words.push_back(is_word(i) ? values[i] : operation(spv::OpVectorExtractDynamic, {values[i], c}));
        YOLK_TRY(const std::uint32_t made, write_steps(std::move(words)));
        const std::uint32_t place = operation(spv::OpAccessChain, {result, c}, ids_.word_in_function);
        append_instruction(body_, spv::OpStore, std::array{place, made});
        branch(next);
        label(next);
        append_instruction(body_, spv::OpStore, std::array{component, operation(spv::OpIAdd, {c, constant(1)})});
        branch(header);
        label(merge);
        return operation(spv::OpLoad, {result}, ids_.item);
    }
    Result<void> write_body() {
        const auto local = [&](std::uint32_t type) {
            return operation(spv::OpVariable, {spv::StorageClassFunction}, type);
        };
        for (std::uint32_t& argument : arguments_) argument = local(ids_.word_in_function);
        const bool in_loop = ids_.is_quads() && !code_.is_unrolled;
        const std::uint32_t component = in_loop ? local(ids_.word_in_function) : 0;
        const std::uint32_t result = in_loop ? local(ids_.item_in_function) : 0;
        const std::uint32_t element = operation(spv::OpLoad, {parts_.function(ids_.element)->parameters.at(0)});
        YOLK_TRY_VOID(write_runs(element));
        ElementWords values;
        for (std::size_t i = 0; i < code_.inputs.size(); ++i) {
            YOLK_TRY(const std::uint32_t loaded, load(i));
            values.push_back(loaded);
        }
        for (std::uint32_t n = 0; n < code_.numbers; ++n) {
            YOLK_TRY(const std::uint32_t number, param("numbers", n));
            values.push_back(number);
        }
        YOLK_TRY(const std::uint32_t made, in_loop           ? write_loop(values, component, result)
                                           : ids_.is_quads() ? write_unrolled(values)
                                                             : write_steps(std::move(values)));
        const std::uint32_t at =
            operation(spv::OpAccessChain, {ids_.out, constant(0), item(element)}, ids_.item_in_buffer);
        append_instruction(body_, spv::OpStore, std::array{at, made});
        append_instruction(body_, spv::OpReturn, {});
        append_instruction(body_, spv::OpFunctionEnd, {});
        return {};
    }

    /// OpFunction, the parameter and the label stay.
    [[nodiscard]] ElementWords element_function() const {
        const ElementWords& old = parts_.function(ids_.element)->words;
        ElementWords words;
        for (std::size_t at = 0; at < old.size();) {
            const std::size_t count = old[at] >> spv::WordCountShift;
            words.insert(words.end(), old.begin() + static_cast<std::ptrdiff_t>(at),
                         old.begin() + static_cast<std::ptrdiff_t>(at + count));
            if ((old[at] & spv::OpCodeMask) == spv::OpLabel) break;
            at += count;
        }
        words.insert(words.end(), body_.begin(), body_.end());
        return words;
    }
    /// Ids that the module does not have any more; of program_element what its old body made.
    [[nodiscard]] std::set<std::uint32_t> left_out(const std::set<std::uint32_t>& kept) const {
        std::set<std::uint32_t> ids;
        for (const auto& [id, function] : parts_.functions) {
            if (id == ids_.element) {
                ids.insert(function.made.begin(), function.made.end());
                ids.erase(id);
                for (const std::uint32_t parameter : function.parameters) ids.erase(parameter);
            } else if (!kept.contains(id)) {
                ids.insert(function.made.begin(), function.made.end());
            }
        }
        return ids;
    }
    /// One instruction of the preamble, as it is to be.
    void add_to_preamble(ElementWords words, const std::set<std::uint32_t>& gone, ElementWords& to) const {
        const std::uint32_t op = words[0] & spv::OpCodeMask;
        if ((op == spv::OpName || op == spv::OpDecorate) && (gone.contains(words[1]) || words[1] == ids_.in)) return;
        if (op == spv::OpDecorate && words[1] == ids_.out && words[2] == spv::DecorationBinding)
            words[3] = static_cast<std::uint32_t>(inputs_.size());
        if (op == spv::OpEntryPoint) {
            words.erase(std::find(words.begin() + 4, words.end(), ids_.in));  // behind model, id and name
            words.insert(words.end(), inputs_.begin(), inputs_.end());
            words[0] = (static_cast<std::uint32_t>(words.size()) << spv::WordCountShift) | op;
        }
        to.insert(to.end(), words.begin(), words.end());
    }
    [[nodiscard]] ElementWords joined() {
        for (auto& [id, function] : parts_.functions) {
            if (id == ids_.element) function.callees = callees_;
        }
        const std::set<std::uint32_t> kept = parts_.called_from(ids_.main);
        const std::set<std::uint32_t> gone = left_out(kept);
        const ElementWords functions = functions_of(kept);
        ElementWords module = parts_.header;
        module[3] = next_;
        for (const ElementWords& words : parts_.preamble) add_to_preamble(words, gone, module);
        module.insert(module.end(), annotations_.begin(), annotations_.end());
        for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
            append_instruction(module, spv::OpDecorate,
                               std::array{inputs_[i], std::uint32_t{spv::DecorationDescriptorSet}, 0U});
            append_instruction(module, spv::OpDecorate,
                               std::array{inputs_[i], std::uint32_t{spv::DecorationBinding}, i});
        }
        for (const ElementWords& words : parts_.globals) {
            if ((words[0] & spv::OpCodeMask) == spv::OpVariable && words[2] == ids_.in) continue;
            module.insert(module.end(), words.begin(), words.end());
        }
        module.insert(module.end(), globals_.begin(), globals_.end());
        module.insert(module.end(), functions.begin(), functions.end());
        return module;
    }
    [[nodiscard]] ElementWords functions_of(const std::set<std::uint32_t>& kept) {
        ElementWords all;
        for (const auto& [id, function] : parts_.functions) {
            if (!kept.contains(id)) continue;
            const ElementWords words = id == ids_.element ? element_function() : function.words;
            all.insert(all.end(), words.begin(), words.end());
        }
        return all;
    }

    ModuleParts parts_;
    LibraryIds ids_;
    const ElementCode& code_;
    std::uint32_t next_;  // id
    ElementWords annotations_, globals_, body_, inputs_, runs_, callees_;
    std::uint32_t single_ = 0, word_in_buffer_ = 0;
    std::array<std::uint32_t, kMostOperands> arguments_{};
    std::map<std::uint32_t, std::uint32_t> constants_;
};

}  // namespace

Result<std::vector<std::uint32_t>> make_element_module(std::span<const std::uint32_t> library,
                                                       const ElementCode& code) {
    YOLK_TRY(ModuleParts parts, take_apart(library));
    const LibraryIds ids(parts);
    const ModuleFunction* const element = parts.function(ids.element);
    if (!ids.complete() || element == nullptr || element->parameters.empty() || parts.function(ids.main) == nullptr ||
        parts.function(ids.quotient) == nullptr)
        return bad_input("The module that programs of elements are made of lacks a part.");
    if (code.inputs.empty() || code.steps.empty())
        return bad_input("A program of elements has {} inputs and {} steps; it needs at least one of each.",
                         code.inputs.size(), code.steps.size());
    return ElementWriter(std::move(parts), ids, code).write();
}

}  // namespace yolk
