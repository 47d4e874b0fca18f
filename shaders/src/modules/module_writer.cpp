// SPDX-License-Identifier: Apache-2.0
#include "module_writer.hpp"

#include <algorithm>
#include <array>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "spirv_words.hpp"

namespace yolk {

void append_instruction(ModuleWords& to, std::uint32_t op, std::span<const std::uint32_t> operands) {
    to.push_back((static_cast<std::uint32_t>(operands.size() + 1) << spv::WordCountShift) | op);
    to.insert(to.end(), operands.begin(), operands.end());
}

namespace {

/// 0: the module has no such pointer.
std::uint32_t pointer_to(const ModuleParts& parts, spv::StorageClass storage, std::uint32_t type) {
    const auto found = parts.pointers.find({static_cast<std::uint32_t>(storage), type});
    return found == parts.pointers.end() ? 0U : found->second;
}

}  // namespace

LibraryIds::LibraryIds(const ModuleParts& parts)
    : main(parts.named("main")),
      quotient(parts.named("program_quotient")),
      in(parts.named("in_")),
      out(parts.named("out_")),
      word(parts.unsigned_type),
      boolean(parts.bool_type),
      item(word) {
    word_in_function = pointer_to(parts, spv::StorageClassFunction, word);
    word_in_params = pointer_to(parts, spv::StorageClassPushConstant, word);
    const auto quad = parts.vectors.find({word, kQuadWords});
    if (quad != parts.vectors.end() && pointer_to(parts, spv::StorageClassStorageBuffer, quad->second) != 0)
        item = quad->second;
    item_in_buffer = pointer_to(parts, spv::StorageClassStorageBuffer, item);
    item_in_function = pointer_to(parts, spv::StorageClassFunction, item);
    for (const ModuleWords& words : parts.globals) {
        if ((words[0] & spv::OpCodeMask) != spv::OpVariable) continue;
        if (words[3] == spv::StorageClassPushConstant) params = words[2];
        if (words[2] == in) in_pointer = words[1];
    }
    find_texels(parts);
}

void LibraryIds::find_texels(const ModuleParts& parts) {
    for (const ModuleWords& words : parts.globals) {
        const std::uint32_t op = words[0] & spv::OpCodeMask;
        if (op == spv::OpTypeFloat) number = words[1];
        if (op != spv::OpTypeSampledImage) continue;
        sampled = words[1];
        image = words[2];
    }
    const auto found = parts.vectors.find({number, kQuadWords});
    if (found != parts.vectors.end()) four_numbers = found->second;
}

bool LibraryIds::complete() const {
    return main != 0 && quotient != 0 && in_pointer != 0 && out != 0 && params != 0 && word != 0 && boolean != 0 &&
           item_in_buffer != 0 && word_in_function != 0 && item_in_function != 0 && word_in_params != 0 &&
           (!is_texels() || four_numbers != 0);
}

bool can_replace(const ModuleParts& parts, std::span<const char* const> functions) {
    const auto has = [&](const char* name) { return parts.function(parts.named(name)) != nullptr; };
    return has("main") && has("program_quotient") && std::ranges::all_of(functions, has);
}

ModuleWriter::ModuleWriter(ModuleParts parts, const LibraryIds& ids)
    : parts_(std::move(parts)), ids_(ids), next_(parts_.header[3]) {}

void ModuleWriter::add_input(std::optional<std::uint32_t> pointer) {
    const std::uint32_t storage = ids_.is_texels() ? std::uint32_t{spv::StorageClassUniformConstant}
                                                   : std::uint32_t{spv::StorageClassStorageBuffer};
    inputs_.push_back(next_++);
    append_instruction(globals_, spv::OpVariable,
                       std::array{pointer.value_or(ids_.in_pointer), inputs_.back(), storage});
}

std::uint32_t ModuleWriter::single_buffer() {
    if (single_ != 0) return single_;
    const std::uint32_t array = next_++, block = next_++;
    const std::uint32_t storage = spv::StorageClassStorageBuffer;
    single_ = next_++;
    word_in_single_ = next_++;
    append_instruction(annotations_, spv::OpDecorate, std::array{array, std::uint32_t{spv::DecorationArrayStride}, 4U});
    append_instruction(annotations_, spv::OpDecorate, std::array{block, std::uint32_t{spv::DecorationBlock}});
    append_instruction(annotations_, spv::OpMemberDecorate,
                       std::array{block, 0U, std::uint32_t{spv::DecorationOffset}, 0U});
    append_instruction(annotations_, spv::OpMemberDecorate,
                       std::array{block, 0U, std::uint32_t{spv::DecorationNonWritable}});
    append_instruction(globals_, spv::OpTypeRuntimeArray, std::array{array, ids_.word});
    append_instruction(globals_, spv::OpTypeStruct, std::array{block, array});
    append_instruction(globals_, spv::OpTypePointer, std::array{single_, storage, block});
    append_instruction(globals_, spv::OpTypePointer, std::array{word_in_single_, storage, ids_.word});
    return single_;
}
std::uint32_t ModuleWriter::add_private() {
    const std::uint32_t storage = spv::StorageClassPrivate;
    privates_.push_back(next_++);
    append_instruction(globals_, spv::OpVariable,
                       std::array{pointer_to(parts_, spv::StorageClassPrivate, ids_.word), privates_.back(), storage});
    return privates_.back();
}

std::uint32_t ModuleWriter::constant(std::uint32_t value) {
    const auto [found, is_new] = constants_.try_emplace(value, next_);
    if (is_new) append_instruction(globals_, spv::OpConstant, std::array{ids_.word, next_++, value});
    return found->second;
}

void ModuleWriter::begin_body(std::uint32_t function) {
    function_ = function;
    Body& body = bodies_[function] = {};
    for (std::uint32_t& argument : body.arguments) argument = local(ids_.word_in_function);
}

void ModuleWriter::instruction(std::uint32_t op, std::initializer_list<std::uint32_t> operands) {
    append_instruction(bodies_.at(function_).words, op, operands);
}

std::uint32_t ModuleWriter::operation(std::uint32_t op, std::initializer_list<std::uint32_t> operands,
                                      std::optional<std::uint32_t> type) {
    ModuleWords words{type.value_or(ids_.word), next_};
    words.insert(words.end(), operands.begin(), operands.end());
    append_instruction(bodies_.at(function_).words, op, words);
    return next_++;
}

std::uint32_t ModuleWriter::local(std::uint32_t pointer_type) {
    return operation(spv::OpVariable, {spv::StorageClassFunction}, pointer_type);
}

std::uint32_t ModuleWriter::parameter() const { return parts_.function(function_)->parameters.at(0); }

std::uint32_t ModuleWriter::call(std::uint32_t function, std::span<const std::uint32_t> operands) {
    Body& body = bodies_.at(function_);
    const std::uint32_t type = parts_.function(function)->words[1];
    ModuleWords words{type, next_++, function};
    for (std::size_t i = 0; i < operands.size(); ++i) {
        append_instruction(body.words, spv::OpStore, std::array{body.arguments[i], operands[i]});
        words.push_back(body.arguments[i]);
    }
    append_instruction(body.words, spv::OpFunctionCall, words);
    body.callees.push_back(function);
    return words[1];
}

Result<std::uint32_t> ModuleWriter::call_step(const std::string& function, std::span<const std::uint32_t> operands) {
    const std::uint32_t id = parts_.named(function);
    if (parts_.function(id) == nullptr || parts_.function(id)->parameters.size() != operands.size())
        return bad_input("A program calls '{}' with {} operands, which there is not.", function, operands.size());
    return call(id, operands);
}

Result<std::uint32_t> ModuleWriter::param(std::string_view name, std::uint32_t run) {
    YOLK_TRY(const std::uint32_t member, parts_.member("Params", name));
    const std::uint32_t place =
        operation(spv::OpAccessChain, {ids_.params, constant(0), constant(member), constant(run)}, ids_.word_in_params);
    return operation(spv::OpLoad, {place});
}

Result<std::uint32_t> ModuleWriter::quotient(std::uint32_t element, std::string_view factor, std::string_view shift,
                                             std::uint32_t run) {
    YOLK_TRY(const std::uint32_t by, param(factor, run));
    YOLK_TRY(const std::uint32_t down, param(shift, run));
    return call(ids_.quotient, std::array{element, by, down});
}

Result<ModuleWords> ModuleWriter::run_places(std::span<const ElementCode::Run> runs, std::uint32_t element) {
    ModuleWords places;
    for (std::uint32_t r = 0; r < runs.size(); ++r) {
        std::uint32_t place = element;
        if (runs[r].has_inner) {
            YOLK_TRY(place, quotient(element, "inner_factor", "inner_shift", r));
        }
        if (runs[r].has_outer) {
            YOLK_TRY(const std::uint32_t outer, quotient(element, "outer_factor", "outer_shift", r));
            YOLK_TRY(const std::uint32_t size, param("size", r));
            place = operation(spv::OpISub, {place, operation(spv::OpIMul, {outer, size})});
        }
        places.push_back(place);
    }
    return places;
}

Result<std::uint32_t> ModuleWriter::joined_place(std::span<const std::uint32_t> runs, const ModuleWords& places) {
    std::uint32_t place = 0;
    for (const std::uint32_t run : runs) {
        if (place == 0) {
            place = places[run];
            continue;
        }
        YOLK_TRY(const std::uint32_t size, param("size", run));
        place = operation(spv::OpIAdd, {operation(spv::OpIMul, {place, size}), places[run]});
    }
    return place == 0 ? constant(0) : place;
}

std::uint32_t ModuleWriter::item(std::uint32_t element) {
    return ids_.is_quads() ? operation(spv::OpShiftRightLogical, {element, constant(2)}) : element;
}

std::uint32_t ModuleWriter::loaded(std::size_t number, std::uint32_t place, bool is_word) {
    if (ids_.is_texels()) return fetch(input(number), place, is_word || !ids_.is_quads());
    const bool is_single = is_word && ids_.is_quads();
    const std::uint32_t at = operation(spv::OpAccessChain, {input(number), constant(0), place},
                                       is_single ? word_in_single_ : ids_.item_in_buffer);
    return operation(spv::OpLoad, {at}, is_single ? ids_.word : ids_.item);
}

/// The words of a texel, or the first of them.
std::uint32_t ModuleWriter::fetch(std::uint32_t buffer, std::uint32_t texel, bool is_word) {
    const std::uint32_t image = operation(spv::OpImage, {operation(spv::OpLoad, {buffer}, ids_.sampled)}, ids_.image);
    const std::uint32_t four = operation(spv::OpImageFetch, {image, texel}, ids_.four_numbers);
    if (!is_word) return operation(spv::OpBitcast, {four}, ids_.item);
    return operation(spv::OpBitcast, {operation(spv::OpCompositeExtract, {four, 0U}, ids_.number)});
}

void ModuleWriter::branch(std::uint32_t to) { instruction(spv::OpBranch, {to}); }
void ModuleWriter::label(std::uint32_t id) { instruction(spv::OpLabel, {id}); }

/// OpFunction, the parameter and the label stay.
ModuleWords ModuleWriter::with_body(const ModuleWords& old, const Body& body) const {
    ModuleWords words;
    for (std::size_t at = 0; at < old.size();) {
        const std::size_t count = old[at] >> spv::WordCountShift;
        words.insert(words.end(), old.begin() + static_cast<std::ptrdiff_t>(at),
                     old.begin() + static_cast<std::ptrdiff_t>(at + count));
        if ((old[at] & spv::OpCodeMask) == spv::OpLabel) break;
        at += count;
    }
    words.insert(words.end(), body.words.begin(), body.words.end());
    append_instruction(words, spv::OpFunctionEnd, {});
    return words;
}

/// Ids that the module does not have any more; of functions with another body what their old one made.
std::set<std::uint32_t> ModuleWriter::left_out(const std::set<std::uint32_t>& kept) const {
    std::set<std::uint32_t> gone;
    for (const auto& [id, function] : parts_.functions) {
        if (kept.contains(id) && !bodies_.contains(id)) continue;
        gone.insert(function.made.begin(), function.made.end());
        if (!kept.contains(id)) continue;
        gone.erase(id);
        for (const std::uint32_t parameter : function.parameters) gone.erase(parameter);
    }
    return gone;
}

/// As the library's input is, such as restrict; each has a binding of its own.
void ModuleWriter::decorate_inputs(ModuleWords words, ModuleWords& to) const {
    for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
        words[1] = inputs_[i];
        if (words[2] == spv::DecorationBinding) words[3] = i;
        to.insert(to.end(), words.begin(), words.end());
    }
}

/// One instruction of the preamble, as it is to be.
void ModuleWriter::add_to_preamble(ModuleWords words, const std::set<std::uint32_t>& gone, ModuleWords& to) const {
    const std::uint32_t op = words[0] & spv::OpCodeMask;
    if (op == spv::OpDecorate && words[1] == ids_.in) return decorate_inputs(std::move(words), to);
    if ((op == spv::OpName || op == spv::OpDecorate) && (gone.contains(words[1]) || words[1] == ids_.in)) return;
    if (op == spv::OpDecorate && words[2] == spv::DecorationBinding)
        words[3] = static_cast<std::uint32_t>(inputs_.size());
    if (op == spv::OpEntryPoint) {
        words.erase(std::find(words.begin() + 4, words.end(), ids_.in));  // behind model, id and name
        words.insert(words.end(), inputs_.begin(), inputs_.end());
        words.insert(words.end(), privates_.begin(), privates_.end());
        words[0] = (static_cast<std::uint32_t>(words.size()) << spv::WordCountShift) | op;
    }
    to.insert(to.end(), words.begin(), words.end());
}

ModuleWords ModuleWriter::joined() {
    for (auto& [id, function] : parts_.functions) {
        if (const auto body = bodies_.find(id); body != bodies_.end()) function.callees = body->second.callees;
    }
    const std::set<std::uint32_t> kept = parts_.called_from(ids_.main);
    const std::set<std::uint32_t> gone = left_out(kept);
    ModuleWords module = parts_.header;
    module[3] = next_;
    for (const ModuleWords& words : parts_.preamble) add_to_preamble(words, gone, module);
    module.insert(module.end(), annotations_.begin(), annotations_.end());
    for (const ModuleWords& words : parts_.globals) {
        if ((words[0] & spv::OpCodeMask) == spv::OpVariable && words[2] == ids_.in) continue;
        module.insert(module.end(), words.begin(), words.end());
    }
    module.insert(module.end(), globals_.begin(), globals_.end());
    const ModuleWords functions = functions_of(kept);
    module.insert(module.end(), functions.begin(), functions.end());
    return module;
}

ModuleWords ModuleWriter::functions_of(const std::set<std::uint32_t>& kept) const {
    ModuleWords all;
    for (const auto& [id, function] : parts_.functions) {
        if (!kept.contains(id)) continue;
        const auto body = bodies_.find(id);
        const ModuleWords words = body == bodies_.end() ? function.words : with_body(function.words, body->second);
        all.insert(all.end(), words.begin(), words.end());
    }
    return all;
}

}  // namespace yolk
