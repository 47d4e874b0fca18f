// SPDX-License-Identifier: Apache-2.0
#include "yolk/external_program.hpp"
#include "yolk/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace yolk::hyper {
namespace {

constexpr std::size_t kQuoted = 200;

std::string quoted(std::string_view text) {
    if (text.size() <= kQuoted) return fmt::format("'{}'", text);
    return fmt::format("'{}'...", text.substr(0, kQuoted));
}

std::string_view last_line(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n\v\f";
    const std::size_t end = text.find_last_not_of(kBlank);
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end + 1);
    const std::size_t line_break = text.find_last_of('\n');
    if (line_break != std::string_view::npos) text.remove_prefix(line_break + 1);
    text.remove_prefix(text.find_first_not_of(kBlank));
    return text;
}

Json values_json(std::span<const Value> values) {
    Json array = Json::array();
    for (const Value& value : values) array.push_back(to_json(value));
    return array;
}

/// What a program prints as 1 at one call and as .5 at another is of one kind, a number: integers become numbers where
/// a double holds them. What is in lists stays.
Value of_numbers(Value value) {
    if (value.integer() != nullptr) {
        const Result<double> number = value.as_number();
        return number ? Value(*number) : value;
    }
    if (value.record() == nullptr) return value;
    Record::Fields fields = value.record()->fields();
    for (auto& [name, field] : fields) field = of_numbers(std::move(field));
    return Record::create(std::move(fields)).value_or(Record());  // of these names and this depth before
}

Result<std::string> request(std::span<const Field> fields, const HostCall& call) {
    Json parameters = Json::array();
    const std::vector<double> numbers = written_numbers(call);
    if (fields.empty()) {
        parameters = numbers;
    } else if (fields.size() != numbers.size()) {
        return bad_input("It has {} fields, but {} parameters were given.", fields.size(), numbers.size());
    } else {
        parameters = Json::object();
        for (std::size_t i = 0; i < fields.size(); ++i) {
            parameters[fields[i].name] = to_json(field_value(fields[i], numbers[i]));
        }
    }
    return to_line({{"parameters", std::move(parameters)}, {"operands", values_json(call.operands)}}) + "\n";
}

ChildProgram child_of(const Program& program) {
    return {.command = program.command,
            .directory = program.directory,
            .environment = program.environment,
            .timeout = program.timeout,
            .grace = program.grace,
            .max_output_bytes = program.max_output_bytes};
}

/// With the integers of the line.
Result<Value> answer_of(const Program& program, const ProgramRun& run) {
    const std::string& name = program.command.front();
    if (program.answer == ProgramAnswer::ExitStatus) return Value(static_cast<double>(run.status));
    if (program.answer == ProgramAnswer::Success) return Value(run.status == 0 ? 1.0 : 0.0);
    if (run.status != 0 && !program.any_status) {
        return bad_input(
            "Program '{}' ended with status {}; its answer counts with status 0 only, unless any_status is set.{}",
            name, run.status, quoted_errors(run.error_tail));
    }
    if (program.answer == ProgramAnswer::WholeText) {
        std::string text = run.output;
        if (text.ends_with('\n')) text.pop_back();
        if (text.ends_with('\r')) text.pop_back();
        return Value(std::move(text));
    }
    const std::string_view line = last_line(run.output);
    if (line.empty()) {
        return bad_input("Program '{}' printed nothing; its last line has to be its answer, a JSON value.{}", name,
                         quoted_errors(run.error_tail));
    }
    const Result<Json> json = parse_json(line, "the last line", {.depth = kMostValueDepth});
    Result<Value> value = json ? value_from_json(*json) : Result<Value>(json.error());
    if (value) return value;
    return bad_input(
        "Program '{}' printed {} at the end, which is not an answer: {} Give a number, true or false, \"text\", an "
        "array or an object of those.{}",
        name, quoted(line), value.error().message, quoted_errors(run.error_tail));
}

}  // namespace

Result<void> check_program(const Program& program) { return yolk::check_program(child_of(program)); }

Result<ProgramRun> run_program(const Program& program, std::string_view input, const std::stop_token& stop) {
    return yolk::run_program(child_of(program), input, stop);
}

Result<Value> program_answer(const Program& program, const ProgramRun& run) {
    YOLK_TRY(Value answer, answer_of(program, run));
    return of_numbers(std::move(answer));
}

Result<HostFunctionPtr> host_function_from_program(std::string name, Program program, std::vector<Field> fields,
                                                   HostOptions options, std::optional<Value> stand_in) {
    YOLK_TRY_VOID(check_program(program));
    if (!fields.empty()) YOLK_TRY_VOID(validate(fields));
    if (options.timeout.count() == 0) options.timeout = program.timeout;
    // Its own is for calls outside a pool, which asks it to stop.
    HostFunction function{.name = std::move(name), .run = {}, .options = options};
    if (program.answer == ProgramAnswer::WholeText) function.stand_in = Value("");
    if (stand_in) function.stand_in = *stand_in;
    function.run = [program = std::move(program), fields = std::move(fields),
                    type = stand_in ? std::optional(type_of(*stand_in))
                                    : std::nullopt](const HostCall& call) -> Result<Value> {
        YOLK_TRY(const std::string input, request(fields, call));
        YOLK_TRY(const ProgramRun run, run_program(program, input, call.stop));
        if (!type) return program_answer(program, run);
        YOLK_TRY(Value answer, answer_of(program, run));
        return conformed(std::move(answer), *type);
    };
    return std::make_shared<const HostFunction>(std::move(function));
}

Result<AnyHyperfunction> program_hyperfunction(std::string name, Program program, std::vector<Field> fields,
                                               std::size_t arity, HyperfunctionOptions options) {
    std::vector<double> initial;
    initial.reserve(fields.size());
    for (const Field& field : fields) initial.push_back(field.initial);
    AnyHyperfunction::Parts parts{
        .spec = {.name = name, .shape = {fields.size()}, .fields = fields, .optimize = options.optimize},
        .values = Tensor::of_numbers(std::move(initial)),
        .arity = arity};
    YOLK_TRY(parts.host, host_function_from_program(std::move(name), std::move(program), std::move(fields),
                                                    options.host, std::move(options.stand_in)));
    parts.stand_in = parts.host->stand_in;
    return AnyHyperfunction(std::move(parts));
}

Result<Metric> program_metric(Program program, std::string name) {
    YOLK_TRY_VOID(check_program(program));
    if (program.answer == ProgramAnswer::WholeText) {
        return bad_input("Metric '{}': a reward is a number; let the program print it as its last line.", name);
    }
    Metric metric;
    metric.name = std::move(name);
    metric.whole = [program = std::move(program)](std::span<const Value> predictions,
                                                  std::span<const Value> expected) -> Result<double> {
        const Json input{{"predictions", values_json(predictions)}, {"expected", values_json(expected)}};
        YOLK_TRY(const ProgramRun run, run_program(program, to_line(input) + "\n"));
        YOLK_TRY(const Value answer, program_answer(program, run));
        return answer.as_number();
    };
    return metric;
}

}  // namespace yolk::hyper
